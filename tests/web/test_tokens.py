"""Tokens and the audit: for admins only; a secret is shown once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

import dibs
from tests.server.process import until
from tests.web.conftest import assert_accessible, copied, looked_at, shot
from tests.web.hostile import HOSTILE, assert_harmless

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page

    from tests.web.conftest import Server


def row_of(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_text(name, exact=True))


def shown_once(page: Page, name: str) -> str:
    """The secret that is shown; it goes only when somebody says that they have it."""
    dialog = page.get_by_role("dialog", name=f"The secret of {name}")
    done = dialog.get_by_role("button", name="Done")
    expect(done).to_be_disabled()
    page.keyboard.press("Escape")
    expect(dialog).to_be_visible()
    secret = dialog.locator("code").inner_text()
    assert_accessible(page)
    dialog.get_by_role("checkbox").check()
    done.click()
    expect(dialog).to_have_count(0)
    assert secret not in page.content()
    return secret


def test_they_are_fit_to_be_seen(server: Server, open_page: Callable[..., Page]) -> None:
    server.queue.create_token("planner", role="orchestrator", project="website", expires="30d", by="human:grace")
    server.queue.create_token("builder", types=["code", "review"], max_depth=2, max_cost=5, expires="7d")
    looked_at(open_page, "/tokens", "tokens", lambda page: expect(row_of(page, "builder")).to_be_visible())
    looked_at(open_page, "/audit", "audit", lambda page: expect(page.get_by_role("row").nth(3)).to_be_visible())


def test_a_token_is_created_used_rotated_and_revoked(server: Server, page: Page) -> None:
    page.goto("/tokens")
    page.get_by_role("button", name="Create a token").click()
    dialog = page.get_by_role("dialog", name="Create a token")
    dialog.get_by_label("Name").fill("coder")
    dialog.get_by_label("Types").fill("code, review")
    dialog.get_by_label("Levels deep").fill("2")
    dialog.get_by_role("button", name="Create", exact=True).click()
    copy = copied(page, page.get_by_role("button", name="Copy the secret"))
    shot(page, "tokens-secret")
    secret = shown_once(page, "coder")
    assert copy == secret
    with dibs.connect_sync(server.url, token=secret) as queue:
        assert queue.claim("coder", types=["code"]) == []
    row = row_of(page, "coder")
    expect(row).to_contain_text("types code, review; 2 deep")

    page.get_by_role("button", name="Rotate coder").click()
    dialog = page.get_by_role("dialog", name="A new secret for coder")
    dialog.get_by_label("The old one").select_option("0s")
    dialog.get_by_role("button", name="Rotate", exact=True).click()
    fresh = shown_once(page, "coder")
    assert fresh != secret
    # Within a second: for so long a server trusts what it has looked up.
    until(lambda: server.up.ask("GET", "/v1/about", token=secret).status == 401)
    assert server.up.ask("GET", "/v1/about", token=fresh).json["name"] == "coder"

    page.get_by_role("button", name="Revoke coder").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke it").click()
    expect(row_of(page, "coder")).to_have_count(0)
    page.get_by_label("also ended").check()
    expect(row_of(page, "coder").first).to_contain_text("revoked")


def test_what_is_wrong_with_a_token_is_said_beside_the_field(open_page: Callable[..., Page]) -> None:
    page = open_page(faults_allowed=True)
    page.goto("/tokens")
    page.get_by_role("button", name="Create a token").click()
    dialog = page.get_by_role("dialog", name="Create a token")
    dialog.get_by_label("Name").fill("x" * 300)
    dialog.get_by_role("button", name="Create", exact=True).click()
    expect(dialog.get_by_label("Name")).to_have_attribute("aria-invalid", "true")
    expect(dialog.get_by_role("alert")).to_contain_text("name")


def test_the_audit_is_read_filtered_and_verified(server: Server, page: Page) -> None:
    server.queue.create_token("by-the-shell", by="human:alan")
    assert server.up.ask("GET", "/v1/tokens", token=server.tokens["viewer"]).status == 403
    page.goto("/audit")
    expect(page.get_by_role("table", name="Audit")).to_contain_text("create_token")
    page.get_by_label("Act", exact=True).fill("create_token")
    expect(page.get_by_role("row").filter(has_text="human:alan")).to_contain_text("done")
    page.get_by_label("Act", exact=True).fill("tokens")
    expect(page.get_by_role("row").filter(has_text="viewer")).to_contain_text(re.compile("denied|forbidden|refused"))
    page.get_by_role("button", name="Verify the chain").click()
    verdict = page.get_by_role("status").filter(has_text="Sound")
    expect(verdict).to_contain_text(re.compile(r"Sound: \d+ entries checked"))
    noted = page.locator("code").filter(has_text=":").inner_text()
    page.get_by_label("Noted before").fill(noted)
    page.get_by_role("button", name="Verify the chain").click()
    expect(verdict).to_be_visible()
    assert_accessible(page)


def test_a_chain_that_somebody_changed_is_not_sound(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(faults_allowed=True)
    server.queue.create_token("another")
    page.goto("/audit")
    page.get_by_label("Noted before").fill(f"1:{'0' * 64}")
    page.get_by_role("button", name="Verify the chain").click()
    expect(page.get_by_text(re.compile("Not sound: 1 fault"))).to_be_visible()
    shot(page, "audit-not-sound")


def test_others_than_admins_see_nothing_of_it(server: Server, open_page: Callable[..., Page]) -> None:
    for role in ("viewer", "orchestrator"):
        page = open_page(role)
        for path, words in (("/tokens", "Tokens are for admins"), ("/audit", "The audit is for admins")):
            page.goto(path)
            expect(page.get_by_text(words)).to_be_visible()
            expect(page.locator("#content").get_by_role("button")).to_have_count(0)
            expect(page.get_by_role("navigation").get_by_role("link", name="Tokens")).to_have_count(0)
        headers = {"Origin": server.url}
        assert page.request.get("/v1/tokens").status == 403
        assert page.request.get("/v1/audit").status == 403
        assert page.request.post("/v1/tokens", data={"name": "mine", "role": "admin"}, headers=headers).status == 403
        assert page.request.delete("/v1/tokens/admin", headers=headers).status == 403


def test_hostile_words_stay_words(server: Server, page: Page) -> None:
    for number, each in enumerate(HOSTILE):
        text = each.replace("\r", "").strip()
        server.queue.create_token(text[:100], role="viewer", by=f"{text[:100]}{number}")
        server.queue.create_token(f"evil-{number}", types=[text[:100]])
    page.goto("/tokens")
    expect(page.get_by_role("row").nth(len(HOSTILE))).to_be_visible()
    assert_harmless(page)
    page.goto("/audit")
    expect(page.get_by_role("row").nth(len(HOSTILE))).to_be_visible()
    assert_harmless(page)
    page.set_viewport_size({"width": 380, "height": 780})
    assert_harmless(page)
    for token in server.queue.tokens():
        if token.name not in server.tokens:
            server.queue.revoke_token(token.id)
