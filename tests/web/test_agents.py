"""Agents: who works on what, and how one is let go."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.web.conftest import HELD_S, assert_accessible, looked_at, shot
from tests.web.hostile import HOSTILE, assert_harmless

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page

    from dibs.model.claim import Claim
    from tests.web.conftest import Server

PATH = "/agents"


def working(server: Server, agent: str, title: str, *, type: str = "code") -> Claim:
    """An agent that holds a task."""
    server.queue.add(type, title=title, timeout="10m", assignee=agent)
    [claim] = server.queue.claim(agent, types=[type], capabilities=["git", "python"], lease=HELD_S)
    server.queue.renew(claim, progress=0.4, note="reading the tests")
    return claim


def row_of(page: Page, agent: str) -> Locator:
    return page.locator(f"tr[data-key='{agent}']")


def act(page: Page, agent: str, choice: str) -> None:
    page.get_by_role("button", name=f"Actions for {agent}").click()
    page.get_by_role("menuitem", name=choice).click()


def status_of(server: Server, agent: str) -> str:
    return next(each.status for each in server.queue.agents() if each.id == agent)


def test_it_is_fit_to_be_seen(server: Server, open_page: Callable[..., Page]) -> None:
    queue = server.queue
    queue.register_agent("planner-1", "planner", ["plan"], ["large"], max_concurrent=3, host="box-2")
    queue.register_agent("builder-1", "builder", ["git", "python", "docker"], ["small"], max_concurrent=1, host="box-1")
    working(server, "planner-1", "Plan the next release")
    claim = working(server, "builder-1", "Build the wheel")
    queue.drain_agent("builder-1")

    def ready(page: Page) -> None:
        # Who is not heard of for a while is lost.
        queue.renew(claim)
        expect(row_of(page, "builder-1")).to_contain_text("draining")

    looked_at(open_page, PATH, "agents", ready)


def test_an_agent_is_shown_with_its_work_drained_and_taken_back(server: Server, page: Page) -> None:
    claim = working(server, "coder-1", "Mend the parser")
    page.goto(PATH)
    row = row_of(page, "coder-1")
    for words in ("active", "Mend the parser", "of 10m", "reading the tests", "git, python"):
        expect(row).to_contain_text(words)
    expect(row.get_by_role("link")).to_have_attribute("href", f"/tasks/{claim.task.id}")

    act(page, "coder-1", "Drain")
    expect(row).to_contain_text("draining")
    server.queue.add("code", assignee="coder-1")
    assert server.queue.claim("coder-1", types=["code"]) == []
    server.queue.complete(claim, cost=1.5)
    expect(row).to_contain_text("nothing")
    expect(row).to_contain_text("$1.50")
    page.get_by_role("button", name="Undo").click()
    expect(row).to_contain_text("active")
    [claim] = server.queue.claim("coder-1", types=["code"])
    server.queue.complete(claim)


def test_its_detail_tells_all_of_it(server: Server, page: Page) -> None:
    queue = server.queue
    queue.register_agent("reader-1", "reader", ["pdf"], ["large"], max_concurrent=2, host="box", pid=7, version="1.2")
    claim = working(server, "reader-1", "Read about CORS", type="read")
    page.goto(PATH)
    row_of(page, "reader-1").get_by_text("reader-1").click()
    dialog = page.get_by_role("dialog", name="reader-1")
    for words in (
        "1 of 2",
        "50 %",
        "git",
        "large",
        "box · pid 7 · dibs 1.2",
        "Read about CORS",
        "40 %",
        "reading the tests",
    ):
        expect(dialog).to_contain_text(words)
    expect(dialog.get_by_role("meter", name="Time used")).to_be_visible()
    assert_accessible(page)
    shot(page, "agents-detail")
    page.keyboard.press("Escape")
    queue.complete(claim)


def test_a_stopped_agent_gives_back_what_it_holds(server: Server, page: Page) -> None:
    queue = server.queue
    back, ended = working(server, "wild-1", "Give me back"), working(server, "wild-2", "Cancel me")
    page.goto(PATH)
    act(page, "wild-1", "Stop…")
    dialog = page.get_by_role("dialog", name="Stop wild-1?")
    expect(dialog).to_contain_text("1 task")
    assert_accessible(page)
    dialog.get_by_role("button", name="Stop it").click()
    expect(page.get_by_text("wild-1 is stopped; 1 task went back.")).to_be_visible()
    task = queue.get(back.task.id)
    assert (task.status, task.attempts) == ("ready", 0)
    assert status_of(server, "wild-1") == "draining"

    act(page, "wild-2", "Stop…")
    dialog = page.get_by_role("dialog", name="Stop wild-2?")
    dialog.get_by_label(re.compile("What it holds")).select_option("cancel")
    dialog.get_by_role("button", name="Stop it").click()
    expect(page.get_by_text("wild-2 is stopped; 1 task cancelled.")).to_be_visible()
    assert queue.get(ended.task.id).cancel_reason == "wild-2 was stopped"


def test_an_agent_is_paused_and_marked_as_gone(server: Server, page: Page) -> None:
    queue = server.queue
    queue.register_agent("idle-1")
    page.goto(PATH)
    act(page, "idle-1", "Pause…")
    dialog = page.get_by_role("dialog", name="Pause")
    expect(dialog.get_by_label("Agent")).to_have_value("idle-1")
    dialog.get_by_label("Reason").fill("it misbehaves")
    dialog.get_by_role("button", name="Pause").click()
    expect(row_of(page, "idle-1")).to_contain_text("paused")
    act(page, "idle-1", "Resume")
    expect(row_of(page, "idle-1")).to_contain_text("active")
    assert queue.gates() == []
    act(page, "idle-1", "Mark as gone")
    expect(row_of(page, "idle-1")).to_have_count(0)
    assert status_of(server, "idle-1") == "offline"
    page.get_by_label("Which agents").select_option("all")
    expect(row_of(page, "idle-1")).to_contain_text("offline")
    page.get_by_label("Find agents").fill("nobody like this")
    expect(page.get_by_text("No agent fits")).to_be_visible()


def test_a_viewer_sees_agents_and_stops_none(server: Server, viewer_page: Page) -> None:
    server.queue.register_agent("seen-1")
    viewer_page.goto(PATH)
    row = row_of(viewer_page, "seen-1")
    expect(row).to_be_visible()
    expect(viewer_page.locator("#content").get_by_role("button", name=re.compile("Actions"))).to_have_count(0)
    row.get_by_text("seen-1").click()
    expect(viewer_page.get_by_role("dialog").get_by_role("button")).to_have_count(2)
    headers = {"Origin": server.url}
    assert viewer_page.request.post("/v1/agents/seen-1/drain", headers=headers).status == 403
    assert viewer_page.request.delete("/v1/agents/seen-1", headers=headers).status == 403
    assert status_of(server, "seen-1") == "active"


def test_hostile_words_stay_words(server: Server, page: Page) -> None:
    queue = server.queue
    claims = []
    for number, each in enumerate(HOSTILE):
        text = each.replace("\r", "").strip()
        queue.add(f"evil-{number}", title=text[:300])
        name = text[:120]
        queue.register_agent(name, text[:100], [text[:100].replace(",", "")], host=text[:100], version=text[:100])
        [claim] = queue.claim(name, types=[f"evil-{number}"], lease=HELD_S)
        queue.renew(claim, note=text[:500])
        claims.append(claim)
    page.goto(PATH)
    expect(page.get_by_role("row").nth(8)).to_be_visible()
    assert_harmless(page)
    page.get_by_label("Find agents").fill("onerror")
    page.get_by_role("row").nth(1).get_by_text("<img").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert_harmless(page)
    page.set_viewport_size({"width": 380, "height": 780})
    assert_harmless(page)
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 1280, "height": 860})
    page.get_by_role("button", name=re.compile("^Actions for <img")).click()
    page.get_by_role("menuitem", name="Drain").click()
    expect(page.get_by_role("status").get_by_text("<img").first).to_be_visible()
    assert_harmless(page)
    for claim in claims:
        queue.complete(claim)
        queue.unregister_agent(claim.agent)
