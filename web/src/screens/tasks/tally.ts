/**
 * One action on many tasks: a slice at a time, told as it goes, and stopped between two slices.
 *
 * What is refused is kept by task, with what was said; what did not need it is counted only.
 */

export interface Refusal {
  task_id: string;
  message: string;
}

export interface Tally {
  done: number;
  left: number;
  /** How many were refused, and the first of them. */
  refused: number;
  refusals: Refusal[];
  over: boolean;
  /** What ended it early, if something did. */
  fault: string | null;
}

export interface Slice {
  done?: readonly string[];
  left?: readonly string[];
  refused?: readonly Refusal[];
  cursor?: string | null;
}

export const NOTHING: Tally = { done: 0, left: 0, refused: 0, refusals: [], over: false, fault: null };

const MOST_REFUSALS = 200;
const AT_ONCE = 4;

/** Everything that fits a filter: `next` does one slice of it. */
export async function overFilter(
  next: (cursor: string | null) => Promise<Slice>,
  tell: (tally: Tally) => void,
  signal: AbortSignal,
): Promise<void> {
  let tally = NOTHING;
  let cursor: string | null = null;
  try {
    do {
      const slice: Slice = await next(cursor);
      tally = added(tally, slice);
      cursor = slice.cursor ?? null;
      tell(tally);
    } while (cursor !== null && !signal.aborted);
    tell({ ...tally, over: true });
  } catch (error) {
    tell({ ...tally, over: true, fault: wordsOf(error) });
  }
}

/** These tasks, a few at once; a refusal of one stops no other. */
export async function overIds(
  ids: readonly string[],
  act: (id: string) => Promise<unknown>,
  tell: (tally: Tally) => void,
  signal: AbortSignal,
): Promise<void> {
  let tally = NOTHING;
  for (let at = 0; at < ids.length && !signal.aborted; at += AT_ONCE) {
    const some = ids.slice(at, at + AT_ONCE);
    const ended = await Promise.allSettled(some.map((id) => act(id)));
    const done = some.filter((_, index) => ended[index]?.status === "fulfilled");
    const refused = some.flatMap((task_id, index) => {
      const end = ended[index];
      return end?.status === "rejected" ? [{ task_id, message: wordsOf(end.reason) }] : [];
    });
    tally = added(tally, { done, refused });
    tell(tally);
  }
  tell({ ...tally, over: true });
}

function added(tally: Tally, slice: Slice): Tally {
  const refused = slice.refused ?? [];
  return {
    ...tally,
    done: tally.done + (slice.done?.length ?? 0),
    left: tally.left + (slice.left?.length ?? 0),
    refused: tally.refused + refused.length,
    refusals: [...tally.refusals, ...refused].slice(0, MOST_REFUSALS),
  };
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : "It did not work.";
}
