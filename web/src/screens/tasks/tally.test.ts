import { describe, expect, test } from "vitest";
import { overFilter, overIds, type Tally } from "./tally";

const listening = () => {
  const told: Tally[] = [];
  return { told, tell: (tally: Tally) => told.push(tally), last: () => told.at(-1) as Tally };
};

describe("one action on many tasks", () => {
  test("goes through a filter slice by slice and adds up", async () => {
    const asked: (string | null)[] = [];
    const { told, tell, last } = listening();
    await overFilter(
      async (cursor) => {
        asked.push(cursor);
        return cursor === null
          ? { done: ["a", "b"], left: ["c"], cursor: "2" }
          : { done: ["d"], refused: [{ task_id: "e", message: "no" }] };
      },
      tell,
      new AbortController().signal,
    );
    expect(asked).toEqual([null, "2"]);
    expect(told.map((tally) => tally.done)).toEqual([2, 3, 3]);
    expect(last()).toMatchObject({
      done: 3,
      left: 1,
      refused: 1,
      refusals: [{ task_id: "e", message: "no" }],
      over: true,
      fault: null,
    });
  });

  test("stops between two slices, and says what ended it", async () => {
    const stop = new AbortController();
    const { tell, last } = listening();
    await overFilter(
      async () => ({ done: ["a"], cursor: "more" }),
      (tally) => {
        tell(tally);
        stop.abort();
      },
      stop.signal,
    );
    expect(last()).toMatchObject({ done: 1, over: true, fault: null });
    await overFilter(() => Promise.reject(new Error("away")), tell, new AbortController().signal);
    expect(last()).toMatchObject({ done: 0, over: true, fault: "away" });
  });

  test("a refusal of one stops no other", async () => {
    const { tell, last } = listening();
    const ids = ["a", "b", "c", "d", "e", "f"];
    await overIds(
      ids,
      async (id) => (id === "b" ? Promise.reject(new Error("It is completed.")) : id),
      tell,
      new AbortController().signal,
    );
    expect(last()).toMatchObject({
      done: 5,
      refused: 1,
      refusals: [{ task_id: "b", message: "It is completed." }],
      over: true,
    });
  });
});
