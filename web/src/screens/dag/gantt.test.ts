import { describe, expect, it } from "vitest";
import { rowOf, rowsOf, spanOf, type TimedAttempt } from "./gantt";

const at = (second: number) => new Date(Date.UTC(2030, 0, 1, 0, 0, second)).toISOString();
const ms = (second: number) => Date.UTC(2030, 0, 1, 0, 0, second);
const attempt = (fence: number, outcome: string, from: number, to: number): TimedAttempt => ({
  number: fence,
  fence,
  agent: "coder-1",
  outcome,
  started_at: at(from),
  ended_at: at(to),
});
const told = (row: ReturnType<typeof rowOf>) =>
  row.stretches.map((part) => [part.phase, (part.from - ms(0)) / 1000, part.to === null ? null : (part.to - ms(0)) / 1000]);

describe("a task's row", () => {
  it("keeps the wait for an agent apart from the work", () => {
    const done = { id: "t", status: "completed", fence: 1, ready_at: at(0), started_at: at(5), completed_at: at(8) };
    const row = rowOf(done, [attempt(1, "completed", 5, 8)], ms(20));
    expect(told(row)).toEqual([
      ["queue", 0, 5],
      ["run", 5, 8],
    ]);
    expect([row.queuedMs, row.ranMs]).toEqual([5000, 3000]);
  });

  it("shows each attempt, and why there was a pause between them", () => {
    const task = { id: "t", status: "running", fence: 4, ready_at: at(0), started_at: at(15) };
    const past = [attempt(2, "suspended", 6, 7), attempt(1, "failed", 1, 3), attempt(3, "released", 9, 10)];
    expect(told(rowOf(task, past, ms(20)))).toEqual([
      ["queue", 0, 1],
      ["run", 1, 3],
      ["retry", 3, 6],
      ["run", 6, 7],
      ["paused", 7, 9],
      ["run", 9, 10],
      ["queue", 10, 15],
      ["run", 15, null],
    ]);
  });

  it("says what it can before the attempts are known", () => {
    const done = { id: "t", status: "dead_lettered", fence: 1, ready_at: at(0), started_at: at(2), dead_lettered_at: at(4) };
    const row = rowOf(done, [], ms(20));
    expect(told(row)).toEqual([
      ["queue", 0, 2],
      ["run", 2, 4],
    ]);
    expect(row.stretches[1]?.outcome).toBe("failed");
  });

  it("goes on to the moment of looking while it lasts", () => {
    expect(told(rowOf({ id: "t", status: "ready", ready_at: at(1) }, [], ms(9)))).toEqual([["queue", 1, null]]);
    expect(rowOf({ id: "t", status: "ready", ready_at: at(1) }, [], ms(9)).queuedMs).toBe(8000);
    const retrying = { id: "t", status: "retrying", fence: 1, ready_at: at(0) };
    expect(told(rowOf(retrying, [attempt(1, "failed", 0, 2)], ms(9)))).toEqual([
      ["run", 0, 2],
      ["retry", 2, null],
    ]);
    const waiting = { id: "t", status: "waiting", fence: 1, ready_at: at(0) };
    expect(told(rowOf(waiting, [attempt(1, "suspended", 0, 2)], ms(9))).at(-1)).toEqual(["paused", 2, null]);
  });

  it("is empty for a task that never was ready", () => {
    const row = rowOf({ id: "t", status: "pending", created_at: at(0) }, [], ms(9));
    expect([row.stretches, row.from, row.to]).toEqual([[], null, null]);
  });

  it("shows a task that was cancelled while it was queued", () => {
    const task = { id: "t", status: "cancelled", ready_at: at(1), cancelled_at: at(4) };
    expect(told(rowOf(task, [], ms(9)))).toEqual([["queue", 1, 4]]);
  });
});

describe("all rows", () => {
  const tasks = [
    { id: "never", status: "pending" },
    { id: "late", status: "ready", ready_at: at(5) },
    { id: "early", status: "ready", ready_at: at(1) },
  ];

  it("stand in the order in which they could begin", () => {
    expect(rowsOf(tasks, new Map(), ms(9)).map((row) => row.id)).toEqual(["early", "late", "never"]);
  });

  it("share one span of time", () => {
    const span = spanOf(rowsOf(tasks, new Map(), ms(11)), ms(11));
    expect(span?.[0]).toBe(ms(1));
    expect(span?.[1]).toBe(ms(11) + 200);
    expect(spanOf(rowsOf([tasks[0] as (typeof tasks)[0]], new Map(), ms(1)), ms(1))).toBeNull();
  });
});
