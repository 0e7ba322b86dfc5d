/**
 * A task's life as spans of time: what it waited for before it was ready, how long it lay in the queue, and each claim
 * of it. Queue delay is never counted as work.
 *
 * The task and its attempts are enough; its events, where they are still kept, tell in addition when it was ready
 * again between two attempts, so that the pause before a retry is told apart from the queue.
 */

export type Kind = "before" | "queued" | "pause" | "claimed" | "run" | "judged" | "asked";

export interface Span {
  kind: Kind;
  from: number;
  to: number;
  /** Whether it is still going on. */
  open: boolean;
  fence?: number;
  number?: number;
  outcome?: string;
  agent?: string;
}

export interface Life {
  spans: Span[];
  from: number;
  to: number;
  /** Milliseconds altogether. */
  queued: number;
  run: number;
  waited: number;
}

export interface TaskTimes {
  status: string;
  created_at?: string | null;
  ready_at?: string | null;
  claimed_at?: string | null;
  started_at?: string | null;
  completed_at?: string | null;
  cancelled_at?: string | null;
  dead_lettered_at?: string | null;
  fence?: number;
  agent?: string | null;
}

export interface AttemptTimes {
  fence: number;
  number: number;
  outcome: string;
  agent: string;
  started_at?: string | null;
  ended_at?: string | null;
}

export interface EventTimes {
  type: string;
  at: string;
}

const HELD = new Set(["claimed", "running"]);

/** The life of a task up to `now` (milliseconds). */
export function lifeOf(
  task: TaskTimes,
  attempts: readonly AttemptTimes[],
  events: readonly EventTimes[],
  now: number,
): Life | null {
  const born = instant(task.created_at);
  if (born === null) return null;
  const end = instant(task.completed_at) ?? instant(task.cancelled_at) ?? instant(task.dead_lettered_at);
  const until = end ?? Math.max(now, born);
  const readied = [
    instant(task.ready_at),
    ...events.filter((event) => event.type === "task.ready").map((event) => instant(event.at)),
  ]
    .filter((at): at is number => at !== null)
    .sort((one, other) => one - other);
  const claims = claimsOf(task, attempts, until);

  const spans: Span[] = [];
  let at = born;
  let after: Kind = "before";
  for (const claim of claims) {
    spans.push(...gap(at, claim.from, after, readied));
    spans.push(claim);
    at = Math.max(at, claim.to);
    after = afterOutcome(claim.outcome);
  }
  const last = claims.at(-1);
  if (last === undefined || !last.open) {
    const tail = gap(at, until, last === undefined ? "before" : tailOf(task.status, after), readied);
    const final = end !== null;
    for (const [index, span] of tail.entries()) span.open = !final && index === tail.length - 1;
    spans.push(...tail);
  }
  const kept = spans.filter((span) => span.to > span.from || span.open || span.kind === "run");
  const sum = (...kinds: Kind[]) =>
    kept.filter((span) => kinds.includes(span.kind)).reduce((total, span) => total + span.to - span.from, 0);
  return {
    spans: kept,
    from: born,
    to: Math.max(until, at, born + 1),
    queued: sum("queued", "claimed"),
    run: sum("run"),
    waited: sum("before", "pause", "judged", "asked"),
  };
}

/** Each claim that ended, and the one that holds it now. */
function claimsOf(task: TaskTimes, attempts: readonly AttemptTimes[], until: number): Span[] {
  const claims: Span[] = [];
  for (const attempt of [...attempts].sort((one, other) => one.fence - other.fence)) {
    const to = instant(attempt.ended_at);
    const from = instant(attempt.started_at) ?? to;
    if (from === null || to === null) continue;
    claims.push({
      kind: "run",
      from,
      to: Math.max(from, to),
      open: false,
      fence: attempt.fence,
      number: attempt.number,
      outcome: attempt.outcome,
      agent: attempt.agent,
    });
  }
  if (HELD.has(task.status)) {
    const claimed = instant(task.claimed_at);
    const started = task.status === "running" ? instant(task.started_at) : null;
    const held = { to: until, open: true, fence: task.fence, agent: task.agent ?? undefined };
    if (started !== null) claims.push({ kind: "run", from: started, ...held });
    else if (claimed !== null) claims.push({ kind: "claimed", from: claimed, ...held });
  }
  return claims;
}

/** What lies between two instants: `kind` until it was ready, then the queue. */
function gap(from: number, to: number, kind: Kind, readied: readonly number[]): Span[] {
  if (to <= from) return [];
  if (kind === "queued") return [{ kind, from, to, open: false }];
  const ready = readied.findLast((at) => at >= from - 1 && at <= to);
  // After a pause nobody may know when it ended: then all of it is the pause, and none of it is blamed on the queue.
  if (ready === undefined) return [{ kind, from, to, open: false }];
  const start = Math.max(ready, from);
  const spans: Span[] = [
    { kind, from, to: start, open: false },
    { kind: "queued", from: start, to, open: false },
  ];
  return spans.filter((span) => span.to > span.from);
}

function afterOutcome(outcome: string | undefined): Kind {
  if (outcome === "suspended") return "asked";
  if (outcome === "submitted") return "judged";
  return "pause";
}

function tailOf(status: string, after: Kind): Kind {
  if (status === "validating") return "judged";
  if (status === "waiting") return "asked";
  return after;
}

function instant(text: string | null | undefined): number | null {
  if (text === null || text === undefined) return null;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at;
}
