import { expect, test } from "vitest";
import { homeward } from "./session";

test.each(["/", "/tasks?query=status:running", "/tasks/task_1"])("after the login one goes on to %s", (next) => {
  expect(homeward(next)).toBe(next);
});

test.each([
  undefined,
  "",
  "//evil.example",
  "/\\evil.example",
  "https://evil.example",
  "javascript:alert(1)",
  "/login?next=/login",
  "/\t/evil.example",
])("but never to %s", (next) => expect(homeward(next)).toBe("/"));
