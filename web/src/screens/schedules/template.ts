import { LosslessNumber, readExact } from "../../api/exact";

/** Why a text is no JSON object; undefined if it is one. */
export function templateError(text: string): string | undefined {
  const { value, fault } = readExact(text);
  if (fault !== null) return fault;
  const isObject =
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof LosslessNumber);
  return isObject ? undefined : "This must be an object: { … }";
}
