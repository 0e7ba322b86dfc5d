// A question's schema as a form: which part asks how, what is in its fields, and the answer that they make. Pure.
//
// Questions take the part of JSON Schema that any form can ask for: types, choices, bounds, members, elements.
import { isSafeNumber, LosslessNumber } from "lossless-json";
import { parseExact, stringifyExact } from "../api/exact";

export type Schema = {
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  title?: string;
  description?: string;
  default?: unknown;
  format?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
};

/** How a part is asked for. `json`: anything, written as JSON. `text`: anything, where what is not JSON is a text. */
export type Kind =
  | "boolean"
  | "choice"
  | "choices"
  | "string"
  | "number"
  | "object"
  | "list"
  | "json"
  | "text"
  | "fixed";

export function kindOf(schema: Schema | null | undefined): Kind {
  if (schema == null) return "text";
  if ("const" in schema) return "fixed";
  if (schema.enum) return "choice";
  const types = typesOf(schema);
  if (types.length !== 1) return types.includes("string") ? "text" : "json";
  switch (types[0]) {
    case "boolean":
      return "boolean";
    case "string":
      return "string";
    case "number":
    case "integer":
      return "number";
    case "object":
      return schema.properties && Object.keys(schema.properties).length ? "object" : "json";
    case "array":
      if (schema.items?.enum) return "choices";
      return schema.items && ["string", "number"].includes(kindOf(schema.items)) ? "list" : "json";
    case "null":
      return "fixed";
    default:
      return "json";
  }
}

/** The types but null: that one is what an empty field says. */
function typesOf(schema: Schema): string[] {
  const named = schema.type === undefined ? (schema.properties ? ["object"] : []) : [schema.type].flat();
  const others = named.filter((type) => type !== "null");
  return others.length ? others : named;
}

/** What is in the fields: a text, a choice by its place, yes or no (null: not said yet), or the members' drafts. */
export type Draft = string | boolean | null | number | number[] | { [name: string]: Draft };

export function draftOf(schema: Schema | null | undefined, value: unknown = schema?.default): Draft {
  const kind = kindOf(schema);
  switch (kind) {
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "choice":
      return schema?.enum?.findIndex((one) => same(one, value)) ?? -1;
    case "choices":
      return Array.isArray(value)
        ? value.map((one) => schema?.items?.enum?.findIndex((two) => same(one, two)) ?? -1).filter((at) => at >= 0)
        : [];
    case "object": {
      const members = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
      return Object.fromEntries(
        Object.entries(schema?.properties ?? {}).map(([name, part]) => [
          name,
          draftOf(part, members[name] ?? part.default),
        ]),
      );
    }
    case "list":
      return Array.isArray(value)
        ? value.map((one) => (typeof one === "string" ? one : stringifyExact(one))).join("\n")
        : "";
    case "fixed":
      return null;
    default:
      if (value === undefined || value === null) return "";
      return typeof value === "string" && kind !== "json" ? value : stringifyExact(value, 2);
  }
}

/** A draft that is no answer: what is wrong, and with which member (a path such as `size.width`; "" is the whole). */
export class Unfit extends Error {
  readonly path: string;
  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/** Nothing was said where nothing need be said. */
const NOTHING = Symbol("nothing");

/** The answer that a draft makes; throws `Unfit`. */
export function answerOf(schema: Schema | null | undefined, draft: Draft): unknown {
  const value = partOf(schema, draft, "", true);
  return value === NOTHING ? null : value;
}

function partOf(schema: Schema | null | undefined, draft: Draft, path: string, needed: boolean): unknown {
  const kind = kindOf(schema);
  const missing = (words: string) => {
    if (needed) throw new Unfit(path, words);
    return NOTHING;
  };
  switch (kind) {
    case "fixed":
      return schema?.const ?? null;
    case "boolean":
      return typeof draft === "boolean" ? draft : missing("Say yes or no.");
    case "choice":
      return typeof draft === "number" && draft >= 0 ? schema!.enum![draft] : missing("Choose one.");
    case "choices": {
      const chosen = (draft as number[]).map((at) => schema!.items!.enum![at]);
      checkLength(chosen, schema!, path);
      return chosen;
    }
    case "object": {
      const made: Record<string, unknown> = {};
      for (const [name, part] of Object.entries(schema?.properties ?? {})) {
        const below = path ? `${path}.${name}` : name;
        const value = partOf(
          part,
          (draft as Record<string, Draft>)[name] ?? "",
          below,
          schema?.required?.includes(name) ?? false,
        );
        if (value !== NOTHING) made[name] = value;
      }
      return made;
    }
    case "list": {
      const lines = String(draft)
        .split("\n")
        .filter((line) => line.trim() !== "");
      if (lines.length === 0 && !needed) return NOTHING;
      const made = lines.map((line) => partOf(schema!.items!, line, path, true));
      checkLength(made, schema!, path);
      return made;
    }
    case "number":
      return String(draft).trim() === "" ? missing("Enter a number.") : numberOf(schema!, String(draft).trim(), path);
    case "string": {
      const text = String(draft);
      if (text === "" && (!needed || (schema?.minLength ?? 0) > 0)) return missing("Write something.");
      const length = [...text].length;
      if (length < (schema?.minLength ?? 0)) throw new Unfit(path, `At least ${schema!.minLength} characters.`);
      if (length > (schema?.maxLength ?? Number.POSITIVE_INFINITY))
        throw new Unfit(path, `At most ${schema!.maxLength} characters.`);
      return text;
    }
    case "json":
    case "text": {
      const text = String(draft);
      if (text.trim() === "") return missing("Write something.");
      try {
        return parseExact(text);
      } catch {
        if (kind === "text") return text;
        throw new Unfit(path, "This is not JSON.");
      }
    }
  }
}

function numberOf(schema: Schema, text: string, path: string): unknown {
  if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text)) throw new Unfit(path, "Enter a number.");
  const value = Number(text);
  if (
    [schema.type].flat().includes("integer") &&
    ![schema.type].flat().includes("number") &&
    /[.eE]/.test(text) &&
    !Number.isInteger(value)
  )
    throw new Unfit(path, "Enter a whole number.");
  if (value < (schema.minimum ?? Number.NEGATIVE_INFINITY)) throw new Unfit(path, `At least ${schema.minimum}.`);
  if (value > (schema.maximum ?? Number.POSITIVE_INFINITY)) throw new Unfit(path, `At most ${schema.maximum}.`);
  return isSafeNumber(text) ? value : new LosslessNumber(text);
}

function checkLength(made: unknown[], schema: Schema, path: string): void {
  if (made.length < (schema.minItems ?? 0)) throw new Unfit(path, `At least ${schema.minItems}.`);
  if (made.length > (schema.maxItems ?? Number.POSITIVE_INFINITY)) throw new Unfit(path, `At most ${schema.maxItems}.`);
}

function same(one: unknown, other: unknown): boolean {
  return one === other || stringifyExact(one) === stringifyExact(other);
}
