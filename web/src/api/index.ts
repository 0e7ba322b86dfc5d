export * from "./client";
export { LosslessNumber, parseExact, readExact, stringifyExact } from "./exact";
export * from "./queries";
