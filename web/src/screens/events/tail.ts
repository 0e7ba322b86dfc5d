/**
 * The end of the stream of events, as the server filters it: what was asked for of the past, then live.
 *
 * The rule: it is honest. Where the server no longer has what should come next, or the connection was away, the list says
 * so at that place. Events are kept as they were written, and read only where they are looked at; those who watch are
 * told a few times a second, however many come. What is shown is what had come when they were told last, and it stays so
 * from the moment in which somebody begins to look.
 */
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { reach, refusal } from "../../api/client";
import { parseExact } from "../../api/exact";
import type { LiveEvent } from "../../live";
import { Ring } from "./ring";

export interface Filters {
  type: string;
  task: string;
  dag: string;
  agent: string;
}

/** `raw` is an event as it came. A `gap` is what the server no longer has, up to `seq`. */
export type Entry = { what: "event" | "gap"; seq: number; raw: string };

/** Why the list stands still: somebody paused it, or scrolled away from the newest. */
export type Look = "paused" | "away";

export type TailState = "connecting" | "live" | "lost" | "refused";

export const CAPACITY = 5_000;
/** About so many characters are kept; outputs and payloads come with events. */
export const MOST_CHARS = 16_000_000;
const TOLD_EVERY_MS = 120;
const SHORTEST_MS = 500;
const LONGEST_MS = 10_000;
const SILENT_MS = 40_000;

export class Tail {
  private readonly ring = new Ring<Entry>(CAPACITY, MOST_CHARS);
  state: TailState = "connecting";
  /** What the server said of the filters, if it refused them. */
  refused = "";
  /** Events that came, also those that fell out again. */
  private heard = 0;
  /** How much had come when those who watch were told last: of the ring, and of events. */
  private shown = { entries: 0, events: 0 };
  private looks = new Set<Look>();
  private still: { entries: Entry[]; events: number } | null = null;
  private changes = 0;
  private last: string | null = null;
  private abort: AbortController | null = null;
  private delay = SHORTEST_MS;
  private again = 0;
  private told = 0;
  private silence = 0;
  private readonly watchers = new Set<() => void>();
  /** Whether the list is scrolled away. It is asked before anything is shown: a scroll is told of a moment later. */
  isAway: () => boolean = () => false;

  /** `after`: the number to begin after; null: with what comes. */
  constructor(
    private readonly filters: Filters,
    private readonly after: number | null,
  ) {}

  get version(): number {
    return this.changes;
  }

  /** How many are shown. */
  get count(): number {
    return this.still ? this.still.entries.length : Math.max(0, this.ring.length - this.newer());
  }

  /** What is shown at a place, the newest first. */
  at = (place: number): Entry | undefined => (this.still ? this.still.entries[place] : this.ring.newest(place + this.newer()));

  /** How many events came since the list stands still. */
  get since(): number {
    return this.still ? this.heard - this.still.events : 0;
  }

  /** Some are left out, since not all can be kept. */
  get isCut(): boolean {
    return this.ring.dropped > 0;
  }

  get standsStill(): boolean {
    return this.still !== null;
  }

  looksAs(look: Look): boolean {
    return this.looks.has(look);
  }

  /** Somebody begins to look, or ends. What is shown then is what was shown before, not what came a moment ago. */
  look(look: Look, on: boolean): void {
    if (on === this.looks.has(look)) return;
    if (on) this.looks.add(look);
    else this.looks.delete(look);
    this.hold();
    this.tell(true);
  }

  private hold(): void {
    if (this.looks.size === 0) this.still = null;
    else this.still ??= { entries: this.ring.list().slice(this.newer()), events: this.shown.events };
  }

  private newer(): number {
    return this.ring.length + this.ring.dropped - this.shown.entries;
  }

  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  start(): void {
    if (this.abort === null) void this.read();
  }

  stop(): void {
    this.abort?.abort();
    this.abort = null;
    for (const timer of [this.again, this.told, this.silence]) window.clearTimeout(timer);
    this.again = this.told = this.silence = 0;
  }

  clear(): void {
    this.ring.clear();
    this.heard = 0;
    // There is nothing left to have scrolled away in.
    this.looks.delete("away");
    this.still = this.looks.size > 0 ? { entries: [], events: 0 } : null;
    this.tell(true);
  }

  private become(state: TailState): void {
    this.state = state;
    this.tell(true);
  }

  /** Tells those who watch, now or within a moment. */
  private tell(now = false): void {
    if (now) {
      window.clearTimeout(this.told);
      this.told = 0;
      if (this.ring.length > 0 && !this.looks.has("away") && this.isAway()) {
        this.looks.add("away");
        this.hold();
      }
      this.shown = { entries: this.ring.length + this.ring.dropped, events: this.heard };
      this.changes += 1;
      for (const watcher of this.watchers) watcher();
      return;
    }
    this.told ||= window.setTimeout(() => {
      this.told = 0;
      // Where nobody sees the page, nothing is drawn; it is when somebody looks again.
      requestAnimationFrame(() => this.tell(true));
    }, TOLD_EVERY_MS);
  }

  private address(): string {
    const query = new URLSearchParams({ after: this.after === null ? "now" : String(this.after) });
    for (const type of this.filters.type.split(/[\s,]+/)) if (type) query.append("type", type);
    for (const name of ["task", "dag", "agent"] as const) if (this.filters[name]) query.set(name, this.filters[name]);
    return `/v1/events?${query}`;
  }

  private async read(): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    try {
      const headers: Record<string, string> = { accept: "text/event-stream" };
      if (this.last !== null) headers["last-event-id"] = this.last;
      const response = await reach(this.address(), { headers, signal: abort.signal, cache: "no-store" });
      if (response.status >= 400 && response.status < 500 && response.status !== 429) {
        this.refused = refusal(response.status, await response.json().catch(() => null)).message;
        this.become("refused");
        return;
      }
      if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
      this.delay = SHORTEST_MS;
      this.become("live");
      await this.consume(response.body, abort);
    } catch {
      // Whatever broke: it is tried again below.
    }
    if (this.abort !== abort) return;
    this.become("lost");
    this.again = window.setTimeout(() => void this.read(), this.delay * (0.75 + Math.random() / 2));
    this.delay = Math.min(this.delay * 2, LONGEST_MS);
  }

  private async consume(body: ReadableStream<Uint8Array>, abort: AbortController): Promise<void> {
    const parser = createParser({ onEvent: (message) => this.take(message) });
    const reader = body.getReader();
    const decoder = new TextDecoder();
    try {
      for (;;) {
        this.silence = window.setTimeout(() => abort.abort(), SILENT_MS);
        const { done, value } = await reader.read();
        window.clearTimeout(this.silence);
        if (done) return;
        parser.feed(decoder.decode(value, { stream: true }));
      }
    } finally {
      window.clearTimeout(this.silence);
      reader.cancel().catch(() => undefined);
    }
  }

  take(message: Pick<EventSourceMessage, "id" | "event" | "data">): void {
    if (message.id !== undefined) this.last = message.id;
    if (!message.data) return;
    const what = message.event === "gap" ? "gap" : "event";
    this.ring.push({ what, seq: seqOf(message), raw: message.data }, message.data.length);
    if (what === "event") this.heard += 1;
    this.tell();
  }
}

function seqOf({ id, data }: { id?: string | undefined; data: string }): number {
  const told = id === undefined || id === "" ? /"seq":\s*(\d+)/.exec(data)?.[1] : id;
  return Number(told ?? 0);
}

/** What an entry says; read when it is looked at. */
export function eventOf(entry: Entry): LiveEvent {
  return parseExact(entry.raw) as LiveEvent;
}
