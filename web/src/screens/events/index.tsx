// What happens, as it happens.
import { Pause, Play, Trash2, X } from "lucide-react";
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { get } from "../../api";
import { useLive } from "../../live";
import { useParam } from "../../shell/search";
import { Button, Count, Empty, Field, fullTime, IconButton, Json, Page, plural, Select, Skeleton } from "../../ui";
import styles from "./Events.module.css";
import { List } from "./List";
import { CAPACITY, type Entry, eventOf, type Filters, Tail } from "./tail";

const FROM = [
  { value: "1000", label: "the last 1,000" },
  { value: "100000", label: "the last 100,000" },
  { value: "all", label: "the oldest kept" },
  { value: "now", label: "now on" },
];

const TYPES = [
  "task.*",
  "task.dead_lettered",
  "task.completed",
  "task.retrying",
  "task.waiting",
  "task.overdue",
  "dag.*",
  "gate.*",
  "breaker.*",
  "agent.*",
  "budget.*",
  "hook.*",
  "*:out_of_memory",
  "*:timeout",
];

const WAIT_MS = 350;

export default function EventsScreen() {
  const [type, setType] = useParam("type");
  const [task, setTask] = useParam("task");
  const [dag, setDag] = useParam("dag");
  const [agent, setAgent] = useParam("agent");
  const [from, setFrom] = useParam("from", "1000");
  const filters = useMemo<Filters>(() => ({ type, task, dag, agent }), [type, task, dag, agent]);
  return (
    <Page full title="Events" about="Everything that happens, in the order in which it was committed.">
      <search className={styles.filters} aria-label="Filters">
        <Typed label="Type" value={type} onChange={setType} placeholder="task.*, dag.failed" list="event-types" data-search />
        <datalist id="event-types">
          {TYPES.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <Typed label="Task" value={task} onChange={setTask} placeholder="task_…" />
        <Typed label="Dag" value={dag} onChange={setDag} placeholder="dag_…" />
        <Typed label="Agent" value={agent} onChange={setAgent} placeholder="any" />
        <Select label="From" value={from} choices={FROM} onChange={(event) => setFrom(event.target.value)} />
      </search>
      <Following key={`${from}\n${Object.values(filters).join("\n")}`} filters={filters} from={from} />
    </Page>
  );
}

/** A field whose value is used once one has stopped typing. */
function Typed({ value, onChange, ...rest }: { label: string; value: string; onChange: (value: string) => void; placeholder: string; list?: string; "data-search"?: boolean }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text.trim() === value) return;
    const timer = setTimeout(() => onChange(text.trim()), WAIT_MS);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return <Field {...rest} value={text} spellCheck={false} onChange={(event) => setText(event.target.value)} />;
}

function useTail(filters: Filters, from: string, on: boolean): Tail | null {
  const [tail, setTail] = useState<Tail | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever changes filters begins anew, by the key
  useEffect(() => {
    let gone = false;
    if (from === "now") setTail(new Tail(filters, null));
    else if (from === "all") setTail(new Tail(filters, 0));
    else {
      get("/v1/events/last")
        .then((last) => !gone && setTail(new Tail(filters, Math.max(0, Number(last) - Number(from)))))
        .catch(() => !gone && setTail(new Tail(filters, null)));
    }
    return () => {
      gone = true;
    };
  }, []);
  useEffect(() => {
    if (!tail || !on) return;
    tail.start();
    return () => tail.stop();
  }, [tail, on]);
  return tail;
}

const nobody = () => () => undefined;

function Following({ filters, from }: { filters: Filters; from: string }) {
  const { paused: pageIsPaused } = useLive();
  const tail = useTail(filters, from, !pageIsPaused);
  useSyncExternalStore(tail?.watch ?? nobody, () => tail?.version ?? 0);
  const [selected, setSelected] = useState<Entry | null>(null);
  const onSelect = useCallback((entry: Entry) => setSelected((now) => (now?.seq === entry.seq ? null : entry)), []);
  if (!tail) return <Skeleton lines={8} />;
  const { count, since } = tail;
  const paused = tail.looksAs("paused");
  return (
    <>
      <div className={styles.bar}>
        <Button small icon={paused ? <Play /> : <Pause />} aria-pressed={paused} onClick={() => tail.look("paused", !paused)}>
          {paused ? "Go on" : "Pause"}
        </Button>
        <IconButton small label="Empty the list" icon={<Trash2 />} onClick={() => tail.clear()} />
        <State tail={tail} pageIsPaused={pageIsPaused} />
        {since > 0 && (
          <span className={styles.since}>
            <Count value={since} /> more since
          </span>
        )}
        <span className={styles.kept}>
          {plural(count, "event")}
          {tail.isCut && <span title={`The last ${CAPACITY.toLocaleString("en-US")} are kept`}>, older ones left out</span>}
        </span>
      </div>
      <div className={styles.split}>
        {count === 0 ? (
          <div className={styles.none}>
            <Empty title={tail.state === "refused" ? "The server refuses this filter" : "Nothing yet"}>
              {tail.state === "refused" ? tail.refused : "What happens and fits the filters appears here by itself."}
            </Empty>
          </div>
        ) : (
          <List tail={tail} count={count} selected={selected?.seq ?? null} onSelect={onSelect} />
        )}
        {selected && <Whole entry={selected} onClose={() => setSelected(null)} />}
      </div>
    </>
  );
}

function State({ tail, pageIsPaused }: { tail: Tail; pageIsPaused: boolean }) {
  if (pageIsPaused) return <span className={styles.warn}>The page is paused</span>;
  if (tail.state === "lost") return <span className={styles.warn}>Connection lost; it goes on where it was</span>;
  if (tail.state === "refused") return <span className={styles.warn}>Refused</span>;
  if (tail.state === "live" && tail.standsStill) return <span className="muted">Standing still</span>;
  return <span className="muted">{tail.state === "live" ? "Live" : "Connecting …"}</span>;
}

/** One event with all that it carries. */
function Whole({ entry, onClose }: { entry: Entry; onClose: () => void }) {
  const event = useMemo(() => eventOf(entry), [entry]);
  return (
    <aside className={styles.whole} aria-label="The selected event">
      <header>
        <h2>
          {event.type} <span className="muted">#{event.seq}</span>
        </h2>
        <IconButton small label="Close" icon={<X />} onClick={onClose} />
      </header>
      <p className="muted">{fullTime(Date.parse(event.at)).split("\n")[0]}</p>
      <Json value={event} open={3} label="event" />
    </aside>
  );
}
