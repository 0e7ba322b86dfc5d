import { describe, expect, it } from "vitest";
import { Board, countByStatus } from "./board";

const task = (id: string, status: string, updated_at: string) => ({ id, status, updated_at });

describe("the board", () => {
  it("tells of a task only those who watch it, once for a batch", () => {
    const board = new Board<ReturnType<typeof task>>();
    const heard: string[] = [];
    const leave = board.watch("a", () => heard.push("a"));
    board.watch("b", () => heard.push("b"));
    board.watchAll(() => heard.push("all"));
    board.put([task("a", "ready", "1"), task("c", "ready", "1"), null]);
    expect(heard).toEqual(["a", "all"]);
    board.put([task("a", "ready", "1")]);
    expect(heard).toEqual(["a", "all"]);
    expect(board.version).toBe(1);
    leave();
    board.put([task("a", "running", "2")]);
    expect(heard).toEqual(["a", "all", "all"]);
    expect(board.get("a")?.status).toBe("running");
    expect(board.pick(["c", "nobody", "a"]).map((found) => found.id)).toEqual(["c", "a"]);
  });

  it("counts by status", () => {
    const counted = countByStatus([{ status: "ready" }, { status: "ready" }, { status: "running" }]);
    expect([...counted]).toEqual([
      ["ready", 2],
      ["running", 1],
    ]);
  });
});
