// Live: queries are asked anew when something happened that concerns them, together and not too often.
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useSyncExternalStore } from "react";
import { refresh } from "../api/queries";
import { type LiveEvent, type LiveState, stream } from "./stream";

export type { LiveEvent, LiveState } from "./stream";

/** Which paths an event concerns, by the first part of its type; what is not named concerns all of them. */
const CONCERNS: Record<string, string[]> = {
  task: [
    "/v1/tasks",
    "/v1/found",
    "/v1/dags",
    "/v1/overview",
    "/v1/stats",
    "/v1/lanes",
    "/v1/questions",
    "/v1/agents",
    "/v1/metrics",
    "/v1/costs",
    "/v1/budgets",
    "/v1/locks",
    "/v1/slots",
  ],
  dag: ["/v1/dags", "/v1/stats"],
  gate: ["/v1/gates", "/v1/lanes", "/v1/overview", "/v1/stats", "/v1/budgets", "/v1/rates", "/v1/tasks"],
  breaker: ["/v1/breakers", "/v1/gates", "/v1/lanes", "/v1/overview", "/v1/stats"],
  agent: ["/v1/agents", "/v1/lanes", "/v1/overview", "/v1/stats", "/v1/tasks"],
  budget: ["/v1/budgets", "/v1/gates", "/v1/overview", "/v1/tasks"],
  schedule: ["/v1/schedules"],
  trigger: ["/v1/triggers"],
  hook: ["/v1/hooks"],
};
/** Dead letters are grouped over all of them: asked for only when they may have changed. */
const DEAD = new Set(["task.dead_lettered", "task.ready", "task.cancelled", "task.reviewed"]);
/** How often a path is asked for at most, while things happen; what is counted over much of the store less often. */
const SOONEST_MS = 1_000;
const COUNTED_MS = 5_000;
const COUNTED = new Set(["/v1/metrics", "/v1/costs", "/v1/dead-letters", "/v1/found"]);
const UNSEEN_TIMES = 5;
const LOOK_MS = 250;

function concerned(events: LiveEvent[]): string[] {
  const roots = new Set<string>();
  for (const { type } of events) {
    const found = CONCERNS[type.split(".", 1)[0] ?? ""];
    if (found === undefined) return ["/v1"];
    for (const root of found) roots.add(root);
    if (DEAD.has(type)) roots.add("/v1/dead-letters");
  }
  return [...roots];
}

/** Keeps all queries of the page fresh; used once, by the frame. */
export function useLiveQueries(on: boolean): void {
  const client = useQueryClient();
  useEffect(() => {
    if (!on) return;
    const due = new Set<string>();
    const next = new Map<string, number>();
    let timer: ReturnType<typeof setTimeout> | null = null;
    const look = () => {
      timer = null;
      const now = Date.now();
      for (const root of due) {
        // What is being fetched is asked for once more afterwards: it may be from before the event.
        if ((next.get(root) ?? 0) > now || isBeingFetched(client, root)) continue;
        due.delete(root);
        next.set(root, now + (COUNTED.has(root) ? COUNTED_MS : SOONEST_MS) * (document.hidden ? UNSEEN_TIMES : 1));
        void refresh(client, root);
      }
      if (due.size) timer = setTimeout(look, LOOK_MS);
    };
    // What was due when somebody paused is not asked for behind their back.
    const stopFollowing = stream.follow((state) => state === "paused" && due.clear());
    const stopListening = stream.listen((events) => {
      for (const root of events.length ? concerned(events) : ["/v1"]) due.add(root);
      timer ??= setTimeout(look, 0);
    });
    stream.start();
    return () => {
      stopListening();
      stopFollowing();
      stream.stop();
      if (timer !== null) clearTimeout(timer);
    };
  }, [client, on]);
}

function isBeingFetched(client: QueryClient, root: string): boolean {
  return (
    client.isFetching({ predicate: ({ queryKey: [path] }) => typeof path === "string" && path.startsWith(root) }) > 0
  );
}

export type Live = { state: LiveState; paused: boolean; pause: () => void; resume: () => void; retry: () => void };

const pause = () => stream.pause();
const resume = () => stream.resume();
const retry = () => stream.retry();

/** Whether the page is live, and how to pause that. */
export function useLive(): Live {
  const state = useSyncExternalStore(
    (changed) => stream.follow(changed),
    () => stream.current,
  );
  return { state, paused: state === "paused", pause, resume, retry };
}

/** Called when events may have been missed: the stream has begun, or was away. Queries are asked anew anyway. */
export function useMissed(on: () => void): void {
  const latest = useRef(on);
  latest.current = on;
  useEffect(() => stream.listen((events) => events.length === 0 && latest.current()), []);
}

/** Called with the events as they come, a few at a time (for live tails). Nothing while paused. */
export function useEvents(on: (events: LiveEvent[]) => void): void {
  const latest = useRef(on);
  latest.current = on;
  useEffect(() => stream.listen((events) => events.length > 0 && latest.current(events)), []);
}
