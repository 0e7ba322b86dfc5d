import { describe, expect, it } from "vitest";
import { Ring } from "./ring";

describe("the ring", () => {
  it("keeps the last, newest first, and counts what fell out", () => {
    const ring = new Ring<number>(3);
    expect(ring.list()).toEqual([]);
    for (const number of [1, 2, 3, 4, 5]) ring.push(number);
    expect(ring.list()).toEqual([5, 4, 3]);
    expect([ring.length, ring.dropped]).toEqual([3, 2]);
    expect([ring.newest(0), ring.newest(2), ring.newest(3), ring.newest(-1)]).toEqual([5, 3, undefined, undefined]);
  });

  it("is empty after clearing, and goes on", () => {
    const ring = new Ring<number>(2);
    for (const number of [1, 2, 3]) ring.push(number);
    ring.clear();
    expect([ring.length, ring.dropped, ring.newest(0)]).toEqual([0, 0, undefined]);
    ring.push(4);
    expect(ring.list()).toEqual([4]);
  });

  it("never holds more than it may", () => {
    const ring = new Ring<number>(100);
    for (let number = 0; number < 100_000; number += 1) ring.push(number);
    expect(ring.list()).toHaveLength(100);
    expect(ring.dropped).toBe(99_900);
  });
});

describe("the weight of a ring", () => {
  it("drops the oldest until the newest fits, and keeps one that is too heavy alone", () => {
    const ring = new Ring<string>(10, 100);
    ring.push("a", 40);
    ring.push("b", 40);
    ring.push("c", 40);
    expect(ring.list()).toEqual(["c", "b"]);
    ring.push("heavy", 1_000);
    expect(ring.list()).toEqual(["heavy"]);
    ring.push("d", 1);
    expect([ring.list(), ring.dropped]).toEqual([["d"], 4]);
    ring.clear();
    ring.push("e", 100);
    expect(ring.list()).toEqual(["e"]);
  });
});
