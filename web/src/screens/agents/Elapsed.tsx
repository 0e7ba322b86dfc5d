// How long a task has been worked on, and how long it may be.
import { Duration, Meter, duration, millis, useNow } from "../../ui";
import styles from "./agents.module.css";
import type { Task } from "./known";

export function Elapsed({ task, bar }: { task: Task; bar?: boolean }) {
  const now = useNow();
  const since = millis(task.started_at ?? task.claimed_at);
  if (since === null) return <span className="muted">not begun</span>;
  const seconds = Math.max(0, (now - since) / 1_000);
  const limit = task.timeout;
  if (limit == null) return <Duration from={task.started_at ?? task.claimed_at} />;
  const share = seconds / limit;
  return (
    <span className={styles.elapsed}>
      <span className={share > 1 ? styles.over : undefined}>
        {seconds < 60 ? `${Math.floor(seconds)} s` : duration(seconds)} of {duration(limit)}
      </span>
      {bar && (
        <Meter
          label="Time used"
          text={`${duration(seconds)} of ${duration(limit)}`}
          of={limit}
          parts={[{ value: Math.min(seconds, limit), tone: share > 0.9 ? "red" : share > 0.7 ? "amber" : "cyan" }]}
        />
      )}
    </span>
  );
}
