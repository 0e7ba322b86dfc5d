// Budgets: what may be used, what was, and who waits for more.
import { Ellipsis, Plus, Wallet } from "lucide-react";
import { useState } from "react";
import { api, call, useAct, useBudgets, useMay } from "../../api";
import { onlyIf, seen, type Seen } from "../../api/edits";
import {
  Ago,
  Badge,
  Button,
  Empty,
  Field,
  IconButton,
  Loaded,
  Menu,
  Meter,
  plural,
  Section,
  useConfirm,
} from "../../ui";
import { amount, type Budget, terms } from "./amounts";
import { BudgetDialog } from "./BudgetDialog";
import styles from "../../ui/Rows.module.css";

export function Budgets() {
  const budgets = useBudgets();
  const maySet = useMay("PUT /v1/budgets/{scope}");
  const [editing, setEditing] = useState<Budget | "new" | null>(null);
  return (
    <Section
      title="Budgets"
      flush
      aside={
        maySet && (
          <Button small icon={<Plus />} onClick={() => setEditing("new")}>
            Add a budget
          </Button>
        )
      }
    >
      <Loaded of={budgets} lines={3}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No budgets" icon={<Wallet />}>
              {maySet
                ? "Add one, and no more than that is used: in all, by a type, a user, a dag or an agent."
                : "Nothing limits what the work may use."}
            </Empty>
          ) : (
            <ul className={styles.list} aria-label="Budgets">
              {all.map((each) => (
                <Row key={`${each.scope} ${each.unit}`} budget={each} onEdit={() => setEditing(each)} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {editing && <BudgetDialog known={editing === "new" ? null : editing} onClose={() => setEditing(null)} />}
    </Section>
  );
}

function Row({ budget, onEdit }: { budget: Budget; onEdit: () => void }) {
  const unit = budget.unit ?? "usd";
  const [limit, spent, reserved, waiting] = [
    budget.limit ?? 0,
    budget.spent ?? 0,
    budget.reserved ?? 0,
    budget.waiting ?? 0,
  ];
  const left = budget.left ?? 0;
  const words = `${amount(spent, unit)} spent, ${amount(reserved, unit)} reserved of ${amount(limit, unit)}`;
  const used = limit > 0 ? (spent + reserved) / limit : 1;
  return (
    <li className={styles.row} data-scope={budget.scope}>
      <div className={styles.main}>
        <div className={styles.line}>
          <strong className={styles.name}>{budget.scope}</strong>
          {budget.window && <Badge>each {budget.window}</Badge>}
          {waiting > 0 && <Badge tone="amber">{plural(waiting, "task")} waiting</Badge>}
          {left <= 0 && <Badge tone="red">used up</Badge>}
        </div>
        <Meter
          label={`Used of the budget of ${budget.scope}`}
          text={words}
          of={limit}
          parts={[
            { value: spent, tone: used >= 1 ? "red" : used >= 0.8 ? "amber" : "blue" },
            { value: reserved, tone: "cyan", striped: true },
          ]}
        />
        <div className={styles.facts}>
          <span>
            <b>{amount(spent, unit)}</b> of {amount(limit, unit)}
          </span>
          {reserved > 0 && <span>{amount(reserved, unit)} reserved</span>}
          <span>{amount(Math.max(0, left), unit)} left</span>
          {(budget.unpriced ?? 0) > 0 && <span>{plural(budget.unpriced ?? 0, "attempt")} without a known price</span>}
          {budget.ends_at && (
            <span>
              begins anew <Ago at={budget.ends_at} />
            </span>
          )}
        </div>
      </div>
      <Changing budget={budget} onEdit={onEdit} />
    </li>
  );
}

/** The budget as it was, unless somebody changed it since. */
function putBack(before: Budget, after: Seen<Budget>): Promise<unknown> {
  return call(
    api.PUT("/v1/budgets/{scope}", {
      params: { path: { scope: before.scope }, ...onlyIf(after.version) },
      body: asSet(before),
    }),
  );
}

function asSet(budget: Budget) {
  return {
    limit: budget.limit ?? 0,
    unit: budget.unit ?? "usd",
    default_reserve: budget.default_reserve ?? 0,
    window: budget.window ?? null,
    timezone: budget.timezone ?? null,
  };
}

function Changing({ budget, onEdit }: { budget: Budget; onEdit: () => void }) {
  const unit = budget.unit ?? "usd";
  const mayRaise = useMay("POST /v1/budgets/{scope}/raise");
  const mayRemove = useMay("DELETE /v1/budgets/{scope}");
  const confirm = useConfirm();
  const [more, setMore] = useState("");
  const by = Number(more);
  const raise = useAct(
    (add: number) =>
      seen(
        api.POST("/v1/budgets/{scope}/raise", {
          params: { path: { scope: budget.scope } },
          body: { amount: add, unit },
        }),
      ),
    {
      done: ({ value }) => `${budget.scope} may use ${amount(value.limit ?? 0, unit)} now.`,
      undo: (after) => putBack(budget, after),
      onDone: () => setMore(""),
    },
  );
  const remove = useAct(
    () => call(api.DELETE("/v1/budgets/{scope}", { params: { path: { scope: budget.scope }, query: { unit } } })),
    {
      done: `${budget.scope} is not limited any more.`,
      undo: () =>
        call(api.PUT("/v1/budgets/{scope}", { params: { path: { scope: budget.scope } }, body: asSet(budget) })),
    },
  );
  if (!mayRaise) return null;
  return (
    <div className={styles.does}>
      <form
        className={styles.raise}
        onSubmit={(event) => {
          event.preventDefault();
          if (by > 0) raise.mutate(by);
        }}
      >
        <Field
          label={`Raise ${budget.scope} by (${unit})`}
          hideLabel
          inputMode="decimal"
          placeholder={unit === "usd" ? "+ $" : `+ ${unit}`}
          value={more}
          onChange={(event) => setMore(event.target.value)}
        />
        <Button type="submit" small busy={raise.isPending} disabled={!(by > 0)}>
          Raise
        </Button>
      </form>
      <Menu
        trigger={<IconButton small label={`More about the budget of ${budget.scope}`} icon={<Ellipsis />} />}
        items={[
          { label: "Edit…", onSelect: onEdit },
          "line",
          {
            label: "Remove…",
            danger: true,
            disabled: !mayRemove,
            onSelect: async () => {
              const sure = await confirm({
                title: `Remove the budget of ${budget.scope}?`,
                body: `It limits ${terms(budget)}. Without it nothing stops what the work uses there.`,
                action: "Remove it",
                danger: true,
              });
              if (sure) remove.mutate();
            },
          },
        ]}
      />
    </div>
  );
}
