"""Dead letters: groups, one decision for a whole group, and who decided what."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

from tests.web.conftest import assert_accessible, assert_fits, looked_at, shot
from tests.web.editing import write
from tests.web.hostile import HOSTILE, assert_harmless, payload

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Locator, Page

    from dibs.model.task import Task
    from dibs.sync import SyncQueue
    from tests.web.conftest import Server

BIG = 12345678901234567890123
PATH = "/dead-letters"


def died(
    queue: SyncQueue, type: str, error: str, *, count: int = 1, agent: str = "coder-1", **options: Any
) -> list[Task]:
    """Tasks that were given up, all with this error."""
    tasks = [queue.add(type, max_attempts=1, **options) for _ in range(count)]
    for _ in tasks:
        [claim] = queue.claim(agent, types=[type])
        queue.fail(claim, error, retry=False, cost=0.25, model="large")
    return tasks


def group_of(page: Page, type: str) -> Locator:
    return page.locator(f"[data-group][data-type='{type}']")


def decide(page: Page, type: str, choice: str) -> Locator:
    """Open a decision from the menu of a group; the dialog."""
    page.get_by_role("button", name=f"More decisions about {type}").click()
    page.get_by_role("menuitem", name=choice).click()
    return page.get_by_role("dialog")


def test_it_is_fit_to_be_seen(server: Server, open_page: Callable[..., Page]) -> None:
    queue = server.queue
    died(queue, "research", "RateLimited: 429 from api.example.org after 4 tries", count=12, title="Read about CORS")
    died(queue, "code", "tests/test_parser.py::test_quotes failed", count=3, agent="coder-2")
    [dropped] = died(queue, "mail", "No such mailbox: nobody@example.org")
    queue.review(dropped.id, "dropped", by="human:grace", note="left the company")
    looked_at(open_page, PATH, "dead-letters", lambda page: expect(group_of(page, "research")).to_be_visible())
    page = open_page("admin", width=380)
    page.goto(f"{PATH}?tab=log")
    expect(page.get_by_role("table", name="Decisions")).to_contain_text("dropped")
    assert_fits(page)
    assert_accessible(page)
    shot(page, "dead-letters-log-narrow")


def test_a_group_is_looked_into_and_retried_at_once(server: Server, page: Page) -> None:
    tasks = died(server.queue, "crawl", "Timeout after 30 s: https://example.org/7", count=3, payload={"id": BIG})
    died(server.queue, "crawl", "no such host", agent="coder-2", title="The odd one")
    page.goto(PATH)
    group = page.locator("[data-group]").filter(has_text="Timeout after")
    expect(group.get_by_text("3", exact=True)).to_be_visible()
    group.get_by_role("button", expanded=False).first.click()
    expect(group.get_by_text(str(BIG))).to_be_visible()
    expect(group.get_by_role("table")).to_contain_text("coder-1")
    expect(group.get_by_role("link", name="https://example.org/7").first).to_have_attribute(
        "rel", re.compile("noopener")
    )
    assert_accessible(page)
    shot(page, "dead-letters-open")

    group.get_by_role("button", name="Retry 3 of crawl").click()
    dialog = page.get_by_role("dialog", name="Retry: 3 dead letters of crawl?")
    dialog.get_by_label("Note").fill("the host is back")
    dialog.get_by_role("button", name="Retry 3").click()
    expect(page.get_by_text("3 dead letters retried.")).to_be_visible()
    expect(group).to_have_count(0)
    for task in tasks:
        found = server.queue.get(task.id)
        assert found.status == "ready"
        [review] = found.reviews
        assert (review.resolution, review.by, review.note) == ("retried", "human:admin", "the host is back")


def test_other_decisions_about_a_group(server: Server, page: Page) -> None:
    queue = server.queue
    [dropped] = died(queue, "page-gone", "404")
    [later] = died(queue, "busy", "503")
    [asked] = died(queue, "billing", "card declined")
    [kept] = died(queue, "known", "as ever")
    page.goto(PATH)

    page.get_by_role("button", name="Drop 1 of page-gone").click()
    page.get_by_role("dialog").get_by_role("button", name="Drop 1").click()
    expect(group_of(page, "page-gone")).to_have_count(0)
    assert queue.get(dropped.id).status == "cancelled"

    dialog = decide(page, "busy", "Retry later…")
    dialog.get_by_label("After").select_option("1h")
    dialog.get_by_role("button", name="Retry later 1").click()
    expect(group_of(page, "busy")).to_have_count(0)
    assert queue.get(later.id).status in ("scheduled", "retrying", "pending")

    dialog = decide(page, "billing", "Escalate…")
    send = dialog.get_by_role("button", name="Escalate 1")
    expect(send).to_be_disabled()
    dialog.get_by_label("To whom").fill("team:payments")
    dialog.get_by_label("Question").fill("Is the card valid?")
    send.click()
    expect(group_of(page, "billing")).to_have_count(0)
    [question] = queue.inbox(assignee="team:payments")
    assert question.question.startswith("Is the card valid?")
    assert queue.get(asked.id).status == "dead_lettered"

    decide(page, "known", "Keep as they are…").get_by_role("button", name="Keep 1").click()
    expect(group_of(page, "known")).to_have_count(0)
    assert queue.get(kept.id).reviews[-1].resolution == "kept"
    page.get_by_label("Which").select_option("decided")
    expect(group_of(page, "known")).to_be_visible()


def test_modify_and_retry_one_or_the_same_fields_in_all(server: Server, page: Page) -> None:
    queue = server.queue
    first, second, third = died(
        queue, "fetch", "bad url", count=3, payload={"id": BIG, "url": "htp://x", "keep": [1.10]}
    )
    page.goto(PATH)
    dialog = decide(page, "fetch", "Modify and retry…")
    expect(dialog.get_by_label("Payload", exact=True)).to_contain_text(str(BIG))
    write(page, "Payload", "[1,")
    expect(dialog.get_by_role("alert")).to_contain_text("This is not JSON")
    expect(dialog.get_by_role("button", name="Retry 1")).to_be_disabled()
    write(page, "Payload", '{"id": 98765432109876543210}')
    dialog.get_by_role("button", name="Retry 1").click()
    expect(page.get_by_text("1 dead letter retried with another payload.")).to_be_visible()
    assert queue.get(third.id).payload == {"id": 98765432109876543210}

    dialog = decide(page, "fetch", "Modify and retry…")
    dialog.get_by_label("Change").select_option("all")
    write(page, "What to change", '{"url": "https://x", "keep": null}')
    expect(dialog.get_by_text('"https://x"', exact=True)).to_have_count(2)
    assert_accessible(page)
    shot(page, "dead-letters-modify")
    dialog.get_by_role("button", name="Retry 2").click()
    expect(group_of(page, "fetch")).to_have_count(0)
    for task in (first, second):
        found = queue.get(task.id)
        assert found.payload == {"id": BIG, "url": "https://x"}
        assert found.reviews[-1].resolution == "retried_modified"


def test_what_somebody_else_decided_meanwhile_is_told(server: Server, page: Page) -> None:
    first, second = died(server.queue, "race", "lost", count=2)
    page.goto(PATH)
    page.get_by_role("button", name="Retry 2 of race").click()
    dialog = page.get_by_role("dialog", name="Retry: 2 dead letters of race?")
    expect(dialog).to_be_visible()
    server.queue.review(first.id, "dropped", by="human:alan")
    dialog.get_by_role("button", name="Retry 2").click()
    refused = page.get_by_role("dialog", name="1 dead letter was refused")
    expect(refused).to_contain_text("1 retried. The others stay as they are")
    refused.get_by_role("button", name="Close").last.click()
    assert server.queue.get(second.id).status == "ready"


def test_decisions_are_listed_and_exported(server: Server, page: Page, tmp_path: Path) -> None:
    [task] = died(server.queue, "log-me", "gone")
    server.queue.review(task.id, "dropped", by="human:grace", note="a | <b>note</b>")
    page.goto(f"{PATH}?tab=log")
    row = page.get_by_role("row").filter(has_text="human:grace").filter(has_text="log-me")
    expect(row).to_contain_text("dropped")
    expect(row).to_contain_text("a | <b>note</b>")
    with page.expect_download() as caught:
        page.get_by_role("button", name="Export as Markdown").click()
    assert re.fullmatch(r"dlq-review-\d{4}-\d\d-\d\d\.md", caught.value.suggested_filename)
    caught.value.save_as(tmp_path / "log.md")
    text = (tmp_path / "log.md").read_text()
    assert r"| human:grace | dropped |" in text
    assert r"a \| \<b\>note\</b\> |" in text


def test_filters_are_in_the_address(server: Server, page: Page) -> None:
    died(server.queue, "one", "error of the first")
    died(server.queue, "two", "error of the second")
    page.goto(f"{PATH}?type=one")
    expect(group_of(page, "one")).to_be_visible()
    expect(group_of(page, "two")).to_have_count(0)
    page.get_by_label("Type").fill("two")
    expect(group_of(page, "two")).to_be_visible()
    assert "type=two" in page.url
    page.get_by_label("Words in them").fill("nothing like it")
    expect(page.get_by_text("No dead letters fit")).to_be_visible()


def test_a_viewer_looks_and_decides_nothing(server: Server, viewer_page: Page) -> None:
    [task] = died(server.queue, "seen", "by a viewer")
    viewer_page.goto(PATH)
    group = viewer_page.locator("[data-group]").filter(has_text="by a viewer")
    group.get_by_role("button").first.click()
    expect(group.get_by_text("Attempts", exact=True)).to_be_visible()
    names = ("Retry", "Drop", "More decisions")
    for name in names:
        expect(viewer_page.get_by_role("button", name=re.compile(name))).to_have_count(0)
    body = {"task_ids": [task.id], "resolution": "retried", "by": "human:viewer"}
    answer = viewer_page.request.post("/v1/dead-letters/review", data=body, headers={"Origin": server.url})
    assert answer.status == 403
    assert server.queue.get(task.id).status == "dead_lettered"


def test_hostile_words_stay_words(server: Server, page: Page) -> None:
    queue = server.queue
    for number, each in enumerate(HOSTILE):
        text = each.replace("\r", "")
        [task] = died(queue, f"evil-{number}", text, payload=payload(), title=text[:200], agent=text[:100].strip())
        if number % 2:
            queue.review(task.id, "kept", by=text[:100], note=text)
    for number in (1, 10, 11):
        page.goto(f"{PATH}?show=all&type=evil-{number}")
        page.locator("[data-group]").get_by_role("button").first.click()
        expect(page.get_by_text("Attempts", exact=True)).to_be_visible()
        expect(page.get_by_text(str(BIG)).first).to_be_visible()
        for width in (1280, 380):
            page.set_viewport_size({"width": width, "height": 800})
            assert_harmless(page)
    page.goto(f"{PATH}?tab=log")
    expect(page.get_by_role("row").nth(2)).to_be_visible()
    assert_harmless(page)
