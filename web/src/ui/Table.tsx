// One table for all screens: sorted, selected and walked through by keys; only the rows in sight are drawn.
import {
  type ColumnDef,
  type SortingState,
  flexRender,
  getCoreRowModel,
  getSortedRowModel,
  useReactTable,
} from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { cx } from "./classes";
import styles from "./Table.module.css";

export type Column<Row> = {
  id: string;
  header: string;
  cell: (row: Row) => ReactNode;
  /** CSS width; the columns without one share what is left. */
  width?: string;
  align?: "end";
  /** Makes it sortable, by this value (null: last). */
  sort?: (row: Row) => string | number | null | undefined;
  /** Not shown on screens narrower than this many pixels. */
  from?: 480 | 720 | 1024;
};

type TableProps<Row> = {
  rows: Row[];
  columns: Column<Row>[];
  rowKey: (row: Row) => string;
  /** What the table is of, for those who hear it. */
  label: string;
  /** A click on a row, or Enter. */
  onOpen?: (row: Row) => void;
  /** Which are selected, by key; with `onSelect` rows have a checkbox (space, when a row has the focus). */
  selected?: ReadonlySet<string>;
  onSelect?: (keys: Set<string>) => void;
  /** Shown instead of rows, if there are none. */
  empty?: ReactNode;
  /** CSS height beyond which it scrolls by itself; "fill": as high as there is room in a `full` Page. */
  height?: string | "fill";
  /** Nearly at the end of what there is: ask for more. */
  onEnd?: () => void;
  /** Below the last row, such as "loading more". */
  foot?: ReactNode;
  rowHeight?: number;
  sortedBy?: { id: string; desc?: boolean };
};

const OVERSCAN = 12;

