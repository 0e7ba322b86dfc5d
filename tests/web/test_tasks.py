"""The screen Tasks: found in words, kept in view while things happen, changed many at a time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from dibs import NewTask
from tests.web.conftest import HELD_S, assert_accessible, looked_at, shot
from tests.web.hostile import HOSTILE, assert_harmless

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page, Route

    from tests.web.conftest import Server

MANY = 450
HEAP = 1_001
"""One more than a browser sorts."""


@pytest.fixture(scope="module", autouse=True)
def scene(server: Server) -> None:
    """More tasks than a page has, some of them failed, held, asked about or parked."""
    queue = server.queue
    queue.add_many([NewTask("heap", title=f"Heap {number:04}") for number in range(HEAP)])
    queue.add_many([NewTask("bulk", title=f"Bulk {number:03}", tags=["repo:x"]) for number in range(MANY)])
    queue.add_many([NewTask("doomed", title=f"Doomed {number}") for number in range(5)])
    for claim in queue.claim("ada", types=["doomed"], limit=5):
        queue.fail(claim, "ValueError: it was doomed", retry=False, cost=2.5)
    queue.add("spend", title="May I?", approval=True)
    queue.add("work", title="At work")
    [claim] = queue.claim("bob", types=["work"], lease=HELD_S)
    queue.renew(claim, progress=0.25, note="reading")
    queue.set_budget("type:dear", 1)
    queue.add("dear", title="Too dear", max_cost=5)
    assert not queue.claim("bob", types=["dear"])


def rows(page: Page) -> Locator:
    return page.locator("tr[data-task]")


def row(page: Page, title: str) -> Locator:
    return rows(page).filter(has_text=title)


def field(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Filter tasks")


def search(page: Page, query: str) -> None:
    field(page).fill(query)
    field(page).press("Enter")


def test_it_is_accessible_in_light_dark_and_narrow(open_page: Callable[..., Page]) -> None:
    looked_at(open_page, "/tasks", "tasks", lambda page: expect(row(page, "Too dear")).to_be_visible())


def test_a_query_is_completed_kept_in_the_address_and_refused_with_its_fault(open_page: Callable[..., Page]) -> None:
    page = open_page(faults_allowed=True)
    page.goto("/tasks")
    expect(row(page, "Too dear")).to_be_visible()
    page.keyboard.press("/")
    expect(field(page)).to_be_focused()
    field(page).press_sequentially("sta")
    page.get_by_role("option", name="status:").click()
    field(page).press_sequentially("dead")
    field(page).press("ArrowDown")
    field(page).press("Enter")
    expect(page).to_have_url(re.compile(r"/tasks\?q=status:dead_lettered$"))
    expect(rows(page)).to_have_count(5)
    expect(page.get_by_text("5 tasks")).to_be_visible()
    for begun, whole in (("type:doo", "doomed"), ("tag:rep", "repo:x"), ("agent:a", "ada")):
        field(page).fill(begun)
        expect(page.get_by_role("option").filter(has_text=whole)).to_be_visible()
    search(page, "status:nonsense")
    expect(page.get_by_role("alert").filter(has_text="at character 8")).to_be_visible()
    search(page, "type:doomed cost>2 age<1h doomed -tag:x")
    expect(rows(page)).to_have_count(5)
    page.reload()
    expect(field(page)).to_have_value("type:doomed cost>2 age<1h doomed -tag:x")
    expect(rows(page)).to_have_count(5)
    page.get_by_role("button", name="Clear the filter").click()
    expect(row(page, "Too dear")).to_be_visible()
    search(page, "nobody-wrote-this")
    expect(page.get_by_text("No task fits this filter")).to_be_visible()


def test_views_and_columns_are_remembered(page: Page) -> None:
    page.goto("/tasks")
    for view, title in (
        ("Needs me", "May I?"),
        ("Running", "At work"),
        ("Failing", "Doomed 3"),
        ("Parked", "Too dear"),
    ):
        page.get_by_role("button", name=view, exact=True).click()
        expect(row(page, title)).to_be_visible()
    page.get_by_role("button", name="Expensive", exact=True).click()
    expect(rows(page)).to_have_count(5)
    search(page, "type:doomed")
    page.get_by_role("button", name="Save view").click()
    page.get_by_label("Name").fill("The doomed")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("button", name="Columns").click()
    page.get_by_label("Tags").check()
    page.get_by_label("Cost").uncheck()
    page.keyboard.press("Escape")
    page.goto("/tasks")
    page.get_by_role("button", name="The doomed").click()
    expect(rows(page)).to_have_count(5)
    expect(page.get_by_role("columnheader", name="Tags")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Cost")).to_have_count(0)
    page.get_by_role("button", name="Forget the view The doomed").click()
    expect(page.get_by_role("button", name="The doomed", exact=True)).to_have_count(0)
    search(page, "type:doomed")
    page.get_by_role("button", name="Save view").click()
    page.get_by_label("Name").fill(HOSTILE[1])
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("button", name=HOSTILE[1], exact=True)).to_be_visible()
    assert_harmless(page)


def test_another_order_is_in_the_address_and_kept_while_things_happen(page: Page, server: Server) -> None:
    queue = server.queue
    for title, cost, priority in (("Cheap", 0.5, 90), ("Dear", 7, 50), ("Middling", 2, 10)):
        queue.add("priced", title=title, priority=priority)
        [claim] = queue.claim("ada", types=["priced"])
        queue.complete(claim, cost=cost)
    queue.add("priced", title="Unpriced", priority=20)
    page.goto("/tasks?q=type:priced")

    def shows(*titles: str) -> None:
        expect(rows(page)).to_have_text([re.compile(title) for title in titles])

    shows("Unpriced", "Middling", "Dear", "Cheap")
    page.get_by_role("columnheader", name="Cost").get_by_role("button").click()
    shows("Dear", "Middling", "Cheap", "Unpriced")
    assert_accessible(page)
    shot(page, "tasks-sorted")
    expect(page).to_have_url(re.compile(r"\?q=type:priced&sort=cost$"))
    page.reload()
    shows("Dear", "Middling", "Cheap", "Unpriced")
    # What happens is shown in place, and the order is kept.
    [claim] = queue.claim("ada", types=["priced"], lease=HELD_S)
    expect(row(page, "Unpriced")).to_contain_text("running")
    shows("Dear", "Middling", "Cheap", "Unpriced")
    queue.complete(claim)
    search(page, "type:heap")
    expect(page.get_by_text("the newest 1,000 of them are sorted")).to_be_visible()


def test_keys_walk_select_and_open_and_the_list_goes_on_as_one_scrolls(page: Page) -> None:
    page.goto("/tasks?q=type:bulk")
    expect(row(page, "Bulk 449")).to_be_visible()
    for key in ("j", "j", "k", "x"):
        page.keyboard.press(key)
    expect(row(page, "Bulk 449").get_by_role("checkbox")).to_be_checked()
    expect(page.get_by_text("1 task selected")).to_be_visible()
    row(page, "Bulk 447").get_by_role("checkbox").click(modifiers=["Shift"])
    expect(page.get_by_text("3 tasks selected")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("selected")).to_have_count(0)
    frame = page.locator("div:has(> table[aria-label=Tasks])")
    for _ in range(12):
        if row(page, "Bulk 000").count():
            break
        before = frame.evaluate("box => { box.scrollTop = box.scrollHeight; return box.scrollHeight }")
        page.wait_for_function(
            "([box, before]) => box.scrollHeight > before || document.body.innerText.includes('Bulk 000')",
            arg=[frame.element_handle(), before],
        )
    expect(row(page, "Bulk 000")).to_be_visible()
    assert rows(page).count() < 80, "only those in sight are drawn"
    row(page, "Bulk 000").press("Enter")
    expect(page.get_by_role("heading", name="Bulk 000")).to_be_visible()


def test_rows_change_in_place_and_do_not_move_while_somebody_points_at_them(page: Page, server: Server) -> None:
    queue = server.queue
    queue.add("live", title="First")
    page.goto("/tasks?q=type:live")
    expect(row(page, "First")).to_contain_text("ready")
    row(page, "First").hover()
    queue.add("live", title="Second")
    [claim] = queue.claim("ada", types=["live"], limit=1, lease=HELD_S)
    expect(row(page, claim.task.title or "")).to_contain_text("running")
    expect(page.get_by_text("The list has changed")).to_be_visible()
    expect(rows(page)).to_have_count(1)
    page.mouse.move(5, 5)
    expect(rows(page)).to_have_count(2)
    expect(rows(page).first).to_contain_text("Second")
    queue.complete(claim)
    expect(row(page, "First")).to_contain_text("completed")


class Withheld:
    """Answers do not come until they may; then all of them do, also those that are asked for later."""

    def __init__(self, page: Page, path: str) -> None:
        self._held: list[Route] | None = []
        page.route(path, self._asked)

    def _asked(self, route: Route) -> None:
        if self._held is None:
            route.continue_()
        else:
            self._held.append(route)

    def come(self) -> None:
        held, self._held = self._held or [], None
        for route in held:
            route.continue_()


def test_what_happens_before_the_stream_has_begun_is_shown_too(page: Page, server: Server) -> None:
    server.queue.add("early", title="The first")
    stream = Withheld(page, "**/v1/events?*")
    page.goto("/tasks?q=type:early")
    expect(row(page, "The first")).to_be_visible()
    server.queue.add("early", title="The second")
    stream.come()
    expect(row(page, "The second")).to_be_visible()


def test_a_few_that_were_chosen_are_changed_and_each_refusal_is_told(
    open_page: Callable[..., Page], server: Server
) -> None:
    page, queue = open_page(faults_allowed=True), server.queue
    done = queue.add("few", title="Done already")
    [claim] = queue.claim("ada", types=["few"])
    queue.complete(claim)
    open_one = queue.add("few", title="Still open")
    page.goto("/tasks?q=type:few")
    for title in ("Done already", "Still open"):
        row(page, title).get_by_role("checkbox").check()
    page.get_by_role("button", name="Priority…").click()
    page.get_by_role("dialog").get_by_label("Priority").fill("7")
    page.get_by_role("dialog").get_by_role("button", name="Change 2 tasks").click()
    expect(page.get_by_text("1 done, 1 refused")).to_be_visible()
    expect(page.get_by_role("list", name="Refused").get_by_role("listitem")).to_contain_text("completed")
    page.get_by_role("button", name="Close").last.click()
    assert queue.get(open_one.id).priority == 7
    assert queue.get(done.id).priority == 50


def test_all_that_fit_are_counted_first_and_then_changed(page: Page, server: Server) -> None:
    queue = server.queue
    page.goto("/tasks?q=type:bulk status:ready")
    row(page, "Bulk 449").get_by_role("checkbox").check()
    page.get_by_role("button", name="Select all that fit the filter").click()
    page.get_by_role("button", name="Tags…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("type:bulk status:ready")
    dialog.get_by_label("Tags to add").fill("swept, repo:y")
    dialog.get_by_role("button", name=f"Tag {MANY} tasks").click()
    expect(dialog).to_contain_text(f"{MANY} done")
    page.get_by_role("button", name="Close").last.click()
    assert queue.count("tag:swept tag:repo:y tag:repo:x").count == MANY
    page.get_by_role("button", name="Priority…").click()
    dialog.get_by_label("Priority").fill("33")
    dialog.get_by_role("button", name=f"Change {MANY} tasks").click()
    expect(dialog).to_contain_text(f"{MANY} done")
    page.get_by_role("button", name="Close").last.click()
    assert queue.count("type:bulk priority=33").count == MANY
    search(page, "type:bulk tag:swept -tag:z")
    row(page, "Bulk 449").get_by_role("checkbox").check()
    page.get_by_role("button", name="Select all that fit the filter").click()
    page.get_by_role("button", name="Cancel…").click()
    dialog.get_by_label("Reason").fill("not needed")
    dialog.get_by_role("button", name=f"Cancel {MANY} tasks").click()
    expect(dialog).to_contain_text(f"{MANY} done")
    page.get_by_role("button", name="Close").last.click()
    expect(row(page, "Bulk 449")).to_contain_text("cancelled")
    assert queue.count("type:bulk status:cancelled").count == MANY
    search(page, "type:doomed")
    row(page, "Doomed 1").get_by_role("checkbox").check()
    page.get_by_role("button", name="Select all that fit the filter").click()
    page.get_by_role("button", name="Retry…").click()
    dialog.get_by_role("button", name="Retry 5 tasks").click()
    expect(dialog).to_contain_text("5 done")
    assert queue.count("type:doomed status:ready").count == 5


def test_a_viewer_sees_the_list_and_no_actions(viewer_page: Page) -> None:
    viewer_page.goto("/tasks")
    expect(row(viewer_page, "Too dear")).to_be_visible()
    expect(viewer_page.get_by_role("checkbox")).to_have_count(0)
    viewer_page.keyboard.press("j")
    viewer_page.keyboard.press("x")
    expect(viewer_page.get_by_role("toolbar")).to_have_count(0)


def test_what_others_wrote_stays_text(page: Page, server: Server) -> None:
    queue = server.queue
    for text in HOSTILE:
        word = text[:200].replace("\r", " ")
        queue.add("hostile", title=text.replace("\r", " "), tags=[word], user=word)
    [claim] = queue.claim("<b>mallory</b>", types=["hostile"], lease=HELD_S)
    queue.renew(claim, note=HOSTILE[0])
    page.goto("/tasks?q=type:hostile")
    expect(rows(page)).to_have_count(len(HOSTILE))
    page.get_by_role("button", name="Columns").click()
    for name in ("Tags", "User"):
        page.get_by_label(name).check()
    page.keyboard.press("Escape")
    expect(page.get_by_text("<script>").first).to_be_visible()
    field(page).fill("tag:")
    expect(page.get_by_role("option").filter(has_text="<script>").first).to_be_visible()
    assert_harmless(page)
