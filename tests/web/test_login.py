"""Coming in and leaving, in a browser: by a token, by a link that works once, and back to where one wanted to go."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.web.conftest import looked_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.web.conftest import Server


def test_one_logs_in_with_a_token_goes_on_where_one_wanted_to_and_logs_out(
    server: Server, open_page: Callable[..., Page]
) -> None:
    page = open_page(None, faults_allowed=True)
    page.goto("/tasks?query=status:running")
    expect(page).to_have_url(re.compile(r"/login\?next="))
    token = page.get_by_label("Token")
    expect(token).to_be_focused()
    token.fill("dibs_wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("Nobody has this token")
    token.fill(server.tokens["viewer"])
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(re.compile(r"/tasks\?query=status:running$"))
    expect(page.get_by_text("viewer · viewer")).to_be_visible()
    # No script can read the cookie.
    assert page.evaluate("document.cookie") == ""
    # What a viewer has no business with is not in the navigation.
    expect(page.get_by_role("navigation").get_by_role("link", name="Tasks")).to_be_visible()
    for name in ("Tokens", "Audit", "Submit"):
        expect(page.get_by_role("navigation").get_by_role("link", name=name)).to_have_count(0)
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    page.goto("/tasks")
    expect(page.get_by_label("Token")).to_be_visible()


def test_a_link_logs_in_once_and_leaves_nothing_in_the_address(server: Server, open_page: Callable[..., Page]) -> None:
    link = f"/login?once={server.queue.create_login('ada').code}"
    page = open_page(None)
    page.goto(link)
    expect(page.get_by_role("heading", name="Now")).to_be_visible()
    expect(page.get_by_text("ada · admin")).to_be_visible()
    assert "once" not in page.url
    page.go_back()
    assert "once" not in page.url
    other = open_page(None, faults_allowed=True)
    other.goto(link)
    expect(other.get_by_role("alert")).to_contain_text("This link was used already")
    assert "once" not in other.url


def test_a_login_never_leads_to_another_site(server: Server, open_page: Callable[..., Page]) -> None:
    for next_one in ("//evil.example/x", "https://evil.example", "/\\evil.example", "javascript:alert(1)"):
        page = open_page(None)
        page.goto(f"/login?next={next_one}")
        page.get_by_label("Token").fill(server.tokens["viewer"])
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Now")).to_be_visible()
        assert page.url == f"{server.url}/"
        page.close()


def test_a_token_that_was_revoked_leads_back_to_the_login(server: Server, open_page: Callable[..., Page]) -> None:
    issued = server.queue.create_token("short", role="admin")
    server.tokens["short"] = issued.secret
    page = open_page("short", faults_allowed=True)
    page.goto("/")
    expect(page.get_by_role("heading", name="Now")).to_be_visible()
    server.queue.revoke_token(issued.id)
    server.queue.add("anything")
    expect(page.get_by_label("Token")).to_be_visible()


def test_the_login_is_accessible_in_light_dark_and_narrow(open_page: Callable[..., Page]) -> None:
    looked_at(open_page, "/login", "login", lambda page: expect(page.get_by_label("Token")).to_be_visible())
