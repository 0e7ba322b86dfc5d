/**
 * Where in a dag's text the cursor is: at which kind of object, writing a name or a value. By the text alone, since what
 * is being typed is seldom well formed.
 */
import type { Kind } from "./fields";

export interface Cursor {
  /** What is being written. */
  what: "name" | "value";
  /** Of which object; a value also of which field. */
  kind: Kind;
  field: string | null;
  /** Where the word under the cursor begins. */
  from: number;
}

const INSIDE: Record<string, Kind> = { tasks: "task", retry: "retry" };
/** Lists whose items are refs. */
export const OF_REFS: ReadonlySet<string> = new Set(["after", "after_ended"]);

/** The refs that a text gives to its tasks, in their order. */
export function refsIn(text: string): string[] {
  const found = text.matchAll(/(?:^|[\s{,])"?ref"?\s*:\s*(?:"([^"\n]+)"|'([^'\n]+)'|([^\s,}"']+))/g);
  return [...new Set([...found].map((match) => match[1] ?? match[2] ?? match[3] ?? ""))];
}

/** null where nothing can be offered: inside of a payload, a text, a comment. */
export function cursorAt(text: string, at: number): Cursor | null {
  return /^\s*[[{]/.test(text) ? inFlow(text, 0, at, "dag") : inBlock(text, at);
}

/** JSON, or what stands in braces in YAML, from `begin` on: brackets are counted, texts skipped. */
function inFlow(text: string, begin: number, at: number, outermost: Kind): Cursor | null {
  const open: { bracket: string; field: string | null; name: string | null }[] = [];
  let word = begin;
  let quoted: string | null = null;
  let last = "";
  for (let place = begin; place < at; place += 1) {
    const char = text[place] as string;
    if (quoted !== null) {
      if (char === "\\" && quoted === '"') place += 1;
      else if (char === quoted) {
        last = text.slice(word, place);
        quoted = null;
        word = place + 1;
      }
      continue;
    }
    const top = open[open.length - 1];
    if ((char === '"' || char === "'") && text.slice(word, place).trim() === "") {
      quoted = char;
      word = place + 1;
    } else if (char === "{" || char === "[") {
      open.push({ bracket: char, field: top ? (top.bracket === "{" ? top.name : top.field) : null, name: null });
      word = place + 1;
    } else if (char === "}" || char === "]") {
      open.pop();
      word = place + 1;
    } else if (char === ":" && top?.bracket === "{" && /[\s"'{[]/.test(text[place + 1] ?? " ")) {
      top.name = text.slice(word, place).trim() || last;
      word = place + 1;
    } else if (char === ",") {
      if (top?.bracket === "{") top.name = null;
      word = place + 1;
    }
  }
  const top = open[open.length - 1];
  if (top === undefined) return null;
  const kind = kindIn(open, outermost);
  if (kind === null) return null;
  while (quoted === null && /\s/.test(text[word] ?? "") && word < at) word += 1;
  if (!/^[\w:%-]*$/.test(text.slice(word, at))) return null;
  if (top.bracket === "[") return OF_REFS.has(top.field ?? "") ? { what: "value", kind, field: top.field, from: word } : null;
  return top.name === null
    ? { what: "name", kind, field: null, from: word }
    : { what: "value", kind, field: top.name, from: word };
}

/** The kind of the innermost object, if the way to it is one that is known. */
function kindIn(open: readonly { bracket: string; field: string | null }[], outermost: Kind): Kind | null {
  let kind: Kind | null = null;
  for (const { bracket, field } of open) {
    if (bracket === "[") {
      if (!(field === "tasks" || OF_REFS.has(field ?? ""))) return null;
    } else if (kind === null && field === null) kind = outermost;
    else kind = INSIDE[field ?? ""] ?? null;
    if (kind === null && bracket === "{") return null;
  }
  return kind;
}

interface Line {
  indent: number;
  /** `- ` before its first name. */
  item: boolean;
  name: string | null;
  rest: string;
}

function lineOf(text: string): Line | null {
  const found = /^(\s*)((?:-\s+|-$)*)(?:([\w]+)\s*:(?=\s|$))?(.*)$/.exec(text);
  if (!found || text.trim() === "" || text.trim().startsWith("#")) return null;
  const [, space = "", dashes = "", name, rest = ""] = found;
  return { indent: space.length + dashes.length, item: dashes !== "", name: name ?? null, rest };
}

function inBlock(text: string, at: number): Cursor | null {
  const begin = text.lastIndexOf("\n", at - 1) + 1;
  const before = text.slice(begin, at);
  if (before.trimStart().startsWith("#")) return null;
  const above = text.slice(0, begin).split("\n").slice(0, -1);
  const line = lineOf(before) ?? { indent: before.length, item: false, name: null, rest: "" };

  // The fields that this line is inside of, the innermost last.
  const path: string[] = [];
  let indent = line.indent;
  let dashed = line.item;
  for (let place = above.length - 1; place >= 0 && (indent > 0 || dashed); place -= 1) {
    const outer = lineOf(above[place] as string);
    if (outer === null || outer.name === null) continue;
    // A list may stand as far to the left as the name that it belongs to.
    if (outer.indent < indent || (dashed && outer.indent <= indent - 2 && !outer.item)) {
      path.unshift(outer.name);
      indent = outer.indent;
      dashed = outer.item;
    }
  }
  const flow = before.search(/[[{]/);
  const outer = kindOf(path);
  if (outer === null) return null;
  if (flow >= 0) {
    if (line.name !== null && before[flow] === "[" && OF_REFS.has(line.name)) {
      const from = begin + before.search(/[\w:%-]*$/);
      return { what: "value", kind: outer, field: line.name, from };
    }
    const inside = line.name === null ? outer : (INSIDE[line.name] ?? null);
    return inside === null ? null : inFlow(text, begin + flow, at, inside);
  }
  const from = begin + before.search(/[\w:%-]*$/);
  if (line.name === null) {
    const list = path[path.length - 1];
    if (line.item && OF_REFS.has(list ?? "")) return { what: "value", kind: "task", field: list as string, from };
    if (!/^[\w]*$/.test(line.rest.trim())) return null;
    return { what: "name", kind: outer, field: null, from };
  }
  return /^\s*[\w:%-]*$/.test(line.rest) ? { what: "value", kind: outer, field: line.name, from } : null;
}

function kindOf(path: readonly string[]): Kind | null {
  let kind: Kind | null = "dag";
  for (const [at, name] of path.entries()) {
    if (OF_REFS.has(name) && at === path.length - 1) return kind;
    kind = kind === "dag" && name !== "tasks" ? null : (INSIDE[name] ?? null);
    if (kind === null) return null;
  }
  return kind;
}
