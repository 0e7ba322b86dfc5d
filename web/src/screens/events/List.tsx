import { useVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useRef } from "react";
import styles from "./Events.module.css";
import { Row } from "./Row";
import type { Entry, Tail } from "./tail";

const ROW = 28;
/** Less than this is the top, also where pixels are not whole. */
const AWAY = 1;

type ListProps = {
  tail: Tail;
  count: number;
  selected: number | null;
  onSelect: (entry: Entry) => void;
};

/** The newest on top; only what is in sight is drawn. */
export function List({ tail, count, selected, onSelect }: ListProps) {
  const frame = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    tail.isAway = () => (frame.current?.scrollTop ?? 0) > AWAY;
    return () => {
      tail.isAway = () => false;
    };
  }, [tail]);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW,
    overscan: 8,
  });
  const today = new Date().toDateString();
  return (
    <section
      ref={frame}
      className={styles.list}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys
      tabIndex={0}
      aria-label="Events, the newest first"
      onScroll={() => tail.look("away", tail.isAway())}
    >
      <ul style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const entry = tail.at(item.index);
          return (
            entry && (
              <li key={`${entry.what}${entry.seq}`} className={styles.item} style={{ transform: `translateY(${item.start}px)` }}>
                <Row entry={entry} today={today} selected={entry.seq === selected && entry.what === "event"} onSelect={onSelect} />
              </li>
            )
          );
        })}
      </ul>
    </section>
  );
}
