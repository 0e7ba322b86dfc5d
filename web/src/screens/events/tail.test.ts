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
    expect(tail.ring.list().map((entry) => [entry.what, entry.seq])).toEqual([
      ["event", 10],
      ["event", 9],
      ["gap", 8],
      ["event", 7],
    ]);
    expect(tail.heard).toBe(3);
    expect(String(eventOf(tail.ring.newest(1) as never).data?.big)).toBe("12345678901234567890");
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
    expect(tail.ring.length).toBe(1_000);
  });
});
