// Cancelling a task ends what depends on it and what it spawned, too: how many that are is said before.
import { useState } from "react";
import { type Schemas, useDag } from "../../api";
import { Field, FormDialog, plural, Skeleton } from "../../ui";
import { useCancel } from "./Actions";
import { subtree } from "./subtree";

type Task = Schemas["Task"];

const HELD = new Set(["claimed", "running"]);

export function CancelTask({ task, onClose }: { task: Task; onClose: () => void }) {
  const [reason, setReason] = useState("");
  const dag = useDag(task.dag_id ?? "");
  const cancel = useCancel(task, onClose);
  const ends = dag.data && subtree(task.id, dag.data.tasks ?? [], dag.data.edges ?? []);
  const others = ends === undefined ? 0 : Math.max(ends.length - 1, 0);
  const held = (dag.data?.tasks ?? []).filter((each) => ends?.includes(each.id) && HELD.has(each.status ?? "")).length;
  return (
    <FormDialog
      title={others > 0 ? `Cancel this and ${plural(others, "other task")}?` : "Cancel this task?"}
      about="What depends on it and what it spawned ends with it. Undo brings all of it back, as a new life."
      action={others > 0 ? `Cancel ${others + 1} tasks` : "Cancel it"}
      danger
      onClose={onClose}
      onSubmit={() => cancel.mutate(reason.trim())}
      busy={cancel.isPending}
    >
      {dag.isPending && <Skeleton lines={1} />}
      {held > 0 && (
        <p>
          {held === 1
            ? `${others === 0 ? "It" : "One of them"} is being worked on: its agent is told to stop.`
            : `${held} of them are being worked on: their agents are told to stop.`}
        </p>
      )}
      <Field
        label="Reason (optional)"
        value={reason}
        maxLength={1000}
        onChange={(event) => setReason(event.target.value)}
      />
    </FormDialog>
  );
}
