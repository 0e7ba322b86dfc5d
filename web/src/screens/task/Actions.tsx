// What can be done about a task. Each is offered only where it can work and to whom may do it; each is confirmed, and
// taken back where that is possible.
import { Ban, Gauge, MoreHorizontal, Pencil, RotateCw, UserPen, Wallet } from "lucide-react";
import { useState } from "react";
import { api, call, type Schemas, useAct, useBudgets, useMay } from "../../api";
import { Button, IconButton, Menu, type MenuItem, plural } from "../../ui";
import { budgetsOf } from "./budgets";
import { CancelTask } from "./CancelTask";
import { ChangePriority } from "./ChangePriority";
import { RaiseBudget } from "./RaiseBudget";
import { Reassign } from "./Reassign";
import { RetryTask } from "./RetryTask";

type Task = Schemas["Task"];
type Doing = "retry" | "modify" | "cancel" | "priority" | "reassign" | "budget";

const ENDED_BADLY = new Set(["dead_lettered", "cancelled"]);
const TAKEN = new Set(["claimed", "running", "validating"]);
const FINAL = new Set([...ENDED_BADLY, "completed"]);

export function Actions({ task }: { task: Task }) {
  const steers = useMay("POST /v1/tasks/{task_id}/retry");
  const mayRaise = useMay("POST /v1/budgets/{scope}/raise");
  const budgets = budgetsOf(task, useBudgets().data ?? []);
  const [doing, setDoing] = useState<Doing | null>(null);
  const close = () => setDoing(null);
  if (!steers && !mayRaise) return null;

  const status = task.status ?? "pending";
  const over = FINAL.has(status);
  const retries = steers && ENDED_BADLY.has(status);
  const movable = !over && !TAKEN.has(status);
  const more: MenuItem[] = [];
  if (retries) more.push({ label: "Modify and retry…", icon: <Pencil />, onSelect: () => setDoing("modify") });
  if (steers && movable) more.push({ label: "Reassign…", icon: <UserPen />, onSelect: () => setDoing("reassign") });
  if (steers && !over) more.push({ label: "Change priority…", icon: <Gauge />, onSelect: () => setDoing("priority") });
  if (mayRaise && budgets.length > 0)
    more.push({ label: "Raise budget…", icon: <Wallet />, onSelect: () => setDoing("budget") });

  return (
    <>
      {retries && (
        <Button look="primary" icon={<RotateCw />} onClick={() => setDoing("retry")}>
          Retry…
        </Button>
      )}
      {steers && !over && (
        <Button look="danger" icon={<Ban />} onClick={() => setDoing("cancel")}>
          Cancel…
        </Button>
      )}
      {more.length > 0 && (
        <Menu trigger={<IconButton label="More actions" look="plain" icon={<MoreHorizontal />} />} items={more} />
      )}
      {(doing === "retry" || doing === "modify") && (
        <RetryTask task={task} modify={doing === "modify"} onClose={close} />
      )}
      {doing === "cancel" && <CancelTask task={task} onClose={close} />}
      {doing === "priority" && <ChangePriority task={task} onClose={close} />}
      {doing === "reassign" && <Reassign task={task} onClose={close} />}
      {doing === "budget" && <RaiseBudget task={task} onClose={close} />}
    </>
  );
}

/** Cancelling, with what takes it back. */
export function useCancel(task: Task, onDone: () => void) {
  return useAct(
    (reason: string) =>
      call(
        api.POST("/v1/tasks/{target}/cancel", {
          params: { path: { target: task.id } },
          body: { reason: reason || null },
        }),
      ),
    {
      done: (ended) => (ended.length === 0 ? "It had ended already." : `Cancelled ${plural(ended.length, "task")}.`),
      undo: () => call(api.POST("/v1/tasks/{task_id}/retry", { params: { path: { task_id: task.id } }, body: {} })),
      onDone,
    },
  );
}
