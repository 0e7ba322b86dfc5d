"""The screen of one task: why it is where it is, how it got there, and what can be done about it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from dibs import NewTask
from dibs.stores.values import Entry
from tests.web.conftest import HELD_S, assert_accessible, assert_fits, copied, looked_at, shot
from tests.web.editing import write
from tests.web.hostile import HOSTILE, assert_harmless, payload

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page

    from dibs.model.claim import Claim
    from tests.web.conftest import Server

HUGE = 12345678901234567890123
AT_ITS_END = "box => box.scrollTop > 0 && box.scrollHeight - box.scrollTop - box.clientHeight < 24"
EXACT = {"account": HUGE, "steps": ["read", {"deep": [1, None]}], "url": "https://example.org/x"}


class Rich:
    """A task that has been through much, and is at work."""

    def __init__(self, server: Server) -> None:
        queue = self.queue = server.queue
        self.task = queue.add(
            "migrate",
            EXACT,
            title="Migrate the ledger",
            retry="immediate",
            tags=["repo:ledger"],
            user="ada",
            created_by="cron:nightly",
            max_cost=5,
        )
        for agent, model in (("ada", "opus"), ("bob", "sonnet")):
            claim = self.claim(agent, model)
            queue.log(claim, f"{agent} begins")
            queue.fail(claim, "OperationalError: deadlock", cost=0.42, tokens_in=31_000, tokens_out=2_100, model=model)
        self.held = self.claim("eve", "opus")
        queue.checkpoint(self.held, {"row": HUGE})
        queue.log(self.held, "eve begins")
        queue.put_artifact(self.held, "report.md", b"# a report", media_type="text/markdown")
        queue.renew(self.held, progress=0.4, note="copying rows")
        self.children = queue.spawn(self.held, [NewTask("review", title=f"Review part {part}") for part in (1, 2)])

    def claim(self, agent: str, model: str) -> Claim:
        [claim] = self.queue.claim(agent, types=["migrate"], models=(model,), lease=HELD_S)
        return claim


@pytest.fixture(scope="module")
def rich(server: Server) -> Rich:
    return Rich(server)


def at(task: Any) -> str:
    return f"/tasks/{task.id}"


def why(page: Page) -> Locator:
    return page.get_by_role("region", name="Why it is where it is")


def test_it_is_accessible_in_light_dark_and_narrow(open_page: Callable[..., Page], rich: Rich) -> None:
    looked_at(open_page, at(rich.task), "task", lambda page: expect(why(page)).to_contain_text("eve is working on it"))


def test_it_tells_all_there_is_to_know(page: Page, rich: Rich) -> None:
    page.goto(at(rich.task))
    expect(why(page)).to_contain_text("eve is working on it")
    expect(page.get_by_text("Queue delay")).to_be_visible()
    expect(page.get_by_text("Run time").first).to_be_visible()
    expect(page.get_by_text("#1 · ada · failed")).to_be_visible()
    attempts = page.get_by_role("region", name="Attempts")
    expect(attempts.get_by_role("columnheader")).to_have_count(3)
    expect(attempts.get_by_role("row", name="Agent")).to_contain_text("evebobada")
    expect(attempts.get_by_role("row", name="Cost")).to_contain_text("$0.42")
    expect(attempts.get_by_role("row", name=re.compile("^Error"))).to_contain_text("fails like #1")
    expect(page.get_by_text(str(HUGE)).first).to_be_visible()
    expect(page.get_by_role("link", name="schedule nightly")).to_be_visible()
    expect(page.get_by_role("link", name="Review part 2")).to_be_visible()
    expect(page.get_by_role("progressbar", name="Progress")).to_have_attribute("aria-valuenow", "40")
    payload = page.get_by_role("tabpanel", name="Payload")
    assert json.loads(copied(page, payload.get_by_role("button", name="Copy payload"))) == EXACT
    payload.get_by_role("button", name=re.compile('^"steps"')).click()
    expect(payload).to_contain_text("2 items ]")
    expect(payload.get_by_role("link", name="https://example.org/x")).to_have_attribute("rel", re.compile("noopener"))
    page.get_by_text("checkpoint").click()
    expect(page.get_by_text(f"{HUGE}")).to_have_count(2)
    page.get_by_role("link", name="repo:ledger").click()
    expect(page).to_have_url(re.compile(r"/tasks\?q=tag:repo:ledger$"))


def test_the_log_is_followed_and_artifacts_are_attachments(page: Page, rich: Rich) -> None:
    page.goto(at(rich.task))
    log = page.get_by_role("log", name="Log")
    expect(log).to_contain_text("eve begins")
    for number in range(60):
        rich.queue.log(rich.held, f"line {number}")
    expect(log.get_by_text("line 59")).to_be_attached()
    page.wait_for_function(AT_ITS_END, arg=log.element_handle())
    log.evaluate("box => { box.scrollTop = 0 }")
    expect(page.get_by_text("not following")).to_be_visible()
    rich.queue.log(rich.held, "one more")
    expect(log.get_by_text("one more")).to_be_attached()
    assert log.evaluate("box => box.scrollTop") == 0
    page.get_by_role("button", name="Follow").click()
    page.wait_for_function(AT_ITS_END, arg=log.element_handle())
    with page.expect_download() as told:
        page.get_by_role("link", name="Download report.md").click()
    assert told.value.suggested_filename == "report.md"
    # Bytes of others are an attachment, and could do nothing if a browser showed them.
    headers = page.request.get(told.value.url).headers
    assert headers["content-disposition"].startswith("attachment")
    assert headers["content-security-policy"].startswith("sandbox")
    assert headers["content-type"] == "application/octet-stream"
    assert told.value.path().read_bytes() == b"# a report"


def test_priority_is_changed_and_the_change_taken_back(page: Page, server: Server) -> None:
    task = server.queue.add("calm", title="Calm", priority=50)
    page.goto(at(task))
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Change priority…").click()
    page.get_by_role("button", name="critical 5").click()
    assert_accessible(page, within="[role=dialog]")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_text("Priority 5 now.")).to_be_visible()
    assert server.queue.get(task.id).priority == 5
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone.")).to_be_visible()
    assert server.queue.get(task.id).priority == 50


def test_it_is_reassigned_and_made_anybody_s_again(page: Page, server: Server) -> None:
    task = server.queue.add("errand", title="Errand")
    page.goto(at(task))
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Reassign…").click()
    assert_accessible(page, within="[role=dialog]")
    page.get_by_label("Agent, or type of agents").fill("zoe")
    page.get_by_role("button", name="Reassign", exact=True).click()
    expect(page.get_by_text("It is for zoe now.")).to_be_visible()
    assert not server.queue.claim("ada", types=["errand"])
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone.")).to_be_visible()
    [claim] = server.queue.claim("ada", types=["errand"], lease=HELD_S)
    assert (claim.task.id, claim.task.assignee) == (task.id, None)
    expect(why(page)).to_contain_text("ada is working on it")
    page.get_by_role("button", name="More actions").click()
    expect(page.get_by_role("menuitem", name="Change priority…")).to_be_visible()
    expect(page.get_by_role("menuitem", name="Reassign…")).to_have_count(0)


def test_cancelling_says_how_many_it_ends_and_can_be_taken_back(page: Page, server: Server) -> None:
    dag = server.queue.add_dag(
        "three",
        [NewTask("a", ref="a", title="Top"), NewTask("b", ref="b", after=["a"]), NewTask("c", ref="c", after=["b"])],
    )
    [top] = [task for task in dag.tasks if task.ref == "a"]
    page.goto(at(top))
    page.get_by_role("button", name="Cancel…").click()
    expect(page.get_by_role("dialog")).to_contain_text("Cancel this and 2 other tasks?")
    page.get_by_label("Reason").fill("no longer wanted")
    page.get_by_role("button", name="Cancel 3 tasks").click()
    expect(page.get_by_text("Cancelled 3 tasks.")).to_be_visible()
    expect(why(page)).to_contain_text("It was cancelled: no longer wanted")
    page.get_by_role("button", name="Undo").click()
    expect(why(page)).to_contain_text("It is ready")
    assert {task.status for task in server.queue.get_dag(dag.id).tasks} == {"ready", "pending"}


def test_on_a_phone_the_title_and_the_field_of_a_dialog_are_whole(
    open_page: Callable[..., Page], server: Server
) -> None:
    task = server.queue.add("phone", title="A title that is too long for one line of a phone")
    page = open_page("admin", dark=True, width=380)
    page.goto(f"/tasks/{task.id}")
    cancel = page.get_by_role("button", name="Cancel…")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("A title that is too long for one line of a phone")
    expect(cancel).to_be_visible()
    above, below = heading.bounding_box(), cancel.bounding_box()
    assert above is not None
    assert below is not None
    assert below["y"] >= above["y"] + above["height"]
    cancel.click()
    reason = page.get_by_label("Reason (optional)")
    expect(reason).to_be_focused()
    assert_accessible(page, within="[role=dialog]")
    ring = reason.evaluate(
        """field => {
            let box = field.parentElement;
            while (getComputedStyle(box).overflowY !== "auto") box = box.parentElement;
            const style = getComputedStyle(field);
            const ring = parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset);
            return box.getBoundingClientRect().bottom - field.getBoundingClientRect().bottom - ring;
        }"""
    )
    assert ring >= 0
    shot(page, "cancel-narrow")
    reason.press("Enter")
    expect(page.get_by_text("Cancelled 1 task.")).to_be_visible()


def test_a_dead_letter_is_retried_with_another_payload_whose_numbers_stay_exact(page: Page, server: Server) -> None:
    queue = server.queue
    task = queue.add("fragile", {"n": HUGE, "mode": "fast"}, title="Fragile")
    [claim] = queue.claim("ada", types=["fragile"])
    queue.fail(claim, "ValueError: mode", retry=False)
    page.goto(at(task))
    expect(why(page)).to_contain_text("dead letter")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Modify and retry…").click()
    editor = page.get_by_label("Payload (JSON)")
    expect(editor).to_be_focused()
    expect(editor).to_contain_text(str(HUGE))
    write(page, "Payload (JSON)", '{"n": 1,\n "mode": ]}')
    expect(page.get_by_role("alert")).to_contain_text("This is not JSON")
    expect(editor).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".cm-lint-marker-error")).to_have_count(1)
    expect(page.get_by_role("dialog").get_by_role("button", name="Retry")).to_be_disabled()
    assert_accessible(page)
    shot(page, "task-modify-wrong")
    page.set_viewport_size({"width": 380, "height": 780})
    assert_fits(page)
    shot(page, "task-modify-narrow")
    page.set_viewport_size({"width": 1280, "height": 860})
    write(page, "Payload (JSON)", f'{{"n": {HUGE + 1}, "mode": "slow", "x": 1.5}}')
    expect(editor).not_to_have_attribute("aria-invalid", "true")
    page.get_by_label("Note").fill("slower")
    editor.press("ControlOrMeta+Enter")
    expect(why(page)).to_contain_text("It is ready")
    found = queue.get(task.id)
    assert found.payload == {"n": HUGE + 1, "mode": "slow", "x": 1.5}
    assert [(review.resolution, review.by, review.note) for review in found.reviews] == [
        ("retried_modified", "human:admin", "slower")
    ]
    expect(page.get_by_text("retried modified")).to_be_visible()


def test_a_cancelled_task_is_retried(page: Page, server: Server) -> None:
    task = server.queue.add("again", title="Again")
    server.queue.cancel(task.id)
    page.goto(at(task))
    page.get_by_role("button", name="Retry…").click()
    page.get_by_role("dialog").get_by_role("button", name="Retry").click()
    expect(why(page)).to_contain_text("It is ready")


def test_questions_are_answered_where_they_are_asked(page: Page, server: Server) -> None:
    queue = server.queue
    task = queue.add("spend", title="Spend", approval=True)
    page.goto(at(task))
    expect(why(page)).to_contain_text("It waits to be approved.")
    why(page).get_by_role("button", name="Approve").click()
    expect(why(page)).to_contain_text("It is ready")
    [claim] = queue.claim("ada", types=["spend"])
    queue.ask(claim, "Which region?", schema={"type": "string", "enum": ["eu", "us"]})
    expect(why(page)).to_contain_text("Which region?")
    why(page).get_by_role("button", name="eu").click()
    expect(why(page)).to_contain_text("It is ready")
    [claim] = queue.claim("ada", types=["spend"])
    assert list(claim.answers.values()) == ["eu"]


def test_a_raised_budget_lets_a_parked_task_start_and_a_pause_ends(page: Page, server: Server) -> None:
    queue = server.queue
    queue.set_budget("type:dear", 1)
    task = queue.add("dear", title="Dear", max_cost=5)
    assert not queue.claim("ada", types=["dear"])
    page.goto(at(task))
    expect(why(page)).to_contain_text("budget type:dear")
    why(page).get_by_role("button", name="Raise budget…").click()
    page.get_by_label("By how much").fill("10")
    page.get_by_role("button", name="Raise", exact=True).click()
    expect(page.get_by_text("Budget type:dear is $11.00 now.")).to_be_visible()
    expect(why(page)).not_to_contain_text("budget type:dear")
    queue.pause(type="dear", reason="lunch")
    expect(why(page)).to_contain_text("type dear is paused")
    why(page).get_by_role("button", name="Resume type dear").click()
    expect(why(page)).not_to_contain_text("paused")
    [claim] = queue.claim("ada", types=["dear"], lease=HELD_S)
    expect(why(page)).to_contain_text("ada is working on it")
    queue.complete(claim, {"total": HUGE})
    expect(why(page)).to_contain_text("It is completed.")
    expect(page.get_by_role("tab", name="Output")).to_be_visible()
    expect(page.get_by_text(str(HUGE)).first).to_be_visible()


def overspent(server: Server, type: str, **options: Any) -> Any:
    """A dead letter that used more than it may."""
    task = server.queue.add(type, {"n": HUGE}, title=f"Too dear: {type}", **options)
    [claim] = server.queue.claim("ada", types=[type])
    server.queue.renew(claim, cost=3)
    return task, claim


def test_a_task_that_a_budget_stopped_is_retried_with_more_of_it(page: Page, server: Server) -> None:
    queue = server.queue
    queue.set_budget("type:thirsty", 1, default_reserve=1)
    task, claim = overspent(server, "thirsty")
    queue.fail(
        claim,
        "budget type:thirsty is used up, and the attempt used more than it had reserved there: raise it",
        reason="budget_exceeded",
        retry=False,
    )
    page.goto(at(task))
    why(page).get_by_role("button", name="Raise budget and retry…").click()
    dialog = page.get_by_role("dialog", name="Raise a budget")
    expect(dialog.get_by_label("Budget", exact=True)).to_contain_text("type:thirsty")
    dialog.get_by_label("By how much").fill("10")
    assert_accessible(page)
    dialog.get_by_role("button", name="Raise and retry").click()
    expect(page.get_by_text("Budget type:thirsty is $11.00 now, and the task lives again.")).to_be_visible()
    expect(why(page)).to_contain_text("It is ready")
    [review] = queue.get(task.id).reviews
    assert (review.resolution, review.by) == ("retried", "human:admin")
    [claim] = queue.claim("ada", types=["thirsty"])
    queue.complete(claim, cost=1)


def test_a_task_that_waits_because_a_budget_stopped_it_is_given_more(page: Page, server: Server) -> None:
    queue = server.queue
    queue.set_budget("type:parched", 1)
    task, claim = overspent(server, "parched")
    queue.release(claim)
    assert queue.claim("ada", types=["parched"]) == []
    page.goto(at(task))
    expect(why(page)).to_contain_text("it had used that much when it was stopped")
    expect(why(page).get_by_role("button", name="Raise budget and retry…")).to_have_count(0)
    why(page).get_by_role("button", name="Raise budget…").click()
    dialog = page.get_by_role("dialog", name="Raise a budget")
    dialog.get_by_label("By how much").fill("5")
    dialog.get_by_role("button", name="Raise", exact=True).click()
    expect(page.get_by_text("Budget type:parched is $6.00 now.")).to_be_visible()
    [claim] = queue.claim("ada", types=["parched"])
    queue.complete(claim, cost=1)


def test_a_task_that_its_own_limit_stopped_is_submitted_anew_with_a_higher_one(page: Page, server: Server) -> None:
    task, claim = overspent(server, "greedy", max_cost=2, tags=["repo:x"])
    server.queue.complete(claim, "done", cost=3)
    assert server.queue.get(task.id).reason == "budget_exceeded"
    page.goto(at(task))
    expect(why(page)).to_contain_text("a retry would meet it again")
    why(page).get_by_role("button", name="Submit a copy with a higher max_cost…").click()
    expect(page.get_by_role("region", name="Preview")).to_contain_text("1 task")
    page.get_by_role("button", name="Submit").click()
    expect(page).to_have_url(re.compile(r"/dags/dag_\w+"))
    [made] = server.queue.get_dag(page.url.rpartition("/")[2]).tasks
    assert (made.type, made.payload, made.max_cost, made.tags) == ("greedy", {"n": HUGE}, 4, ("repo:x",))


def test_verdicts_of_judges_are_told(page: Page, server: Server) -> None:
    queue = server.queue
    rules = {"validation": "judge", "rubric": "about tea", "criteria": ["tea"]}
    task = queue.add("poem", title="Poem", expects=rules, retry="immediate")
    [claim] = queue.claim("poet", types=["poem"])
    queue.complete(claim, "coffee")
    [claim] = queue.claim("judge-1", types=["judge"], capabilities=["judge"])
    verdict = {"verdict": "fail", "criteria": {"tea": {"pass": False, "reason": "it is coffee"}}, "reason": "no tea"}
    queue.complete(claim, verdict)
    page.goto(at(task))
    expect(page.get_by_text("not met")).to_be_visible()
    expect(page.get_by_text("it is coffee").first).to_be_visible()
    expect(page.get_by_text("rejected").first).to_be_visible()


def test_a_viewer_sees_everything_and_no_actions(viewer_page: Page, server: Server, rich: Rich) -> None:
    viewer_page.goto(at(rich.task))
    expect(viewer_page.get_by_role("region", name="Attempts")).to_be_visible()
    for name in ("Cancel…", "Retry…", "More actions"):
        expect(viewer_page.get_by_role("button", name=name)).to_have_count(0)
    asking = server.queue.add("held", title="Held", approval=True)
    viewer_page.goto(at(asking))
    expect(why(viewer_page)).to_contain_text("It waits to be approved.")
    expect(why(viewer_page).get_by_role("button")).to_have_count(0)


def test_a_task_that_is_not_there_is_said_to_be_missing(open_page: Callable[..., Page]) -> None:
    page = open_page(faults_allowed=True)
    page.goto("/tasks/task_00000000000000000000000000")
    expect(page.get_by_role("alert")).to_contain_text("There is no task")


def test_what_others_wrote_stays_text(page: Page, server: Server) -> None:
    queue = server.queue
    every = "\n".join(HOSTILE)
    word = HOSTILE[1]
    task = queue.add(
        "hostile", payload(), title=HOSTILE[0], tags=[word], user=word, created_by=word, context={"goal": every}
    )
    [claim] = queue.claim(word, types=["hostile"])
    for text in HOSTILE:
        queue.log(claim, text)
    queue.record(claim, [Entry(kind="step", name=word, value=b'"<b>done</b>"')])
    queue.checkpoint(claim, payload())
    queue.put_artifact(claim, "<b>x</b>.html", b"<script>1</script>", media_type="text/html")
    queue.spawn(claim, [NewTask("hostile_child", title=HOSTILE[2])])
    queue.ask(claim, every, schema={"type": "object", "properties": {word: {"type": "string", "description": word}}})
    page.goto(at(task))
    expect(page.get_by_role("button", name="Answer")).to_be_visible()
    for name in ("step 1", "checkpoint"):
        page.get_by_text(name).click()
    assert_harmless(page)
    [question] = queue.questions_of(task)
    queue.answer(question.id, {word: word}, by=word)
    [claim] = queue.claim(word, types=["hostile"])
    queue.complete(claim, payload(), decision={"decision": every, "reasoning": every})
    page.get_by_role("tab", name="Decision").click()
    assert_harmless(page)
    failed = queue.add("hostile", title=word)
    [claim] = queue.claim(word, types=["hostile"])
    queue.fail(claim, every, reason="error", retry=False)
    page.goto(at(failed))
    expect(page.get_by_role("region", name="Attempts")).to_contain_text("<script>")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Modify and retry…").click()
    write(page, "Payload (JSON)", json.dumps(payload()))
    assert_harmless(page)
    page.keyboard.press("Escape")
    queue.review(failed.id, "dropped", by=word, note=every)
    expect(page.get_by_text("dropped").first).to_be_visible()
    assert_harmless(page)
    ended = queue.add("hostile", title=word)
    queue.cancel(ended.id, reason=every[:1000])
    page.goto(at(ended))
    expect(why(page)).to_contain_text("It was cancelled")
    assert_harmless(page)


def test_what_judges_wrote_stays_text(page: Page, server: Server) -> None:
    queue = server.queue
    every = "\n".join(HOSTILE)
    rules = {"validation": "judge", "rubric": every, "criteria": HOSTILE[:3]}
    task = queue.add("hostile poem", expects=rules, retry="immediate")
    [claim] = queue.claim("poet", types=["hostile poem"])
    queue.complete(claim, every)
    [claim] = queue.claim(HOSTILE[1], types=["judge"], capabilities=["judge"])
    criteria = {each: {"pass": False, "reason": every} for each in HOSTILE[:3]}
    queue.complete(claim, {"verdict": "fail", "criteria": criteria, "reason": every})
    page.goto(at(task))
    expect(page.get_by_text("not met").first).to_be_visible()
    page.get_by_text("What its output must be").click()
    assert_harmless(page)
