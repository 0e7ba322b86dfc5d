import { describe, expect, test } from "vitest";
import { lifeOf } from "./spans";

const at = (second: number) => new Date(Date.UTC(2030, 0, 1, 0, 0, second)).toISOString();
const ms = (second: number) => Date.parse(at(second));
const shape = (life: ReturnType<typeof lifeOf>) =>
  life?.spans.map(
    (span) => `${span.kind} ${(span.from - ms(0)) / 1000}-${(span.to - ms(0)) / 1000}${span.open ? " open" : ""}`,
  );

describe("the life of a task", () => {
  test("tells what it waited for, the queue and the work apart", () => {
    const task = { status: "completed", created_at: at(0), ready_at: at(10), completed_at: at(40) };
    const attempts = [
      { fence: 1, number: 1, outcome: "completed", agent: "ada", started_at: at(25), ended_at: at(40) },
    ];
    const life = lifeOf(task, attempts, [], ms(99));
    expect(shape(life)).toEqual(["before 0-10", "queued 10-25", "run 25-40"]);
    expect([life?.waited, life?.queued, life?.run]).toEqual([10_000, 15_000, 15_000]);
  });

  test("between two attempts, the pause ends when it was ready again", () => {
    const task = { status: "running", created_at: at(0), ready_at: at(0), started_at: at(30), fence: 2, agent: "bob" };
    const attempts = [{ fence: 1, number: 1, outcome: "failed", agent: "ada", started_at: at(5), ended_at: at(10) }];
    const told = [
      { type: "task.retrying", at: at(10) },
      { type: "task.ready", at: at(20) },
    ];
    expect(shape(lifeOf(task, attempts, told, ms(50)))).toEqual([
      "queued 0-5",
      "run 5-10",
      "pause 10-20",
      "queued 20-30",
      "run 30-50 open",
    ]);
    expect(shape(lifeOf(task, attempts, [], ms(50)))).toContain("pause 10-30");
  });

  test("what is judged or asked is neither queue nor work", () => {
    const attempts = [{ fence: 1, number: 1, outcome: "submitted", agent: "ada", started_at: at(1), ended_at: at(2) }];
    const task = { created_at: at(0), ready_at: at(0) };
    expect(shape(lifeOf({ ...task, status: "validating" }, attempts, [], ms(9)))?.at(-1)).toBe("judged 2-9 open");
    expect(shape(lifeOf({ ...task, status: "waiting" }, attempts, [], ms(9)))?.at(-1)).toBe("asked 2-9 open");
  });

  test("a claim that was not started is no work, and clocks that disagree make no negative time", () => {
    const task = { status: "claimed", created_at: at(0), ready_at: at(0), claimed_at: at(4), fence: 1 };
    const life = lifeOf(task, [], [], ms(6));
    expect(shape(life)).toEqual(["queued 0-4", "claimed 4-6 open"]);
    expect(life?.run).toBe(0);
    expect(lifeOf({ status: "ready", created_at: at(9), ready_at: at(9) }, [], [], ms(0))?.to).toBeGreaterThan(ms(9));
    expect(lifeOf({ status: "ready" }, [], [], ms(0))).toBeNull();
  });
});
