// @vitest-environment happy-dom
import { useState } from "react";
import { expect, test } from "vitest";
import { all, draw, one, press } from "../../testing/screen";
import { COLUMNS, type Row } from "./columns";
import { Grid } from "./Grid";
import { pressed, sorted, sortingOf } from "./order";
import type { List } from "./useList";

const row = (title: string, cost: number | null, priority: number) =>
  ({ id: title, title, cost_usd: cost, priority, status: "completed", type: "priced" }) as unknown as Row;
const ROWS = [row("Unpriced", null, 20), row("Middling", 2, 10), row("Dear", 7, 50), row("Cheap", 0.5, 90)];
const SHOWN = COLUMNS.filter((column) => ["title", "cost", "priority", "age", "tags"].includes(column.id));

function Sorted() {
  const [written, write] = useState("");
  const sorting = sortingOf(written);
  const rows = sorting === null ? ROWS : sorted(ROWS, sorting);
  const pages = { count: rows.length, ended: true, at: (index: number) => rows[index] };
  return (
    <Grid
      list={{ pages, look: () => undefined, hold: () => undefined, version: 0 } as unknown as List}
      columns={SHOWN}
      sorting={sorting}
      onSort={(column) => write(pressed(column, written))}
      selected={() => false}
      selects={false}
      onToggle={() => undefined}
      onToggleAll={() => undefined}
      all={false}
      some={false}
      onOpen={() => undefined}
      at={-1}
      onAt={() => undefined}
    />
  );
}

const titles = () => all("row").map((each) => ROWS.find((one) => each.textContent?.includes(String(one.title)))?.title);
const head = (name: string) => one("columnheader", name);

test("rows are put in another order by the head of a column", async () => {
  await draw(<Sorted />);
  expect(titles()).toEqual(["Unpriced", "Middling", "Dear", "Cheap"]);
  for (const [name, way, ...order] of [
    ["Cost", "descending", "Dear", "Middling", "Cheap", "Unpriced"],
    ["Cost", "ascending", "Cheap", "Middling", "Dear", "Unpriced"],
    ["Cost", null, "Unpriced", "Middling", "Dear", "Cheap"],
    ["Added", "ascending", "Cheap", "Dear", "Middling", "Unpriced"],
    ["Priority", "ascending", "Middling", "Unpriced", "Dear", "Cheap"],
  ] as const) {
    await press(one("button", name));
    expect(head(name).getAttribute("aria-sort")).toBe(way);
    expect(titles()).toEqual(order);
    const others = all("columnheader").filter((each) => each !== head(name));
    expect(others.every((each) => !each.hasAttribute("aria-sort"))).toBe(true);
  }
  expect(all("button", "Tags")).toEqual([]);
});
