/** A task written down anew, for Submit: with the same terms, but for what stopped it. */
import { type Schemas, stringifyExact } from "../../api";

type Task = Schemas["Task"];
type Limit = "max_cost" | "max_tokens" | "max_turns";

const TERMS = [
  ...([
    "type",
    "title",
    "payload",
    "context",
    "priority",
    "requires",
    "assignee",
    "models",
    "fallback_models",
  ] as const),
  ...(["provider", "max_attempts", "timeout", "max_cost", "max_tokens", "max_turns", "locks", "tags"] as const),
  ...(["user", "expects"] as const),
];

/** The limit of its own that a task used up, if that is why it ended. */
export function ownLimit(task: Task): Limit | null {
  if (task.reason !== "budget_exceeded") return null;
  const found = /used more than its (max_cost|max_tokens|max_turns) of/.exec(task.error ?? "");
  return (found?.[1] as Limit | undefined) ?? null;
}

/** The scope of the budget, shared with others, that was used up, if that is why it ended. */
export function usedUp(task: Task): string | null {
  if (task.reason !== "budget_exceeded") return null;
  return /^budget (.+?) is used up/.exec(task.error ?? "")?.[1] ?? null;
}

/** A dag of this one task, with twice the limit. */
export function copyOf(task: Task, raised: Limit): string {
  const terms = Object.fromEntries(
    TERMS.map((name) => [name, (task as Record<string, unknown>)[name]]).filter(([, value]) => isSaid(value)),
  );
  return stringifyExact(
    { title: task.title || task.type, tasks: [{ ...terms, [raised]: (task[raised] ?? 0) * 2 }] },
    2,
  );
}

function isSaid(value: unknown): boolean {
  return value != null && !(Array.isArray(value) && value.length === 0);
}
