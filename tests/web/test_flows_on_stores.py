"""What people do every day, on PostgreSQL: the screens show and change the same there.

On SQLite the tests of each screen do these things, and more.
"""

from __future__ import annotations

import random
import re
import socket
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import dibs
from dibs import NewTask
from tests.server.process import up
from tests.web.conftest import HELD_S, PATIENCE_MS, cookie_of
from tests.web.editing import write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from tests.servers.postgres import Schemas
    from tests.web.conftest import Server


@pytest.fixture(scope="module")
def store_url(postgres_schemas: Schemas) -> Iterator[str]:
    with postgres_schemas.lend() as url:
        yield url


def test_a_question_is_answered(server: Server, page: Page) -> None:
    task = server.queue.add("style", title="Style it")
    [claim] = server.queue.claim("coder-1", types=["style"], lease=HELD_S)
    page.goto("/")
    expect(page.get_by_role("heading", name="Now")).to_be_visible()
    server.queue.ask(
        claim,
        "How many columns?",
        schema={"type": "object", "properties": {"columns": {"type": "integer"}}, "required": ["columns"]},
    )
    asked = page.locator("[data-question]", has_text="How many columns?")
    asked.get_by_label("columns").fill("2")
    asked.get_by_role("button", name="Answer").click()
    expect(asked).to_have_count(0)
    [again] = server.queue.claim("coder-1", types=["style"])
    assert again.task.id == task.id
    assert list(again.answers.values()) == [{"columns": 2}]
    server.queue.complete(again)


def test_a_task_is_approved(server: Server, page: Page) -> None:
    task = server.queue.add("deploy", title="Deploy the site", approval=True)
    page.goto("/")
    asked = page.locator("[data-question]", has_text="Deploy the site")
    expect(page).to_have_title(re.compile(r"^\(1\) Now"))
    asked.get_by_role("button", name="Approve").click()
    expect(asked).to_have_count(0)
    expect(page).to_have_title(re.compile("^Now"))
    [claim] = server.queue.claim("ops-1", types=["deploy"])
    assert claim.task.id == task.id
    server.queue.complete(claim)


def test_a_group_of_dead_letters_is_retried(server: Server, page: Page) -> None:
    queue = server.queue
    tasks = queue.add_many([NewTask("crawl", title=f"Crawl {number}") for number in range(3)])
    for claim in queue.claim("crawler-1", types=["crawl"], limit=3):
        queue.fail(claim, f"Timeout after 30 s: https://example.org/{claim.fence}", retry=False)
    page.goto("/dead-letters")
    page.get_by_role("button", name="Retry 3 of crawl").click()
    dialog = page.get_by_role("dialog", name="Retry: 3 dead letters of crawl?")
    dialog.get_by_label("Note").fill("the host is back")
    dialog.get_by_role("button", name="Retry 3").click()
    expect(page.get_by_text("3 dead letters retried.")).to_be_visible()
    expect(page.get_by_text("Nothing to decide")).to_be_visible()
    found = [queue.get(task.id) for task in tasks]
    assert [task.status for task in found] == ["ready"] * 3
    assert {(review.by, review.note) for task in found for review in task.reviews} == {
        ("human:admin", "the host is back")
    }


def test_an_agent_is_drained_and_taken_back(server: Server, page: Page) -> None:
    queue = server.queue
    queue.add("code", title="Mend the parser", assignee="coder-7")
    [claim] = queue.claim("coder-7", types=["code"], lease=HELD_S)
    page.goto("/agents")
    row = page.locator("tr[data-key='coder-7']")
    expect(row).to_contain_text("Mend the parser")
    page.get_by_role("button", name="Actions for coder-7").click()
    page.get_by_role("menuitem", name="Drain").click()
    expect(row).to_contain_text("draining")
    queue.complete(claim)
    queue.add("code", title="Not for now", assignee="coder-7")
    assert queue.claim("coder-7", types=["code"]) == []
    page.get_by_role("button", name="Undo").click()
    expect(row).to_contain_text("active")
    [claim] = queue.claim("coder-7", types=["code"])
    queue.complete(claim)