export function Table<Row>({
  rows,
  columns,
  rowKey,
  label,
  onOpen,
  selected,
  onSelect,
  empty,
  height,
  onEnd,
  foot,
  rowHeight = 36,
  sortedBy,
}: TableProps<Row>) {
  const [sorting, setSorting] = useState<SortingState>(
    sortedBy ? [{ id: sortedBy.id, desc: sortedBy.desc ?? false }] : [],
  );
  const [at, setAt] = useState(0);
  const frame = useRef<HTMLDivElement>(null);

  const definitions = useMemo<ColumnDef<Row>[]>(
    () =>
      columns.map((column) => ({
        id: column.id,
        header: column.header,
        cell: ({ row }) => column.cell(row.original),
        accessorFn: (row: Row) => column.sort?.(row) ?? undefined,
        enableSorting: column.sort !== undefined,
        sortUndefined: "last",
        sortDescFirst: false,
        meta: column,
      })),
    [columns],
  );
  const table = useReactTable({
    data: rows,
    columns: definitions,
    state: { sorting },
    onSortingChange: setSorting,
    getRowId: rowKey,
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
  });
  const drawn = table.getRowModel().rows;
  const virtual = useVirtualizer({
    count: drawn.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    getItemKey: (index) => drawn[index]?.id ?? index,
    enabled: height !== undefined,
  });
  const items = height === undefined ? null : virtual.getVirtualItems();
  const first = items?.[0];
  const final = items?.[items.length - 1];
  const above = first?.start ?? 0;
  const below = items === null ? 0 : virtual.getTotalSize() - (final?.end ?? 0);
  const lastIndex = final?.index ?? drawn.length - 1;

  useEffect(() => {
    if (onEnd && drawn.length > 0 && lastIndex >= drawn.length - OVERSCAN) onEnd();
  }, [onEnd, lastIndex, drawn.length]);

  const focusRow = (index: number) => {
    const next = Math.max(0, Math.min(drawn.length - 1, index));
    setAt(next);
    if (items !== null) virtual.scrollToIndex(next);
    requestAnimationFrame(() => frame.current?.querySelector<HTMLElement>(`[data-row="${next}"]`)?.focus());
  };
  const toggle = (key: string) => {
    const next = new Set(selected);
    if (!next.delete(key)) next.add(key);
    onSelect?.(next);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTableRowElement>, index: number) => {
    if (event.target !== event.currentTarget) return;
    const row = drawn[index];
    if (row === undefined) return;
    if (event.key === "ArrowDown" || event.key === "j") focusRow(index + 1);
    else if (event.key === "ArrowUp" || event.key === "k") focusRow(index - 1);
    else if (event.key === "Home") focusRow(0);
    else if (event.key === "End") focusRow(drawn.length - 1);
    else if (event.key === "Enter" && onOpen) onOpen(row.original);
    else if ((event.key === " " || event.key === "x") && onSelect) toggle(row.id);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const all = drawn.length > 0 && drawn.every((row) => selected?.has(row.id));
  const some = !all && drawn.some((row) => selected?.has(row.id));
  const width = columns.length + (onSelect ? 1 : 0);
  const shown =
    items === null
      ? drawn.map((row, index) => ({ row, index }))
      : items.map(({ index }) => ({ row: drawn[index]!, index }));

  return (
    <div
      ref={frame}
      className={cx(styles.frame, height === "fill" && styles.fill)}
      style={height !== undefined && height !== "fill" ? { maxHeight: height } : undefined}
      tabIndex={drawn.length > 0 && !onOpen && !onSelect ? 0 : undefined}
      {...(drawn.length > 0 && !onOpen && !onSelect ? { role: "region", "aria-label": `${label} (scrolls)` } : {})}
    >
      <table className={styles.table} aria-label={label} aria-rowcount={items === null ? undefined : drawn.length + 1}>
        <colgroup>
          {onSelect && <col style={{ width: "34px" }} />}
          {columns.map((column) => (
            <col key={column.id} className={from(column)} style={column.width ? { width: column.width } : undefined} />
          ))}
        </colgroup>
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {onSelect && (
                <th className={styles.head} scope="col">
                  <input
                    type="checkbox"
                    aria-label="Select all rows"
                    checked={all}
                    ref={(box) => {
                      if (box) box.indeterminate = some;
                    }}
                    onChange={() => onSelect(all ? new Set() : new Set(drawn.map((row) => row.id)))}
                  />
                </th>
              )}
              {group.headers.map((header) => {
                const column = header.column.columnDef.meta as Column<Row>;
                const sorted = header.column.getIsSorted();
                return (
                  <th
                    key={header.id}
                    scope="col"
                    className={cx(styles.head, column.align === "end" && styles.end, from(column))}
                    aria-sort={sorted === "asc" ? "ascending" : sorted === "desc" ? "descending" : undefined}
                  >
                    {header.column.getCanSort() ? (
                      <button type="button" className={styles.sort} onClick={header.column.getToggleSortingHandler()}>
                        {column.header}
                        {sorted === "asc" && <ArrowUp aria-hidden />}
                        {sorted === "desc" && <ArrowDown aria-hidden />}
                      </button>
                    ) : (
                      column.header
                    )}
                  </th>
                );
              })}
            </tr>
          ))}
        </thead>
        <tbody>
          {drawn.length === 0 && (
            <tr>
              <td colSpan={width}>{empty}</td>
            </tr>
          )}
          {above > 0 && (
            <tr aria-hidden>
              <td colSpan={width} style={{ height: above, padding: 0, border: 0 }} />
            </tr>
          )}
          {shown.map(({ row, index }) => (
            <tr
              key={row.id}
              data-row={index}
              data-key={row.id}
              ref={items === null ? undefined : virtual.measureElement}
              data-index={index}
              aria-rowindex={items === null ? undefined : index + 2}
              aria-selected={onSelect ? (selected?.has(row.id) ?? false) : undefined}
              className={cx(styles.row, onOpen && styles.opens, selected?.has(row.id) && styles.selected)}
              style={{ height: rowHeight }}
              tabIndex={onOpen || onSelect ? (index === Math.min(at, drawn.length - 1) ? 0 : -1) : undefined}
              onFocus={(event) => event.target === event.currentTarget && setAt(index)}
              onKeyDown={(event) => onKeyDown(event, index)}
              onClick={(event) => {
                const on = event.target as HTMLElement;
                if (
                  onOpen &&
                  !on.closest("a, button, input, label, select, [role=menuitem]") &&
                  !getSelection()?.toString()
                )
                  onOpen(row.original);
              }}
            >
              {onSelect && (
                <td className={styles.cell}>
                  <input
                    type="checkbox"
                    aria-label={`Select row ${index + 1}`}
                    tabIndex={-1}
                    checked={selected?.has(row.id) ?? false}
                    onChange={() => toggle(row.id)}
                  />
                </td>
              )}
              {row.getVisibleCells().map((cell) => {
                const column = cell.column.columnDef.meta as Column<Row>;
                return (
                  <td
                    key={cell.id}
                    className={cx(
                      styles.cell,
                      column.align === "end" && styles.end,
                      !column.header && styles.tight,
                      from(column),
                    )}
                  >
                    {flexRender(cell.column.columnDef.cell, cell.getContext())}
                  </td>
                );
              })}
            </tr>
          ))}
          {below > 0 && (
            <tr aria-hidden>
              <td colSpan={width} style={{ height: below, padding: 0, border: 0 }} />
            </tr>
          )}
        </tbody>
      </table>
      {foot && <div className={styles.foot}>{foot}</div>}
    </div>
  );
}

function from<Row>(column: Column<Row>): string | undefined {
  return column.from === undefined ? undefined : styles[`from${column.from}`];
}
