import { describe, expect, it } from "vitest";
import { parseExact } from "../../api/exact";
import * as triggers from "../triggers/draft";
import { bodyOf, draftOf, type Schedule } from "./draft";
import { shortDuration } from "./durations";
import { templateError } from "./template";

const schedule: Schedule = {
  name: "digest",
  cron: null,
  every: 21_600,
  at: null,
  timezone: "UTC",
  task: null,
  dag: parseExact('{"title": "Digest", "tasks": [{"type": "a", "payload": 12345678901234567890}]}') as Record<
    string,
    never
  >,
  missed: "all",
  max_missed: 7,
  overlap: "skip",
  jitter: 90,
  paused: true,
  starts_at: "2030-01-01T00:00:00Z",
  created_at: "2030-01-01T00:00:00Z",
  next_at: null,
  last_at: null,
  last_id: null,
  made: 0,
  skipped: 0,
  firing: [],
  live: [],
  error: null,
  version: 1,
};

describe("a schedule while it is written", () => {
  it("says the same as the schedule it was made of", () => {
    expect(bodyOf(draftOf(schedule), true)).toEqual({
      every: "6h",
      dag: schedule.dag,
      missed: "all",
      max_missed: 7,
      overlap: "skip",
      jitter: "90s",
      paused: true,
      replace: true,
    });
  });

  it("sends what is no number as it is, for the server to say what is wrong with it", () => {
    expect(bodyOf({ ...draftOf(schedule), max_missed: "many" }, false).max_missed).toBe("many");
  });

  it("names what is no JSON object", () => {
    expect(templateError('{"type": "a"}')).toBeUndefined();
    expect(templateError("[1]")).toContain("must be an object");
    expect(templateError("{")).toContain("not JSON");
  });
});

describe("a trigger while it is written", () => {
  it("sends what belongs to its kind and nothing else", () => {
    const draft = {
      ...triggers.draftOf(null),
      name: "a",
      events: "task.completed, dag.*",
      secret: "left over",
      paths: "/x",
    };
    const body = triggers.bodyOf(draft, false);
    expect(body.events).toEqual(["task.completed", "dag.*"]);
    expect(Object.keys(body)).not.toEqual(expect.arrayContaining(["secret"]));
    expect(Object.keys(triggers.bodyOf({ ...draft, on: "files" }, false))).not.toContain("events");
    expect(triggers.bodyOf({ ...draft, on: "friction", failure_rate: "0.4", cost: " " }, false)).toMatchObject({
      failure_rate: 0.4,
      cost: null,
    });
  });
});

describe("a duration", () => {
  it("is the shortest text that is read back as the same", () => {
    expect([90, 60, 3_600, 86_400, 5_400, 0.5].map(shortDuration)).toEqual(["90s", "1m", "1h", "1d", "90m", "0.5s"]);
  });
});
