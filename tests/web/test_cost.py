"""What it costs: by day, type, agent, model and dag, and what has no price."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

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


def spend(queue: SyncQueue, type: str, agent: str, model: str, cost: float | None, dag: str | None = None) -> None:
    queue.add(type, dag=dag)
    (claim,) = queue.claim(agent=agent, types=[type])
    queue.complete(claim, cost=cost, tokens_in=1_000, tokens_out=200, model=model)


@pytest.fixture(scope="module")
def spent(server: Server, store_url: str) -> str:
    """As many days of work as are kept, on three types; one attempt of today has no price. The dag's id."""
    for day in range(6, -1, -1):
        with dibs.connect_sync(store_url, clock=lambda day=day: time.time_ns() // 1000 - day * DAY_US) as queue:  # type: ignore[misc]
            spend(queue, "write", "writer-1", "claude-sonnet-4", 0.5 + day / 10)
            spend(queue, "code", "coder-1", "gpt-5", 1.25)
            if day % 3 == 0:
                spend(queue, "research", "scout-1", "claude-sonnet-4", 2.0)
    spend(server.queue, "code", "coder-2", "unheard-of", None)
    dag = server.queue.add_dag("The dear one", [NewTask("plan"), NewTask("plan")])
    for claim in server.queue.claim(agent="planner", types=["plan"], limit=2):
        server.queue.complete(claim, cost=0.1)
    return dag.id


def test_costs_are_added_up_and_what_has_no_price_is_said(server: Server, spent: str, page: Page) -> None:
    page.goto("/cost")
    total = page.locator("dl")
    # write 5.6, code 8.75, research 6, plan 0.2
    expect(total).to_contain_text("≥ $20.55, 1 unpriced")
    expect(total).to_contain_text("Attempts20")
    expect(page.get_by_role("img", name=re.compile("USD by day and type"))).to_be_visible()
    table = page.get_by_role("table", name="Cost by type")
    expect(table.get_by_role("row").nth(1)).to_contain_text("≥ $8.75, 1 unpriced")
    expect(table.get_by_role("row", name=re.compile("write"))).to_contain_text("$5.60")

    page.get_by_label("By", exact=True).select_option("agent")
    table = page.get_by_role("table", name="Cost by agent")
    expect(table.get_by_role("row", name=re.compile("coder-2"))).to_contain_text("≥ $0.00, 1 unpriced")
    page.get_by_label("By", exact=True).select_option("model")
    table = page.get_by_role("table", name="Cost by model")
    expect(table.get_by_role("row", name=re.compile("claude-sonnet-4"))).to_contain_text("$11.60")
    page.get_by_label("By", exact=True).select_option("day")
    expect(page.get_by_role("table", name="Cost by day").get_by_role("row")).to_have_count(8)
    page.get_by_label("Over").select_option("30")
    expect(page.get_by_role("table", name="Cost by day").get_by_role("row")).to_have_count(8)
    page.get_by_label("In", exact=True).select_option("tokens")
    expect(page.get_by_role("img", name=re.compile("Tokens by day"))).to_be_visible()
    expect(page).to_have_url(re.compile("by=day&days=30&in=tokens"))
    page.get_by_label("By", exact=True).select_option("dag")
    page.get_by_role("table", name="Cost by dag").get_by_role("link", name="The dear one").click()
    expect(page).to_have_url(re.compile(f"/dags/{spent}"))


def test_the_screen_looks_right(server: Server, spent: str, open_page: Callable[..., Page]) -> None:
    def drawn(page: Page) -> None:
        expect(page.locator("canvas")).to_be_visible()
        expect(page.get_by_role("row").nth(1)).to_be_visible()

    looked_at(open_page, "/cost", "cost", drawn)


def test_hostile_names_stay_names(server: Server, spent: str, page: Page) -> None:
    for text in HOSTILE:
        name = text[:100].replace("\r", "")
        spend(server.queue, name, name, name, 0.001)
    for by in ("type", "agent", "model"):
        page.goto(f"/cost?by={by}")
        expect(page.get_by_role("cell", name=re.compile("onerror"))).to_be_visible()
        assert_harmless(page)


def test_nothing_spent_says_how_costs_are_told(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page("viewer")
    page.route("**/v1/costs*", lambda route: route.fulfill(json=[]))
    page.goto("/cost")
    expect(page.get_by_text("Nothing was spent in this time")).to_be_visible()
