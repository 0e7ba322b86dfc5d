/** Seconds as the shortest text that the API reads back as the same: 90 → `90s`, 21600 → `6h`. */

const UNITS: readonly [string, number][] = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
];

export function shortDuration(seconds: number): string {
  const unit = UNITS.find(([, size]) => seconds >= size && seconds % size === 0);
  return unit ? `${seconds / unit[1]}${unit[0]}` : `${seconds}s`;
}
