import { expect, test } from "vitest";
import { written } from "./words";

test("values are quoted where the grammar would read something else", () => {
  expect(written("repo:x")).toBe("repo:x");
  expect(written("two words")).toBe('"two words"');
  expect(written("a,b")).toBe('"a,b"');
  expect(written("-x")).toBe('"-x"');
  expect(written('say "hi" \\')).toBe('"say \\"hi\\" \\\\"');
});
