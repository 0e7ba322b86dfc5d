import { parse, stringify } from "lossless-json";
import { describe, expect, it } from "vitest";
import { merged } from "./patch";

describe("the same change to many payloads", () => {
  it("sets what it names, removes what it says is null, and leaves the rest", () => {
    const payload = { url: "a", deep: { keep: 1, drop: 2 }, list: [1, 2] };
    expect(merged(payload, { url: "b", deep: { drop: null, fresh: 3 } })).toEqual({
      url: "b",
      deep: { keep: 1, fresh: 3 },
      list: [1, 2],
    });
    expect(payload.deep).toEqual({ keep: 1, drop: 2 });
  });

  it("replaces lists and values whole, and makes an object where there was none", () => {
    expect(merged({ list: [1, 2] }, { list: [3] })).toEqual({ list: [3] });
    expect(merged("text", { a: 1 })).toEqual({ a: 1 });
    expect(merged({ a: 1 }, "text")).toEqual("text");
  });

  it("keeps numbers that no float can hold", () => {
    const changed = merged(parse('{"id": 12345678901234567890, "n": 1.10}'), parse('{"more": 98765432109876543210}'));
    expect(stringify(changed)).toBe('{"id":12345678901234567890,"n":1.10,"more":98765432109876543210}');
  });

  it("touches nothing but the payload, whatever a name is", () => {
    const changed = merged({}, JSON.parse('{"__proto__": {"polluted": true}}'));
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(Object.keys(changed as object)).toEqual(["__proto__"]);
  });
});
