/**
 * The same change to many payloads: a JSON merge patch (RFC 7396). What it names is set, null removes, objects are
 * merged, everything else stays, numbers exactly as they were written.
 */

type Dict = Record<string, unknown>;

/** Whether a value is a JSON object; numbers that are kept exactly are objects too, but not of that kind. */
export function isDict(value: unknown): value is Dict {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** `value` with `patch` applied; neither is changed. */
export function merged(value: unknown, patch: unknown): unknown {
  if (!isDict(patch)) return patch;
  const result: Dict = isDict(value) ? { ...value } : {};
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) delete result[name];
    else define(result, name, merged(result[name], change));
  }
  return result;
}

/** Sets a name whatever it is: `__proto__` of a payload is a name like any other. */
function define(target: Dict, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}
