import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { eventOf, Tail } from "./tail";

const anything = { type: "task.*, dag.failed", task: "", dag: "dag_1", agent: "a b" };
const message = (seq: number, more = "") => `id: ${seq}\ndata: {"seq":${seq},"type":"task.added","at":"2030-01-01T00:00:00Z"${more}}\n\n`;

function answer(...parts: string[]): Response {
  const bytes = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(bytes.encode(part));
      controller.close();
    },
  });
  return new Response(body, { status: 200, headers: { "content-type": "text/event-stream" } });
}

const seen = (tail: Tail) => Array.from({ length: tail.count }, (_, place) => [tail.at(place)?.what, tail.at(place)?.seq]);
const seqs = (tail: Tail) => seen(tail).map(([, seq]) => seq);

describe("the tail", () => {
  const asked: { url: string; from: string | null }[] = [];
  let answers: (() => Response)[] = [];

  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal("window", globalThis);
    vi.stubGlobal("requestAnimationFrame", (run: () => void) => setTimeout(run, 16));
    vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
      asked.push({ url: String(url), from: new Headers(init.headers).get("last-event-id") });
      const next = answers.shift();
      if (!next) return new Promise(() => undefined);
      return next();
    });
    asked.length = 0;
  });

  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it("asks with its filters, resumes where it was, and says what is missing", async () => {
    answers = [
      () => answer(message(7), `id: 8\nevent: gap\ndata: {"seq":8}\n\n`, message(9, ',"data":{"big":12345678901234567890}')),
      () => answer(message(10)),
    ];
    const tail = new Tail(anything, 3);
    const told = vi.fn();
    tail.watch(told);
    tail.start();
    await vi.advanceTimersByTimeAsync(2_000);
    tail.stop();
    const [first, second] = asked;
    expect(first?.url).toBe("/v1/events?after=3&type=task.*&type=dag.failed&dag=dag_1&agent=a+b");
    expect([first?.from, second?.from]).toEqual([null, "9"]);
    expect(seen(tail)).toEqual([
      ["event", 10],
      ["event", 9],
      ["gap", 8],
      ["event", 7],
    ]);
    expect(String(eventOf(tail.at(1) as never).data?.big)).toBe("12345678901234567890");
  });

  it("says what the server refused, and does not ask again", async () => {
    answers = [() => new Response(JSON.stringify({ detail: "no such type" }), { status: 422 })];
    const tail = new Tail(anything, null);
    tail.start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect([tail.state, tail.refused, asked.length]).toEqual(["refused", "no such type", 1]);
    expect(asked[0]?.url).toContain("after=now");
    tail.stop();
  });

  it("tells of a thousand events a few times, not a thousand", async () => {
    const tail = new Tail(anything, null);
    const told = vi.fn();
    tail.watch(told);
    for (let seq = 1; seq <= 1_000; seq += 1) {
      tail.take({ id: String(seq), event: undefined, data: `{"seq":${seq}}` });
      await vi.advanceTimersByTimeAsync(1);
    }
    await vi.advanceTimersByTimeAsync(500);
    expect(told.mock.calls.length).toBeLessThanOrEqual(9);
    expect(tail.count).toBe(1_000);
  });

  describe("while somebody looks", () => {
    const take = (tail: Tail, ...numbers: number[]) => {
      for (const seq of numbers) tail.take({ id: String(seq), event: undefined, data: `{"seq":${seq}}` });
    };

    it("stands still as it was shown, and counts what came since, also what came before it was shown", async () => {
      const tail = new Tail(anything, null);
      take(tail, 1, 2);
      await vi.advanceTimersByTimeAsync(500);
      take(tail, 3);
      expect([seqs(tail), tail.since]).toEqual([[2, 1], 0]);
      tail.look("away", true);
      expect([seqs(tail), tail.since, tail.standsStill]).toEqual([[2, 1], 1, true]);
      take(tail, 4);
      tail.take({ id: "5", event: "gap", data: '{"seq":5}' });
      await vi.advanceTimersByTimeAsync(500);
      expect([seqs(tail), tail.since]).toEqual([[2, 1], 2]);
      tail.look("away", false);
      expect([seqs(tail), tail.since, tail.standsStill]).toEqual([[5, 4, 3, 2, 1], 0, false]);
    });

    it("shows nothing new once it is scrolled, before it is told so", async () => {
      const tail = new Tail(anything, null);
      take(tail, 1);
      await vi.advanceTimersByTimeAsync(500);
      tail.isAway = () => true;
      take(tail, 2);
      await vi.advanceTimersByTimeAsync(500);
      expect([seqs(tail), tail.since]).toEqual([[1], 1]);
      tail.isAway = () => false;
      tail.look("away", false);
      expect([seqs(tail), tail.since]).toEqual([[2, 1], 0]);
    });

    it("goes on only when there is no reason left to stand still", () => {
      const tail = new Tail(anything, null);
      tail.look("paused", true);
      take(tail, 1);
      tail.look("away", true);
      tail.look("paused", false);
      expect([seqs(tail), tail.since]).toEqual([[], 1]);
      tail.look("away", false);
      expect(seqs(tail)).toEqual([1]);
    });

    it("keeps what is shown when it falls out of the ring", async () => {
      const tail = new Tail(anything, null);
      take(tail, 1);
      await vi.advanceTimersByTimeAsync(500);
      tail.look("paused", true);
      for (let seq = 2; seq <= 6_000; seq += 1) take(tail, seq);
      expect([seqs(tail), tail.since]).toEqual([[1], 5_999]);
      tail.look("paused", false);
      expect([tail.count, tail.at(0)?.seq, tail.at(4_999)?.seq, tail.isCut]).toEqual([5_000, 6_000, 1_001, true]);
    });

    it("is live again when the list was emptied while scrolled, and stays paused when it was", () => {
      const tail = new Tail(anything, null);
      take(tail, 1);
      tail.look("away", true);
      tail.isAway = () => true;
      tail.clear();
      expect([tail.count, tail.standsStill]).toEqual([0, false]);
      tail.look("paused", true);
      tail.clear();
      take(tail, 2);
      expect([tail.count, tail.since, tail.standsStill]).toEqual([0, 1, true]);
    });
  });
});
