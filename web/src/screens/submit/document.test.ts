import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { stringifyExact } from "../../api/exact";
import { placeOf, read } from "./document";
import { type DagSchema, fieldsOf, HELP, inWords } from "./fields";

const schema = JSON.parse(
  readFileSync(new URL("../../../../docs/openapi.json", import.meta.url), "utf8"),
) as DagSchema;

const said = (text: string) =>
  read(text, schema).flaws.map((flaw) => {
    const before = text.slice(0, flaw.from).split("\n");
    return [before.length, text.slice(flaw.from, flaw.to).trim().split("\n")[0], flaw.message];
  });

const GOOD = `title: Landing page
budget: 5
tasks:
  - {ref: plan, type: plan, payload: {big: 123456789012345678901234567890, ratio: 0.1}}
  - ref: write
    type: write
    title: Write it
    after: [plan]
    retry: {strategy: fixed, delay: 5}
  - type: check
    after: [plan, write]
    after_ended: [task_01jabcdefghjkmnpqrstvwxyz0]
`;

describe("a dag that is written well", () => {
  it("can be sent, with every digit, and previewed", () => {
    const draft = read(GOOD, schema);
    expect(draft.flaws).toEqual([]);
    expect(stringifyExact(draft.body)).toContain('"big":123456789012345678901234567890,"ratio":0.1');
    expect(draft.tasks.map((task) => [task.id, task.type])).toEqual([
      ["plan", "plan"],
      ["write", "write"],
      ["#3", "check"],
    ]);
    expect(draft.edges).toHaveLength(4);
    expect(draft.criticalPath).toEqual(["plan", "write", "#3"]);
  });

  it("is the same in JSON", () => {
    const text = stringifyExact(read(GOOD, schema).body, 2);
    const draft = read(text, schema);
    expect([draft.format, draft.flaws]).toEqual(["json", []]);
    expect(stringifyExact(draft.body, 2)).toBe(text);
  });

  it("means what it means in the shell", () => {
    const value = (yaml: string) =>
      stringifyExact((read(`title: t\ntasks: [{type: x, payload: {v: ${yaml}}}]`, schema).body as never as {
        tasks: [{ payload: { v: unknown } }];
      }).tasks[0].payload.v);
    const meant: [string, string][] = [
      ["yes", "true"],
      ["Off", "false"],
      ["y", '"y"'],
      ["1e3", '"1e3"'],
      ["1.5e3", '"1.5e3"'],
      ["1.5e+3", "1500"],
      ["010", "8"],
      ["09", '"09"'],
      ["0o10", '"0o10"'],
      ["0x1F", "31"],
      ["0b11", "3"],
      ["1_000", "1000"],
      ["1:30", "90"],
      ["12:30:45", "45045"],
      ["~", "null"],
      ["2030-01-01", '"2030-01-01"'],
      ["2030-01-01T00:00:00Z", '"2030-01-01T00:00:00Z"'],
      [".5", "0.5"],
      ["5.", "5"],
      ["-.5", '"-.5"'],
      ["+5", "5"],
      ["-7", "-7"],
      ["'1'", '"1"'],
      ["1.1:30", '"1.1:30"'],
    ];
    for (const [yaml, json] of meant) expect([yaml, value(yaml)]).toEqual([yaml, json]);
  });

  it("may share parts by anchors and merging", () => {
    const draft = read("title: t\ntasks:\n  - &a {type: x, tags: [b]}\n  - {<<: *a, ref: two}\n  - *a\n", schema);
    expect(draft.flaws).toEqual([]);
    expect((draft.body as { tasks: unknown[] }).tasks[1]).toEqual({ type: "x", tags: ["b"], ref: "two" });
  });

  it("is nothing yet while it is empty", () => {
    expect(read(" \n", schema)).toMatchObject({ body: null, flaws: [], tasks: [] });
  });
});

