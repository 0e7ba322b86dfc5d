import { describe, expect, test, vi } from "vitest";
import { Pages } from "./pages";

const SIZE = 10;

function list(length: number) {
  const asked: (string | null)[] = [];
  const load = vi.fn(async (cursor: string | null) => {
    asked.push(cursor);
    const from = cursor === null ? 0 : Number(cursor);
    const items = Array.from({ length: Math.min(SIZE, length - from) }, (_, index) => ({
      id: `t${from + index}`,
      n: 0,
    }));
    return { items, cursor: from + SIZE < length ? String(from + SIZE) : null };
  });
  return { pages: new Pages<{ id: string; n: number }>(load), asked, load };
}

async function settled(ready: () => boolean) {
  await vi.waitFor(() => expect(ready()).toBe(true), { interval: 1 });
}

describe("a long list", () => {
  test("is read as far as somebody looks, and knows its end", async () => {
    const { pages, asked } = list(25);
    pages.look(0, 5);
    await settled(() => pages.begun);
    expect([pages.count, pages.ended, asked]).toEqual([10, false, [null]]);
    pages.look(5, 9);
    await settled(() => pages.count === 20);
    pages.look(15, 19);
    await settled(() => pages.ended);
    expect([pages.count, pages.at(24)?.id, pages.at(25)]).toEqual([25, "t24", undefined]);
  });

  test("holds only what is near, and reads the rest again from its own cursor", async () => {
    const { pages, asked } = list(1_000);
    pages.look(0, 5);
    await settled(() => pages.begun);
    for (let to = 10; to <= 500; to += SIZE) {
      pages.look(to - SIZE, to);
      await settled(() => pages.count > to);
    }
    expect(pages.held).toBeLessThanOrEqual(110);
    expect(pages.at(0)).toBeUndefined();
    const before = asked.length;
    pages.look(20, 29);
    await settled(() => pages.at(25) !== undefined);
    expect(asked.slice(before)).toEqual(["20"]);
  });

  test("asks on where a page is empty and yet not the last", async () => {
    const load = async (cursor: string | null) => ({
      items: cursor === "3" ? [{ id: "t", n: 0 }] : [],
      cursor: cursor === null ? "1" : cursor === "3" ? null : String(Number(cursor) + 1),
    });
    const pages = new Pages<{ id: string; n: number }>(load);
    pages.look(0, 5);
    await settled(() => pages.ended);
    expect([pages.count, pages.at(0)?.id, pages.busy]).toEqual([1, "t", false]);
  });

  test("changes rows in their places, and begins anew without an empty moment", async () => {
    const { pages } = list(10);
    pages.look(0, 5);
    await settled(() => pages.begun);
    pages.patch([{ id: "t3", n: 7 }]);
    expect(pages.at(3)).toEqual({ id: "t3", n: 7 });
    expect(pages.find((row) => row.n === 7)).toBe(3);
    const anew = pages.restart();
    expect(pages.at(3)?.n).toBe(7);
    await anew;
    expect(pages.at(3)?.n).toBe(0);
  });

  test("goes on after it was let go of in the middle", async () => {
    const { pages } = list(20);
    pages.look(0, 5);
    pages.stop();
    pages.look(0, 5);
    await settled(() => pages.begun);
    expect(pages.at(0)?.id).toBe("t0");
  });

  test("says what went wrong once, and goes on when told to", async () => {
    const { pages, load } = list(20);
    load.mockRejectedValueOnce(new Error("away"));
    pages.look(0, 5);
    await settled(() => pages.error !== null);
    pages.look(0, 5);
    expect(load).toHaveBeenCalledTimes(1);
    pages.retry();
    await settled(() => pages.begun);
    expect(pages.error).toBeNull();
  });
});
