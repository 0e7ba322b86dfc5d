import { Link } from "@tanstack/react-router";
import { memo, useMemo } from "react";
import { Badge, clockTime, cx, fullTime, type Tone } from "../../ui";
import styles from "./Events.module.css";
import { type Entry, eventOf } from "./tail";

const TONES: Record<string, Tone> = {
  "task.ready": "blue",
  "task.claimed": "cyan",
  "task.started": "cyan",
  "task.progress": "cyan",
  "task.waiting": "amber",
  "task.validating": "violet",
  "task.retrying": "orange",
  "task.expired": "orange",
  "task.overdue": "orange",
  "task.completed": "green",
  "task.dead_lettered": "red",
  "dag.completed": "green",
  "dag.failed": "red",
  "breaker.opened": "red",
  "breaker.closed": "green",
  "gate.closed": "amber",
  "gate.opened": "green",
  "agent.lost": "red",
  "budget.exhausted": "red",
  "budget.low": "amber",
  "hook.disabled": "red",
};

/** What an event carries, on one line. */
function summary(data: Record<string, unknown>): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(data)) {
    if (parts.length === 6) break;
    const text = typeof value === "string" ? value : JSON.stringify(value);
    if (text !== undefined) parts.push(`${name}: ${text.length > 120 ? `${text.slice(0, 120)}…` : text}`);
  }
  return parts.join(", ").replace(/\s+/g, " ");
}

type RowProps = { entry: Entry; today: string; selected: boolean; onSelect: (entry: Entry) => void };

/** One event. It never changes, so it is drawn once. */
export const Row = memo(function Row({ entry, today, selected, onSelect }: RowProps) {
  const event = useMemo(() => (entry.what === "event" ? eventOf(entry) : null), [entry]);
  if (event === null) {
    return (
      <div className={cx(styles.row, styles.gap)}>
        Events up to {entry.seq.toLocaleString("en-US")} are no longer kept: some are missing here.
      </div>
    );
  }
  const at = Date.parse(event.at);
  return (
    <div className={cx(styles.row, selected && styles.selected)}>
      <button type="button" className={styles.seq} aria-pressed={selected} onClick={() => onSelect(entry)} title="Show all of it">
        {event.seq}
      </button>
      <time className={styles.time} dateTime={event.at} title={fullTime(at)}>
        {clockTime(at, Date.parse(today))}
      </time>
      <span className={styles.type}>
        <Badge tone={TONES[event.type] ?? "gray"}>{event.type}</Badge>
      </span>
      <span className={styles.ids}>
        {event.task_id && (
          <Link to="/tasks/$id" params={{ id: event.task_id }} title={event.task_id}>
            {shortId(event.task_id)}
          </Link>
        )}
        {event.dag_id && (
          <Link to="/dags/$id" params={{ id: event.dag_id }} title={event.dag_id} className={styles.dag}>
            {shortId(event.dag_id)}
          </Link>
        )}
      </span>
      <span className={styles.rest} dir="auto">
        {[event.agent, event.reason, summary(event.data ?? {})].filter(Boolean).join(" · ")}
      </span>
    </div>
  );
});

/** The end of an id tells it apart; its beginning is the time. */
export function shortId(id: string): string {
  return id.length > 14 ? `${id.slice(0, id.indexOf("_") + 1)}…${id.slice(-6)}` : id;
}
