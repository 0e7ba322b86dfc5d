"""The screen Now: what needs somebody is seen at once, and answered in place."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import dibs
from dibs.model.task import NewTask
from tests.web.conftest import HELD_S, looked_at
from tests.web.hostile import HOSTILE, assert_harmless, of_length, payload

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.web.conftest import Server

FORM = {
    "type": "object",
    "properties": {
        "colour": {"enum": ["blue", "green", "a longer name than fits a button"], "title": "Which colour?"},
        "copies": {"type": "integer", "minimum": 1, "maximum": 9},
        "comment": {"type": "string", "maxLength": 60},
        "urgent": {"type": "boolean"},
    },
    "required": ["colour", "copies"],
}


@pytest.fixture(scope="module")
def fleet(server: Server) -> Server:
    """Some of everything: two agents at work, work that waits, money that was spent."""
    queue = server.queue
    queue.register_agent("coder-1", type="coder", capabilities=["code"])
    queue.register_agent("idle-1", type="reviewer", capabilities=["review"])
    queue.set_budget("global", 10)
    queue.add("code", {"prompt": "x"}, title="Implement the hero section", timeout=600, max_cost=2)
    [claim] = queue.claim("coder-1", capabilities=["code"], types=["code"], lease=HELD_S)
    queue.renew(claim, progress=0.4, note="writing the handler", cost=0.061)
    queue.add("code", {}, title="done before")
    [other] = queue.claim("coder-1", types=["code"], lease=HELD_S)
    queue.complete(other, {"ok": True}, cost=0.25)
    queue.add_many([NewTask("deploy", {}, title=f"Deploy {number}", requires=["prod"]) for number in range(3)])
    return server


def asked(server: Server, question: str, schema: object = None, **options: object) -> str:
    """A task of an agent that waits for an answer; the task's id."""
    kind = f"ask {question}"
    task = server.queue.add(kind, {}, title=f"about {question[:40]}")
    [claim] = server.queue.claim("asker", types=[kind], lease=HELD_S)
    server.queue.ask(claim, question, schema=schema, **options)  # type: ignore[arg-type]
    return task.id


def test_a_question_is_answered_by_a_form_made_of_its_schema(fleet: Server, page: Page) -> None:
    page.goto("/")
    expect(page.get_by_text("Nothing waits for you", exact=True)).to_be_visible()
    task_id = asked(fleet, "How shall it look?", FORM)
    # It appears by itself, and the tab says so.
    item = page.locator("[data-question]", has_text="How shall it look?")
    expect(item).to_be_visible()
    expect(page).to_have_title(re.compile(r"^\(1\) Now"))
    item.get_by_label("copies").fill("0")
    item.get_by_role("button", name="Answer").click()
    expect(item.get_by_text("Choose one.")).to_be_visible()
    item.get_by_label("Which colour?").select_option("green")
    item.get_by_role("button", name="Answer").click()
    expect(item.get_by_text("At least 1.")).to_be_visible()
    item.get_by_label("copies").fill("3")
    item.get_by_label("comment").fill("as the logo")
    item.get_by_label("No").check()
    item.get_by_role("button", name="Answer").click()
    expect(item).to_have_count(0)
    expect(page).to_have_title(re.compile(r"^Now"))
    [question] = fleet.queue.questions_of(task_id)
    assert question.answer == {"colour": "green", "copies": 3, "comment": "as the logo", "urgent": False}
    assert question.answered_by == "admin"
    assert fleet.queue.get(task_id).status == "ready"


def test_a_task_is_approved_and_another_refused(fleet: Server, page: Page) -> None:
    yes = fleet.queue.add("risky", {}, title="Drop the old table", approval=True)
    no = fleet.queue.add("risky", {}, title="Drop the new table", approval=True)
    page.goto("/")
    page.locator("[data-question]", has_text="Drop the old table").get_by_role("button", name="Approve").click()
    page.locator("[data-question]", has_text="Drop the new table").get_by_role("button", name="Refuse").click()
    expect(page.locator("[data-question]")).to_have_count(0)
    assert fleet.queue.get(yes.id).status == "ready"
    assert fleet.queue.get(no.id).status == "cancelled"


