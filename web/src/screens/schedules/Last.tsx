// What was made so far, and the way to the last of it.
import { Link } from "@tanstack/react-router";
import { Ago, Count, TaskLink } from "../../ui";

type Made = { made?: number; last_at?: string | null; last_id?: string | null };

export function Last({ of }: { of: Made }) {
  if (!of.last_at) return <span>nothing made yet</span>;
  return (
    <>
      <span>
        last <Ago at={of.last_at} /> {of.last_id && <MadeLink id={of.last_id} />}
      </span>
      <span>
        <Count value={of.made ?? 0} /> made
      </span>
    </>
  );
}

/** The way to what was made: a task, or a dag. */
function MadeLink({ id }: { id: string }) {
  if (id.startsWith("task_")) return <TaskLink task={id} />;
  return (
    <Link to="/dags/$id" params={{ id }} title={id} className="mono">
      …{id.slice(-10)}
    </Link>
  );
}
