// What happens, as it happens: one stream of server-sent events for the whole page.
//
// It resumes where it was after any break; while paused nothing is read, and the next events are those of that moment on
// (what was missed is asked for anew, not replayed). Between two tries it waits longer and longer, up to 10 s.
import { createParser } from "eventsource-parser";
import { type Schemas, reach } from "../api/client";
import { parseExact } from "../api/exact";

export type LiveEvent = Schemas["Event"];
export type LiveState = "connecting" | "live" | "paused" | "lost" | "denied";

type OnEvents = (events: LiveEvent[]) => void;
type OnState = (state: LiveState) => void;

const SHORTEST_MS = 500;
const LONGEST_MS = 10_000;
/** A stream that says nothing for so long is broken: the server gives a sign of life every 15 s. */
const SILENT_MS = 40_000;
/** Events are passed on together, at most so often: a hundred a second must not draw a hundred times. */
const TOGETHER_MS = 250;

export class Stream {
  private state: LiveState = "connecting";
  private readonly onEvents = new Set<OnEvents>();
  private readonly onState = new Set<OnState>();
  private last: string | null = null;
  private abort: AbortController | null = null;
  private gathered: LiveEvent[] = [];
  private timer: ReturnType<typeof setTimeout> | null = null;
  private again: ReturnType<typeof setTimeout> | null = null;
  private watch: ReturnType<typeof setTimeout> | null = null;
  private delay = SHORTEST_MS;

  get current(): LiveState {
    return this.state;
  }

  listen(on: OnEvents): () => void {
    this.onEvents.add(on);
    return () => this.onEvents.delete(on);
  }

  follow(on: OnState): () => void {
    this.onState.add(on);
    return () => this.onState.delete(on);
  }

  start(): void {
    if (this.abort === null && this.state !== "paused") void this.read();
  }

  /** Nothing more is read until `resume`. */
  pause(): void {
    this.become("paused");
    this.leave();
    this.last = null;
  }

  resume(): void {
    if (this.state !== "paused") return;
    this.become("connecting");
    void this.read();
  }

  /** Try at once, whatever the delay was. */
  retry(): void {
    if (this.state === "paused" || this.state === "live") return;
    this.leave();
    void this.read();
  }

  stop(): void {
    this.leave();
    this.last = null;
    this.become("connecting");
  }

  private leave(): void {
    this.abort?.abort();
    this.abort = null;
    for (const timer of [this.timer, this.again, this.watch]) if (timer !== null) clearTimeout(timer);
    this.timer = this.again = this.watch = null;
    this.gathered = [];
  }

  private become(state: LiveState): void {
    if (this.state === state) return;
    this.state = state;
    for (const on of this.onState) on(state);
  }

  private async read(): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    try {
      const headers: Record<string, string> = { accept: "text/event-stream" };
      if (this.last !== null) headers["last-event-id"] = this.last;
      const response = await reach("/v1/events?after=now", { headers, signal: abort.signal, cache: "no-store" });
      if (response.status === 401 || response.status === 403) {
        this.abort = null;
        this.become("denied");
        return;
      }
      if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
      this.delay = SHORTEST_MS;
      const missed = this.state === "lost" || this.last === null;
      this.become("live");
      if (missed) this.pass([]);
      await this.consume(response.body, abort);
    } catch {
      // Whatever broke: it is tried again below.
    }
    if (this.abort !== abort) return;
    this.abort = null;
    this.become("lost");
    this.again = setTimeout(() => void this.read(), this.delay * (0.75 + Math.random() / 2));
    this.delay = Math.min(this.delay * 2, LONGEST_MS);
  }

  private async consume(body: ReadableStream<Uint8Array>, abort: AbortController): Promise<void> {
    const parser = createParser({
      onEvent: (message) => {
        if (message.id !== undefined) this.last = message.id;
        if (message.data) this.gather(parseExact(message.data) as LiveEvent);
      },
    });
    const reader = body.getReader();
    const decoder = new TextDecoder();
    try {
      for (;;) {
        this.watch = setTimeout(() => abort.abort(), SILENT_MS);
        const { done, value } = await reader.read();
        clearTimeout(this.watch);
        if (done) return;
        parser.feed(decoder.decode(value, { stream: true }));
      }
    } finally {
      if (this.watch !== null) clearTimeout(this.watch);
      reader.cancel().catch(() => undefined);
    }
  }

  private gather(event: LiveEvent): void {
    this.gathered.push(event);
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.pass(this.gathered.splice(0));
    }, TOGETHER_MS);
  }

  /** An empty portion says: something may have been missed. */
  private pass(events: LiveEvent[]): void {
    for (const on of this.onEvents) on(events);
  }
}

export const stream = new Stream();
