// Amounts of what a budget limits, in the words of its unit.
import type { Schemas } from "../../api";
import { count, duration, money } from "../../ui";

export type Budget = Schemas["Budget"];

export function amount(value: number, unit: string): string {
  if (unit === "usd") return money(value);
  if (unit === "seconds") return duration(value);
  return `${count(value)} ${unit}`;
}

/** How a budget is set, in one line. */
export function terms(budget: Budget): string {
  const unit = budget.unit ?? "usd";
  const parts = [amount(budget.limit ?? 0, unit)];
  if (budget.window) parts.push(`each ${budget.window}${budget.timezone ? ` (${budget.timezone})` : ""}`);
  if (budget.default_reserve) parts.push(`${amount(budget.default_reserve, unit)} reserved for a task without a limit`);
  return parts.join(", ");
}
