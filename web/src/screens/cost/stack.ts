/**
 * What was spent, as a chart stacks it: a column for each day, a layer for each of the dearest names, the rest together.
 *
 * The rule: nothing is lost. The layers of a day add up to all that is known of it, and days without anything are there,
 * too.
 */

export interface Spent {
  at: string;
  name?: string | null;
  attempts?: number;
  cost_usd?: number | null;
  unpriced?: number;
  tokens_in?: number | null;
  tokens_out?: number | null;
}

export interface Total {
  /** null: no model was named, or the task stood alone. */
  name: string | null;
  usd: number;
  unpriced: number;
  attempts: number;
  tokensIn: number;
  tokensOut: number;
}

export interface Layer {
  name: string | null;
  /** How many names it stands for; more than one: the rest. */
  names: number;
  /** By day. */
  values: number[];
}

export interface Stacked {
  /** Midnights (UTC), in milliseconds. */
  days: number[];
  /** The dearest first, the rest last. */
  layers: Layer[];
}

export type Measure = "usd" | "tokens";

export const LAYERS = 8;
const DAY_MS = 86_400_000;

const measured = (row: Spent, measure: Measure): number =>
  measure === "usd" ? (row.cost_usd ?? 0) : (row.tokens_in ?? 0) + (row.tokens_out ?? 0);

/** Everything by name, the dearest first. */
export function totals(rows: readonly Spent[], by: (row: Spent) => string | null = ({ name }) => name ?? null): Total[] {
  const found = new Map<string | null, Total>();
  for (const row of rows) {
    const name = by(row);
    const sum = found.get(name) ?? { name, usd: 0, unpriced: 0, attempts: 0, tokensIn: 0, tokensOut: 0 };
    sum.usd += row.cost_usd ?? 0;
    sum.unpriced += row.unpriced ?? 0;
    sum.attempts += row.attempts ?? 0;
    sum.tokensIn += row.tokens_in ?? 0;
    sum.tokensOut += row.tokens_out ?? 0;
    found.set(name, sum);
  }
  return [...found.values()].sort((one, other) => other.usd - one.usd || other.unpriced - one.unpriced);
}

export const dayOf = (row: Spent): string => row.at.slice(0, 10);

/** All midnights from the one of `since` to the one of `until`. */
export function daysBetween(since: number, until: number): number[] {
  const days: number[] = [];
  for (let day = Math.floor(since / DAY_MS) * DAY_MS; day <= until; day += DAY_MS) days.push(day);
  return days;
}

export function stacked(rows: readonly Spent[], days: readonly number[], measure: Measure, most = LAYERS): Stacked {
  const places = new Map(days.map((day, at) => [day, at]));
  const sums = new Map<string | null, number[]>();
  for (const row of rows) {
    const at = places.get(Math.floor(Date.parse(row.at) / DAY_MS) * DAY_MS);
    const value = measured(row, measure);
    if (at === undefined || value === 0) continue;
    const name = row.name ?? null;
    const values = sums.get(name) ?? new Array<number>(days.length).fill(0);
    values[at] = (values[at] ?? 0) + value;
    sums.set(name, values);
  }
  const whole = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
  const ordered = [...sums].map(([name, values]): Layer => ({ name, names: 1, values }));
  ordered.sort((one, other) => whole(other.values) - whole(one.values));
  if (ordered.length <= most) return { days: [...days], layers: ordered };
  const rest = ordered.splice(most - 1);
  const values = days.map((_, at) => rest.reduce((sum, layer) => sum + (layer.values[at] ?? 0), 0));
  return { days: [...days], layers: [...ordered, { name: null, names: rest.length, values }] };
}

/** Each layer on top of those before it: what a chart draws, from the highest down. */
export function heaped(layers: readonly Layer[]): number[][] {
  const heights: number[][] = [];
  for (const layer of layers) {
    const below = heights[heights.length - 1];
    heights.push(layer.values.map((value, at) => value + (below?.[at] ?? 0)));
  }
  return heights;
}
