// The columns that a list of tasks can have, and which of them were chosen.
import { useState } from "react";
import type { ReactNode } from "react";
import type { Schemas } from "../../api";
import { Ago, Count, Duration, Money, StatusBadge, Text } from "../../ui";
import { short } from "../task/links";

/** A task as lists hold it: without what is large. */
export type Row = Omit<Schemas["Task"], "payload" | "output" | "context" | "decision" | "expects">;

export interface Column {
  id: string;
  name: string;
  /** A CSS grid track. */
  width: string;
  end?: boolean;
  /** Shown unless chosen otherwise. */
  usual?: boolean;
  /** Shown on narrow screens, whatever was chosen. */
  narrow?: boolean;
  cell: (task: Row) => ReactNode;
}

const none = <span className="muted">–</span>;
const text = (value: string | null | undefined) => (value ? <Text lines={1}>{value}</Text> : none);

export const COLUMNS: readonly Column[] = [
  {
    id: "status",
    name: "Status",
    width: "124px",
    usual: true,
    narrow: true,
    cell: (task) => <StatusBadge status={task.status ?? "pending"} parked={task.parked_on ?? null} />,
  },
  {
    id: "title",
    name: "Title",
    width: "minmax(100px, 3fr)",
    usual: true,
    narrow: true,
    cell: (task) =>
      task.title || task.ref ? (
        <Text lines={1}>{task.title || task.ref}</Text>
      ) : (
        <span className="mono muted">{short(task.id)}</span>
      ),
  },
  { id: "type", name: "Type", width: "minmax(90px, 1fr)", usual: true, cell: (task) => text(task.type) },
  { id: "agent", name: "Agent", width: "minmax(90px, 1fr)", usual: true, cell: (task) => text(task.agent) },
  {
    id: "attempts",
    name: "Tries",
    width: "56px",
    end: true,
    usual: true,
    cell: (task) => (
      <span title={`${task.attempts ?? 0} of ${task.max_attempts} attempts used`}>
        {task.attempts ?? 0}/{task.max_attempts}
      </span>
    ),
  },
  { id: "cost", name: "Cost", width: "80px", end: true, usual: true, cell: (task) => <Money usd={task.cost_usd} /> },
  {
    id: "priority",
    name: "Priority",
    width: "68px",
    end: true,
    usual: true,
    cell: (task) => (
      <span title={task.effective_priority == null ? undefined : `effective ${task.effective_priority}`}>
        {task.priority}
      </span>
    ),
  },
  {
    id: "age",
    name: "Added",
    width: "84px",
    end: true,
    usual: true,
    narrow: true,
    cell: (task) => <Ago at={task.created_at ?? null} />,
  },
  { id: "changed", name: "Changed", width: "84px", end: true, cell: (task) => <Ago at={task.updated_at ?? null} /> },
  { id: "note", name: "What happens", width: "minmax(120px, 2fr)", usual: true, cell: (task) => text(noteOf(task)) },
  {
    id: "run",
    name: "Run time",
    width: "84px",
    end: true,
    cell: (task) =>
      task.started_at ? (
        <Duration from={task.started_at} to={task.status === "running" ? null : (endOf(task) ?? null)} />
      ) : (
        none
      ),
  },
  {
    id: "queued",
    name: "Queue delay",
    width: "90px",
    end: true,
    cell: (task) =>
      task.ready_at ? <Duration from={task.ready_at} to={task.claimed_at ?? endOf(task) ?? null} /> : none,
  },
  {
    id: "tokens",
    name: "Tokens",
    width: "72px",
    end: true,
    cell: (task) =>
      task.tokens_in == null && task.tokens_out == null ? (
        none
      ) : (
        <Count value={(task.tokens_in ?? 0) + (task.tokens_out ?? 0)} />
      ),
  },
  { id: "tags", name: "Tags", width: "minmax(90px, 1fr)", cell: (task) => text((task.tags ?? []).join(", ")) },
  { id: "user", name: "User", width: "minmax(80px, 1fr)", cell: (task) => text(task.user) },
  { id: "assignee", name: "Assignee", width: "minmax(80px, 1fr)", cell: (task) => text(task.assignee) },
  { id: "reason", name: "Reason", width: "110px", cell: (task) => text(task.reason) },
  {
    id: "dag",
    name: "Dag",
    width: "96px",
    cell: (task) => (task.dag_id ? <span className="mono">{short(task.dag_id)}</span> : none),
  },
  { id: "id", name: "Id", width: "96px", cell: (task) => <span className="mono">{short(task.id)}</span> },
];

const KEPT = "dibs.tasks.columns";

/** The columns that were chosen, and how to choose others; kept in this browser. */
export function useColumns(): [readonly string[], (ids: readonly string[]) => void] {
  const [chosen, setChosen] = useState(kept);
  const choose = (ids: readonly string[]) => {
    setChosen(ids);
    try {
      localStorage.setItem(KEPT, JSON.stringify(ids));
    } catch {
      // Then they are chosen until the page is closed.
    }
  };
  return [chosen, choose];
}

export const USUAL: readonly string[] = COLUMNS.filter((column) => column.usual).map((column) => column.id);

function kept(): readonly string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEPT) ?? "null");
    const known = Array.isArray(found) ? COLUMNS.map((column) => column.id).filter((id) => found.includes(id)) : [];
    return known.length > 0 ? known : USUAL;
  } catch {
    return USUAL;
  }
}

/** What is to be said about it now: why it failed, or what its agent last noted. */
function noteOf(task: Row): string | null {
  if (task.status === "running" || task.status === "claimed") {
    const percent = task.progress == null ? "" : `${Math.round(task.progress * 100)} % `;
    return `${percent}${task.note ?? ""}` || null;
  }
  if (task.status === "cancelled") return task.cancel_reason ?? task.reason ?? null;
  if (task.status === "completed") return null;
  if (task.parked_on) return task.parked_on;
  return task.error ? `${task.reason ?? "error"}: ${task.error}` : null;
}

function endOf(task: Row): string | null {
  return task.completed_at ?? task.dead_lettered_at ?? task.cancelled_at ?? null;
}
