/**
 * When a dag's tasks waited and worked: one row for each task, its times in order without overlap.
 *
 * The rule: waiting to be taken is never shown as work. A row begins when its task was first ready; what lies between
 * two claims is told by how the first of them ended: `retry` after a failure, `paused` while the task waits for a
 * person or for what it spawned, `queue` otherwise.
 */

export interface TimedTask {
  id: string;
  status: string;
  fence?: number;
  created_at?: string | null;
  ready_at?: string | null;
  claimed_at?: string | null;
  started_at?: string | null;
  completed_at?: string | null;
  cancelled_at?: string | null;
  dead_lettered_at?: string | null;
}

export interface TimedAttempt {
  number: number;
  fence: number;
  agent: string;
  outcome: string;
  model?: string | null;
  reason?: string | null;
  error?: string | null;
  started_at?: string | null;
  ended_at?: string | null;
  cost_usd?: number | null;
}

export type Phase = "queue" | "retry" | "paused" | "run";

export interface Stretch {
  phase: Phase;
  /** Milliseconds since 1970. */
  from: number;
  /** null: it lasts. */
  to: number | null;
  outcome: string | null;
  attempt: TimedAttempt | null;
}

export interface Row {
  id: string;
  stretches: Stretch[];
  from: number | null;
  to: number | null;
  queuedMs: number;
  ranMs: number;
}

const FAILED = new Set(["failed", "timed_out", "expired", "rejected", "rate_limited"]);
const HELD = new Set(["claimed", "running"]);
const OVER = new Set(["completed", "dead_lettered", "cancelled"]);

export function millis(instant: string | null | undefined): number | null {
  if (!instant) return null;
  const at = Date.parse(instant);
  return Number.isNaN(at) ? null : at;
}

function between(outcome: string | null): Phase {
  if (outcome === null) return "queue";
  if (FAILED.has(outcome)) return "retry";
  return outcome === "suspended" ? "paused" : "queue";
}

/** The rows of tasks at an instant, in the order in which they became ready; those that never were come last. */
export function rowsOf(
  tasks: readonly TimedTask[],
  attempts: ReadonlyMap<string, readonly TimedAttempt[]>,
  now: number,
): Row[] {
  const rows = tasks.map((task, place) => ({ row: rowOf(task, attempts.get(task.id) ?? [], now), place }));
  rows.sort((one, other) => {
    const left = one.row.from ?? Number.POSITIVE_INFINITY;
    const right = other.row.from ?? Number.POSITIVE_INFINITY;
    return left === right ? one.place - other.place : left - right;
  });
  return rows.map(({ row }) => row);
}

export function rowOf(task: TimedTask, attempts: readonly TimedAttempt[], now: number): Row {
  const stretches: Stretch[] = [];
  let cursor = millis(task.ready_at);
  let last: string | null = null;
  const add = (phase: Phase, from: number, to: number | null, attempt: TimedAttempt | null = null): void => {
    if (to !== null && to <= from && phase !== "run") return;
    stretches.push({ phase, from, to, outcome: attempt?.outcome ?? null, attempt });
  };

  const past = [...attempts].sort((one, other) => one.fence - other.fence);
  for (const attempt of past) {
    const start = millis(attempt.started_at) ?? millis(attempt.ended_at);
    const end = millis(attempt.ended_at) ?? start;
    if (start === null || end === null) continue;
    const from = cursor === null ? start : Math.max(cursor, start);
    if (cursor !== null) add(between(last), cursor, from);
    add("run", from, Math.max(from, end), attempt);
    cursor = Math.max(from, end);
    last = attempt.outcome;
  }

  const over = millis(task.completed_at) ?? millis(task.dead_lettered_at) ?? millis(task.cancelled_at);
  const told = past.some((attempt) => attempt.fence === task.fence);
  if (HELD.has(task.status)) {
    const start = millis(task.started_at) ?? millis(task.claimed_at);
    if (start !== null) {
      const from = cursor === null ? start : Math.max(cursor, start);
      if (cursor !== null) add(between(last), cursor, from);
      add("run", from, null);
    }
  } else if (OVER.has(task.status)) {
    // Its attempts may not be known (yet): then what the task itself says of the last one is shown.
    const start = millis(task.started_at) ?? millis(task.claimed_at);
    if (!told && start !== null && over !== null && start <= over) {
      const from = cursor === null ? start : Math.max(cursor, start);
      if (cursor !== null) add(between(last), cursor, from);
      const outcome = task.status === "dead_lettered" ? "failed" : task.status;
      stretches.push({ phase: "run", from, to: Math.max(from, over), outcome, attempt: null });
    } else if (cursor !== null && over !== null) {
      add(between(last), cursor, over);
    }
  } else if (cursor !== null) {
    if (task.status === "waiting" || task.status === "validating") add("paused", cursor, null);
    else if (task.status === "retrying") add("retry", cursor, null);
    else if (task.status === "ready") add(between(last), cursor, null);
  }

  let queuedMs = 0;
  let ranMs = 0;
  for (const stretch of stretches) {
    const lasted = Math.max(0, (stretch.to ?? now) - stretch.from);
    if (stretch.phase === "run") ranMs += lasted;
    else if (stretch.phase === "queue") queuedMs += lasted;
  }
  const end = stretches[stretches.length - 1];
  return { id: task.id, stretches, from: stretches[0]?.from ?? null, to: end ? end.to : null, queuedMs, ranMs };
}

/** The time that all rows need, a little wider than they are; null while nothing has happened. */
export function spanOf(rows: readonly Row[], now: number): [number, number] | null {
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (const row of rows) {
    if (row.from === null) continue;
    from = Math.min(from, row.from);
    to = Math.max(to, row.to ?? now);
  }
  if (from > to) return null;
  const margin = Math.max(50, (to - from) * 0.02);
  return [from, to + margin];
}
