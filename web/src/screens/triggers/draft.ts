/** A trigger while somebody writes it: every field is text, as it is typed; the server says what is wrong with it. */

import type { Schemas } from "../../api";
import { parseExact, stringifyExact } from "../../api/exact";
import { shortDuration } from "../schedules/durations";

export type Trigger = Schemas["Trigger"];
export type On = "event" | "webhook" | "friction" | "files";
export const ON: readonly On[] = ["event", "webhook", "friction", "files"];

export interface Draft {
  name: string;
  on: On;
  makes: "task" | "dag";
  template: string;
  where: string;
  rate: string;
  max_depth: string;
  paused: boolean;
  scheme: string;
  secret: string;
  events: string;
  type: string;
  failure_rate: string;
  cost: string;
  window: string;
  least: string;
  cool_down: string;
  paths: string;
}

const SAMPLES: Record<On, unknown> = {
  event: { type: "fix", title: "Repair {{event.task.title}}", payload: { of: "{{event.task.id}}" } },
  webhook: { type: "review", payload: { number: "{{event.data.number}}" } },
  friction: { type: "refactor", payload: { type: "{{event.data.type}}" } },
  files: { type: "index", payload: { path: "{{event.data.path}}" } },
};

/** A template to begin with. */
export function sampleFor(on: On): string {
  return stringifyExact(SAMPLES[on], 2);
}

/** The draft that a form begins with: empty, or what a trigger says. */
export function draftOf(known: Trigger | null): Draft {
  const on = (known?.on ?? "event") as On;
  const text = (value: number | string | null | undefined): string => (value == null ? "" : String(value));
  const span = (value: number | null | undefined): string => (value == null ? "" : shortDuration(value));
  return {
    name: known?.name ?? "",
    on,
    makes: known?.dag ? "dag" : "task",
    template: known ? stringifyExact(known.dag ?? known.task, 2) : sampleFor(on),
    where: known && Object.keys(known.where ?? {}).length > 0 ? stringifyExact(known.where, 2) : "",
    rate: known?.rate ?? "60/min",
    max_depth: text(known?.max_depth ?? 3),
    paused: known?.paused ?? false,
    scheme: known?.scheme ?? "github",
    secret: "",
    events: (known?.events ?? (known ? [] : ["task.dead_lettered"])).join(", "),
    type: known?.type ?? "",
    failure_rate: text(known?.failure_rate),
    cost: text(known?.cost),
    window: span(known?.window),
    least: text(known?.least),
    cool_down: span(known?.cool_down),
    paths: (known?.paths ?? []).join("\n"),
  };
}

/** What is sent for a draft: what belongs to its kind, nothing else. Throws a SyntaxError where JSON is none. */
export function bodyOf(draft: Draft, replace: boolean): Record<string, unknown> & { on: string } {
  const listed = (text: string): string[] =>
    text
      .split(/[\n,]/)
      .map((each) => each.trim())
      .filter(Boolean);
  const number = (text: string): unknown =>
    text.trim() === "" ? null : Number.isNaN(Number(text)) ? text : Number(text);
  const body: Record<string, unknown> & { on: string } = {
    on: draft.on,
    [draft.makes]: parseExact(draft.template),
    where: draft.where.trim() ? parseExact(draft.where) : null,
    rate: draft.rate.trim(),
    max_depth: number(draft.max_depth),
    paused: draft.paused,
    replace,
  };
  if (draft.on === "event") body.events = listed(draft.events);
  if (draft.on === "files") body.paths = listed(draft.paths);
  if (draft.on === "webhook") {
    body.scheme = draft.scheme;
    if (draft.secret.trim()) body.secret = draft.secret.trim();
  }
  if (draft.on === "friction") {
    body.type = draft.type.trim() || null;
    body.failure_rate = number(draft.failure_rate);
    body.cost = number(draft.cost);
    body.window = draft.window.trim() || null;
    body.least = number(draft.least);
    body.cool_down = draft.cool_down.trim() || null;
  }
  return body;
}
