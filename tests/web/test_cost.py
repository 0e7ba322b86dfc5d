"""What it costs: by day, type, agent, model and dag, and what has no price."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, NamedTuple

import pytest
from playwright.sync_api import expect

import dibs
from dibs import NewTask
from tests.web.conftest import looked_at
from tests.web.hostile import HOSTILE, assert_harmless

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from dibs.sync import SyncQueue
    from tests.web.conftest import Server

DAY_US = 86_400_000_000


DAYS = 6
"""One less than the screen shows at first: midnight may come between."""


def spend(queue: SyncQueue, type: str, agent: str, model: str, cost: float | None) -> None:
    queue.add(type)
    (claim,) = queue.claim(agent=agent, types=[type])
    queue.complete(claim, cost=cost, tokens_in=1_000, tokens_out=200, model=model)


class Past(NamedTuple):
    """A store with a past, and a dag in it."""

    url: str
    dag: str


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Past:
    """Some days of work on three types; one attempt of the last has no price. All of it was before there was a server:
    that would take the leases of days ago for ended."""
    url = f"sqlite:{tmp_path_factory.mktemp('cost')}/work.db"
    began = time.time_ns() // 1000
    for day in range(DAYS - 1, -1, -1):
        with dibs.connect_sync(url, clock=lambda day=day: began - day * DAY_US) as queue:  # type: ignore[misc]
            spend(queue, "write", "writer-1", "claude-sonnet-4", 0.5 + day / 10)
            spend(queue, "code", "coder-1", "gpt-5", 1.25)
            if day % 3 == 0:
                spend(queue, "research", "scout-1", "claude-sonnet-4", 2.0)
            if day == 0:
                spend(queue, "code", "coder-2", "unheard-of", None)
                dag = queue.add_dag("The dear one", [NewTask("plan"), NewTask("plan")])
                for claim in queue.claim(agent="planner", types=["plan"], limit=2):
                    queue.complete(claim, cost=0.1)
    return Past(url, dag.id)


@pytest.fixture(scope="module")
def store_url(past: Past) -> str:
    return past.url


def test_costs_are_added_up_and_what_has_no_price_is_said(past: Past, page: Page) -> None:
    page.goto("/cost")
    total = page.locator("dl")
    # write 4.5, code 7.5, research 4, plan 0.2
    expect(total).to_contain_text("≥ $16.20, 1 unpriced")
    expect(total).to_contain_text("Attempts17")
    expect(page.get_by_role("img", name=re.compile("USD by day and type"))).to_be_visible()
    table = page.get_by_role("table", name="Cost by type")
    expect(table.get_by_role("row").nth(1)).to_contain_text("≥ $7.50, 1 unpriced")
    expect(table.get_by_role("row", name=re.compile("write"))).to_contain_text("$4.50")

    page.get_by_label("By", exact=True).select_option("agent")
    table = page.get_by_role("table", name="Cost by agent")
    expect(table.get_by_role("row", name=re.compile("coder-2"))).to_contain_text("≥ $0.00, 1 unpriced")
    page.get_by_label("By", exact=True).select_option("model")
    table = page.get_by_role("table", name="Cost by model")
    expect(table.get_by_role("row", name=re.compile("claude-sonnet-4"))).to_contain_text("$8.50")
    page.get_by_label("By", exact=True).select_option("day")
    expect(page.get_by_role("table", name="Cost by day").get_by_role("row")).to_have_count(1 + DAYS)
    page.get_by_label("Over").select_option("30")
    expect(page.get_by_role("table", name="Cost by day").get_by_role("row")).to_have_count(1 + DAYS)
    page.get_by_label("In", exact=True).select_option("tokens")
    expect(page.get_by_role("img", name=re.compile("Tokens by day"))).to_be_visible()
    expect(page).to_have_url(re.compile("by=day&days=30&in=tokens"))
    page.get_by_label("By", exact=True).select_option("dag")
    page.get_by_role("table", name="Cost by dag").get_by_role("link", name="The dear one").click()
    expect(page).to_have_url(re.compile(f"/dags/{past.dag}"))


def test_the_screen_looks_right(open_page: Callable[..., Page]) -> None:
    def drawn(page: Page) -> None:
        expect(page.locator("canvas")).to_be_visible()
        expect(page.get_by_role("row").nth(1)).to_be_visible()

    looked_at(open_page, "/cost", "cost", drawn)


def test_hostile_names_stay_names(server: Server, page: Page) -> None:
    for text in HOSTILE:
        name = text[:100].replace("\r", "")
        spend(server.queue, name, name, name, 0.001)
    for by in ("type", "agent", "model"):
        page.goto(f"/cost?by={by}")
        expect(page.get_by_role("cell", name=re.compile("onerror"))).to_be_visible()
        assert_harmless(page)


def test_nothing_spent_says_how_costs_are_told(open_page: Callable[..., Page]) -> None:
    page = open_page("viewer")
    page.route("**/v1/costs*", lambda route: route.fulfill(json=[]))
    page.goto("/cost")
    expect(page.get_by_text("Nothing was spent in this time")).to_be_visible()
