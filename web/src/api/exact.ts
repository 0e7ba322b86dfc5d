// JSON without loss: a number that JavaScript cannot hold exactly stays what was written.
import { isSafeNumber, LosslessNumber, parse, stringify } from "lossless-json";

export { LosslessNumber };

// Most answers have no such number; those are read by the browser's own, faster parser.
const SUSPICIOUS = /\d{16}|\d[eE][+-]?\d{2}|\.\d{16}/;

function number(text: string): unknown {
  return isSafeNumber(text, { approx: false }) ? Number(text) : new LosslessNumber(text);
}

/** The document as data; numbers that a double cannot hold are `LosslessNumber`. Throws SyntaxError. */
export function parseExact(text: string): unknown {
  return SUSPICIOUS.test(text) ? parse(text, undefined, number) : JSON.parse(text);
}

/** The data as JSON, with the exact numbers that `parseExact` kept. */
export function stringifyExact(value: unknown, indent?: number): string {
  return stringify(value, undefined, indent) ?? "null";
}

/** What a text says, and why it is no JSON, if it is none. */
export function readExact(text: string): { value: unknown; fault: string | null } {
  try {
    return { value: parseExact(text), fault: null };
  } catch (error) {
    const why = error instanceof Error ? `: ${error.message.replace(/\.$/, "")}` : "";
    return { value: undefined, fault: `This is not JSON${why}.` };
  }
}
