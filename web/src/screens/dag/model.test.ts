import { describe, expect, it } from "vitest";
import { drawn, FOLD_FROM, foldedAtFirst, sameShape, subgraphs } from "./model";
import { findCycle, longestChain } from "./paths";

const diamond = [{ id: "top" }, { id: "left" }, { id: "right" }, { id: "join" }];
const sides = [
  { parent: "top", child: "left", kind: "after" },
  { parent: "top", child: "right", kind: "after" },
  { parent: "left", child: "join", kind: "after" },
  { parent: "right", child: "join", kind: "after_ended" },
];
const family = [
  { id: "plan" },
  { id: "a", parent_id: "plan" },
  { id: "b", parent_id: "plan" },
  { id: "a1", parent_id: "a" },
  { id: "report" },
];
const flow = [
  { parent: "a", child: "plan", kind: "child" },
  { parent: "b", child: "plan", kind: "child" },
  { parent: "a1", child: "b", kind: "after" },
  { parent: "a1", child: "report", kind: "after" },
];

const lines = (graph: ReturnType<typeof drawn>) => graph.edges.map((edge) => `${edge.from} ${edge.kind} ${edge.to}`);

describe("what is drawn of a dag", () => {
  it("is every task and every edge, the critical path marked", () => {
    const graph = drawn(diamond, sides, new Set(), ["top", "left", "join"]);
    expect(graph.nodes.map((node) => node.id)).toEqual(["top", "left", "right", "join"]);
    expect(lines(graph)).toEqual(["top after left", "top after right", "left after join", "right after_ended join"]);
    expect(graph.edges.filter((edge) => edge.critical).map((edge) => edge.id)).toEqual(["top>left", "left>join"]);
    expect(graph.nodes.filter((node) => node.critical).map((node) => node.id)).toEqual(["top", "left", "join"]);
  });

  it("shows who spawned whom, not the waiting back, which would be a circle", () => {
    expect(lines(drawn(family, flow, new Set()))).toEqual([
      "a1 after b",
      "a1 after report",
      "plan spawn a",
      "plan spawn b",
      "a spawn a1",
    ]);
  });

  it("folds a sub-graph into the task that spawned it, and leads its edges there", () => {
    const graph = drawn(family, flow, new Set(["plan"]), ["a1", "report"]);
    expect(graph.nodes.map((node) => [node.id, node.folded, node.below])).toEqual([
      ["plan", true, ["a", "b", "a1"]],
      ["report", false, []],
    ]);
    expect(lines(graph)).toEqual(["plan after report"]);
    expect(graph.edges[0]?.critical).toBe(true);
  });

  it("folds an inner sub-graph alone, and the outermost fold wins", () => {
    expect(drawn(family, flow, new Set(["a"])).nodes.map((node) => node.id)).toEqual(["plan", "a", "b", "report"]);
    expect(drawn(family, flow, new Set(["a", "plan"])).nodes.map((node) => node.id)).toEqual(["plan", "report"]);
  });

  it("shows a task of another dag that is waited for", () => {
    const graph = drawn([{ id: "here" }], [{ parent: "elsewhere", child: "here" }], new Set());
    expect(graph.nodes.map((node) => [node.id, node.outside])).toEqual([
      ["here", false],
      ["elsewhere", true],
    ]);
  });

  it("keeps its layout while nothing but states change", () => {
    const one = drawn(family, flow, new Set());
    expect(sameShape(one, drawn([...family], [...flow], new Set()))).toBe(true);
    expect(sameShape(one, drawn(family, flow, new Set(["a"])))).toBe(false);
  });

  it("survives parents that name each other", () => {
    const odd = [
      { id: "x", parent_id: "y" },
      { id: "y", parent_id: "x" },
    ];
    expect(subgraphs(odd).get("x")).toEqual(["y"]);
    expect(drawn(odd, [], new Set(["x"])).nodes.length).toBeGreaterThan(0);
  });

  it("folds sub-graphs at first only in a large dag", () => {
    expect(foldedAtFirst(family)).toEqual(new Set());
    const many = [...family, ...Array.from({ length: FOLD_FROM }, (_, at) => ({ id: `t${at}` }))];
    expect(foldedAtFirst(many)).toEqual(new Set(["plan", "a"]));
  });
});

describe("chains", () => {
  it("finds the longest, the first given of several", () => {
    const names = diamond.map((task) => task.id);
    expect(longestChain(names, sides)).toEqual(["top", "left", "join"]);
    expect(longestChain(["a", "b"], [])).toEqual(["a"]);
    expect(longestChain([], [])).toEqual([]);
    expect(longestChain(["a", "b"], [{ parent: "z", child: "a" }, { parent: "a", child: "b" }])).toEqual(["a", "b"]);
  });

  it("finds a cycle and names it in order", () => {
    expect(findCycle(sides)).toBeNull();
    expect(findCycle([...sides, { parent: "join", child: "top" }])).toEqual(["top", "left", "join", "top"]);
    expect(findCycle([{ parent: "a", child: "a" }])).toEqual(["a", "a"]);
    expect(longestChain(["a", "b"], [{ parent: "a", child: "b" }, { parent: "b", child: "a" }])).toEqual([]);
  });

  it("takes a chain as long as a call allows", () => {
    const names = Array.from({ length: 10_000 }, (_, at) => `t${at}`);
    const chain = names.slice(1).map((child, at) => ({ parent: `t${at}`, child }));
    expect(longestChain(names, chain)).toHaveLength(10_000);
    expect(findCycle(chain)).toBeNull();
    expect(findCycle([...chain, { parent: "t9999", child: "t0" }])).toHaveLength(10_001);
  });
});
