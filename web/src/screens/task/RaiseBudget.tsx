// More for a budget that this task draws on: what waits for it starts as soon as it fits. A task that ended because the
// budget was used up is retried with it.
import { useState } from "react";
import { api, call, type Schemas, useAct, useBudgets, useMay } from "../../api";
import { useMyself } from "../../api/myself";
import { Checkbox, Field, FormDialog, Select, wrong } from "../../ui";
import { amount, type Budget } from "../gates/amounts";
import { budgetsOf } from "./budgets";
import { usedUp } from "./copy";
import { live } from "./retrying";

type Task = Schemas["Task"];

const unitOf = (budget: Budget) => budget.unit ?? "usd";

const named = (budget: Budget) =>
  `${budget.scope} (${amount(budget.left ?? 0, unitOf(budget))} left of ${amount(budget.limit ?? 0, unitOf(budget))})`;

export function RaiseBudget({ task, onClose }: { task: Task; onClose: () => void }) {
  const budgets = budgetsOf(task, useBudgets().data ?? []);
  const by = useMyself();
  const mayRetry = useMay("POST /v1/tasks/{task_id}/retry") && task.status === "dead_lettered" && usedUp(task) !== null;
  const [chosen, choose] = useState(0);
  const [more, setMore] = useState("");
  const [again, setAgain] = useState(true);
  const budget = budgets[chosen];
  const wanted = Number(more);
  const raise = useAct(
    async ({ budget, retry }: { budget: Budget; retry: boolean }) => {
      const raised = await call(
        api.POST("/v1/budgets/{scope}/raise", {
          params: { path: { scope: budget.scope } },
          body: { amount: wanted, unit: unitOf(budget) },
        }),
      );
      if (retry) await live(task, by, { keepSteps: true, note: `The budget ${budget.scope} was raised.` });
      return raised;
    },
    {
      quiet: true,
      done: (now, { retry }) =>
        `Budget ${now.scope} is ${amount(now.limit ?? 0, unitOf(now))} now${retry ? ", and the task lives again" : ""}.`,
      undo: (_, { budget }) =>
        call(
          api.PUT("/v1/budgets/{scope}", {
            params: { path: { scope: budget.scope } },
            body: {
              limit: budget.limit ?? 0,
              unit: unitOf(budget),
              default_reserve: budget.default_reserve ?? 0,
              window: budget.window ?? null,
              timezone: budget.timezone ?? null,
            },
          }),
        ),
      onDone: onClose,
    },
  );
  const fits = more.trim() !== "" && Number.isFinite(wanted) && wanted > 0;
  return (
    <FormDialog
      title="Raise a budget"
      about="What waits for it starts as soon as it fits, the most urgent first."
      action={mayRetry && again ? "Raise and retry" : "Raise"}
      onClose={onClose}
      onSubmit={() => budget && raise.mutate({ budget, retry: mayRetry && again })}
      busy={raise.isPending}
      disabled={!fits || budget === undefined}
      error={raise.error}
      fields={["amount"]}
    >
      {budget === undefined ? (
        <p>No budget limits this task.</p>
      ) : (
        <>
          <Select
            label="Budget"
            value={String(chosen)}
            onChange={(event) => choose(Number(event.target.value))}
            choices={budgets.map((each, index) => ({ value: String(index), label: named(each) }))}
          />
          <Field
            label={`By how much (${unitOf(budget)})`}
            inputMode="decimal"
            value={more}
            onChange={(event) => setMore(event.target.value)}
            error={more !== "" && !fits ? "Write a number above 0." : wrong(raise.error, "amount")}
          />
          {mayRetry && (
            <Checkbox
              label="Then retry this task"
              checked={again}
              onChange={(event) => setAgain(event.target.checked)}
            />
          )}
        </>
      )}
    </FormDialog>
  );
}
