// More for a budget that this task draws on: what waits for it starts as soon as it fits.
import { useState } from "react";
import { api, call, type Schemas, useAct, useBudgets } from "../../api";
import { Button, Dialog, Field, Select } from "../../ui";
import { budgetsOf } from "./budgets";

type Task = Schemas["Task"];
type Budget = Schemas["Budget"];

const named = (budget: Budget) =>
  `${budget.scope} (${amount(budget.left ?? 0, budget.unit)} left of ${amount(budget.limit ?? 0, budget.unit)})`;

export function RaiseBudget({ task, onClose }: { task: Task; onClose: () => void }) {
  const budgets = budgetsOf(task, useBudgets().data ?? []);
  const [chosen, choose] = useState(0);
  const [by, setBy] = useState("");
  const budget = budgets[chosen];
  const raise = useAct(
    ({ budget, by }: { budget: Budget; by: number }) =>
      call(
        api.POST("/v1/budgets/{scope}/raise", {
          params: { path: { scope: budget.scope } },
          body: { amount: by, unit: budget.unit ?? "usd" },
        }),
      ),
    {
      done: (now) => `Budget ${now.scope} is ${amount(now.limit ?? 0, now.unit)} now.`,
      undo: (_, { budget }) =>
        call(
          api.PUT("/v1/budgets/{scope}", {
            params: { path: { scope: budget.scope } },
            body: {
              limit: budget.limit ?? 0,
              unit: budget.unit ?? "usd",
              default_reserve: budget.default_reserve ?? 0,
              window: budget.window ?? null,
              timezone: budget.timezone ?? null,
            },
          }),
        ),
      onDone: onClose,
    },
  );
  const wanted = Number(by);
  const fits = by.trim() !== "" && Number.isFinite(wanted) && wanted > 0;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Raise a budget"
      about="What waits for it starts as soon as it fits, the most urgent first."
      actions={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button
            look="primary"
            busy={raise.isPending}
            disabled={!fits || budget === undefined}
            onClick={() => budget && raise.mutate({ budget, by: wanted })}
          >
            Raise
          </Button>
        </>
      }
    >
      {budget === undefined ? (
        <p>No budget limits this task.</p>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (fits) raise.mutate({ budget, by: wanted });
          }}
        >
          <Select
            label="Budget"
            value={String(chosen)}
            onChange={(event) => choose(Number(event.target.value))}
            choices={budgets.map((each, index) => ({ value: String(index), label: named(each) }))}
          />
          <Field
            label={`By how much (${budget.unit ?? "usd"})`}
            inputMode="decimal"
            value={by}
            onChange={(event) => setBy(event.target.value)}
            error={by !== "" && !fits ? "Write a number above 0." : undefined}
          />
        </form>
      )}
    </Dialog>
  );
}

function amount(value: number, unit: string | undefined): string {
  return unit === undefined || unit === "usd" ? `$${Number(value.toFixed(6))}` : `${value} ${unit}`;
}