def test_a_raised_budget_lets_parked_tasks_start(server: Server, page: Page) -> None:
    queue = server.queue
    queue.set_budget("type:render", 1, default_reserve=1)
    queue.add_many([NewTask("render", title=f"Frame {number}") for number in (1, 2)])
    [first] = queue.claim("gpu-1", types=["render"], lease=HELD_S)
    assert queue.claim("gpu-2", types=["render"]) == []
    page.goto("/gates")
    row = page.locator("[data-scope='type:render']")
    expect(row).to_contain_text("1 task waiting")
    row.get_by_label("Raise type:render by (usd)").fill("1")
    row.get_by_role("button", name="Raise").click()
    expect(row).not_to_contain_text("waiting")
    [second] = queue.claim("gpu-2", types=["render"], lease=HELD_S)
    expect(row).to_contain_text("$2.00 reserved")
    for claim in (first, second):
        queue.complete(claim, cost=0.25)
    expect(row).to_contain_text("$0.50 of $2.00")


def test_a_type_is_paused_and_resumed(server: Server, page: Page) -> None:
    queue = server.queue
    queue.add("lint", title="Lint it")
    page.goto("/")
    row = page.get_by_role("table", name="Lanes").get_by_role("row", name=re.compile("^lint"))
    row.get_by_role("button", name="Pause lint").click()
    expect(row).to_contain_text("paused")
    assert queue.claim("linter-1", types=["lint"]) == []
    row.get_by_role("button", name="Resume lint").click()
    expect(row).not_to_contain_text("paused")
    [claim] = queue.claim("linter-1", types=["lint"])
    queue.complete(claim)


def test_a_dag_is_submitted_and_watched_to_its_end(server: Server, page: Page) -> None:
    page.goto("/submit")
    write(
        page,
        "The dag, in YAML or JSON",
        "title: Spring sale\ntasks:\n  - {ref: plan, type: plan}\n  - {ref: write, type: write, after: [plan]}\n",
    )
    page.get_by_role("button", name="Submit").click()
    expect(page).to_have_url(re.compile(r"/dags/dag_\w+"))
    statuses = page.get_by_role("list", name="Tasks by status")
    # Nothing is clicked or reloaded from here on.
    for type, told in (("plan", "1 completed"), ("write", "2 completed")):
        [claim] = server.queue.claim("writer-1", types=[type], lease=HELD_S)
        expect(statuses).to_contain_text("1 running")
        server.queue.complete(claim)
        expect(statuses).to_contain_text(told)
    expect(page.locator("header").get_by_text("completed", exact=True)).to_be_visible()


def port_of_ones_own() -> int:
    """A free port that nobody is given who asks for any one: it is there again once its server has gone."""
    while True:
        with socket.socket() as tried:
            port = random.randrange(20_000, 30_000)
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_server_that_is_lost_is_said_to_be_and_the_page_goes_on_by_itself(
    browser: Browser, tmp_path: Path, store: str, store_url: str
) -> None:
    url = store_url if store == "postgres" else f"sqlite:{tmp_path}/work.db"
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    live = page.get_by_role("button", name=re.compile("^Live"))
    with dibs.connect_sync(url) as queue:
        port = port_of_ones_own()
        with up(tmp_path, url, port=port) as first:
            queue.add("idle")
            token = queue.create_token("me", role="admin")
            context.add_cookies([cookie_of(first, token.secret)])
            page.goto(first.url)
            # All of the screen is there; what was not loaded by now would have to be, later.
            expect(page.get_by_role("table", name="Lanes").locator("canvas").first).to_be_visible()
            expect(live).to_be_visible()
            page.evaluate("window.isTheSame = true")
        banner = page.get_by_role("alert").filter(has_text="The server does not answer")
        expect(banner).to_be_visible()
        task = queue.add("risky", {}, title="While nobody served", approval=True)
        with up(tmp_path, url, port=port):
            # Nothing is clicked, nothing reloaded.
            expect(banner).to_have_count(0)
            expect(page.locator("[data-question]", has_text="While nobody served")).to_be_visible()
            expect(live).to_be_visible()
            assert page.evaluate("window.isTheSame")
        queue.cancel(task.id)
    context.close()
