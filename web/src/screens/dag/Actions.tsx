/** What can be done about a dag as a whole. */
import { Ban, CircleDollarSign, RotateCcw } from "lucide-react";
import { useState } from "react";
import { api, call, type Schemas, useAbout, useAct, useMay } from "../../api";
import { Button, Dialog, Field, money, plural, useConfirm } from "../../ui";
import type { Dag, Task } from "./live";

type Budget = Schemas["Budget"];

const OVER = new Set(["completed", "failed", "cancelled"]);
const AT_ONCE = 500;

export function Actions({ dag, tasks, budget }: { dag: Dag; tasks: readonly Task[]; budget: Budget | undefined }) {
  const mayCancel = useMay("POST /v1/dags/{target}/cancel");
  const mayRetry = useMay("POST /v1/dead-letters/review");
  const mayRaise = useMay("POST /v1/budgets/{scope}/raise");
  const [asksReason, setAsksReason] = useState(false);
  const [raises, setRaises] = useState(false);
  const dead = tasks.filter((task) => task.status === "dead_lettered");
  return (
    <>
      {mayRetry && dead.length > 0 && <RetryFailed dead={dead} />}
      {mayRaise && budget && (
        <Button icon={<CircleDollarSign />} onClick={() => setRaises(true)}>
          Raise budget
        </Button>
      )}
      {mayCancel && !OVER.has(dag.status ?? "") && (
        <Button look="danger" icon={<Ban />} onClick={() => setAsksReason(true)}>
          Cancel dag
        </Button>
      )}
      {asksReason && <CancelDialog dag={dag} onClose={() => setAsksReason(false)} />}
      {raises && budget && <RaiseDialog budget={budget} onClose={() => setRaises(false)} />}
    </>
  );
}

function RetryFailed({ dead }: { dead: readonly Task[] }) {
  const confirm = useConfirm();
  const by = useAbout().data?.name ?? "dashboard";
  const retry = useAct(
    async (ids: string[]) => {
      let refused = 0;
      for (let at = 0; at < ids.length; at += AT_ONCE) {
        const body = { task_ids: ids.slice(at, at + AT_ONCE), resolution: "retried", by };
        const answers = await call(api.POST("/v1/dead-letters/review", { body }));
        refused += answers.filter((answer) => "code" in answer && "message" in answer).length;
      }
      return { done: ids.length - refused, refused };
    },
    { done: ({ done, refused }) => `Retried ${plural(done, "task")}.${refused ? ` ${refused} could not be.` : ""}` },
  );
  return (
    <Button
      icon={<RotateCcw />}
      busy={retry.isPending}
      onClick={async () => {
        const ids = dead.map((task) => task.id);
        const yes = await confirm({
          title: `Retry ${plural(ids.length, "dead letter")}?`,
          body: "Each gets a new life with all its attempts, and what was cancelled because of it comes back.",
          action: "Retry",
        });
        if (yes) retry.mutate(ids);
      }}
    >
      Retry failed ({dead.length})
    </Button>
  );
}

function CancelDialog({ dag, onClose }: { dag: Dag; onClose: () => void }) {
  const [reason, setReason] = useState("");
  const cancel = useAct(
    () =>
      call(
        api.POST("/v1/dags/{target}/cancel", {
          params: { path: { target: dag.id } },
          body: reason.trim() ? { reason: reason.trim() } : {},
        }),
      ),
    { done: (ended) => `Cancelled ${plural(ended.length, "task")}.`, onDone: onClose },
  );
  return (
    <Dialog
      open
      onClose={onClose}
      title="Cancel this dag?"
      about="Everything in it that has not ended is cancelled now; agents that work on it are told to stop."
      actions={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button look="danger" busy={cancel.isPending} onClick={() => cancel.mutate()}>
            Cancel dag
          </Button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          cancel.mutate();
        }}
      >
        <Field label="Reason (optional)" value={reason} maxLength={1_000} onChange={(event) => setReason(event.target.value)} />
      </form>
    </Dialog>
  );
}

function RaiseDialog({ budget, onClose }: { budget: Budget; onClose: () => void }) {
  const [amount, setAmount] = useState("");
  const unit = budget.unit ?? "usd";
  const by = Number(amount);
  const valid = amount.trim() !== "" && Number.isFinite(by) && by > 0;
  const shown = (value: number) => (unit === "usd" ? money(value) : `${value.toLocaleString("en-US")} ${unit}`);
  const raise = useAct(
    () => call(api.POST("/v1/budgets/{scope}/raise", { params: { path: { scope: budget.scope } }, body: { amount: by, unit } })),
    { done: (now) => `The limit is ${shown(now.limit ?? 0)} now.`, onDone: onClose, quiet: true },
  );
  const limit = budget.limit ?? 0;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Raise the budget of this dag"
      about={`${shown(budget.spent ?? 0)} of ${shown(limit)} are spent, ${shown(budget.reserved ?? 0)} reserved. ${plural(budget.waiting ?? 0, "task")} waiting for it.`}
      actions={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button look="primary" type="submit" form="raise-dag-budget" busy={raise.isPending} disabled={!valid}>
            {valid ? `Raise to ${shown(limit + by)}` : "Raise"}
          </Button>
        </>
      }
    >
      <form
        id="raise-dag-budget"
        onSubmit={(event) => {
          event.preventDefault();
          if (valid) raise.mutate();
        }}
      >
        <Field
          label={`By how much (${unit === "usd" ? "USD" : unit})`}
          inputMode="decimal"
          value={amount}
          error={raise.error?.message}
          onChange={(event) => setAmount(event.target.value)}
        />
      </form>
    </Dialog>
  );
}
