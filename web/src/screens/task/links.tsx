// Ids of other things, as links to their screens. An id is shown short and copied whole.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import styles from "./Task.module.css";

const SHOWN = 10;

/** The last characters of an id: the first ones are the time it was made, and alike. */
export function short(id: string): string {
  return id.length > 14 ? `…${id.slice(-8)}` : id;
}

export function TaskLink({ id, children }: { id: string; children?: ReactNode }) {
  return (
    <Link to="/tasks/$id" params={{ id }} title={id} className={children ? undefined : "mono"}>
      {children ?? short(id)}
    </Link>
  );
}

export function DagLink({ id, children }: { id: string; children?: ReactNode }) {
  return (
    <Link to="/dags/$id" params={{ id }} title={id} className={children ? undefined : "mono"}>
      {children ?? short(id)}
    </Link>
  );
}

/** The tasks that a blocker names. */
export function Ids({ ids, except }: { ids: readonly string[]; except?: string }) {
  const tasks = ids.filter((id) => id.startsWith("task_") && id !== except);
  if (tasks.length === 0) return null;
  return (
    <span className={styles.ids}>
      {tasks.slice(0, SHOWN).map((id) => (
        <TaskLink key={id} id={id} />
      ))}
      {tasks.length > SHOWN && <span className="muted">and {tasks.length - SHOWN} more</span>}
    </span>
  );
}
