"""The tail of events: live, filtered, paused, honest about what is missing, and smooth however many come."""

from __future__ import annotations

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
from tests.web.frames import Watch, heap
from tests.web.hostile import HOSTILE, assert_harmless

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Locator, Page

    from tests.web.conftest import Server

DAY_US = 86_400_000_000


@pytest.fixture(scope="module", autouse=True)
def _something_is_gone(server: Server, store_url: str) -> None:
    """The first events were so long ago that they are not kept any more."""
    with dibs.connect_sync(store_url, clock=lambda: time.time_ns() // 1000 - 9 * DAY_US) as past:
        past.add("ancient")
        (claim,) = past.claim(agent="a", types=["ancient"])
        past.complete(claim)
    server.queue.prune()


def rows(page: Page) -> Locator:
    return page.get_by_role("region", name="Events, the newest first").get_by_role("listitem")


def test_events_come_by_themselves_and_are_filtered_by_the_server(server: Server, page: Page) -> None:
    queue = server.queue
    page.goto("/events?from=now")
    expect(page.get_by_text("Nothing yet")).to_be_visible()
    expect(page.get_by_text("Live", exact=True).last).to_be_visible()
    task = queue.add("fetch", title="one")
    expect(rows(page)).to_have_count(2)
    (claim,) = queue.claim(agent="fetcher-7", types=["fetch"])
    queue.complete(claim, {"found": 12345678901234567890123})
    newest = rows(page).first
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


def test_what_is_no_longer_kept_is_said_where_it_is_missing(server: Server, page: Page) -> None:
    server.queue.add("present")
    page.goto("/events?from=all")
    gap = rows(page).filter(has_text="are no longer kept: some are missing here.")
    page.get_by_role("region", name="Events, the newest first").evaluate("one => { one.scrollTop = one.scrollHeight; }")
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
def streaming(url: str, rate: int) -> Iterator[None]:
    """About so many events a second, until it is enough: each task that is added is two."""
    stopped = threading.Event()

    def add() -> None:
        with dibs.connect_sync(url) as queue:
            began, sent = time.monotonic(), 0
            while not stopped.is_set():
                due = int((time.monotonic() - began) * rate / 2) - sent
                if due > 0:
                    queue.add_many([NewTask("flood", {"number": sent + one}) for one in range(due)])
                    sent += due
                time.sleep(0.02)

    thread = threading.Thread(target=add, daemon=True)
    thread.start()
    yield
    stopped.set()
    thread.join()


@pytest.mark.alone
def test_a_hundred_events_a_second_are_smooth_and_memory_stays_flat(server: Server, store_url: str, page: Page) -> None:
    page.goto("/events?from=now")
    expect(page.get_by_text("Live", exact=True).last).to_be_visible()
    with streaming(store_url, 100):
        expect(rows(page).nth(10)).to_be_visible()
        with Watch(page) as watch:
            page.wait_for_timeout(10_000)
    print(f"\n  100 events/s for 10 s: {watch.told}")
    # 60 frames a second are 16.7 ms each; how many there were depends on what else the machine does.
    assert watch.told.cost_ms < 16, watch.told

    # As many as an hour of quiet work would bring, twice: the second time nothing is added to what is held.
    held = []
    for _ in range(3):
        before: int = server.up.ask("GET", "/v1/events/last", token=server.tokens["admin"]).json
        server.queue.add_many([NewTask("flood", {"text": "x" * 200}) for _ in range(10_000)])
        expect(rows(page).first).to_contain_text(str(before + 20_000), timeout=60_000)
        held.append(heap(page))
    print(f"  heap after 20,000, 40,000 and 60,000 events: {', '.join(f'{one:.1f} MB' for one in held)}")
    expect(page.get_by_text("older ones left out")).to_be_visible()
    assert held[-1] < held[0] + 8, held
