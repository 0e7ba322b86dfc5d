import { describe, expect, it } from "vitest";
import { arrange, HEIGHT, WIDTH } from "./layout";
import type { DrawnEdge } from "./model";
import { neighbour } from "./steering";

const edge = (from: string, to: string): DrawnEdge => ({ id: `${from}>${to}`, from, to, kind: "after", critical: false });

describe("the layout", () => {
  it("puts what comes after to the right, and nothing upon another", () => {
    const { places, ways } = arrange({
      nodes: ["top", "left", "right", "join", "end", "alone", "lonely"],
      edges: ["top left", "top right", "left join", "right join", "join end", "top end"].map((pair) => {
        const [from = "", to = ""] = pair.split(" ");
        return [pair, from, to];
      }),
    });
    const x = (id: string) => places.get(id)?.x ?? Number.NaN;
    expect(x("left")).toBeGreaterThanOrEqual(x("top") + WIDTH);
    expect(x("join")).toBeGreaterThanOrEqual(x("right") + WIDTH);
    expect([...ways.keys()]).toHaveLength(6);
    for (const way of ways.values()) expect(way.path).toMatch(/^M[-\d.,C]+$/);
    expect(ways.get("top end")?.end.x).toBe(x("end"));
    const all = [...places.values()];
    for (const one of all) {
      for (const other of all) {
        if (one === other) continue;
        expect(Math.abs(one.x - other.x) >= WIDTH || Math.abs(one.y - other.y) >= HEIGHT).toBe(true);
      }
    }
  });

  it("takes nothing, and a thousand tasks in layers", { timeout: 60_000 }, () => {
    expect(arrange({ nodes: [], edges: [] }).places.size).toBe(0);
    const nodes = Array.from({ length: 1000 }, (_, at) => `t${at}`);
    const edges = nodes.slice(100).map((id, at): [string, string, string] => [id, `t${at}`, id]);
    expect(arrange({ nodes, edges }).places.size).toBe(1000);
  });
});

describe("arrow keys", () => {
  const edges = [edge("a", "b"), edge("a", "c"), edge("b", "d")];
  const places = new Map([
    ["a", { x: 0, y: 50 }],
    ["b", { x: 300, y: 40 }],
    ["c", { x: 300, y: 100 }],
    ["d", { x: 600, y: 60 }],
  ]);

  it("follow edges to the sides, and stay where there is none", () => {
    expect(neighbour(null, "down", edges, places)).toBe("a");
    expect(neighbour("a", "right", edges, places)).toBe("b");
    expect(neighbour("d", "left", edges, places)).toBe("b");
    expect(neighbour("d", "right", edges, places)).toBe("d");
  });

  it("go to the next of the same rank up and down", () => {
    expect(neighbour("b", "down", edges, places)).toBe("c");
    expect(neighbour("c", "up", edges, places)).toBe("b");
    expect(neighbour("c", "down", edges, places)).toBe("c");
  });
});
