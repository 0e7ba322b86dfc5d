// How urgent a task is. Lower is sooner.
import { useState } from "react";
import { api, call, type Schemas, useAct } from "../../api";
import { Button, Field, FormDialog } from "../../ui";
import styles from "./Task.module.css";

type Task = Schemas["Task"];

const TIERS = [
  { name: "critical", value: 5 },
  { name: "high", value: 20 },
  { name: "normal", value: 50 },
  { name: "low", value: 70 },
  { name: "background", value: 90 },
];

export function ChangePriority({ task, onClose }: { task: Task; onClose: () => void }) {
  const [text, setText] = useState(String(task.priority ?? 50));
  const put = (priority: number) =>
    call(api.PUT("/v1/tasks/{task_id}/priority", { params: { path: { task_id: task.id } }, body: { priority } }));
  const change = useAct(put, {
    done: (now) => `Priority ${now.priority} now.`,
    undo: () => put(task.priority ?? 50),
    onDone: onClose,
  });
  const value = Number(text);
  const fits = text.trim() !== "" && value >= 0 && value <= 100;
  return (
    <FormDialog
      title="Change priority"
      about="0 is now, 100 is whenever there is nothing else. Age still raises it."
      action="Change"
      onClose={onClose}
      onSubmit={() => change.mutate(value)}
      busy={change.isPending}
      disabled={!fits}
    >
      <div className={styles.buttons}>
        {TIERS.map((tier) => (
          <Button key={tier.name} small aria-pressed={value === tier.value} onClick={() => setText(String(tier.value))}>
            {tier.name} {tier.value}
          </Button>
        ))}
      </div>
      <Field
        label="Priority"
        inputMode="decimal"
        value={text}
        onChange={(event) => setText(event.target.value)}
        error={fits ? undefined : "Write a number from 0 to 100."}
      />
    </FormDialog>
  );
}
