// The list behind the table: read page by page, and kept fresh without moving a row.
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { api, call, get, type Schemas } from "../../api";
import { type LiveEvent, useEvents, useMissed } from "../../live";
import type { Row } from "./columns";
import { MOST_SORTED, type Sorting, sorted, sortingOf } from "./order";
import { Pages, type Portion } from "./pages";

const PAGE = 100;
/** For another order all is read at once, in larger pages; so many rows of it are read anew by themselves, at most. */
const SORTED_PAGE = 200;
const SOONEST_MS = 1_000;
/** So many rows are asked for anew at once, at most: those in sight. */
const MOST_PATCHED = 200;

export interface List {
  pages: Pages<Row>;
  /** Changes with the list. */
  version: number;
  /** Whether something happened that may have brought or taken rows. */
  changed: boolean;
  refresh: () => void;
  /** Somebody looks at these rows. */
  look: (from: number, to: number) => void;
  /** Whether rows must stay where they are: somebody points at them, or is not at the top. */
  hold: (held: boolean) => void;
}

export function useList(query: string, order: string): List {
  const pages = useMemo(() => {
    const sorting = sortingOf(order);
    return new Pages<Row>((cursor, signal) =>
      sorting === null ? load(query, cursor, PAGE, signal) : loadSorted(query, sorting, signal),
    );
  }, [query, order]);
  const version = useSyncExternalStore(pages.subscribe, pages.version);
  const [changed, setChanged] = useState(false);
  const held = useRef(false);
  const seen = useRef<[number, number]>([0, 0]);
  const due = useRef(new Set<string>());
  const moved = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);

  const refresh = useCallback(() => {
    moved.current = false;
    setChanged(false);
    void pages.restart();
  }, [pages]);

  const flush = useCallback(async () => {
    timer.current = null;
    // What took many pages to put in order is not read again every second.
    const stays = held.current || (order !== "" && pages.count > SORTED_PAGE);
    if (moved.current && !stays && !pages.busy) {
      due.current.clear();
      refresh();
      return;
    }
    // A list that is still being read is not begun anew: it would never be read to its end.
    if (moved.current && !stays) timer.current = setTimeout(() => void flush(), SOONEST_MS);
    setChanged(moved.current && stays);
    const ids = pages
      .between(...seen.current)
      .map((row) => row.id)
      .filter((id) => due.current.has(id))
      .slice(0, MOST_PATCHED);
    due.current.clear();
    if (ids.length === 0) return;
    try {
      const rows = await call(api.POST("/v1/tasks/look-up", { body: { ids } }));
      pages.patch(rows.filter((row) => row != null).map(slim));
    } catch {
      // The next event asks again; that the server is away is said elsewhere.
    }
  }, [pages, refresh, order]);

  useEvents((events: LiveEvent[]) => {
    for (const event of events) {
      if (!event.type.startsWith("task.") || !event.task_id) continue;
      due.current.add(event.task_id);
      if (event.type !== "task.progress") moved.current = true;
    }
    if (due.current.size > 0) timer.current ??= setTimeout(() => void flush(), SOONEST_MS);
  });

  // Something may have happened after the list was read, and before the stream had begun.
  useMissed(() => {
    if (!held.current) return refresh();
    moved.current = true;
    for (const row of pages.between(...seen.current)) due.current.add(row.id);
    timer.current ??= setTimeout(() => void flush(), SOONEST_MS);
  });

  useEffect(() => {
    setChanged(false);
    moved.current = false;
    pages.look(0, 0);
    return () => {
      pages.stop();
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    };
  }, [pages]);

  const look = useCallback(
    (from: number, to: number) => {
      seen.current = [from, to];
      pages.look(from, to);
    },
    [pages],
  );
  const hold = useCallback(
    (now: boolean) => {
      const before = held.current;
      held.current = now;
      if (before && !now && moved.current) timer.current ??= setTimeout(() => void flush(), SOONEST_MS);
    },
    [flush],
  );
  return { pages, version, changed, refresh, look, hold };
}

async function load(query: string, cursor: string | null, limit: number, signal: AbortSignal): Promise<Portion<Row>> {
  const found = await get(
    "/v1/tasks",
    { params: { query: { query: query || undefined, limit, cursor: cursor ?? undefined } } },
    signal,
  );
  return { items: (found.items ?? []).map(slim), cursor: found.cursor ?? null };
}

/** The newest that fit, as many as are sorted, in that order. */
async function loadSorted(query: string, sorting: Sorting, signal: AbortSignal): Promise<Portion<Row>> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  do {
    const found = await load(query, cursor, Math.min(SORTED_PAGE, MOST_SORTED - rows.length), signal);
    rows.push(...found.items);
    cursor = found.cursor ?? null;
  } while (cursor !== null && rows.length < MOST_SORTED);
  return { items: sorted(rows, sorting), cursor: null, cut: cursor !== null };
}

/** The task without its bodies: a list of thousands must not keep them. */
function slim(task: Schemas["Task"]): Row {
  const {
    payload: _payload,
    output: _output,
    context: _context,
    decision: _decision,
    expects: _expects,
    ...row
  } = task;
  return row;
}