describe("what is wrong is said at its place", () => {
  it.each([
    ["title: a\ntasks:\n  - type: [\n", 4],
    ["title: 'a\n", 2],
    ['{"title": "a", "tasks": [}', 1],
    ["title: a\ntitle: b\ntasks: [{type: x}]", 2],
    ["title: a\ntasks: [{type: !!python/object x}]", 2],
  ])("a text that cannot be read: %s", (text, line) => {
    const flaws = said(text);
    expect(flaws.length).toBeGreaterThan(0);
    expect(flaws[0]?.[0]).toBeLessThanOrEqual(line);
    expect(read(text, schema).body).toBeNull();
  });

  it.each([
    ["title: a\ntasks:\n- tpye: x\n  type: y", [[3, "tpye", "Task 1 has an unknown field 'tpye'. Did you mean 'type'?"]]],
    ["title: a\ntasks:\n- {ref: r, type: y, dag: d}", [[3, "dag", "Task 'r' has an unknown field 'dag'. It is given by the file."]]],
    ["titel: a\ntasks: [{type: y}]", [
      [1, "titel", "The dag has an unknown field 'titel'. Did you mean 'title'?"],
      [1, "titel: a", "The dag has no title."],
    ]],
    ["title: a\ntasks: [{type: y, priority: high}]", [[2, "high", "priority must be a number."]]],
    ["title: a\ntasks: [{type: y, after: b}]", [[2, "b", "after must be a list of texts."]]],
    ["title: a\ntasks: [{type: y, retry: {dely: 3}}]", [[2, "dely", "Task 1, retry has an unknown field 'dely'. Did you mean 'delay'?"]]],
    ["title: a\ntasks:\n- ref: fetch\n  type: y\n- type: z\n  after: [fetsch]", [
      [6, "fetsch", "Task 2 waits for 'fetsch', which is no ref of this dag and no id. Did you mean 'fetch'?"],
    ]],
    ["title: a\ntasks: [{ref: r, type: y}, {ref: r, type: z}]", [[2, "r", "The ref 'r' is used twice."]]],
    ["title: a\ntasks:\n- {ref: x, type: y, after: [z]}\n- {ref: z, type: y, after: [x]}", [
      [4, "[x]", "These wait for each other: z → x → z"],
    ]],
    ["title: a\ntasks: [{ref: x, type: y, after: [x]}]", [[2, "x", "Task 'x' would wait for itself."]]],
    ["title: a\ntasks: []", [[2, "tasks", "A dag needs at least one task."]]],
    ["title: a\ntasks: 3", [[2, "3", "tasks must be a list."]]],
    ["title: a\ntasks: [3]", [[2, "3", "Task 1 must be an object such as {type: research}."]]],
    ["title: a\ntasks: [{payload: 1}]", [[2, "{payload: 1}", "Task 1 has no type."]]],
    ["title: ''\ntasks: [{type: x}]", [[1, "''", "The dag: title is empty."]]],
    ["title: a\ntasks: [{type: x, payload: .inf}]", [[1, "title: a", "Infinity cannot be sent as JSON."]]],
    ["- a\n- b", [[1, "- a", "A dag is an object: title: …, tasks: [{type: …}, …]"]]],
  ])("%s", (text, flaws) => {
    expect(said(text)).toEqual(flaws);
    expect(read(text, schema).body).toBeNull();
  });

  it("does not write out aliases without end", () => {
    const bomb = `title: t\na: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefghij"
      .split("")
      .map((name, at) => `${name}: &${name} [${Array(9).fill(`*${"abcdefghij"[at]}`).join(",")}]`)
      .join("\n")}\ntasks: [{type: x, payload: *j}]\n`;
    expect(read(bomb, schema).body).toBeNull();
  });
});

describe("what the server refuses", () => {
  const at = (message: string, field: string | null) => {
    const { from, to } = placeOf(GOOD, message, field);
    return GOOD.slice(from, to).split("\n")[0];
  };
  it("is shown at its task and field", () => {
    expect(at("task 'write': retry must …", "retry")).toBe("{strategy: fixed, delay: 5}");
    expect(at("task 3 of 3: type must …", "type")).toBe("check");
    expect(at("task 'plan': something", "priority")).toContain("{ref: plan");
    expect(at("budget must be positive", "budget")).toBe("5");
    expect(at("something else", null)).toBe("title: Landing page");
  });
});

describe("the help", () => {
  it("has a sentence for every field, and for no other", () => {
    for (const kind of ["dag", "task", "retry"] as const) {
      expect(Object.keys(HELP[kind]).sort()).toEqual(Object.keys(fieldsOf(schema, kind)).sort());
    }
  });
  it("says types in words", () => {
    const task = fieldsOf(schema, "task");
    expect(["type", "timeout", "after", "payload", "approval"].map((name) => inWords(task[name] ?? {}))).toEqual([
      "a text",
      "a number, a text or null",
      "a list of texts",
      "any JSON",
      "true or false",
    ]);
  });
});
