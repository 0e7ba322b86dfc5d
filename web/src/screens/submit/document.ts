/**
 * A dag as it is being written: what it says, what is wrong with it and where.
 *
 * The rule: what is refused here would be refused by the server, in about the same words, but with the place. The server
 * has the last word; where it says which task and field it refuses, `placeOf` finds them in the text.
 */
import type { Flaw } from "../../ui/editor/plain";
import { Validator } from "@cfworker/json-schema";
import { closest, distance } from "fastest-levenshtein";
import { isLosslessNumber } from "lossless-json";
import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap } from "yaml";
import { parseExact } from "../../api/exact";
import { findCycle, longestChain } from "../dag/paths";
import { type DagSchema, fieldsOf, inWords, type Kind, requiredOf, type Schema } from "./fields";
import { type Parsed, parseJson, parseYaml } from "./yaml";

export type { Flaw };

export interface DraftTask {
  /** Its ref, else its place: what names it in the preview. */
  id: string;
  ref: string | null;
  type: string;
  title: string | null;
}

export interface Draft {
  format: "yaml" | "json";
  /** What would be sent; null while it cannot be. */
  body: Record<string, unknown> | null;
  flaws: Flaw[];
  title: string | null;
  tasks: DraftTask[];
  edges: { parent: string; child: string; kind: string }[];
  criticalPath: string[];
}

const ID = /^task_[0-9a-z]{26}$/;
/** Aliases may stand for more than any memory; what is sent is bounded before it is written out. */
const MAX_ALIASES = 1_000;
export const MAX_CHARS = 16 << 20;
/** More are not shown at once. */
const MAX_FLAWS = 100;

