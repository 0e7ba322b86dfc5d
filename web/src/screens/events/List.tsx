import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import styles from "./Events.module.css";
import { Row } from "./Row";
import type { Entry } from "./tail";

const ROW = 28;

type ListProps = {
  count: number;
  at: (place: number) => Entry | undefined;
  selected: number | null;
  onSelect: (entry: Entry) => void;
  /** Scrolled away from the newest, or back to it. */
  onAway: (away: boolean) => void;
};

/** The newest on top; only what is in sight is drawn. */
export function List({ count, at, selected, onSelect, onAway }: ListProps) {
  const frame = useRef<HTMLElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW,
    overscan: 8,
    getItemKey: (place) => keyOf(at(place), place),
  });
  const today = new Date().toDateString();
  return (
    <section
      ref={frame}
      className={styles.list}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys
      tabIndex={0}
      aria-label="Events, the newest first"
      onScroll={(event) => onAway(event.currentTarget.scrollTop > ROW / 2)}
    >
      <ul style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const entry = at(item.index);
          return (
            entry && (
              <li key={item.key} className={styles.item} style={{ transform: `translateY(${item.start}px)` }}>
                <Row entry={entry} today={today} selected={entry.seq === selected && entry.what === "event"} onSelect={onSelect} />
              </li>
            )
          );
        })}
      </ul>
    </section>
  );
}

function keyOf(entry: Entry | undefined, place: number): string {
  return entry ? `${entry.what}${entry.seq}` : String(place);
}
