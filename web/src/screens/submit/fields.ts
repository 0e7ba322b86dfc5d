/**
 * What the fields of a dag and of its tasks are for, one sentence each. Which fields there are, and of what type, is the
 * schema's word; a field without a sentence here is offered all the same, and a test says so.
 */

export interface Schema {
  type?: string;
  anyOf?: Schema[];
  items?: Schema;
  $ref?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  default?: unknown;
}

/** The part of the API's description that a dag is written by. */
export interface DagSchema {
  components: { schemas: { AddDagRequest: Schema; NewTask: Schema; Retry: Schema } & Record<string, Schema> };
}

export type Kind = "dag" | "task" | "retry";

const SCHEMAS = { dag: "AddDagRequest", task: "NewTask", retry: "Retry" } as const;

/** Fields that the schema has for other ways to add tasks; in a dag's file they are refused. */
const ELSEWHERE: Record<Kind, ReadonlySet<string>> = { dag: new Set(), task: new Set(["dag", "id"]), retry: new Set() };

export const HELP: Record<Kind, Record<string, string>> = {
  dag: {
    title: "What the whole of it is for, in a few words.",
    tasks: "The tasks, each an object with at least a type.",
    key: "Added once: the same key again gives the dag that exists.",
    budget: "How much its tasks may cost together, in USD.",
    on_failure: "fail_fast cancels the rest, continue lets other branches finish, threshold:3 or threshold:20% in between.",
    escalation: "What follows after so many failed attempts of one of its tasks.",
    user: "On whose behalf.",
    created_by: "Who adds it.",
  },
  task: {
    type: "What kind of work it is; picks the handler or agent.",
    payload: "What the work is about: any JSON.",
    ref: "A name for it inside this dag, for after and for inputs.",
    title: "What people see.",
    priority: "0 (now) to 100 (whenever); 50 unless told.",
    boost: "How many points of priority each minute of waiting is worth.",
    deadline: "When it should be done: an instant, or a duration from now such as 2h.",
    on_deadline: "keep working after the deadline, or cancel.",
    run_after: "Not before this instant, or this duration from now.",
    after: "Waits until these have completed: refs of this dag, or ids.",
    after_ended: "Waits until these have ended, well or badly.",
    key: "Added once: the same key and work again gives the task that exists.",
    requires: "What an agent must be capable of to get it.",
    assignee: "The one agent, or type of agent, that may do it.",
    models: "Models it should be done with, in order of preference.",
    fallback_models: "Models to use after the second failed attempt.",
    provider: "Whose models.",
    max_attempts: "How often it is tried at most; 3 unless told.",
    retry: "When to try again: exponential:10s:5m, linear:5s:5m, fixed:5s, immediate, or an object.",
    timeout: "How long one attempt may take.",
    max_cost: "What one attempt may cost, in USD.",
    max_tokens: "How many tokens one attempt may use.",
    max_turns: "How many turns with a model one attempt may take.",
    locks: "Things that only one task at a time may use.",
    tags: "Words to find it by.",
    user: "On whose behalf.",
    created_by: "Who adds it.",
    expects: "What its output must be like: a schema, and who judges it.",
    approval: "true: a person approves before it starts.",
    coalesce_key: "Tasks of one type with the same key are done together.",
    coalesce_window: "How long it waits for others with its coalesce_key.",
    context: "goal, constraints, related_files, decisions and refs, for whoever does it.",
  },
  retry: {
    strategy: "exponential, linear, quadratic, fixed or immediate.",
    delay: "The first wait, in seconds.",
    multiplier: "How much longer each wait is than the one before.",
    cap: "The longest wait, in seconds.",
    jitter: "By what part a wait varies: 0.5 spreads 10 s over 5–15 s.",
    retry_on: "Only after these reasons.",
    no_retry_on: "Never after these reasons.",
    timeout_multiplier: "How much more time the next attempt gets after one that timed out.",
  },
};

/** Values that a field is known to take. */
export const VALUES: Record<string, readonly string[]> = {
  on_failure: ["fail_fast", "continue", "threshold:3", "threshold:20%"],
  on_deadline: ["keep", "cancel"],
  approval: ["true", "false"],
  retry: ["exponential:10s:5m", "linear:5s:5m", "quadratic:5s:5m", "fixed:5s", "immediate"],
  strategy: ["exponential", "linear", "quadratic", "fixed", "immediate"],
};

export function fieldsOf(schema: DagSchema, kind: Kind): Record<string, Schema> {
  const properties = schema.components.schemas[SCHEMAS[kind]].properties ?? {};
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !ELSEWHERE[kind].has(name)));
}

export function requiredOf(schema: DagSchema, kind: Kind): string[] {
  return schema.components.schemas[SCHEMAS[kind]].required ?? [];
}

/** A type in words: `a number or null`. */
export function inWords(schema: Schema): string {
  if (schema.anyOf) {
    const kinds = schema.anyOf.map(inWords);
    const last = kinds.pop();
    return kinds.length === 0 ? String(last) : `${kinds.join(", ")} or ${last}`;
  }
  if (schema.$ref) return "an object";
  switch (schema.type) {
    case "string":
      return "a text";
    case "number":
      return "a number";
    case "integer":
      return "a whole number";
    case "boolean":
      return "true or false";
    case "null":
      return "null";
    case "array":
      return schema.items?.type === "string" ? "a list of texts" : "a list";
    case "object":
      return "an object";
    default:
      return "any JSON";
  }
}
