/**
 * Another order than the newest first. The server has tasks in the order they were added; so the newest that fit are
 * read, as many as a browser sorts at once, and put in order here. Where there are more, that is said.
 */
import type { Row } from "./columns";

/** So many are read for another order, at most. */
export const MOST_SORTED = 1_000;

type Value = number | string | null;

interface Order {
  /** What rows are compared by; null stands last, whatever the order. `place`: among all, the newest first. */
  by: (task: Row, place: number) => Value;
  /** Whether the first press puts the greatest first. */
  down: boolean;
}

const instant = (at: string | null | undefined): number | null => (at == null ? null : Date.parse(at));
const since = (from: string | null | undefined, to: string | null | undefined): number | null =>
  from == null ? null : (instant(to) ?? Date.now()) - Date.parse(from);
const ended = (task: Row) => task.completed_at ?? task.dead_lettered_at ?? task.cancelled_at;

/** By the columns that can be pressed. */
const ORDERS: Readonly<Record<string, Order>> = {
  title: { by: (task) => task.title?.toLowerCase() ?? null, down: false },
  type: { by: (task) => task.type, down: false },
  agent: { by: (task) => task.agent ?? null, down: false },
  attempts: { by: (task) => task.attempts ?? 0, down: true },
  cost: { by: (task) => task.cost_usd ?? null, down: true },
  priority: { by: (task) => task.priority ?? null, down: false },
  // Not by the clock: those of one call, or of one millisecond, were added in an order, too.
  age: { by: (_, place) => -place, down: false },
  changed: { by: (task) => instant(task.updated_at), down: true },
  run: { by: (task) => since(task.started_at, task.status === "running" ? null : ended(task)), down: true },
  queued: { by: (task) => since(task.ready_at, task.claimed_at ?? ended(task)), down: true },
  tokens: {
    by: (task) =>
      task.tokens_in == null && task.tokens_out == null ? null : (task.tokens_in ?? 0) + (task.tokens_out ?? 0),
    down: true,
  },
  user: { by: (task) => task.user ?? null, down: false },
};

export interface Sorting {
  column: string;
  down: boolean;
}

/** What an address says: `cost`, or `-cost` for the other way round; null for anything else. */
export function sortingOf(written: string): Sorting | null {
  const column = written.replace(/^-/, "");
  const order = Object.hasOwn(ORDERS, column) ? ORDERS[column] : undefined;
  return order === undefined ? null : { column, down: order.down !== written.startsWith("-") };
}

/** What the address says after a press on the head of a column: in its order, the other way round, then as it was. */
export function pressed(column: string, written: string): string {
  if (written === column) return `-${column}`;
  return written === `-${column}` ? "" : column;
}

export const canBeSorted = (column: string): boolean => Object.hasOwn(ORDERS, column);

/** Rows that have the newest first, in that order; those alike as they were. */
export function sorted(rows: readonly Row[], { column, down }: Sorting): Row[] {
  const by = ORDERS[column]?.by ?? (() => null);
  const keyed = rows.map((row, place): [Row, Value] => [row, by(row, place)]);
  keyed.sort(([, one], [, other]) => {
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return (one < other ? -1 : one > other ? 1 : 0) * (down ? -1 : 1);
  });
  return keyed.map(([row]) => row);
}
