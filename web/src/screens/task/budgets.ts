/** Which budgets a task draws on, the one that stopped it first. */
import type { Schemas } from "../../api";
import { usedUp } from "./copy";

type Task = Schemas["Task"];
type Budget = Schemas["Budget"];

export function budgetsOf(task: Task, budgets: readonly Budget[]): Budget[] {
  const scopes = new Set([
    "global",
    `type:${task.type}`,
    `dag:${task.dag_id}`,
    `user:${task.user}`,
    ...(task.charged_to ?? []),
  ]);
  if (task.agent) scopes.add(`agent:${task.agent}`);
  const stopped = usedUp(task);
  const parks = (budget: Budget) =>
    task.parked_on === `budget:${budget.scope}:${budget.unit}` || stopped === budget.scope;
  return budgets
    .filter((budget) => scopes.has(budget.scope) || parks(budget))
    .sort((one, other) => Number(parks(other)) - Number(parks(one)) || (other.waiting ?? 0) - (one.waiting ?? 0));
}
