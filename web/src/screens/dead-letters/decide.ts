// A decision about many dead letters: which they are is looked up first, and those are decided about, a few at a time.
import { api, call, get, type Schemas } from "../../api";
import { isDict, merged } from "./patch";

/** What picks dead letters; the names are those of the API. */
export type Filter = { type?: string; fingerprint?: string; text?: string; since?: string; reviewed?: boolean };
export type Resolution = Schemas["Resolution"];
export type Ruling = {
  resolution: Resolution;
  by: string;
  note?: string;
  to?: string;
  delay?: string;
  question?: string;
};
export type Outcome = { done: number; refused: string[] };
export type Progress = (done: number) => void;

/** So many are decided about in one request: short enough to show how far it is. */
const AT_ONCE = 100;
const SIDE_BY_SIDE = 4;

/** The ids of the dead letters that fit, oldest first: a task can only live again after those it depends on. */
export async function idsOf(filter: Filter): Promise<string[]> {
  return [...(await get("/v1/dead-letters/ids", { params: { query: filter } }))].reverse();
}

/** Decide alike about all of them. What is refused (it was decided otherwise meanwhile) does not stop the rest. */
export async function decide(ids: readonly string[], ruling: Ruling, progress: Progress): Promise<Outcome> {
  const outcome: Outcome = { done: 0, refused: [] };
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const task_ids = ids.slice(at, at + AT_ONCE);
    const answers = await call(api.POST("/v1/dead-letters/review", { body: { task_ids, ...ruling } }));
    for (const answer of answers) {
      if ("message" in answer) outcome.refused.push(answer.message);
      else outcome.done += 1;
    }
    progress(Math.min(ids.length, at + AT_ONCE));
  }
  return outcome;
}

/** Retry one with another payload. */
export function retryWith(
  task_id: string,
  payload: unknown,
  by: string,
  note: string,
  keep_steps: boolean,
): Promise<unknown> {
  return call(
    api.POST("/v1/dead-letters/{task_id}/review", {
      params: { path: { task_id } },
      body: { resolution: "retried_modified", by, payload, keep_steps, ...(note ? { note } : {}) },
    }),
  );
}

type Patching = { patch: unknown; by: string; note: string; keep_steps: boolean };

/** Retry many, each with its own payload and the same change to it. */
export async function retryPatched(
  ids: readonly string[],
  { patch, by, note, keep_steps }: Patching,
  progress: Progress,
): Promise<Outcome> {
  const outcome: Outcome = { done: 0, refused: [] };
  for (let at = 0; at < ids.length; at += SIDE_BY_SIDE) {
    const slice = ids.slice(at, at + SIDE_BY_SIDE);
    const ended = await Promise.allSettled(
      slice.map(async (task_id) => {
        // One by one: lists leave out payloads that are large.
        const task = await get("/v1/tasks/{task_id}", { params: { path: { task_id } } });
        await retryWith(task_id, merged(task.payload, patch), by, note, keep_steps);
      }),
    );
    for (const each of ended) {
      if (each.status === "fulfilled") outcome.done += 1;
      else outcome.refused.push(each.reason instanceof Error ? each.reason.message : String(each.reason));
    }
    progress(Math.min(ids.length, at + SIDE_BY_SIDE));
  }
  return outcome;
}

/** Refusals alike told once, with how often. */
export function summed(refused: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const each of refused) {
    const told = each.replace(/task_[0-9a-z]{26}/g, "a task");
    counts.set(told, (counts.get(told) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/** Whether a patch changes anything. */
export function isPatch(value: unknown): boolean {
  return isDict(value) && Object.keys(value).length > 0;
}
