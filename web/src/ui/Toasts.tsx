// What was done, or refused, in a corner for a few seconds; with undo where it can be taken back.
import { X } from "lucide-react";
import { useEffect, useState, useSyncExternalStore } from "react";
import { IconButton } from "./Button";
import styles from "./Toasts.module.css";
import { cx } from "./classes";

export type Toast = {
  text: string;
  bad?: boolean;
  /** Takes it back; the toast stays until it is done. */
  undo?: () => Promise<unknown>;
};
type Shown = Toast & { id: number };

const LASTS_MS = 6_000;
const MOST = 4;
let shown: Shown[] = [];
let next = 1;
const watchers = new Set<() => void>();

function show(changed: Shown[]): void {
  shown = changed;
  for (const watcher of watchers) watcher();
}

export function toast(told: Toast): void {
  show([...shown, { ...told, id: next++ }].slice(-MOST));
}

function dismiss(id: number): void {
  show(shown.filter((one) => one.id !== id));
}

export function Toasts() {
  const all = useSyncExternalStore(
    (changed) => {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
    () => shown,
  );
  return (
    <div className={styles.corner} role="status" aria-live="polite">
      {all.map((one) => (
        <One key={one.id} one={one} />
      ))}
    </div>
  );
}

function One({ one }: { one: Shown }) {
  const [held, hold] = useState(false);
  const [undoing, setUndoing] = useState(false);
  useEffect(() => {
    if (held || undoing) return;
    const timer = setTimeout(() => dismiss(one.id), one.bad ? LASTS_MS * 2 : LASTS_MS);
    return () => clearTimeout(timer);
  }, [held, undoing, one]);
  const undo = one.undo;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the pointer only keeps it from fading
    <div
      className={cx(styles.toast, one.bad && styles.bad)}
      onMouseEnter={() => hold(true)}
      onMouseLeave={() => hold(false)}
    >
      <span className={styles.text}>{one.text}</span>
      {undo && (
        <button
          type="button"
          className={styles.undo}
          disabled={undoing}
          onClick={async () => {
            setUndoing(true);
            try {
              await undo();
              toast({ text: "Undone." });
            } catch (error) {
              toast({ text: error instanceof Error ? error.message : "That could not be undone.", bad: true });
            }
            dismiss(one.id);
          }}
        >
          Undo
        </button>
      )}
      <IconButton small label="Dismiss" icon={<X />} onClick={() => dismiss(one.id)} />
    </div>
  );
}
