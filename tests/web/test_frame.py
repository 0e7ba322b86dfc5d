"""What is around all screens: palette, keys, theme, pausing, and a server that goes away and comes back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

import dibs
from tests.server.process import up
from tests.web.conftest import assert_accessible, cookie_of, looked_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from tests.web.conftest import Server

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


def test_while_paused_nothing_moves_and_afterwards_everything_is_there(server: Server, page: Page) -> None:
    page.goto("/")
    live = page.get_by_role("button", name=re.compile("live updates$"))
    expect(live).to_contain_text("Live")
    page.keyboard.press("p")
    expect(live).to_contain_text("Paused")
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


def test_a_server_that_is_lost_is_said_to_be_and_the_page_goes_on_by_itself(browser: Browser, tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/work.db"
    context = browser.new_context()
    page = context.new_page()
    with dibs.connect_sync(url) as queue:
        with up(tmp_path, url) as first:
            port, secret = first.port, queue.create_token("me", role="admin").secret
            context.add_cookies([cookie_of(first, secret)])
            page.goto(first.url)
            heading(page, "Now")
            expect(page.get_by_role("button", name=re.compile("^Live"))).to_be_visible()
        banner = page.get_by_role("alert").filter(has_text="The server does not answer")
        expect(banner).to_be_visible()
        queue.add("risky", {}, title="While nobody served", approval=True)
        with up(tmp_path, url, port=port):
            # Nothing is clicked, nothing reloaded.
            expect(banner).to_have_count(0, timeout=30_000)
            expect(page.locator("[data-question]", has_text="While nobody served")).to_be_visible()
            expect(page.get_by_role("button", name=re.compile("^Live"))).to_be_visible()
    context.close()


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
