/**
 * A schedule while somebody writes it: every field is text, as it is typed.
 *
 * What is wrong with a value is for the server to say, in the words it always has; here only JSON is checked, because
 * nothing else could be sent.
 */

import type { Schemas } from "../../api";
import { parseExact, stringifyExact } from "../../api/exact";
import { shortDuration } from "./durations";

export type Schedule = Schemas["Schedule"];
export type When = "cron" | "every" | "at";
export type Makes = "task" | "dag";

export interface Draft {
  name: string;
  when: When;
  cron: string;
  every: string;
  at: string;
  timezone: string;
  makes: Makes;
  template: string;
  missed: string;
  max_missed: string;
  overlap: string;
  jitter: string;
  paused: boolean;
}

export const MADE = [
  { value: "task", label: "a task" },
  { value: "dag", label: "a dag" },
];

export const SAMPLE: Record<Makes, string> = {
  task: stringifyExact({ type: "audit", title: "Audit of {{schedule.tick}}", payload: { deep: true } }, 2),
  dag: stringifyExact(
    {
      title: "Digest",
      tasks: [
        { ref: "gather", type: "gather" },
        { type: "write", after: ["gather"] },
      ],
    },
    2,
  ),
};

/** The draft that a form begins with: empty, or what a schedule says. */
export function draftOf(known: Schedule | null): Draft {
  const makes: Makes = known?.dag ? "dag" : "task";
  return {
    name: known?.name ?? "",
    when: known?.every != null ? "every" : known?.at != null ? "at" : "cron",
    cron: known?.cron ?? (known ? "" : "30 2 * * MON-FRI"),
    every: known?.every != null ? shortDuration(known.every) : known ? "" : "6h",
    at: known?.at ?? "",
    timezone: known?.timezone ?? "UTC",
    makes,
    template: known ? stringifyExact(known.dag ?? known.task, 2) : SAMPLE.task,
    missed: known?.missed ?? "one",
    max_missed: String(known?.max_missed ?? 100),
    overlap: known?.overlap ?? "allow",
    jitter: known?.jitter ? shortDuration(known.jitter) : "",
    paused: known?.paused ?? false,
  };
}

/** What is sent for a draft. Throws a SyntaxError if the template is no JSON. */
export function bodyOf(draft: Draft, replace: boolean): Record<string, unknown> {
  return {
    [draft.when]: draft[draft.when].trim() || null,
    ...(draft.when === "cron" ? { timezone: draft.timezone.trim() || null } : {}),
    [draft.makes]: parseExact(draft.template),
    missed: draft.missed,
    max_missed: /^\d+$/.test(draft.max_missed.trim()) ? Number(draft.max_missed) : draft.max_missed,
    overlap: draft.overlap,
    jitter: draft.jitter.trim() || 0,
    paused: draft.paused,
    replace,
  };
}