def test_a_person_judges_what_was_handed_in(fleet: Server, page: Page) -> None:
    task = fleet.queue.add("essay", {}, title="An essay", expects={"validation": "human"})
    [claim] = fleet.queue.claim("writer", types=["essay"], lease=HELD_S)
    fleet.queue.complete(claim, {"words": 12345678901234567890})
    page.goto("/")
    item = page.locator("[data-question]", has_text="An essay")
    expect(item.get_by_text("12345678901234567890")).to_be_visible()
    item.get_by_label("What is wrong with it").fill("it has no end")
    item.get_by_role("button", name="Send back").click()
    expect(item).to_have_count(0)
    [question] = fleet.queue.questions_of(task.id)
    assert question.answer == {"approve": False, "reason": "it has no end"}


def test_who_works_is_seen_and_an_agent_is_drained(fleet: Server, page: Page) -> None:
    # Whoever has not been heard of for a while is lost.
    fleet.queue.register_agent("coder-1", type="coder", capabilities=["code"])
    page.goto("/")
    agents = page.get_by_role("table", name="Agents at work")
    row = agents.get_by_role("row", name=re.compile("coder-1"))
    for text in ("Implement the hero section", "writing the handler", "of 10m", "$0.25"):
        expect(row).to_contain_text(text)
    row.get_by_role("button", name="Actions for coder-1").click()
    page.get_by_role("menuitem", name=re.compile("Drain")).click()
    expect(page.get_by_role("status").get_by_text("coder-1 gets nothing new.")).to_be_visible()
    assert {agent.id: agent.status for agent in fleet.queue.agents()}["coder-1"] == "draining"
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone.")).to_be_visible()
    assert {agent.id: agent.status for agent in fleet.queue.agents()}["coder-1"] == "active"


def test_a_lane_is_paused_and_resumed(fleet: Server, page: Page) -> None:
    page.goto("/")
    lanes = page.get_by_role("table", name="Lanes")
    row = lanes.get_by_role("row", name=re.compile("^deploy"))
    expect(row).to_contain_text("needs prod")
    expect(row).to_contain_text("nobody")
    row.get_by_role("button", name="Pause deploy").click()
    expect(row).to_contain_text("paused")
    assert [gate.type for gate in fleet.queue.gates() if gate.kind == "pause"] == ["deploy"]
    row.get_by_role("button", name="Resume deploy").click()
    expect(row).not_to_contain_text("paused")
    assert not [gate for gate in fleet.queue.gates() if gate.kind == "pause"]
    flow = lanes.get_by_role("img", name=re.compile("1 task completed in the last hour")).first
    expect(flow).to_be_visible()
    expect(flow.locator("canvas")).to_be_visible()
    # The picture is where its place is, not below it.
    assert (
        flow.evaluate("one => one.querySelector('canvas').getBoundingClientRect().y - one.getBoundingClientRect().y")
        < 2
    )
    expect(lanes.get_by_role("row", name=re.compile("^code")).first).to_contain_text(re.compile(r"\d \S+ / \d"))


