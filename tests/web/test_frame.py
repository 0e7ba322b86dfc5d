"""What is around all screens: palette, keys, theme and pausing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.web.conftest import assert_accessible, looked_at
from tests.web.hostile import HOSTILE, assert_harmless

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page, Request

    from tests.web.conftest import Server, Windows

SCREENS = {
    "/": "Now",
    "/tasks": "Tasks",
    "/dags": "Dags",
    "/dead-letters": "Dead letters",
    "/submit": "Submit",
    "/agents": "Agents",
    "/gates": "Gates",
    "/cost": "Cost",
    "/events": "Events",
    "/schedules": "Schedules",
    "/triggers": "Triggers",
    "/hooks": "Hooks",
    "/tokens": "Tokens",
    "/audit": "Audit",
}


def heading(page: Page, name: str) -> None:
    expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()


def test_every_screen_opens_by_its_link_and_says_so_in_the_tab(page: Page) -> None:
    page.goto("/")
    for path, name in SCREENS.items():
        page.get_by_role("navigation", name="Screens").get_by_role("link", name=name, exact=True).click()
        expect(page).to_have_url(re.compile(re.escape(path) + r"(\?.*)?$"))
        heading(page, name)
        expect(page).to_have_title(re.compile(rf"^{name} · dibs$"))


def test_keys_lead_everywhere_and_are_shown_when_asked(page: Page) -> None:
    page.goto("/")
    heading(page, "Now")
    for keys, name in (("gt", "Tasks"), ("ga", "Agents"), ("gn", "Now")):
        for key in keys:
            page.keyboard.press(key)
        heading(page, name)
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("Dead letters")
    assert_accessible(page)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_the_palette_finds_screens_tasks_and_actions(server: Server, page: Page) -> None:
    task = server.queue.add("palette", {}, title="Polish the silver spoon")
    page.goto("/")
    heading(page, "Now")
    page.keyboard.press("Control+k")
    field = page.get_by_placeholder("A screen, an action")
    field.fill("audit")
    page.keyboard.press("Enter")
    heading(page, "Audit")
    page.keyboard.press("Control+k")
    field.fill("silver spoon")
    page.get_by_role("option", name=re.compile("Polish the silver spoon")).click()
    expect(page).to_have_url(re.compile(f"/tasks/{task.id}$"))
    page.keyboard.press("Control+k")
    field.fill(task.id)
    expect(page.get_by_role("option", name=f"Open task {task.id}")).to_be_visible()
    assert_accessible(page, within="[role=dialog]")
    field.fill("theme dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name=re.compile("^Theme: dark")).click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


def test_what_others_wrote_stays_text_in_the_palette_and_around_the_screens(
    server: Server, open_page: Callable[..., Page]
) -> None:
    for number, text in enumerate(HOSTILE):
        server.queue.add("palette", {}, title=f"spoon {number} {text}")
    server.tokens["hostile"] = server.queue.create_token(HOSTILE[1], role="admin").secret
    page = open_page("hostile")
    page.goto("/")
    expect(page.get_by_text(HOSTILE[1]).first).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_placeholder("A screen, an action").fill("spoon")
    expect(page.get_by_role("option", name=re.compile("^spoon")).first).to_be_visible()
    assert_harmless(page)


def test_while_paused_nothing_moves_and_afterwards_everything_is_there(server: Server, page: Page) -> None:
    asked: set[Request] = set()
    page.on("request", lambda request: asked.add(request) if "/v1/" in request.url else None)
    page.on("requestfinished", lambda request: asked.discard(request))
    page.on("requestfailed", lambda request: asked.discard(request))
    page.goto("/")
    live = page.get_by_role("button", name=re.compile("live updates$"))
    expect(live).to_contain_text("Live")
    page.keyboard.press("p")
    expect(live).to_contain_text("Paused")
    # What was asked for before comes still.
    while asked:
        page.wait_for_timeout(50)
    server.queue.add("risky", {}, title="Shall it run?", approval=True)
    watched = page.get_by_role("link", name=re.compile("^Needs you"))
    shown = page.locator("[data-question]")
    # Something that is asked for by a person comes, paused or not; the page does not ask by itself.
    page.evaluate("() => new Promise(done => setTimeout(done, 1500))")
    expect(shown).to_have_count(0)
    expect(watched).to_contain_text("0")
    live.click()
    expect(shown).to_have_count(1)
    expect(page).to_have_title(re.compile(r"^\(1\) Now"))
    shown.get_by_role("button", name="Approve").click()
    expect(shown).to_have_count(0)


@pytest.fixture
def own_clock(windows: Windows) -> Iterator[None]:
    """A clock that a test installs stays with its window's context."""
    yield
    windows.close("admin")


