import { expect, test } from "vitest";
import { subtree } from "./subtree";

const task = (id: string, status = "pending", parent_id: string | null = null) => ({ id, status, parent_id });

test("what depends on a task and what it spawned ends with it; what only waits for its end does not", () => {
  const tasks = [
    task("a", "running"),
    task("b"),
    task("c"),
    task("d"),
    task("e", "running", "a"),
    task("f", "completed", "a"),
  ];
  const edges = [
    { parent: "a", child: "b" },
    { parent: "b", child: "c", kind: "after" },
    { parent: "a", child: "d", kind: "after_ended" },
  ];
  expect(subtree("a", tasks, edges).sort()).toEqual(["a", "b", "c", "e"]);
  expect(subtree("c", tasks, edges)).toEqual(["c"]);
  expect(subtree("f", tasks, edges)).toEqual([]);
});
