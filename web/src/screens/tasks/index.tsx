// All tasks: found in words, walked through by keys, changed many at a time.
import { useNavigate } from "@tanstack/react-router";
import { Ban, Gauge, ListTodo, RefreshCw, RotateCw, Tags } from "lucide-react";
import { useCallback, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { Refused, useGet, useMay } from "../../api";
import { useParam } from "../../shell/search";
import { Button, Empty, Failed, Page, plural, Skeleton, useKeys } from "../../ui";
import { Bulk, type Selection, type Verb } from "./Bulk";
import { ColumnsButton } from "./ColumnsButton";
import { COLUMNS, type Row, useColumns } from "./columns";
import { FilterBar } from "./FilterBar";
import { Grid } from "./Grid";
import { pressed, sortingOf } from "./order";
import styles from "./Tasks.module.css";
import { useList } from "./useList";
import { ViewBar } from "./ViewBar";

const COUNTED_EVERY_MS = 10_000;
const NARROW = "(max-width: 720px)";

export default function TasksScreen() {
  const [query, setQuery] = useParam("q");
  const [order, setOrder] = useParam("sort");
  const list = useList(query, order);
  const { pages, look } = list;
  const navigate = useNavigate();
  const may = useMay("POST /v1/tasks/{task_id}/retry");
  const [chosen, choose] = useColumns();
  const narrow = useNarrow();
  const columns = useMemo(
    () => COLUMNS.filter((column) => (narrow ? column.narrow : chosen.includes(column.id))),
    [chosen, narrow],
  );
  const [at, setAt] = useState(-1);
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  /** The query of which everything is selected. */
  const [whole, setWhole] = useState<string | null>(null);
  const [doing, setDoing] = useState<Verb | null>(null);
  const anchor = useRef(-1);
  const everything = whole === query;
  const selection: Selection = everything ? { query } : { ids };

  const search = (wanted: string) => {
    setIds(new Set());
    setWhole(null);
    setAt(-1);
    setQuery(wanted);
  };
  const open = useCallback((row: Row) => void navigate({ to: "/tasks/$id", params: { id: row.id } }), [navigate]);
  const toggle = useCallback(
    (row: Row, index: number, range: boolean) => {
      const from = range && anchor.current >= 0 ? anchor.current : index;
      const rows = from === index ? [row] : pages.between(Math.min(from, index), Math.max(from, index));
      anchor.current = index;
      setWhole(null);
      setIds((before) => {
        const next = new Set(before);
        const add = !before.has(row.id);
        for (const each of rows) {
          if (add) next.add(each.id);
          else next.delete(each.id);
        }
        return next;
      });
    },
    [pages],
  );
  const loaded = pages.between(0, Math.min(pages.count, 1_000) - 1);
  const all = everything || (loaded.length > 0 && loaded.every((row) => ids.has(row.id)));
  const clear = () => {
    setIds(new Set());
    setWhole(null);
  };
  const toggleAll = () => (all ? clear() : setIds(new Set(loaded.map((row) => row.id))));
  const walk = (by: number) => {
    const next = Math.min(Math.max(at + by, 0), pages.count - 1);
    look(next, next);
    setAt(next);
  };
  useKeys([
    { keys: "j", about: "Next task", run: () => walk(1) },
    { keys: "k", about: "Previous task", run: () => walk(-1) },
    {
      keys: "x",
      about: "Select the task",
      run: () => {
        const row = pages.at(at);
        if (row !== undefined && may) toggle(row, at, false);
      },
    },
    { keys: "Escape", about: "Select nothing", run: clear },
  ]);

  const refused = pages.error instanceof Refused && pages.error.field === "query" ? pages.error.message : null;
  const selected = everything ? null : ids.size;
  return (
    <Page title="Tasks" full actions={<ColumnsButton chosen={chosen} choose={choose} />}>
      <div className={styles.bar}>
        <ViewBar query={query} onQuery={search} />
      </div>
      <div className={styles.bar}>
        <FilterBar query={query} onQuery={search} fault={refused} />
      </div>
      <div className={styles.frame}>
        {may && (everything || ids.size > 0) && (
          <div className={styles.bulk} role="toolbar" aria-label="With the selected tasks">
            <strong>{selected === null ? "All that fit the filter" : `${plural(selected, "task")} selected`}</strong>
            {!everything && (
              <button type="button" className={styles.link} onClick={() => setWhole(query)}>
                Select all that fit the filter
              </button>
            )}
            <Button small icon={<RotateCw />} onClick={() => setDoing("retry")}>
              Retry…
            </Button>
            <Button small icon={<Gauge />} onClick={() => setDoing("priority")}>
              Priority…
            </Button>
            <Button small icon={<Tags />} onClick={() => setDoing("tags")}>
              Tags…
            </Button>
            <Button small look="danger" icon={<Ban />} onClick={() => setDoing("cancel")}>
              Cancel…
            </Button>
            <button type="button" className={styles.link} onClick={clear}>
              Select none
            </button>
          </div>
        )}
        <Body query={query} list={list} isRefused={refused !== null} onClear={() => search("")}>
          <Grid
            list={list}
            columns={columns}
            sorting={sortingOf(order)}
            onSort={(column) => setOrder(pressed(column, order))}
            selects={may}
            selected={(id) => everything || ids.has(id)}
            onToggle={toggle}
            onToggleAll={toggleAll}
            all={all}
            some={everything || ids.size > 0}
            onOpen={open}
            at={at}
            onAt={setAt}
          />
        </Body>
        <Foot query={query} list={list} />
      </div>
      {doing !== null && (
        <Bulk
          verb={doing}
          selection={selection}
          onClose={() => {
            setDoing(null);
            list.refresh();
          }}
        />
      )}
    </Page>
  );
}

interface BodyProps {
  query: string;
  list: ReturnType<typeof useList>;
  isRefused: boolean;
  onClear: () => void;
  children: React.ReactNode;
}

/** The table, or why there is none. */
function Body({ children, ...rest }: BodyProps) {
  return rest.list.pages.count > 0 ? (
    children
  ) : (
    <div className={styles.nothing}>
      <Nothing {...rest} />
    </div>
  );
}

function Nothing({ query, list: { pages }, isRefused, onClear }: Omit<BodyProps, "children">) {
  if (isRefused) return <Empty title="This query cannot be read">What is wrong with it stands below the filter.</Empty>;
  if (pages.error !== null) return <Failed error={pages.error} again={() => pages.retry()} />;
  if (!pages.begun || !pages.ended) return <Skeleton lines={12} />;
  if (query === "") {
    return (
      <Empty title="No tasks yet" icon={<ListTodo />}>
        Add the first one: <code>dibs add TYPE "what is to be done"</code>
      </Empty>
    );
  }
  return (
    <Empty
      title="No task fits this filter"
      icon={<ListTodo />}
      action={<Button onClick={onClear}>Show all tasks</Button>}
    >
      Take a word away, or look at all of them.
    </Empty>
  );
}

/** How many there are, and whether the list has changed meanwhile. */
function Foot({ query, list }: { query: string; list: ReturnType<typeof useList> }) {
  const { pages, changed, refresh } = list;
  const counted = useGet(
    "/v1/found/count",
    { params: { query: { query } } },
    { keep: true, every: COUNTED_EVERY_MS, enabled: pages.error === null },
  );
  const total = counted.data;
  return (
    <div className={styles.foot}>
      <span>
        {total ? `${total.more ? "more than " : ""}${plural(total.count, "task")}` : "…"}
        {pages.cut ? `; the newest ${pages.count.toLocaleString("en-US")} of them are sorted` : ""}
        {pages.ended ? "" : `, ${pages.count.toLocaleString("en-US")} loaded`}
        {pages.busy ? "; looking at older ones …" : ""}
      </span>
      {pages.error !== null && pages.count > 0 && (
        <Button small onClick={() => pages.retry()}>
          The next page could not be loaded. Try again
        </Button>
      )}
      {changed && (
        <Button small icon={<RefreshCw />} onClick={refresh}>
          The list has changed. Refresh
        </Button>
      )}
    </div>
  );
}

function useNarrow(): boolean {
  return useSyncExternalStore(
    (changed) => {
      const media = matchMedia(NARROW);
      media.addEventListener("change", changed);
      return () => media.removeEventListener("change", changed);
    },
    () => matchMedia(NARROW).matches,
  );
}
