import { describe, expect, test } from "vitest";
import { parseExact, stringifyExact } from "../api/exact";
import { answerOf, draftOf, kindOf, type Schema, Unfit } from "./schema";

const APPROVAL: Schema = { type: "boolean" };
const VERDICT: Schema = {
  type: "object",
  properties: { approve: { type: "boolean" }, reason: { type: "string" } },
  required: ["approve"],
};

describe("how a part is asked for", () => {
  test.each([
    [null, "text"],
    [{}, "json"],
    [APPROVAL, "boolean"],
    [{ enum: ["a", 1, null] }, "choice"],
    [{ type: "array", items: { enum: ["a", "b"] } }, "choices"],
    [{ type: "array", items: { type: "integer" } }, "list"],
    [{ type: "array", items: { type: "object" } }, "json"],
    [{ type: ["string", "null"] }, "string"],
    [{ type: ["string", "object"], properties: { do: {} } }, "text"],
    [{ properties: { a: {} } }, "object"],
    [{ type: "object" }, "json"],
    [{ const: 3 }, "fixed"],
  ] as [Schema | null, string][])("%j as %s", (schema, kind) => {
    expect(kindOf(schema)).toBe(kind);
  });
});

describe("the answer that fields make", () => {
  test("an object has only the members that were filled in, or must be there", () => {
    expect(answerOf(VERDICT, { approve: false, reason: "" })).toEqual({ approve: false });
    expect(answerOf(VERDICT, { approve: true, reason: "fine" })).toEqual({ approve: true, reason: "fine" });
  });

  test("what is missing is named by its path", () => {
    const nested: Schema = {
      type: "object",
      properties: {
        size: { type: "object", properties: { width: { type: "integer", minimum: 1 } }, required: ["width"] },
      },
    };
    const refused = (draft: Parameters<typeof answerOf>[1]) => {
      try {
        answerOf(nested, draft);
      } catch (error) {
        return (error as Unfit).path;
      }
      return null;
    };
    expect(refused({ size: { width: "" } })).toBe("size.width");
    expect(refused({ size: { width: "0" } })).toBe("size.width");
    expect(refused({ size: { width: "2" } })).toBeNull();
  });

  test("whole numbers stay exact, however large", () => {
    const answer = answerOf({ type: "integer" }, "12345678901234567890");
    expect(stringifyExact(answer)).toBe("12345678901234567890");
    expect(() => answerOf({ type: "integer" }, "1.5")).toThrow(Unfit);
    expect(() => answerOf({ type: "number" }, "0x10")).toThrow(Unfit);
  });

  test("free text is JSON where it is, and text where it is not", () => {
    expect(answerOf(null, "42")).toBe(42);
    expect(answerOf(null, "use the blue one")).toBe("use the blue one");
    expect(() => answerOf({ type: "object" }, "{no")).toThrow(Unfit);
  });

  test("a choice is what stands at its place, of whatever type", () => {
    expect(answerOf({ enum: ["yes", 3, null] }, 1)).toBe(3);
    expect(() => answerOf({ enum: ["yes"] }, -1)).toThrow(Unfit);
    expect(answerOf({ type: "array", items: { enum: ["a", "b", "c"] }, maxItems: 2 }, [0, 2])).toEqual(["a", "c"]);
    expect(() => answerOf({ type: "array", items: { enum: ["a", "b", "c"] }, maxItems: 2 }, [0, 1, 2])).toThrow(Unfit);
  });

  test("a default is in the fields at first, and goes back out as it was", () => {
    const schema: Schema = { ...VERDICT, default: { approve: true, reason: "it works" } };
    expect(answerOf(schema, draftOf(schema))).toEqual({ approve: true, reason: "it works" });
    expect(draftOf({ enum: [1, 2], default: 2 })).toBe(1);
  });
});

describe("JSON without loss", () => {
  test.each([
    "12345678901234567890",
    "0.1234567890123456789",
    "1e400",
    '{"a":[1,2.5,"1e400"]}',
    "-0.30000000000000004",
  ])("%s", (text) => {
    expect(stringifyExact(parseExact(text))).toBe(text);
  });
});
