// Nothing there, something wrong, not there yet.
import { CircleAlert, Inbox } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "./Button";
import styles from "./States.module.css";

/** Nothing to show: why that is, and what to do next. */
export function Empty({
  title,
  children,
  icon,
  action,
}: {
  title: string;
  children?: ReactNode;
  icon?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className={styles.state}>
      <span className={styles.icon} aria-hidden>
        {icon ?? <Inbox />}
      </span>
      <p className={styles.title}>{title}</p>
      {children && <div className={styles.about}>{children}</div>}
      {action}
    </div>
  );
}

/** It could not be had: what the server said, and another try. */
export function Failed({
  error,
  again,
  title = "This could not be loaded",
}: {
  error: unknown;
  again?: () => void;
  title?: string;
}) {
  return (
    <div className={styles.state} role="alert">
      <span className={styles.icon} aria-hidden>
        <CircleAlert />
      </span>
      <p className={styles.title}>{title}</p>
      <p className={styles.about}>{error instanceof Error ? error.message : String(error)}</p>
      {again && <Button onClick={again}>Try again</Button>}
    </div>
  );
}

/** Where something will be in a moment: keeps its place, so that nothing jumps. */
export function Skeleton({ lines = 3, height }: { lines?: number; height?: number }) {
  return (
    <div className={styles.skeleton} aria-busy="true" aria-label="Loading" role="status">
      {height ? (
        <div className={styles.block} style={{ height }} />
      ) : (
        Array.from({ length: lines }, (_, index) => (
          <div key={index} className={styles.bar} style={{ width: `${90 - ((index * 37) % 45)}%` }} />
        ))
      )}
    </div>
  );
}

type Asked<T> = { data: T | undefined; error: unknown; refetch: () => unknown };

/** What a query brought, or that it did not: `<Loaded of={useStats()}>{(stats) => …}</Loaded>`. Old data stays shown
 * while new data cannot be had. */
export function Loaded<T>({
  of,
  children,
  lines,
  height,
}: {
  of: Asked<T>;
  children: (data: T) => ReactNode;
  lines?: number;
  height?: number;
}) {
  if (of.data !== undefined) return <>{children(of.data)}</>;
  if (of.error) return <Failed error={of.error} again={() => void of.refetch()} />;
  return <Skeleton {...(lines ? { lines } : {})} {...(height ? { height } : {})} />;
}
