// What a schedule or a trigger makes, in a few words, and the whole template below.
import { useState } from "react";
import { Json, Text } from "../../ui";
import styles from "../../ui/Rows.module.css";

type Templates = { task?: Record<string, unknown> | null; dag?: Record<string, unknown> | null };

export function Makes({ of }: { of: Templates }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className={styles.quiet} aria-expanded={open} onClick={() => setOpen(!open)}>
        makes {inWords(of)}
      </button>
      {open && (
        <div className={styles.more}>
          <Json value={of.dag ?? of.task} label="the template" open={3} />
        </div>
      )}
    </>
  );
}

function inWords({ task, dag }: Templates): string {
  if (dag) {
    const tasks = Array.isArray(dag.tasks) ? dag.tasks.length : 0;
    return `the dag ${String(dag.title ?? "")} (${tasks} ${tasks === 1 ? "task" : "tasks"})`;
  }
  return `a task ${String(task?.type ?? "")}`;
}

/** Why the last one made nothing. */
export function Problem({ children }: { children: string | null | undefined }) {
  if (!children) return null;
  return (
    <span className={styles.problem}>
      <Text>{children}</Text>
    </span>
  );
}
