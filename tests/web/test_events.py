"""The tail of events: live, filtered, paused, honest about what is missing, and smooth however many come.

Memory is watched for $DIBS_STREAM_S seconds (default 20); 3600 is an hour.
"""

from __future__ import annotations

import os
import re
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import dibs
from dibs import NewTask
from tests.web.conftest import looked_at
from tests.web.frames import LONGEST_MS, cheapest, held
from tests.web.hostile import HOSTILE, assert_harmless

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Locator, Page

    from tests.web.conftest import Server

DAY_US = 86_400_000_000
STREAMED_S = float(os.environ.get("DIBS_STREAM_S", "20"))


@pytest.fixture(scope="module")
def store_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The first events were so long ago that they are not kept any more: before there was a server, which would have
    taken the lease for ended."""
    url = f"sqlite:{tmp_path_factory.mktemp('events')}/work.db"
    with dibs.connect_sync(url, clock=lambda: time.time_ns() // 1000 - 9 * DAY_US) as past:
        past.add("ancient")
        (claim,) = past.claim(agent="a", types=["ancient"])
        past.complete(claim)
    with dibs.connect_sync(url) as queue:
        queue.prune()
    return url


def live(page: Page) -> Locator:
    """Shown once the list hears what happens; that the page does is said elsewhere, and may be so before."""
    return page.locator("#content").get_by_text("Live", exact=True)


def rows(page: Page) -> Locator:
    return page.get_by_role("region", name="Events, the newest first").get_by_role("listitem")


def test_events_come_by_themselves_and_are_filtered_by_the_server(server: Server, page: Page) -> None:
    queue = server.queue
    page.goto("/events?from=now")
    expect(page.get_by_text("Nothing yet")).to_be_visible()
    expect(live(page)).to_be_visible()
    task = queue.add("fetch", title="one")
    # An agent that is found to be lost would be told of, too.
    expect(rows(page).filter(has_text="task.")).to_have_count(2)
    (claim,) = queue.claim(agent="fetcher-7", types=["fetch"])
    queue.complete(claim, {"found": 12345678901234567890123})
    newest = rows(page).filter(has_text="task.").first
    expect(newest).to_contain_text("task.completed")
    expect(newest).to_contain_text("fetcher-7")

    newest.get_by_role("button").click()
    whole = page.get_by_role("complementary", name="The selected event")
    expect(whole).to_contain_text("12345678901234567890123")
    whole.get_by_role("button", name="Close").click()

    dag = queue.add_dag("filtered", [NewTask("other", ref="x"), NewTask("other")])
    page.get_by_label("From").select_option("1000")
    page.get_by_label("Task").fill(task.id)
    expect(rows(page).filter(has_text="task.")).to_have_count(5)
    page.get_by_label("Type").fill("task.completed, task.started")
    expect(rows(page).filter(has_text="task.")).to_have_count(2)
    expect(page).to_have_url(re.compile(f"task={task.id}"))
    page.get_by_label("Task").fill("")
    page.get_by_label("Type").fill("")
    page.get_by_label("Dag").fill(dag.id)
    expect(rows(page).filter(has_text="task.added")).to_have_count(2)
    expect(rows(page).filter(has_text="fetcher-7")).to_have_count(0)
    page.get_by_label("Dag").fill("")
    page.get_by_label("Agent").fill("fetcher-7")
    expect(rows(page).first).to_contain_text("task.completed")
    rows(page).first.get_by_role("link").first.click()
    expect(page).to_have_url(re.compile(f"/tasks/{task.id}"))


def in_sight(page: Page) -> dict[str, float]:
    """The numbers of the events that are in sight, and where in the list each is."""
    found: dict[str, float] = page.get_by_role("region", name="Events, the newest first").evaluate(IN_SIGHT)
    return found


IN_SIGHT = """list => Object.fromEntries([...list.querySelectorAll("li:has(button)")].map(
    one => [one.querySelector("button").textContent, one.getBoundingClientRect().top + list.scrollTop]))"""


def test_the_tail_stands_still_while_one_looks_and_counts_what_comes(server: Server, page: Page) -> None:
    queue = server.queue
    page.goto("/events?from=now&type=task.added")
    still, more = page.get_by_text("Standing still"), page.get_by_text(re.compile("more since"))
    expect(live(page)).to_be_visible()
    queue.add_many([NewTask("seen") for _ in range(60)])
    expect(page.get_by_text("60 events")).to_be_visible()

    rows(page).first.hover()
    page.mouse.wheel(0, 400)
    expect(still).to_be_visible()
    page.wait_for_function("document.querySelector('section[aria-label^=Events]').scrollTop >= 400")
    seen = in_sight(page)
    queue.add_many([NewTask("unseen") for _ in range(3)])
    expect(more).to_have_text("3 more since")
    assert in_sight(page) == seen
    queue.add("unseen")
    expect(more).to_have_text("4 more since")
    assert in_sight(page) == seen
    expect(page.get_by_text("60 events")).to_be_visible()

    # Back at the top it is live again.
    page.mouse.wheel(0, -1_000)
    expect(live(page)).to_be_visible()
    expect(more).to_have_count(0)
    expect(page.get_by_text("64 events")).to_be_visible()
    queue.add("seen")
    expect(page.get_by_text("65 events")).to_be_visible()

    page.get_by_role("button", name="Pause", exact=True).click()
    expect(still).to_be_visible()
    seen = in_sight(page)
    queue.add_many([NewTask("unseen") for _ in range(5)])
    expect(more).to_have_text("5 more since")
    assert in_sight(page) == seen
    # Who scrolls meanwhile, and comes back, has not gone on.
    page.get_by_role("region", name="Events, the newest first").hover()
    page.mouse.wheel(0, 400)
    page.mouse.wheel(0, -1_000)
    queue.add("unseen")
    expect(more).to_have_text("6 more since")
    page.get_by_role("button", name="Go on").click()
    expect(live(page)).to_be_visible()
    expect(more).to_have_count(0)
    expect(page.get_by_text("71 events")).to_be_visible()

    # A list that is emptied has nothing to be scrolled away in.
    page.get_by_role("region", name="Events, the newest first").hover()
    page.mouse.wheel(0, 400)
    expect(still).to_be_visible()
    page.get_by_role("button", name="Empty the list").click()
    expect(live(page)).to_be_visible()
    queue.add("seen")
    expect(page.get_by_text("1 event", exact=True)).to_be_visible()


def test_nothing_jumps_when_one_scrolls_while_events_stream(server: Server, store_url: str, page: Page) -> None:
    page.goto("/events?from=100000")
    with streaming(store_url, 200):
        expect(rows(page).nth(30)).to_be_visible()
        jumped = page.get_by_role("region", name="Events, the newest first").evaluate(
            """async list => {
                const frame = () => new Promise(requestAnimationFrame);
                const places = """
            + IN_SIGHT
            + """;
                const newest = () => Math.max(...Object.keys(places(list)).map(Number));
                const jumped = [];
                for (let round = 0; round < 8; round += 1) {
                    // Now and then, so that some events have come and are not drawn yet.
                    for (let wait = 0; wait < 10 + round; wait += 1) await frame();
                    // As a wheel does: before a frame, not within one.
                    await new Promise(done => setTimeout(done));
                    list.scrollTop = 300;
                    const before = places(list);
                    const last = newest();
                    let known = 0;
                    for (let wait = 0; wait < 30; wait += 1) {
                        await frame();
                        for (const [seq, top] of Object.entries(places(list))) {
                            if (!(seq in before)) continue;
                            known += 1;
                            if (top !== before[seq]) jumped.push(`${round}: ${seq} by ${top - before[seq]}`);
                        }
                    }
                    if (known === 0) jumped.push(`${round}: all of it`);
                    list.scrollTop = 0;
                    // It goes on; but whoever makes the events may stand still for a while.
                    const end = performance.now() + 60_000;
                    while (!(newest() > last)) {
                        if (performance.now() > end) return [...jumped, `${round}: did not go on`];
                        await frame();
                    }
                }
                return jumped;
            }"""
        )
    assert not jumped, jumped[:5]


def test_what_is_no_longer_kept_is_said_where_it_is_missing(server: Server, page: Page) -> None:
    # Of this task alone: all of them are in sight, however many others told of theirs.
    task = server.queue.add("present")
    page.goto(f"/events?from=all&task={task.id}")
    expect(rows(page).filter(has_text="task.")).to_have_count(2)
    gap = rows(page).filter(has_text="are no longer kept: some are missing here.")
    expect(gap).to_have_count(1)
    expect(gap).to_contain_text(re.compile(r"Events up to \d+ "))


def test_a_filter_that_the_server_refuses_is_said_in_its_words(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page("admin", faults_allowed=True)
    page.goto("/events?type=nonsense")
    expect(page.get_by_text("The server refuses this filter")).to_be_visible()


def test_hostile_events_stay_texts(server: Server, page: Page) -> None:
    queue = server.queue
    for text in HOSTILE:
        name = text[:100].replace("\r", "")
        queue.add(name, {"text": text}, title=text.replace("\r", ""))
        (claim,) = queue.claim(agent=name, types=[name])
        queue.fail(claim, text, retry=False)
    page.goto("/events?type=task.dead_lettered")
    expect(rows(page).filter(has_text="onerror").first).to_be_visible()
    rows(page).nth(5).get_by_role("button").click()
    expect(page.get_by_role("complementary", name="The selected event")).to_be_visible()
    assert_harmless(page)


def test_the_screen_looks_right(server: Server, open_page: Callable[..., Page]) -> None:
    queue = server.queue
    queue.add_dag("Landing page", [NewTask("plan", ref="plan"), NewTask("write", after=["plan"])])
    (claim,) = queue.claim(agent="planner-1", types=["plan"])
    queue.renew(claim, progress=0.4, note="reading")
    queue.complete(claim, {"plan": "short"})
    (claim,) = queue.claim(agent="writer-2", types=["write"])
    queue.fail(claim, "no ink", retry=False)
    looked_at(open_page, "/events", "events", lambda page: expect(rows(page).nth(10)).to_be_visible())


@contextmanager
def streaming(url: str, rate: int) -> Iterator[list[int]]:
    """About so many events a second, until it is enough: tasks are added, claimed and completed, five events each. How
    many there were."""
    stopped = threading.Event()
    told = [0]

    def work() -> None:
        with dibs.connect_sync(url) as queue:
            last = time.monotonic()
            while not stopped.wait(0.05):
                due = int((time.monotonic() - last) * rate / 5)
                if due == 0:
                    continue
                last += due * 5 / rate
                queue.add_many([NewTask("flood", {"number": told[0] + one}) for one in range(due)])
                for claim in queue.claim(agent="busy", types=["flood"], limit=due, lease=3600):
                    queue.complete(claim, {"done": True}, cost=0.01)
                told[0] += due * 5

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield told
        assert thread.is_alive(), "nothing was streamed any more"
    finally:
        stopped.set()
        thread.join()


@pytest.mark.alone
def test_a_hundred_events_a_second_are_smooth(server: Server, store_url: str, page: Page) -> None:
    page.goto("/events?from=now")
    expect(live(page)).to_be_visible()
    with streaming(store_url, 100) as told:
        expect(rows(page).nth(10)).to_be_visible()

        def many_come() -> None:
            # However long that takes: whoever makes them may stand still for a while.
            before = told[0]
            while told[0] - before < 1_000:
                page.wait_for_timeout(500)

        frames = cheapest(page, many_come)
    print(f"\n  a hundred events a second: {frames}")
    assert frames.cost_ms < LONGEST_MS, frames


@pytest.mark.alone
def test_however_many_events_come_no_more_are_held(server: Server, page: Page) -> None:
    page.goto("/events?from=now")
    expect(live(page)).to_be_visible()
    found = []
    for _ in range(3):
        before: int = server.up.ask("GET", "/v1/events/last", token=server.tokens["admin"]).json
        server.queue.add_many([NewTask("heap", {"text": "x" * 200}) for _ in range(10_000)])
        # Not the first of them: that an agent is lost is told in between.
        expect(rows(page).get_by_role("button", name=str(before + 20_000), exact=True)).to_be_visible()
        found.append(held(page))
    print(f"\n  held after 20,000, 40,000 and 60,000 events: {'; '.join(map(str, found))}")
    expect(page.get_by_text("older ones left out")).to_be_visible()
    assert found[-1].mb < found[0].mb + 8, found


@pytest.mark.alone
@pytest.mark.timeout(STREAMED_S + 120)
def test_memory_stays_flat_while_events_stream(server: Server, store_url: str, open_page: Callable[..., Page]) -> None:
    # More than the tail keeps, so that it is full from the beginning.
    server.queue.add_many([NewTask("before", {"text": "x" * 200}) for _ in range(3_000)])
    tail, now = open_page("admin"), open_page("admin")
    tail.goto("/events?from=100000")
    expect(tail.get_by_text("older ones left out")).to_be_visible()
    now.goto("/")
    expect(now.get_by_role("heading", name="Needs you")).to_be_visible()
    found = []
    every_s = min(60.0, STREAMED_S / 5)
    print()
    with streaming(store_url, 100) as told:
        began = time.monotonic()
        while (spent_s := time.monotonic() - began) < STREAMED_S:
            now.wait_for_timeout(1000 * min(every_s, STREAMED_S - spent_s))
            found.append((held(tail), held(now)))
            minutes = (time.monotonic() - began) / 60
            print(f"  {minutes:5.1f} min, {told[0]:,} events: tail {found[-1][0]}; now {found[-1][1]}", flush=True)
    last: int = server.up.ask("GET", "/v1/events/last", token=server.tokens["admin"]).json
    expect(rows(tail).get_by_role("button", name=str(last), exact=True)).to_be_visible()
    assert told[0] > 50 * STREAMED_S, "too slow to say anything about a hundred a second"
    for before, after in zip(found[0], found[-1], strict=True):
        assert after.mb < before.mb + 4, found
        assert after.nodes < before.nodes + 2_000, found
