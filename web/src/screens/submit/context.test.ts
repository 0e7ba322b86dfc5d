import { describe, expect, it } from "vitest";
import { cursorAt, refsIn } from "./context";

/** What is offered at the bar. */
const at = (marked: string) => {
  const place = marked.indexOf("|");
  const text = marked.replace("|", "");
  const cursor = cursorAt(text, place);
  return cursor && [cursor.what, cursor.kind, cursor.field, text.slice(cursor.from, place)];
};

describe("where the cursor is", () => {
  it.each([
    ["|", ["name", "dag", null, ""]],
    ["ti|", ["name", "dag", null, "ti"]],
    ["title: x\non_f|", ["name", "dag", null, "on_f"]],
    ["title: x\non_failure: con|", ["value", "dag", "on_failure", "con"]],
    ["title: x\ntasks:\n  - |", ["name", "task", null, ""]],
    ["title: x\ntasks:\n- ty|", ["name", "task", null, "ty"]],
    ["title: x\ntasks:\n- type: a\n  pri|", ["name", "task", null, "pri"]],
    ["tasks:\n  - type: a\n    payload:\n      x|", null],
    ["tasks:\n  - type: a\n    payload:\n      tasks:\n        - x|", null],
    ["tasks:\n  - type: a\n    payload: {a: 1}\n    af|", ["name", "task", null, "af"]],
    ["tasks:\n  - type: a\n    retry:\n      del|", ["name", "retry", null, "del"]],
    ["tasks:\n  - type: a\n    retry: {del|", ["name", "retry", null, "del"]],
    ["tasks:\n  - type: a\n    after: [b, c|", ["value", "task", "after", "c"]],
    ["tasks:\n  - type: a\n    after:\n      - c|", ["value", "task", "after", "c"]],
    ["tasks:\n  - {type: a, pr|", ["name", "task", null, "pr"]],
    ["tasks:\n  - {type: a, after: [b|", ["value", "task", "after", "b"]],
    ["tasks:\n  - {type: a, payload: {x|", null],
    ["title: x\ntasks:\n  - type: a\non_f|", ["name", "dag", null, "on_f"]],
    ["# ti|", null],
    ['{"ti|', ["name", "dag", null, "ti"]],
    ['{"title": "a, {b", "on_failure": "|', ["value", "dag", "on_failure", ""]],
    ['{"tasks": [{"ty|', ["name", "task", null, "ty"]],
    ['{"tasks": [{"type": "a", "payload": {"x|', null],
    ['{"tasks": [{"type": "a", "after": ["b|', ["value", "task", "after", "b"]],
    ['{"tasks": [{"type": "a", "retry": {"d|', ["name", "retry", null, "d"]],
    ['{"tasks": [{"type": "a"}], "bu|', ["name", "dag", null, "bu"]],
  ])("%s", (marked, cursor) => {
    expect(at(marked)).toEqual(cursor);
  });
});

describe("the refs of a text", () => {
  it("are found in YAML and JSON, also while it is half written", () => {
    expect(refsIn("tasks:\n  - ref: a\n    type: x\n  - {ref: 'b c', type: y}\n  - type: z\n    aft")).toEqual(["a", "b c"]);
    expect(refsIn('{"tasks": [{"ref": "a", "type": "x"}, {"type": "y", "after": ["')).toEqual(["a"]);
    expect(refsIn("context: {href: x}")).toEqual([]);
  });
});
