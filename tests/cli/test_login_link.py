"""dibs login-link: an address for one browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules import logins

if TYPE_CHECKING:
    from tests.cli.conftest import Run


def test_a_link_leads_to_the_server_and_is_kept_as_a_digest(dibs: Run) -> None:
    link = dibs("login-link", ok=True).line
    address, _, code = link.partition("?once=")
    assert address == "http://127.0.0.1:3427/login"
    assert logins.is_code(code)
    made = dibs(
        "login-link", "--role", "viewer", "--name", "guest", "--server", "https://q.example/", "--json", ok=True
    )
    assert made.json["url"].startswith("https://q.example/login?once=")
    assert (made.json["role"], made.json["name"]) == ("viewer", "guest")
    assert "code" not in made.json
    acts = dibs("audit", "ls", "--json", ok=True)
    assert [entry["act"] for entry in acts.json] == ["create_login", "create_login"]
    assert code not in acts.out


def test_a_server_must_have_an_address(dibs: Run) -> None:
    refused = dibs("login-link", "--server", "q.example", "--json")
    assert (refused.code, refused.error["field"]) == (2, "server")
    assert dibs("audit", "ls", "--json", ok=True).json == []