export function formatOf(text: string): "yaml" | "json" {
  return /^\s*[[{]/.test(text) ? "json" : "yaml";
}

export function read(text: string, schema: DagSchema): Draft {
  const format = formatOf(text);
  const draft: Draft = { format, body: null, flaws: [], title: null, tasks: [], edges: [], criticalPath: [] };
  if (text.trim() === "") return draft;
  if (text.length > MAX_CHARS) {
    draft.flaws.push({ from: 0, to: 0, message: "This is too long to be sent at once; split it." });
    return draft;
  }
  const document = parsed(text, format, draft.flaws);
  if (document === null) return draft;
  new Reader(document, schema, draft, text.length).read();
  draft.flaws.splice(MAX_FLAWS);
  return draft;
}

function parsed(text: string, format: "yaml" | "json", flaws: Flaw[]): Parsed | null {
  if (format === "json") {
    try {
      parseExact(text);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const at = Math.min(Number(/position (\d+)/.exec(message)?.[1] ?? text.length), text.length);
      flaws.push({ from: at, to: Math.min(at + 1, text.length), message: `This is not JSON: ${message}` });
      return null;
    }
  }
  const document = format === "json" ? parseJson(text) : parseYaml(text);
  for (const problem of [...document.errors, ...document.warnings]) {
    const message = problem.message.replace(/\s+/g, " ");
    flaws.push({ from: problem.pos[0], to: Math.max(problem.pos[0] + 1, problem.pos[1]), message });
  }
  return document.errors.length > 0 ? null : document;
}

class Reader {
  private readonly checks = new Map<string, Validator>();

  constructor(
    private readonly document: Parsed,
    private readonly schema: DagSchema,
    private readonly draft: Draft,
    private readonly length: number,
  ) {}

  read(): void {
    const root = this.real(this.document.contents);
    if (!isMap(root)) {
      this.flaw(root, "A dag is an object: title: …, tasks: [{type: …}, …]");
      return;
    }
    let body: unknown;
    try {
      body = this.document.toJS({ maxAliasCount: MAX_ALIASES });
    } catch (error) {
      this.flaw(root, error instanceof Error ? error.message : String(error));
      return;
    }
    this.fields(root, "dag", "The dag");
    const title = this.value(root, "title");
    this.draft.title = typeof title === "string" ? title : null;
    const tasks = this.real(this.pair(root, "tasks")?.value);
    if (isSeq(tasks)) this.tasks(tasks.items as Node[], this.pair(root, "tasks"));
    const cannot = unsendable(body);
    if (cannot !== null) this.flaw(root, `${cannot} cannot be sent as JSON.`);
    if (this.draft.flaws.length === 0) this.draft.body = body as Record<string, unknown>;
  }

  private tasks(items: Node[], at: Pair | undefined): void {
    if (items.length === 0) this.flaw(at?.key as Node, "A dag needs at least one task.");
    const maps: { id: string; map: YAMLMap; who: string }[] = [];
    const refs = new Map<string, YAMLMap>();
    for (const [place, item] of items.entries()) {
      const map = this.real(item);
      if (!isMap(map)) {
        this.flaw(item, `Task ${place + 1} must be an object such as {type: research}.`);
        continue;
      }
      const ref = this.value(map, "ref");
      const named = typeof ref === "string" && ref !== "" ? ref : null;
      const who = named ? `Task '${named}'` : `Task ${place + 1}`;
      this.fields(map, "task", who);
      const retry = this.real(this.pair(map, "retry")?.value);
      if (isMap(retry)) this.fields(retry, "retry", `${who}, retry`);
      if (named !== null && refs.has(named)) {
        this.flaw(this.pair(map, "ref")?.value as Node, `The ref '${named}' is used twice.`);
        continue;
      }
      if (named !== null) refs.set(named, map);
      const id = named ?? `#${place + 1}`;
      const type = this.value(map, "type");
      const title = this.value(map, "title");
      maps.push({ id, map, who });
      this.draft.tasks.push({
        id,
        ref: named,
        type: typeof type === "string" ? type : "",
        title: typeof title === "string" ? title : null,
      });
    }
    for (const { id, map, who } of maps) {
      this.edges(id, map, who, "after", refs);
      this.edges(id, map, who, "after_ended", refs);
    }
    const names = this.draft.tasks.map((task) => task.id);
    const cycle = findCycle(this.draft.edges);
    if (cycle !== null) {
      const last = refs.get(cycle[0] as string);
      const place = last && (this.pair(last, "after") ?? this.pair(last, "after_ended"));
      this.flaw((place?.value ?? last) as Node, `These wait for each other: ${cycle.join(" → ")}`);
    } else {
      this.draft.criticalPath = longestChain(names, this.draft.edges);
    }
  }

  private edges(id: string, map: YAMLMap, who: string, kind: string, refs: ReadonlyMap<string, YAMLMap>): void {
    const list = this.real(this.pair(map, kind)?.value);
    if (!isSeq(list)) return;
    const seen = new Set<string>();
    for (const item of list.items as Node[]) {
      const node = this.real(item);
      const parent = isScalar(node) ? node.value : undefined;
      if (typeof parent !== "string") continue;
      if (seen.has(parent)) this.flaw(item, `${who} names '${parent}' twice in ${kind}.`);
      else if (parent === id) this.flaw(item, `${who} would wait for itself.`);
      else if (refs.has(parent) || ID.test(parent)) this.draft.edges.push({ parent, child: id, kind });
      else this.flaw(item, `${who} waits for '${parent}', which is no ref of this dag and no id.${meant(parent, refs.keys())}`);
      seen.add(parent);
    }
  }

  /** Unknown, missing and mistyped fields of an object. */
  private fields(map: YAMLMap, kind: Kind, who: string): void {
    const known = fieldsOf(this.schema, kind);
    for (const pair of map.items as Pair<Node, Node | null>[]) {
      if (merges(pair)) continue;
      const name = isScalar(pair.key) ? String(pair.key.value) : "";
      const schema = known[name];
      if (schema === undefined) {
        const hint = name === "dag" ? " It is given by the file." : meant(name, Object.keys(known));
        this.flaw(pair.key, `${who} has an unknown field '${name}'.${hint}`);
      } else if (!this.fits(kind, name, schema, pair.value)) {
        this.flaw(pair.value ?? pair.key, `${name} must be ${inWords(schema)}.`);
      }
    }
    for (const name of requiredOf(this.schema, kind)) {
      if (this.pair(map, name) === undefined) this.flaw(map, `${who} has no ${name}.`);
      else if (this.value(map, name) === "") this.flaw(this.pair(map, name)?.value as Node, `${who}: ${name} is empty.`);
    }
  }

  private fits(kind: Kind, name: string, schema: Schema, node: Node | null): boolean {
    // Any JSON will do, and the tasks are looked at one by one.
    if (Object.keys(schema).length === 0 || (kind === "dag" && name === "tasks")) {
      return name !== "tasks" || isSeq(this.real(node));
    }
    const place = `${kind}.${name}`;
    let check = this.checks.get(place);
    if (check === undefined) {
      // An object's own fields are looked at apart, where their places are known.
      check = new Validator(flattened(schema) as object, "2020-12");
      this.checks.set(place, check);
    }
    return check.validate(plain(this.real(node)?.toJS(this.document) ?? null)).valid;
  }

  private pair(map: YAMLMap, name: string): Pair<Node, Node | null> | undefined {
    const pairs = map.items as Pair<Node, Node | null>[];
    const own = pairs.find((pair) => isScalar(pair.key) && pair.key.value === name);
    if (own !== undefined) return own;
    for (const merged of pairs) {
      if (!merges(merged)) continue;
      const source = this.real(merged.value);
      for (const one of isSeq(source) ? (source.items as Node[]) : [source]) {
        const found = this.real(one);
        const pair = isMap(found) && found !== map ? this.pair(found, name) : undefined;
        if (pair !== undefined) return pair;
      }
    }
    return undefined;
  }

  private value(map: YAMLMap, name: string): unknown {
    const node = this.real(this.pair(map, name)?.value);
    return isScalar(node) ? node.value : undefined;
  }

  private real(node: unknown): Node | null {
    return isAlias(node) ? ((node.resolve(this.document) as Node | undefined) ?? null) : ((node ?? null) as Node | null);
  }

  private flaw(node: unknown, message: string): void {
    const range = (node as Node | null)?.range;
    const from = Math.min(range?.[0] ?? 0, this.length);
    const to = Math.min(Math.max(range?.[1] ?? from, from), this.length);
    this.draft.flaws.push({ from, to, message });
  }
}

/** Whether a pair brings in the fields of another object: `<<: *other`. */
function merges({ key }: Pair<Node, Node | null>): boolean {
  return isScalar(key) && (typeof key.value === "symbol" || (key.value === "<<" && key.type === "PLAIN"));
}

function flattened(schema: Schema): Schema {
  if (schema.anyOf) return { ...schema, anyOf: schema.anyOf.map(flattened) };
  return schema.$ref ? { type: "object" } : schema;
}

function meant(name: string, known: Iterable<string>): string {
  const names = [...known];
  const near = names.length > 0 ? closest(name, names) : undefined;
  if (near === undefined || distance(name, near) > Math.max(2, name.length / 3)) return "";
  return ` Did you mean '${near}'?`;
}

/** The value with every number as JavaScript has it, for checking what kind of value it is. */
function plain(value: unknown): unknown {
  if (isLosslessNumber(value)) return Number(value.toString());
  if (Array.isArray(value)) return value.map(plain);
  return value;
}

function unsendable(value: unknown): string | null {
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (typeof value !== "object" || value === null || isLosslessNumber(value)) return null;
  for (const part of Object.values(value)) {
    const found = unsendable(part);
    if (found !== null) return found;
  }
  return null;
}

/** Where in the text the server's refusal belongs: the field of the task that it names, else the nearest around it. */
export function placeOf(text: string, message: string, field: string | null): { from: number; to: number } {
  const flaws: Flaw[] = [];
  const document = parsed(text, formatOf(text), flaws);
  const root = document?.contents;
  const end = Math.min(1, text.length);
  if (!document || !isMap(root)) return { from: 0, to: end };
  const path: (string | number)[] = [];
  const list = document.getIn(["tasks"], true);
  if (isSeq(list)) {
    const place = taskNamed(message, list.items.map((_, at) => document.getIn(["tasks", at, "ref"])));
    if (place !== null) path.push("tasks", place);
    else if (list.items.length === 1 && field !== null && !root.has(field)) path.push("tasks", 0);
  }
  let at: unknown = path.length > 0 ? document.getIn(path, true) : root;
  const inner = isMap(at) && field !== null ? at.items.find((pair) => isScalar(pair.key) && pair.key.value === field) : undefined;
  if (inner) at = inner.value ?? inner.key;
  const range = (at as Node | null | undefined)?.range;
  return range ? { from: range[0], to: Math.min(Math.max(range[1], range[0]), text.length) } : { from: 0, to: end };
}

/** The place of the task that a refusal begins with: `task 'fetch': …`, `task 3 of 7: …`. */
function taskNamed(message: string, refs: readonly unknown[]): number | null {
  const numbered = /^task (\d+) of \d+:/.exec(message);
  if (numbered) return Number(numbered[1]) - 1;
  const found = refs.findIndex(
    (ref) => typeof ref === "string" && (message.startsWith(`task '${ref}':`) || message.startsWith(`task "${ref}":`)),
  );
  return found < 0 ? null : found;
}
