import { describe, expect, it } from "vitest";
import { plain, report } from "./markdown";

describe("the decision log as Markdown", () => {
  it("has one line for each decision", () => {
    const text = report(
      [
        {
          seq: 7,
          at: "2030-01-01T10:00:00Z",
          taskId: "task_1",
          type: "code",
          title: null,
          resolution: "dropped",
          by: "human:grace",
          note: "the page is gone",
          to: null,
        },
      ],
      new Date("2030-01-02T00:00:00Z"),
    );
    expect(text).toContain("as of 2030-01-02 00:00 UTC");
    expect(text).toContain("| 2030-01-01 10:00:00 | human:grace | dropped | task\\_1 | code |  | the page is gone |\n");
  });

  it("reads other people's words as nothing but words", () => {
    expect(plain("a\n| b | <img src=x onerror=alert(1)> [c](javascript:d) `e`")).toBe(
      "a \\| b \\| \\<img src=x onerror=alert(1)\\> \\[c\\](javascript:d) \\`e\\`",
    );
  });
});
