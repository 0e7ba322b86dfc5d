/**
 * A dag that keeps itself fresh.
 *
 * The rule: it is read whole when its shape may have changed (a task was added, the dag began or ended, something was
 * missed), and not more often than it can be afforded; else only the tasks of which something was heard are read anew,
 * together. So a thousand tasks cost no more than the few that changed.
 */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useLayoutEffect, useMemo, useRef } from "react";
import { api, call, get, type Refused, type Schemas } from "../../api";
import { type LiveEvent, useEvents } from "../../live";
import { Board } from "./board";

export type Task = Schemas["Task"];
export type Dag = Schemas["Dag"];

const TOGETHER_MS = 400;
/** A dag is not read whole for more than this part of the time. */
const WHOLE_SHARE = 0.1;
const WHOLE_AT_MOST_EVERY_MS = 1_000;
/** Edges that are added between tasks are told by no event. */
const LOOK_AGAIN_MS = 30_000;
const AT_ONCE = 1_000;
const OVER = new Set(["completed", "failed", "cancelled"]);

export function useLiveDag(id: string) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: a board is for one dag
  const board = useMemo(() => new Board<Task>(), [id]);
  const took = useRef(0);
  const query = useQuery<Dag, Refused>({
    // Not below /v1/dags: what is live there is asked for anew with every event.
    queryKey: ["/v1/whole-dag", id],
    queryFn: async ({ signal }) => {
      const began = performance.now();
      const dag = await get("/v1/dags/{dag_id}", { params: { path: { dag_id: id } } }, signal);
      took.current = performance.now() - began;
      return dag;
    },
    structuralSharing: false,
    refetchInterval: ({ state }) => (state.data && OVER.has(state.data.status ?? "") ? false : LOOK_AGAIN_MS),
  });
  const { data, refetch } = query;

  useLayoutEffect(() => {
    if (data) board.put(data.tasks ?? []);
  }, [board, data]);

  useEffect(() => {
    if (!data) return;
    const own = new Set((data.tasks ?? []).map((task) => task.id));
    const strangers = new Set((data.edges ?? []).map((edge) => edge.parent).filter((parent) => !own.has(parent)));
    if (strangers.size > 0) void lookUp([...strangers], board);
  }, [board, data]);

  const due = useRef({ ids: new Set<string>(), whole: false, wholeNotBefore: 0, timer: 0, busy: false });
  const flush = useRef(async () => {});
  flush.current = async () => {
    const now = due.current;
    now.timer = 0;
    if (now.busy) return plan();
    now.busy = true;
    try {
      if (now.whole && performance.now() >= now.wholeNotBefore) {
        now.whole = false;
        now.ids.clear();
        await refetch();
        now.wholeNotBefore = performance.now() + Math.max(WHOLE_AT_MOST_EVERY_MS, took.current / WHOLE_SHARE);
      } else {
        const ids = [...now.ids];
        now.ids.clear();
        await lookUp(ids, board);
      }
    } finally {
      now.busy = false;
      if (now.whole || now.ids.size > 0) plan();
    }
  };
  const plan = () => {
    due.current.timer ||= window.setTimeout(() => void flush.current(), TOGETHER_MS);
  };
  useEffect(() => {
    const now = due.current;
    return () => {
      window.clearTimeout(now.timer);
      now.timer = 0;
      now.ids.clear();
      now.whole = false;
    };
  }, []);

  useEvents((events: LiveEvent[]) => {
    for (const event of events) {
      const here = event.dag_id === id;
      if (event.task_id && (here || board.get(event.task_id))) {
        if (!board.get(event.task_id) || event.type === "task.added") due.current.whole = true;
        else due.current.ids.add(event.task_id);
      } else if (here) due.current.whole = true;
    }
    if (due.current.whole || due.current.ids.size > 0) plan();
  });

  return { ...query, board };
}

async function lookUp(ids: string[], board: Board<Task>): Promise<void> {
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    try {
      board.put((await call(api.POST("/v1/tasks/look-up", { body: { ids: ids.slice(at, at + AT_ONCE) } }))) as (Task | null)[]);
    } catch {
      // The next event of the task, or the next whole reading, brings it.
    }
  }
}
