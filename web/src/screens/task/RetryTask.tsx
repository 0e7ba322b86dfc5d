// Another life for a task that ended badly: as it is, or with another payload. About a dead letter that is a decision,
// and recorded as one.
import { useState } from "react";
import { api, call, parseExact, type Schemas, stringifyExact, useAbout, useAct } from "../../api";
import { Button, Checkbox, Dialog, Field, TextArea } from "../../ui";

type Task = Schemas["Task"];

interface Wanted {
  payload?: unknown;
  keepSteps: boolean;
  note: string;
}

export function RetryTask({ task, modify, onClose }: { task: Task; modify: boolean; onClose: () => void }) {
  const by = useAbout().data?.name || "dashboard";
  const [keepSteps, setKeepSteps] = useState(true);
  const [note, setNote] = useState("");
  const [text, setText] = useState(() => stringifyExact(task.payload ?? null, 2));
  const read = modify ? readJson(text) : { payload: undefined, fault: null };
  const isDead = task.status === "dead_lettered";
  const retry = useAct((wanted: Wanted) => (isDead ? review(task.id, by, wanted) : revive(task.id, wanted)), {
    done: "It lives again; what was cancelled because of it is back, too.",
    onDone: onClose,
  });
  const send = () => {
    if (read.fault === null)
      retry.mutate({ keepSteps, note: note.trim(), ...(modify ? { payload: read.payload } : {}) });
  };
  return (
    <Dialog
      open
      onClose={onClose}
      wide={modify}
      title={modify ? "Modify and retry" : "Retry this task?"}
      about={`Its attempts are counted anew; its history stays.${isDead ? " The decision is recorded with your name." : ""}`}
      actions={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button look="primary" busy={retry.isPending} disabled={read.fault !== null} onClick={send}>
            Retry
          </Button>
        </>
      }
    >
      {modify && (
        <TextArea
          label="Payload (JSON)"
          mono
          rows={14}
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
          error={read.fault}
          about="Numbers are sent exactly as they are written here."
        />
      )}
      <Checkbox
        label="Keep the steps that are done"
        checked={keepSteps}
        onChange={(event) => setKeepSteps(event.target.checked)}
      />
      {isDead && (
        <Field
          label="Note (optional)"
          value={note}
          maxLength={4000}
          onChange={(event) => setNote(event.target.value)}
        />
      )}
    </Dialog>
  );
}

/** The document and what is wrong with it, if something is. */
export function readJson(text: string): { payload: unknown; fault: string | null } {
  try {
    return { payload: parseExact(text), fault: null };
  } catch (error) {
    return {
      payload: undefined,
      fault: error instanceof Error ? `This is no JSON: ${error.message}` : "This is no JSON.",
    };
  }
}

function revive(id: string, { keepSteps, ...wanted }: Wanted) {
  const payload = "payload" in wanted ? { payload: wanted.payload } : {};
  return call(
    api.POST("/v1/tasks/{task_id}/retry", {
      params: { path: { task_id: id } },
      body: { keep_steps: keepSteps, ...payload },
    }),
  );
}

function review(id: string, by: string, { keepSteps, note, ...wanted }: Wanted) {
  const payload = "payload" in wanted ? { payload: wanted.payload } : {};
  return call(
    api.POST("/v1/dead-letters/{task_id}/review", {
      params: { path: { task_id: id } },
      body: {
        resolution: "payload" in wanted ? "retried_modified" : "retried",
        by,
        note: note || null,
        keep_steps: keepSteps,
        ...payload,
      },
    }),
  );
}
