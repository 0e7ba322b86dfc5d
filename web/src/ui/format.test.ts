import { expect, test } from "vitest";
import { ago, bytes, count, duration, millis, money, plural } from "./format";

test.each([
  [0, "0 s"],
  [0.034, "34 ms"],
  [9.94, "9.9 s"],
  [59.9, "59 s"],
  [75, "1m 15s"],
  [3_600, "1h"],
  [90_061, "1d 1h"],
  [-75, "−1m 15s"],
])("%d seconds are %s", (seconds, words) => expect(duration(seconds)).toBe(words));

test.each([
  [1, "just now"],
  [59, "59s ago"],
  [-125, "in 2m"],
  [7_200, "2h ago"],
])("%d seconds ago is %s", (seconds, words) => expect(ago(seconds)).toBe(words));

test.each([
  [0, "$0.00"],
  [0.0004, "$0.0004"],
  [0.025, "$0.025"],
  [1_234.5, "$1,234.50"],
  [-2, "−$2.00"],
])("%d dollars are %s", (usd, words) => expect(money(usd)).toBe(words));

test("numbers are shortened from ten thousand on", () => {
  expect([9_999, 12_345, 1_234_567].map(count)).toEqual(["9,999", "12.3k", "1.2M"]);
  expect([900, 2_048, 3 << 20].map(bytes)).toEqual(["900 B", "2.0 KiB", "3.0 MiB"]);
  expect([plural(1, "task"), plural(2, "task")]).toEqual(["1 task", "2 tasks"]);
});

test("instants are ISO texts, or micros", () => {
  expect(millis("2026-01-01T00:00:00Z")).toBe(Date.UTC(2026, 0, 1));
  expect(millis(Date.UTC(2026, 0, 1) * 1_000)).toBe(Date.UTC(2026, 0, 1));
  expect([millis(null), millis(undefined), millis("never")]).toEqual([null, null, null]);
});
