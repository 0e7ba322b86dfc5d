// Whose a task is: an agent's, a type's of agents, or anybody's.
import { useState } from "react";
import { api, call, type Schemas, useAct, useAgents } from "../../api";
import { Button, Dialog, Field } from "../../ui";

type Task = Schemas["Task"];

export function Reassign({ task, onClose }: { task: Task; onClose: () => void }) {
  const [text, setText] = useState(task.assignee ?? "");
  const agents = useAgents().data ?? [];
  const known = new Set(agents.flatMap((agent) => (agent.type ? [agent.id, agent.type] : [agent.id])));
  const put = (assignee: string | null) =>
    call(api.PUT("/v1/tasks/{task_id}/assignee", { params: { path: { task_id: task.id } }, body: { assignee } }));
  const change = useAct(put, {
    done: (now) => (now.assignee ? `It is for ${now.assignee} now.` : "It is for anybody now."),
    undo: () => put(task.assignee ?? null),
    onDone: onClose,
  });
  const wanted = text.trim() || null;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Reassign"
      about="Only whom it is assigned to gets it. Leave it empty to let anybody have it who can do it."
      actions={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button
            look="primary"
            busy={change.isPending}
            disabled={wanted === (task.assignee ?? null)}
            onClick={() => change.mutate(wanted)}
          >
            {wanted === null ? "Let anybody have it" : "Reassign"}
          </Button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (wanted !== (task.assignee ?? null)) change.mutate(wanted);
        }}
      >
        <Field
          label="Agent, or type of agents"
          list="known-agents"
          value={text}
          maxLength={200}
          onChange={(event) => setText(event.target.value)}
          about={wanted !== null && !known.has(wanted) ? "No agent of this name was heard of lately." : undefined}
        />
        <datalist id="known-agents">
          {[...known].slice(0, 200).map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </form>
    </Dialog>
  );
}
