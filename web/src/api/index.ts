export * from "./client";
export { LosslessNumber, parseExact, stringifyExact } from "./exact";
export * from "./queries";
