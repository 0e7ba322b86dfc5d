"""Gates: what is closed is opened, and every limit is changed where it stands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.web.conftest import HELD_S, assert_accessible, assert_fits, looked_at, shot
from tests.web.hostile import HOSTILE, assert_harmless

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page

    from dibs.model.closures import Breaker
    from dibs.sync import SyncQueue
    from tests.web.conftest import Server

PATH = "/gates"


def listed(page: Page, name: str) -> Locator:
    return page.get_by_role("list", name=name)


def breaker_of(queue: SyncQueue, type: str) -> Breaker:
    return next(each for each in queue.breakers() if each.type == type)


def more(page: Page, about: str, choice: str) -> None:
    page.get_by_role("button", name=f"More about {about}").click()
    page.get_by_role("menuitem", name=choice).click()


def test_it_is_fit_to_be_seen(server: Server, open_page: Callable[..., Page]) -> None:
    queue = server.queue
    queue.set_budget("global", 25, window="day")
    queue.set_budget("type:research", 2, default_reserve=0.5)
    queue.set_budget("agent:coder-1", 400_000, "tokens")
    for _ in range(7):
        queue.add("research", locks=["repo:site"], title="Read about CORS")
    for claim in queue.claim("reader-1", types=["research"], limit=4, lease=HELD_S):
        queue.renew(claim, note="reading")
    queue.set_breaker("*")
    queue.open_breaker("publish", reason="the API is down")
    queue.pause("docs", until="2h", reason="the site is being moved", by="human:admin")
    queue.set_slots(type="research", slots=4)
    queue.set_rate("newsletter", "100/hour", burst=5)
    looked_at(
        open_page, PATH, "gates", lambda page: expect(listed(page, "Rates")).to_contain_text("100/hour", timeout=60_000)
    )


def test_a_raised_budget_lets_parked_tasks_start(server: Server, page: Page) -> None:
    queue = server.queue
    queue.set_budget("type:render", 1, default_reserve=1)
    first, second = (queue.add("render", title=f"Frame {number}") for number in (1, 2))
    [held] = queue.claim("gpu-1", types=["render"], lease=HELD_S)
    assert queue.claim("gpu-2", types=["render"]) == []
    page.goto(PATH)
    row = page.locator("[data-scope='type:render']")
    expect(row).to_contain_text("1 task waiting")
    assert queue.get(second.id).parked_on is not None
    row.get_by_label("Raise type:render by (usd)").fill("1")
    row.get_by_role("button", name="Raise").click()
    expect(page.get_by_text("type:render may use $2.00 now.")).to_be_visible()
    expect(row).not_to_contain_text("waiting")
    assert queue.get(second.id).parked_on is None
    [claim] = queue.claim("gpu-2", types=["render"], lease=HELD_S)
    assert claim.task.id == second.id
    expect(row).to_contain_text("$2.00 reserved")

    page.get_by_role("button", name="Undo").click()
    expect(row).to_contain_text("of $1.00")
    queue.complete(held, cost=0.5)
    queue.complete(claim, cost=0.25)
    expect(row).to_contain_text("$0.75 of $1.00")
    assert queue.get(first.id).status == "completed"


def test_budgets_are_added_edited_and_removed(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(faults_allowed=True)
    page.goto(PATH)
    page.get_by_role("button", name="Add a budget").click()
    dialog = page.get_by_role("dialog", name="Add a budget")
    dialog.get_by_label("Of").select_option("user")
    dialog.get_by_label("Name of the user").fill("ada")
    dialog.get_by_label("Limit (usd)").fill("10")
    dialog.get_by_label("For").select_option("day")
    dialog.get_by_label("Time zone").fill("Mars/Olympus")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_label("Time zone")).to_have_attribute("aria-invalid", "true")
    assert_accessible(page)
    dialog.get_by_label("Time zone").fill("Europe/Berlin")
    dialog.get_by_role("button", name="Save").click()
    row = page.locator("[data-scope='user:ada']")
    expect(row).to_contain_text("each day")

    more(page, "the budget of user:ada", "Edit…")
    dialog = page.get_by_role("dialog", name="Budget of user:ada")
    dialog.get_by_label("Limit (usd)").fill("20")
    server.queue.set_budget("user:ada", 15, window="day", timezone="Europe/Berlin")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("status")).to_contain_text(
        "Somebody changed this while you were editing. It now says: $15.00"
    )
    shot(page, "gates-conflict")
    dialog.get_by_role("button", name="Take theirs").click()
    expect(dialog.get_by_label("Limit (usd)")).to_have_value("15")
    dialog.get_by_label("Limit (usd)").fill("20")
    dialog.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("of $20.00")

    more(page, "the budget of user:ada", "Remove…")
    page.get_by_role("dialog").get_by_role("button", name="Remove it").click()
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row).to_contain_text("of $20.00")


def test_types_agents_lanes_and_everything_are_paused_and_resumed(server: Server, page: Page) -> None:
    queue = server.queue
    queue.add("lint")
    [lane] = [each for each in queue.lanes() if each.type == "lint"]
    page.goto(PATH)
    closed = listed(page, "Closed now")
    for what, target, name in (
        ("type", "lint", "type lint"),
        ("agent", "coder-9", "agent coder-9"),
        ("lane", str(lane.id), f"lane {lane.id}"),
        ("everything", "", "everything"),
    ):
        page.get_by_role("button", name="Pause…").click()
        dialog = page.get_by_role("dialog", name="Pause")
        dialog.get_by_label("What").select_option(what)
        if what == "lane":
            dialog.get_by_label("Lane").select_option(target)
        elif target:
            dialog.get_by_label(what.capitalize(), exact=True).fill(target)
        dialog.get_by_label("Reason").fill("the build is broken")
        dialog.get_by_label("For how long").select_option("1h")
        dialog.get_by_role("button", name=re.compile("^Pause")).click()
        expect(closed.get_by_role("listitem").filter(has_text=name).first).to_contain_text("the build is broken")
    assert queue.claim("coder-1", types=["lint"]) == []
    assert {each.by for each in queue.gates() if each.kind == "pause"} == {"human:admin"}
    assert_accessible(page)
    for name in ("everything", f"lane {lane.id}", "agent coder-9", "type lint"):
        resume = page.get_by_role("button", name=re.compile(f"^Resume: {name}"))
        resume.click()
        expect(resume).to_have_count(0)
    expect(page.get_by_text("Resumed: type lint.")).to_be_visible()
    [claim] = queue.claim("coder-1", types=["lint"])
    queue.complete(claim)


def test_a_breaker_is_opened_closed_set_and_reset(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(faults_allowed=True)
    queue = server.queue
    page.goto(PATH)
    page.get_by_role("button", name="Set one").click()
    dialog = page.get_by_role("dialog", name="Set a breaker")
    dialog.get_by_label("Type").fill("code")
    dialog.get_by_label("Opens after").fill("3")
    dialog.get_by_label("Tries again after").fill("soon")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_label("Tries again after")).to_have_attribute("aria-invalid", "true")
    dialog.get_by_label("Tries again after").fill("2m")
    dialog.get_by_role("button", name="Save").click()
    row = page.locator("[data-type='code']").first
    expect(row).to_contain_text("opens after 3 in a row")

    page.get_by_role("button", name="Open the breaker of code").click()
    expect(row).to_contain_text("tries one task")
    expect(listed(page, "Closed now")).to_contain_text("breaker open")
    assert breaker_of(queue, "code").state == "open"
    page.get_by_role("button", name="Let work flow: type code").click()
    expect(page.get_by_role("button", name="Open the breaker of code")).to_be_visible()
    assert breaker_of(queue, "code").state == "closed"

    more(page, "the breaker of code", "Change thresholds…")
    dialog = page.get_by_role("dialog", name="Breaker of code")
    # It has been read; only now somebody else changes it.
    expect(dialog.get_by_label("Opens after")).to_have_value("3")
    queue.set_breaker("code", failure_threshold=7)
    dialog.get_by_label("Opens after").fill("4")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("status")).to_contain_text("after 7 failures")
    dialog.get_by_role("button", name="Replace with mine").click()
    expect(row).to_contain_text("opens after 4 in a row")

    more(page, "the breaker of code", "Reset…")
    page.get_by_role("dialog").get_by_role("button", name="Reset it").click()
    expect(page.get_by_text("The breaker of code was reset.")).to_be_visible()
    assert not [each for each in queue.breakers() if each.type == "code" and each.own]


def test_locks_slots_and_rates_are_changed_in_place(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(faults_allowed=True)
    queue = server.queue
    task = queue.add("deploy", title="Deploy the site", locks=["repo:web"])
    queue.add("deploy", locks=["repo:web"])
    [claim] = queue.claim("ops-1", types=["deploy"], lease=HELD_S)
    assert queue.claim("ops-2", types=["deploy"]) == []
    page.goto(PATH)
    lock = page.locator("[data-lock='repo:web']")
    expect(lock).to_contain_text("1 of")
    expect(lock).to_contain_text("1 task waiting")
    link = lock.get_by_role("link").first
    expect(link).to_have_attribute("href", f"/tasks/{task.id}")
    lock.get_by_role("button", name=re.compile("Slots of the lock repo:web")).click()
    lock.get_by_label("Slots of the lock repo:web").fill("2")
    lock.get_by_label("Slots of the lock repo:web").press("Enter")
    expect(page.get_by_text("repo:web has 2 slots now.")).to_be_visible()
    expect(lock).not_to_contain_text("waiting")
    [other] = queue.claim("ops-2", types=["deploy"], lease=HELD_S)
    expect(lock).to_contain_text("ops-2")

    page.get_by_role("button", name="Limit a type").click()
    dialog = page.get_by_role("dialog", name="Limit a type")
    dialog.get_by_label("Type").fill("deploy")
    dialog.get_by_label("At once").fill("0")
    dialog.get_by_role("button", name="Limit").click()
    expect(dialog.get_by_label("At once")).to_have_attribute("aria-invalid", "true")
    dialog.get_by_label("At once").fill("2")
    dialog.get_by_role("button", name="Limit").click()
    slots = listed(page, "Slots of types").locator("[data-type='deploy']")
    expect(slots).to_contain_text("2 of")
    expect(listed(page, "Closed now")).to_contain_text("all slots taken")
    slots.get_by_role("button", name=re.compile("Slots of deploy")).click()
    slots.get_by_label("Slots of deploy", exact=True).fill("5")
    slots.get_by_label("Slots of deploy", exact=True).press("Enter")
    expect(slots.get_by_role("meter")).to_have_attribute("aria-valuetext", "2 of 5")
    slots.get_by_role("button", name="Let any number of deploy run").click()
    expect(slots).to_have_count(0)

    page.get_by_role("button", name="Set a rate").click()
    dialog = page.get_by_role("dialog", name="Set a rate")
    dialog.get_by_label("Type").fill("mail")
    dialog.get_by_label("Rate", exact=True).fill("often")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("rate must be like 10/min")
    dialog.get_by_label("Rate", exact=True).fill("100/hour")
    dialog.get_by_label("At once").fill("5")
    dialog.get_by_role("button", name="Save").click()
    rate = listed(page, "Rates").locator("[data-type='mail']")
    expect(rate).to_contain_text("100/hour")
    more(page, "the rate of mail", "Change…")
    dialog = page.get_by_role("dialog", name="Rate of mail")
    dialog.get_by_label("Rate", exact=True).fill("3/30s")
    dialog.get_by_role("button", name="Save").click()
    expect(rate).to_contain_text("3/30s")
    more(page, "the rate of mail", "Remove")
    expect(rate).to_have_count(0)
    for each in (claim, other):
        queue.complete(each)


def test_a_viewer_sees_gates_and_changes_nothing(server: Server, viewer_page: Page) -> None:
    server.queue.set_budget("user:grace", 3)
    server.queue.pause("viewed", reason="to be seen")
    viewer_page.goto(PATH)
    expect(viewer_page.locator("[data-scope='user:grace']")).to_be_visible()
    expect(listed(viewer_page, "Closed now")).to_contain_text("to be seen")
    content = viewer_page.locator("#content")
    expect(content.get_by_role("button")).to_have_count(0)
    expect(content.get_by_role("textbox")).to_have_count(0)
    headers = {"Origin": server.url}
    for method, path, body in (
        ("POST", "/v1/pauses", {"everything": True}),
        ("POST", "/v1/budgets/user:grace/raise", {"amount": 1}),
        ("PUT", "/v1/slots", {"type": "x", "slots": 1}),
        ("POST", "/v1/breakers/code/open", {}),
    ):
        assert viewer_page.request.fetch(path, method=method, data=body, headers=headers).status == 403
    server.queue.resume("viewed")


def test_hostile_words_stay_words(server: Server, page: Page) -> None:
    queue = server.queue
    for number, each in enumerate(HOSTILE):
        text = each.replace("\r", "").strip()
        queue.pause(f"evil-{number}", reason=text, by=text[:100])
        queue.set_budget(f"user:{text[:100]}", 1)
        queue.set_slots(type=text[:100], slots=1)
        queue.open_breaker(f"evil-{number}", reason=text)
        queue.set_rate(text[:100], "1/min")
    queue.add("evil", locks=["</li><script>alert(1)</script>"], title=HOSTILE[1])
    [claim] = queue.claim(HOSTILE[0][:100], types=["evil"], lease=HELD_S)
    page.goto(PATH)
    expect(page.get_by_text("</li><script>alert(1)</script>")).to_be_visible()
    expect(listed(page, "Closed now").get_by_role("listitem").nth(10)).to_be_visible()
    assert_harmless(page)
    page.set_viewport_size({"width": 380, "height": 780})
    assert_harmless(page)
    assert_fits(page)
    more(page, f"the rate of {HOSTILE[1][:100]}", "Change…")
    expect(page.get_by_role("dialog", name=f"Rate of {HOSTILE[1][:100]}")).to_be_visible()
    assert_harmless(page)
    page.keyboard.press("Escape")
    queue.complete(claim)
    for rate in queue.rates():
        queue.remove_rate(rate.type)
    for number in range(len(HOSTILE)):
        queue.resume(f"evil-{number}")
        queue.reset_breaker(f"evil-{number}")
    for budget in queue.budgets():
        if budget.scope.startswith("user:"):
            queue.remove_budget(budget.scope)
    for limited in queue.type_slots():
        queue.set_slots(type=limited.type, slots=None)
