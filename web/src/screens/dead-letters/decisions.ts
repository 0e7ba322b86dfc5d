// What was decided about dead letters, newest first: the events `task.reviewed`, with what is known of their tasks.
import { useInfiniteQuery } from "@tanstack/react-query";
import { api, call, get, type Refused, type Schemas } from "../../api";

export type Decision = {
  seq: number;
  at: string;
  taskId: string;
  type: string | null;
  title: string | null;
  resolution: string;
  by: string | null;
  note: string | null;
  to: string | null;
};
type Event = NonNullable<Schemas["EventPage"]["items"]>[number];
/** `before`: the number of the oldest event that was looked at; 0: there are none before it. */
type Page = { decisions: Decision[]; before: number };

const REVIEWED = "task.reviewed";
const AT_ONCE = 100;
/** A page of events may be short, as only so many are looked at: so many pages are read before the user is asked. */
const LOOKS = 10;

/** Pages of decisions, newest first. */
export function useDecisions() {
  return useInfiniteQuery<Page, Refused, { pages: Page[] }, readonly unknown[], number | null>({
    // Below /v1/dead-letters, so that a decision asks for it anew.
    queryKey: ["/v1/dead-letters/decisions"],
    queryFn: async ({ pageParam, signal }) => {
      const found: Event[] = [];
      let before = pageParam;
      for (let looks = 0; looks < LOOKS; looks += 1) {
        const query = { types: [REVIEWED], limit: AT_ONCE, ...(before === null ? {} : { before }) };
        const page = await get("/v1/events/recent", { params: { query } }, signal);
        found.push(...(page.items ?? []));
        before = page.before ?? 0;
        if (before === 0 || found.length >= AT_ONCE) break;
      }
      return { decisions: await named(found), before: before ?? 0 };
    },
    initialPageParam: null,
    getNextPageParam: (last) => last.before || undefined,
  });
}

/** Decisions with type and title of their tasks, as far as those are still kept. */
async function named(events: Event[]): Promise<Decision[]> {
  const ids = [...new Set(events.flatMap((each) => each.task_id ?? []))];
  const tasks = ids.length ? await call(api.POST("/v1/tasks/look-up", { body: { ids } })) : [];
  const known = new Map(tasks.flatMap((task) => (task ? [[task.id, task] as const] : [])));
  return events.map((event) => {
    const task = known.get(event.task_id ?? "");
    const data = (event.data ?? {}) as Record<string, unknown>;
    const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
    return {
      seq: event.seq,
      at: event.at,
      taskId: event.task_id ?? "",
      type: task?.type ?? null,
      title: task?.title ?? null,
      resolution: event.reason ?? "",
      by: text(data.by),
      note: text(data.note),
      to: text(data.to),
    };
  });
}