def test_the_strip_says_what_is_wrong_and_what_it_costs(fleet: Server, page: Page, store_url: str) -> None:
    fleet.queue.add("flaky", {}, title="fails", max_attempts=1)
    [claim] = fleet.queue.claim("coder-2", types=["flaky"], lease=HELD_S)
    fleet.queue.fail(claim, "no such host", retry=False)
    fleet.queue.open_breaker("flaky")
    # Claimed fifty minutes ago for an hour, and not heard of since.
    with dibs.connect_sync(store_url, clock=lambda: time.time_ns() // 1000 - 3_000_000_000) as before:
        before.add("silent", {}, title="nobody renews it")
        [silent] = before.claim("mute-1", types=["silent"], lease=HELD_S)
    fleet.queue.add("unheard", {})
    [other] = fleet.queue.claim("coder-2", types=["unheard"], lease=HELD_S)
    fleet.queue.complete(other, tokens_in=1_000, tokens_out=10, model="nobody-knows-its-price")
    fleet.queue.add("priced", {})
    [other] = fleet.queue.claim("coder-2", types=["priced"], lease=HELD_S)
    fleet.queue.complete(other, cost=0.5)
    asked(fleet, "Shall it go on?", {"type": "boolean"})
    page.goto("/")
    strip = page.get_by_role("list", name="At a glance")
    expect(strip.get_by_role("link", name=re.compile("^Needs you"))).to_contain_text("1")
    expect(strip.get_by_role("link", name=re.compile("^Stalled leases"))).to_contain_text("1")
    fleet.queue.complete(silent)
    expect(strip.get_by_role("link", name=re.compile("^Dead letters"))).to_contain_text("1")
    expect(strip.get_by_role("link", name=re.compile("^Open breakers"))).to_contain_text("flaky")
    spent = strip.get_by_role("link", name=re.compile("^Spent today"))
    expect(spent).to_contain_text("of $10.00 left (global)")
    # What was spent before may have been yesterday.
    expect(spent).to_contain_text(re.compile(r"≥ \$0\.(50|75)"))
    expect(spent).to_contain_text("1 unpriced")
    expect(strip.get_by_role("link", name=re.compile("^Burn rate"))).to_contain_text("cap in")
    expect(strip.get_by_role("link", name=re.compile("^Oldest ready"))).to_contain_text("ready")
    fleet.queue.reset_breaker("flaky")
    page.locator("[data-question]", has_text="Shall it go on?").get_by_role("button", name="Yes").click()
    expect(strip.get_by_role("link", name=re.compile("^Needs you"))).to_contain_text("0")
    strip.get_by_role("link", name=re.compile("^Oldest ready")).click()
    expect(page.get_by_role("combobox", name="Filter tasks")).to_have_value("status:ready")
    page.go_back()
    page.get_by_role("table", name="Lanes").get_by_role("link", name="deploy").click()
    expect(page.get_by_role("combobox", name="Filter tasks")).to_have_value("status:ready type:deploy")
    expect(page.locator("tr[data-task]")).to_have_count(3)


def test_who_may_only_look_sees_no_buttons_and_is_refused(fleet: Server, open_page: Callable[..., Page]) -> None:
    task_id = asked(fleet, "Is anybody there?", {"type": "boolean"})
    page = open_page("viewer", faults_allowed=True)
    page.goto("/")
    expect(page.locator("[data-question]", has_text="Is anybody there?")).to_be_visible()
    expect(page.get_by_role("table", name="Lanes").get_by_role("row", name=re.compile("^deploy"))).to_be_visible()
    buttons = page.locator("#content").get_by_role("button").all_inner_texts()
    assert not buttons, buttons
    [question] = fleet.queue.questions_of(task_id)
    refused = page.evaluate(
        "id => fetch(`/v1/questions/${id}/answer`, {method: 'POST', headers: {'content-type': 'application/json'},"
        " body: '{\"value\": true}'}).then(answer => answer.status)",
        question.id,
    )
    assert refused == 403
    fleet.queue.answer(question.id, True)


def test_what_is_hostile_stays_text(fleet: Server, open_page: Callable[..., Page]) -> None:
    for number, text in enumerate(HOSTILE):
        agent = of_length(f"{number}{text}".replace("\n", " ").replace("\t", " "), 150)
        kind = of_length(f"hostile {number} {text}".replace("\n", " ").replace("\t", " "), 150)
        fleet.queue.add(kind, payload(), title=text, requires=[of_length(text, 100)], models=[of_length(text, 100)])
        words = [of_length(text, 100)]
        [claim] = fleet.queue.claim(agent, types=[kind], capabilities=words, models=words, lease=HELD_S)
        fleet.queue.add(kind, title=text, requires=[f"{number} {words[0]}"])
        if not number % 5:
            fleet.queue.open_breaker(kind, reason=text)
        schema = {
            "type": "object",
            "title": text,
            "description": text,
            "properties": {text[:50]: {"title": text, "description": text, "enum": [text, "b"]}},
        }
        fleet.queue.renew(claim, note=text)
        if number % 2:
            fleet.queue.ask(claim, text, schema=schema)
    for options in ({}, {"width": 380}):
        page = open_page("admin", **options)
        page.goto("/")
        expect(page.locator("[data-question]")).to_have_count(len(HOSTILE) // 2)
        closed = page.get_by_role("button", name="Answer …")
        for left in range(closed.count(), 0, -1):
            closed.first.click()
            expect(closed).to_have_count(left - 1)
        page.get_by_role("table", name="Agents at work").scroll_into_view_if_needed()
        assert_harmless(page)
    for gate in fleet.queue.breakers():
        fleet.queue.reset_breaker(gate.type)


def test_it_is_legible_in_light_dark_and_narrow(fleet: Server, open_page: Callable[..., Page]) -> None:
    asked(fleet, "Which of the two layouts shall be used?", {"enum": ["one column", "two columns"]})

    def ready(page: Page) -> None:
        expect(page.locator("[data-question]", has_text="Which of the two layouts")).to_be_visible()
        expect(page.get_by_role("table", name="Lanes").get_by_role("row", name=re.compile("^deploy"))).to_be_visible()

    looked_at(open_page, "/", "now", ready)
