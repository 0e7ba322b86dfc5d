// The table of tasks. All rows are of one height, so which of them are in sight is arithmetic, and a million of them cost
// no more than a screenful.
import {
  type CSSProperties,
  memo,
  type KeyboardEvent,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { ArrowDown, ArrowUp } from "lucide-react";
import { cx } from "../../ui";
import type { Column, Row } from "./columns";
import { canBeSorted, type Sorting } from "./order";
import styles from "./Tasks.module.css";
import type { List } from "./useList";

export const ROW_PX = 32;
/** Rows are drawn in steps of so many, and so many more on each side: scrolling draws nothing most of the time. */
const STEP = 10;
/** Browsers draw nothing that is higher than about 33 million pixels. */
const MOST_ROWS = 1_000_000;

interface Props {
  list: List;
  columns: readonly Column[];
  /** By which column they are in order; null: as they were added, the newest first. */
  sorting: Sorting | null;
  onSort: (column: string) => void;
  selected: (id: string) => boolean;
  /** Whether rows can be selected at all. */
  selects: boolean;
  onToggle: (row: Row, index: number, range: boolean) => void;
  onToggleAll: () => void;
  all: boolean;
  some: boolean;
  onOpen: (row: Row) => void;
  at: number;
  onAt: (index: number) => void;
}

export function Grid(props: Props) {
  const { list, columns, sorting, onSort, selected, selects, onToggle, onToggleAll, all, some, onOpen, at, onAt } =
    props;
  const frame = useRef<HTMLDivElement>(null);
  const [from, setFrom] = useState(0);
  const [fits, setFits] = useState(30);
  const { pages, look, hold } = list;
  const pointed = useRef(false);
  const count = Math.min(pages.count, MOST_ROWS);
  const first = Math.max(0, from - STEP);
  const last = Math.min(count, from + fits + STEP * 2) - 1;

  const measure = useCallback(() => {
    const box = frame.current;
    if (box === null) return;
    setFits(Math.ceil(box.clientHeight / ROW_PX));
    const top = Math.floor(box.scrollTop / ROW_PX);
    setFrom(top - (top % STEP));
    hold(pointed.current || box.scrollTop > ROW_PX);
  }, [hold]);

  useLayoutEffect(() => {
    measure();
    const watcher = new ResizeObserver(measure);
    if (frame.current) watcher.observe(frame.current);
    return () => watcher.disconnect();
  }, [measure]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another list begins at its top
  useEffect(() => {
    if (frame.current) frame.current.scrollTop = 0;
    measure();
  }, [pages]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a list that grew is looked at anew
  useEffect(() => look(first, from + fits + STEP * 2), [look, first, from, fits, list.version]);

  const pointing = (now: boolean) => {
    pointed.current = now;
    hold(now || (frame.current?.scrollTop ?? 0) > ROW_PX);
  };

  // The row that was walked to is brought into sight, and has the focus.
  useEffect(() => {
    const box = frame.current;
    if (box === null || at < 0) return;
    const top = at * ROW_PX;
    const room = box.clientHeight - ROW_PX;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + ROW_PX > box.scrollTop + room) box.scrollTop = top + ROW_PX - room;
    const row = box.querySelector<HTMLElement>(`[data-row="${at}"]`);
    if (row && document.activeElement !== row && !row.contains(document.activeElement))
      row.focus({ preventScroll: true });
  }, [at]);

  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const place = (event.target as HTMLElement).closest<HTMLElement>("[data-row]");
    const index = Number(place?.dataset.row ?? -1);
    const row = pages.at(index);
    if (event.target !== place || row === undefined) return;
    if (event.key === "Enter") onOpen(row);
    else if (event.key === " " && selects) onToggle(row, index, event.shiftKey);
    else if (event.key === "ArrowDown") onAt(Math.min(index + 1, count - 1));
    else if (event.key === "ArrowUp") onAt(Math.max(index - 1, 0));
    else if (event.key === "Home") onAt(0);
    else if (event.key === "PageDown") onAt(Math.min(index + fits - 1, count - 1));
    else if (event.key === "PageUp") onAt(Math.max(index - fits + 1, 0));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const tracks = {
    "--tracks": `${selects ? "34px " : ""}${columns.map((column) => column.width).join(" ")}`,
    "--least": `${columns.reduce((sum, column) => sum + Number(/\d+/.exec(column.width)?.[0] ?? 0), selects ? 34 : 0)}px`,
  } as CSSProperties;
  const rows = [];
  for (let index = first; index <= last; index += 1) {
    const row = pages.at(index);
    rows.push(
      row === undefined ? (
        <tr key={index} className={styles.ghost} style={{ top: index * ROW_PX }} aria-hidden />
      ) : (
        <Line
          key={row.id}
          row={row}
          index={index}
          columns={columns}
          selects={selects}
          selected={selected(row.id)}
          tabbable={index === Math.max(at, 0)}
          onToggle={onToggle}
          onOpen={onOpen}
          onAt={onAt}
        />
      ),
    );
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: rows have the focus; their keys are heard here
    <div
      ref={frame}
      className={styles.grid}
      style={tracks}
      onScroll={measure}
      onPointerEnter={() => pointing(true)}
      onPointerLeave={() => pointing(false)}
      onKeyDown={onKeyDown}
    >
      <table className={styles.table} aria-label="Tasks" aria-rowcount={pages.ended ? count + 1 : -1}>
        <thead className={styles.heads}>
          <tr className={styles.header} aria-rowindex={1}>
            {selects && (
              <th scope="col" className={styles.check}>
                <input
                  type="checkbox"
                  aria-label="Select the rows that are loaded"
                  checked={all}
                  ref={(box) => {
                    if (box) box.indeterminate = some && !all;
                  }}
                  onChange={onToggleAll}
                />
              </th>
            )}
            {columns.map((column) => (
              <Head
                key={column.id}
                column={column}
                way={sorting?.column === column.id ? (sorting.down ? "descending" : "ascending") : undefined}
                onSort={onSort}
              />
            ))}
          </tr>
        </thead>
        <tbody className={styles.body} style={{ height: count * ROW_PX }}>
          {rows}
        </tbody>
      </table>
    </div>
  );
}

type HeadProps = {
  column: Column;
  way: "ascending" | "descending" | undefined;
  onSort: (column: string) => void;
};

/** The name of a column, to be pressed where rows can be put in order by it. */
function Head({ column, way, onSort }: HeadProps) {
  const Arrow = way === "descending" ? ArrowDown : ArrowUp;
  return (
    <th scope="col" className={cx(styles.head, column.end && styles.end)} aria-sort={way}>
      {canBeSorted(column.id) ? (
        <button
          type="button"
          className={styles.sort}
          title={`Sort by ${column.name.toLowerCase()}`}
          onClick={() => onSort(column.id)}
        >
          {column.name}
          {way && <Arrow aria-hidden />}
        </button>
      ) : (
        column.name
      )}
    </th>
  );
}

interface LineProps {
  row: Row;
  index: number;
  columns: readonly Column[];
  selects: boolean;
  selected: boolean;
  tabbable: boolean;
  onToggle: (row: Row, index: number, range: boolean) => void;
  onOpen: (row: Row) => void;
  onAt: (index: number) => void;
}

const Line = memo(function Line({
  row,
  index,
  columns,
  selects,
  selected,
  tabbable,
  onToggle,
  onOpen,
  onAt,
}: LineProps) {
  return (
    <tr
      tabIndex={tabbable ? 0 : -1}
      data-row={index}
      data-task={row.id}
      aria-rowindex={index + 2}
      className={cx(styles.row, selected && styles.selected)}
      style={{ top: index * ROW_PX }}
      onFocus={(event) => event.target === event.currentTarget && onAt(index)}
      onClick={(event) => {
        if ((event.target as HTMLElement).closest("a, button, input, label") || getSelection()?.toString()) return;
        onOpen(row);
      }}
    >
      {selects && (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the box inside it has the keys
        <td
          className={styles.check}
          onClick={(event) => {
            event.stopPropagation();
            if (event.target === event.currentTarget) onToggle(row, index, event.shiftKey);
          }}
        >
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Select ${row.title || row.type}`}
            checked={selected}
            onChange={() => undefined}
            onClick={(event) => onToggle(row, index, event.shiftKey)}
          />
        </td>
      )}
      {columns.map((column) => (
        <td key={column.id} className={cx(styles.cell, column.end && styles.end)}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
});
