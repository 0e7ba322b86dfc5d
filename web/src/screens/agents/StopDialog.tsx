// Stopping an agent: it gets nothing new, and what it holds goes back, or is cancelled.
import { useState } from "react";
import { api, call, useAct } from "../../api";
import { FormDialog, plural, Select, TaskLink } from "../../ui";
import styles from "./agents.module.css";
import type { Agent } from "./known";
import { drain } from "./verbs";

type Fate = "release" | "cancel";

async function stop(agent: Agent, fate: Fate): Promise<number> {
  await drain(agent.id);
  const ids = agent.tasks ?? [];
  if (ids.length === 0) return 0;
  const tasks = await call(api.POST("/v1/tasks/look-up", { body: { ids } }));
  let ended = 0;
  for (const task of tasks) {
    // What somebody else got meanwhile is not this agent's any more.
    if (!task || task.agent !== agent.id) continue;
    if (fate === "release") {
      await call(
        api.POST("/v1/tasks/{task_id}/release", {
          params: { path: { task_id: task.id } },
          body: { fence: task.fence ?? 0 },
        }),
      );
    } else {
      await call(
        api.POST("/v1/tasks/{target}/cancel", {
          params: { path: { target: task.id } },
          body: { reason: `${agent.id} was stopped` },
        }),
      );
    }
    ended += 1;
  }
  return ended;
}

export function StopDialog({ agent, onClose }: { agent: Agent; onClose: () => void }) {
  const [fate, setFate] = useState<Fate>("release");
  const held = agent.tasks ?? [];
  const stopping = useAct(() => stop(agent, fate), {
    quiet: true,
    done: (ended) =>
      `${agent.id} is stopped${ended ? `; ${plural(ended, "task")} ${fate === "release" ? "went back" : "cancelled"}` : ""}.`,
    onDone: onClose,
  });
  return (
    <FormDialog
      title={`Stop ${agent.id}?`}
      about="It gets nothing new, and hears of it with its next renewal. Its process itself is not ended."
      action="Stop it"
      danger
      onClose={onClose}
      onSubmit={() => stopping.mutate()}
      busy={stopping.isPending}
      error={stopping.error}
    >
      {held.length > 0 && (
        <>
          <Select
            label={`What it holds (${plural(held.length, "task")})`}
            value={fate}
            onChange={(event) => setFate(event.target.value as Fate)}
            choices={[
              { value: "release", label: "goes back: another agent takes it, no attempt is used up" },
              { value: "cancel", label: "is cancelled" },
            ]}
          />
          <ul className={styles.held}>
            {held.slice(0, 10).map((id) => (
              <li key={id}>
                <TaskLink task={id} />
              </li>
            ))}
            {held.length > 10 && <li className="muted">and {held.length - 10} more</li>}
          </ul>
        </>
      )}
    </FormDialog>
  );
}