@pytest.mark.usefixtures("own_clock")
@pytest.mark.parametrize(("path", "asks"), [("/", "**/v1/overview"), ("/cost", "**/v1/costs?*")])
def test_while_paused_the_page_asks_for_nothing_however_long(page: Page, path: str, asks: str) -> None:
    page.clock.install()
    with page.expect_response(asks):
        page.goto(path)
    live = page.get_by_role("button", name=re.compile("live updates$"))
    expect(live).to_contain_text("Live")
    page.keyboard.press("p")
    expect(live).to_contain_text("Paused")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.fast_forward(120_000)
    page.evaluate("() => new Promise(requestAnimationFrame)")
    assert not asked, asked
    with page.expect_request(asks):
        live.click()


def test_a_screen_that_is_opened_while_the_server_is_away_comes_when_it_is_back(open_page: Callable[..., Page]) -> None:
    page = open_page(faults_allowed=True)
    page.goto("/")
    heading(page, "Now")
    for lost in ("**/assets/**", "**/healthz"):
        page.route(lost, lambda route: route.abort())
    page.get_by_role("navigation").get_by_role("link", name="Gates").click()
    page.wait_for_event("requestfailed", lambda request: request.url.endswith("/healthz"))
    page.unroute_all()
    heading(page, "Gates")


def test_the_menu_of_a_narrow_window_is_reached_by_a_button(open_page: Callable[..., Page]) -> None:
    page = open_page("admin", width=380)
    page.goto("/")
    heading(page, "Now")
    expect(page.get_by_role("navigation", name="Screens")).to_be_hidden()
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("navigation", name="Screens").get_by_role("link", name="Events").click()
    heading(page, "Events")
    expect(page.get_by_role("navigation", name="Screens")).to_be_hidden()


def test_what_is_nowhere_says_so_and_the_frame_stays(page: Page, open_page: Callable[..., Page]) -> None:
    page.goto("/")
    heading(page, "Now")
    page.evaluate("history.pushState({}, '', '/nowhere'); dispatchEvent(new PopStateEvent('popstate'))")
    expect(page.get_by_text("There is no such screen")).to_be_visible()
    looked_at(open_page, "/", "frame", lambda shown: heading(shown, "Now"))


def test_an_address_that_was_mistyped_leads_back(server: Server, open_page: Callable[..., Page]) -> None:
    # A browser tells its console of the status.
    page = open_page(faults_allowed=True)
    answer = page.goto("/taks")
    assert answer is not None
    assert answer.status == 404
    expect(page.get_by_text("There is no such screen")).to_be_visible()
    expect(page.get_by_role("navigation", name="Screens").get_by_role("link", name="Tasks")).to_be_visible()
    page.locator("#content").get_by_role("link", name="what is happening now").click()
    heading(page, "Now")
    expect(page).to_have_url(f"{server.url}/")
    # Who is not logged in is asked to, and led to where they wanted to go.
    page = open_page(None, faults_allowed=True)
    page.goto("/taks/7")
    page.get_by_label("Token").fill(server.tokens["viewer"])
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("There is no such screen")).to_be_visible()
    expect(page).to_have_url(f"{server.url}/taks/7")

    def shows(shown: Page) -> None:
        expect(shown.get_by_text("There is no such screen")).to_be_visible()

    looked_at(open_page, "/taks", "astray", shows, faults_allowed=True)
