import { describe, expect, it } from "vitest";
import { dayOf, daysBetween, heaped, stacked, totals } from "./stack";

const row = (day: number, name: string | null, cost_usd: number | null, unpriced = 0) => ({
  at: `2030-01-0${day}T00:00:00Z`,
  name,
  cost_usd,
  unpriced,
  attempts: 1,
  tokens_in: 10,
  tokens_out: 1,
});
const days = daysBetween(Date.UTC(2030, 0, 1, 7), Date.UTC(2030, 0, 3, 9));

describe("what was spent", () => {
  it("is added up by name, the dearest first, with what has no price counted", () => {
    const sums = totals([row(1, "code", 1), row(2, "code", null, 2), row(2, "plan", 3), row(3, null, 0.5)]);
    expect(sums.map((sum) => [sum.name, sum.usd, sum.unpriced, sum.attempts, sum.tokensIn])).toEqual([
      ["plan", 3, 0, 1, 10],
      ["code", 1, 2, 2, 20],
      [null, 0.5, 0, 1, 10],
    ]);
    expect(totals([row(1, "a", 1), row(1, "b", 2), row(2, "a", 1)], dayOf).map((sum) => [sum.name, sum.usd])).toEqual([
      ["2030-01-01", 3],
      ["2030-01-02", 1],
    ]);
  });

  it("has a column for every day, also for one on which nothing was", () => {
    const { days: shown, layers } = stacked([row(1, "a", 1), row(3, "a", 2), row(3, "b", 5)], days, "usd");
    expect(shown).toHaveLength(3);
    expect(layers).toEqual([
      { name: "b", names: 1, values: [0, 0, 5] },
      { name: "a", names: 1, values: [1, 0, 2] },
    ]);
    expect(heaped(layers)).toEqual([
      [0, 0, 5],
      [1, 0, 7],
    ]);
  });

  it("puts the cheaper ones together, and loses nothing", () => {
    const rows = Array.from({ length: 20 }, (_, at) => row(1 + (at % 3), `t${at}`, at + 1));
    const { layers } = stacked(rows, days, "usd", 4);
    expect(layers.map((layer) => [layer.name, layer.names])).toEqual([
      ["t19", 1],
      ["t18", 1],
      ["t17", 1],
      [null, 17],
    ]);
    const all = heaped(layers).at(-1)?.reduce((sum, value) => sum + value, 0);
    expect(all).toBe(210);
  });

  it("is measured in tokens as well", () => {
    expect(stacked([row(2, "a", null)], days, "tokens").layers).toEqual([{ name: "a", names: 1, values: [0, 11, 0] }]);
    expect(stacked([row(2, "a", null)], days, "usd").layers).toEqual([]);
  });

  it("leaves out what is of no day that is shown", () => {
    expect(stacked([row(9, "a", 1)], days, "usd").layers).toEqual([]);
  });
});
