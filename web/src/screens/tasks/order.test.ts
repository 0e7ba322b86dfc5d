import { expect, test } from "vitest";
import type { Row } from "./columns";
import { pressed, sorted, sortingOf } from "./order";

const row = (id: string, cost: number | null, priority = 50) => ({ id, cost_usd: cost, priority }) as Row;
const ids = (rows: Row[]) => rows.map((each) => each.id).join("");

test("rows are put in order, what has no value last, those alike as they were", () => {
  const rows = [row("a", 1), row("b", null), row("c", 3), row("d", 1)];
  expect(ids(sorted(rows, { column: "cost", down: true }))).toBe("cadb");
  expect(ids(sorted(rows, { column: "cost", down: false }))).toBe("adcb");
  expect(ids(sorted([row("a", 1, 70), row("b", 1, 5)], { column: "priority", down: false }))).toBe("ba");
});

test("the oldest first is the other way round, also of those that were added at once", () => {
  const rows = ["c", "b", "a"].map((id) => ({ id, created_at: "2026-11-16T12:00:00.123456Z" }) as Row);
  expect(ids(sorted(rows, { column: "age", down: false }))).toBe("abc");
  expect(ids(sorted(rows, { column: "age", down: true }))).toBe("cba");
});

test("an address names a column and the way; what it makes up is no order", () => {
  expect(sortingOf("cost")).toEqual({ column: "cost", down: true });
  expect(sortingOf("-cost")).toEqual({ column: "cost", down: false });
  expect(sortingOf("age")).toEqual({ column: "age", down: false });
  for (const wrong of ["", "constructor", "-", "__proto__", "tags"]) expect(sortingOf(wrong)).toBeNull();
});

test("a head is pressed in turns", () => {
  expect(pressed("cost", "")).toBe("cost");
  expect(pressed("cost", "cost")).toBe("-cost");
  expect(pressed("cost", "-cost")).toBe("");
  expect(pressed("cost", "-age")).toBe("cost");
});
