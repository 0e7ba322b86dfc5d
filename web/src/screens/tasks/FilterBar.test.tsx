// @vitest-environment happy-dom
import { act, useState } from "react";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { draw, key, one, press, settle, type } from "../../testing/screen";
import { FilterBar } from "./FilterBar";

const STATUSES = ["completed", "dead_lettered", "running"];

/** What the server would offer for a text. */
function offered(query: string): unknown[] {
  const [name, value] = query.split(":");
  if (value === undefined) {
    const fits = "status:".startsWith(query) ? [{ insert: "status:", start: 0, end: query.length, about: "" }] : [];
    return fits;
  }
  return STATUSES.filter((status) => status.startsWith(value.trim())).map((status) => ({
    insert: `${name}:${status}`,
    start: 0,
    end: query.length,
    about: "",
  }));
}

/** Answers that do not come until they may. */
let held: (() => void)[] | null = null;
const asked: string[] = [];

async function answer(request: Request): Promise<Response> {
  const query = new URL(request.url, "http://dibs.test").searchParams.get("query") ?? "";
  asked.push(query);
  if (held !== null) await new Promise<void>((come) => held?.push(come));
  return Response.json(offered(query));
}

async function come(): Promise<void> {
  const those = held ?? [];
  held = null;
  await act(async () => {
    for (const each of those) each();
  });
  await settle();
  await settle();
}

let query = "";

function Bar() {
  const [chosen, choose] = useState("");
  query = chosen;
  return <FilterBar query={chosen} onQuery={choose} fault={null} />;
}

const field = () => one("combobox") as HTMLInputElement;

describe("the query is typed with suggestions", () => {
  beforeEach(async () => {
    held = null;
    asked.length = 0;
    vi.stubGlobal("fetch", answer);
    await draw(<Bar />);
    await act(async () => field().focus());
    await type(field(), "sta");
    await settle();
    expect(one("option").textContent).toBe("status:");
  });

  test("who types faster than they come chooses of those for the whole text", async () => {
    held = [];
    await press(one("option"));
    await type(field(), "dead");
    await key(field(), "ArrowDown");
    await key(field(), "Enter");
    expect(field().value).toBe("status:dead");
    await come();
    expect(field().value.trim()).toBe("status:dead_lettered");
    expect(query).toBe("status:dead_lettered");
    expect(asked).toContain("status:dead");
  });

  test("one of a text typed before is taken if it still fits", async () => {
    held = [];
    await type(field(), "tu");
    await press(one("option"));
    expect(field().value).toBe("status:");
    await come();
  });

  test("what is typed before the next frame is not torn apart", async () => {
    const late: FrameRequestCallback[] = [];
    const usual = window.requestAnimationFrame;
    window.requestAnimationFrame = (run) => late.push(run);
    await press(one("option"));
    await type(field(), "de");
    window.requestAnimationFrame = usual;
    await act(async () => {
      for (const run of late) run(0);
    });
    await type(field(), "ad");
    expect(field().value).toBe("status:dead");
  });
});
