// Numbers, money and times in words. Pure; the components of Values.tsx show them.

const STEPS: [number, string][] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "m"],
];

/** 0.34 s → "340 ms"; 75 → "1m 15s"; 90061 → "1d 1h". */
export function duration(seconds: number): string {
  const sign = seconds < 0 ? "−" : "";
  const length = Math.abs(seconds);
  if (length < 0.0005) return "0 s";
  if (length < 1) return `${sign}${Math.round(length * 1_000)} ms`;
  if (length < 10) return `${sign}${length.toFixed(1)} s`;
  if (length < 60) return `${sign}${Math.floor(length)} s`;
  for (const [index, [size, unit]] of STEPS.entries()) {
    if (length < size) continue;
    const whole = Math.floor(length / size);
    const [nextSize, nextUnit] = STEPS[index + 1] ?? [1, "s"];
    const rest = Math.floor((length % size) / nextSize);
    return `${sign}${whole}${unit}${rest ? ` ${rest}${nextUnit}` : ""}`;
  }
  return `${sign}${Math.floor(length)} s`;
}

/** How long ago, or in how long, in one unit: "just now", "3m ago", "in 2h". */
export function ago(seconds: number): string {
  const length = Math.abs(seconds);
  if (length < 2) return "just now";
  let words = `${Math.floor(length)}s`;
  for (const [size, unit] of STEPS) {
    if (length >= size) {
      words = `${Math.floor(length / size)}${unit}`;
      break;
    }
  }
  return seconds < 0 ? `in ${words}` : `${words} ago`;
}

/** USD: cents from a dollar on, what is needed to see it below. */
export function money(usd: number): string {
  const size = Math.abs(usd);
  const digits = size === 0 || size >= 1 ? 2 : size >= 0.01 ? 3 : 4;
  const text = size.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: digits });
  return `${usd < 0 ? "−" : ""}$${text}`;
}

/** 12345 → "12.3k"; exact below ten thousand. */
export function count(value: number): string {
  const size = Math.abs(value);
  if (size < 10_000) return value.toLocaleString("en-US");
  for (const [least, unit] of [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const) {
    if (size >= least) return `${(value / least).toFixed(size / least < 100 ? 1 : 0)}${unit}`;
  }
  return String(value);
}

export function bytes(size: number): string {
  if (size < 1_024) return `${size} B`;
  for (const [least, unit] of [
    [1 << 30, "GiB"],
    [1 << 20, "MiB"],
    [1 << 10, "KiB"],
  ] as const) {
    if (size >= least) return `${(size / least).toFixed(1)} ${unit}`;
  }
  return `${size} B`;
}

/** An instant of the API (ISO text, or micros) in milliseconds; null if there is none. */
export function millis(instant: string | number | null | undefined): number | null {
  if (instant == null) return null;
  const found = typeof instant === "number" ? instant / 1_000 : Date.parse(instant);
  return Number.isFinite(found) ? found : null;
}

/** Local time and UTC, for a tooltip. */
export function fullTime(at: number): string {
  const time = new Date(at);
  return `${time.toLocaleString()}\n${time.toISOString()}`;
}

/** "14:03:07", with the date unless it is today. */
export function clockTime(at: number, now: number): string {
  const time = new Date(at);
  const clock = time.toLocaleTimeString(undefined, { hour12: false });
  return time.toDateString() === new Date(now).toDateString() ? clock : `${time.toLocaleDateString()} ${clock}`;
}

/** "1 task", "3 tasks". */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${value.toLocaleString("en-US")} ${value === 1 ? one : many}`;
}
