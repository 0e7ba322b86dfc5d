import { expect, test } from "vitest";
import { parseExact, type Schemas } from "../../api";
import { copyOf, ownLimit, usedUp } from "./copy";

const task = (changes: Partial<Schemas["Task"]>) =>
  ({ type: "code", tags: [], models: [], reason: "budget_exceeded", ...changes }) as Schemas["Task"];

test("which limit stopped a task is read from what the queue said", () => {
  expect(ownLimit(task({ error: "the task used more than its max_cost of $2.00" }))).toBe("max_cost");
  expect(ownLimit(task({ error: "the task used more than its max_cost of $2.00", reason: "error" }))).toBeNull();
  expect(usedUp(task({ error: "budget type:code is used up, and the attempt used more" }))).toBe("type:code");
  expect(usedUp(task({ error: "ValueError" }))).toBeNull();
});

test("a copy has the same terms, exactly, and twice the limit", () => {
  const payload = parseExact('{"n": 12345678901234567890123}');
  const copy = copyOf(task({ title: "Mend it", payload, max_cost: 2, max_tokens: null }), "max_cost");
  expect(copy).toContain("12345678901234567890123");
  expect(JSON.parse(copy)).toMatchObject({ title: "Mend it", tasks: [{ type: "code", max_cost: 4 }] });
  expect(JSON.parse(copy).tasks[0]).not.toHaveProperty("tags");
});
