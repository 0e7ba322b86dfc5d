"""dibs token add, ls, revoke and rotate; dibs audit ls, verify and prune."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import dibs as package
from dibs.rules import audit, tokens
from dibs.sync import drive

if TYPE_CHECKING:
    from tests.cli.conftest import Run


def test_a_token_is_made_shown_and_revoked(dibs: Run) -> None:
    assert dibs("token", "ls", "--json", ok=True).json == []
    secret = dibs("token", "add", "coder", "--type", "code", "--type", "test", "--expires", "30d", ok=True).line
    assert tokens.is_secret(secret)
    made = dibs("token", "add", "ops", "--role", "admin", "--json", ok=True).json
    assert (made["role"], made["project"], made["types"]) == ("admin", "default", None)
    assert tokens.is_secret(made["secret"])
    found = dibs("token", "ls", "--json", ok=True).json
    assert [(token["name"], token["types"]) for token in found] == [("coder", ["code", "test"]), ("ops", None)]
    assert "secret" not in found[0]
    assert secret not in dibs("token", "ls", ok=True).out
    assert dibs("token", "revoke", "ops", "--json", ok=True).json["revoked_at"] is not None
    assert dibs("token", "revoke", "ops").code == 4
    assert dibs("token", "ls", ok=True).line.split("\t")[1:5] == ["coder", "agent", "default", "code,test"]
    assert len(dibs("token", "ls", "--all", "--json", ok=True).json) == 2


def test_a_token_is_rotated(dibs: Run) -> None:
    first = dibs("token", "add", "coder", "--max-depth", 1, "--max-children", 2, "--max-cost", 0.5, ok=True).line
    second = dibs("token", "rotate", "coder", ok=True).line
    assert tokens.is_secret(second)
    assert first != second
    [token] = dibs("token", "ls", "--json", ok=True).json
    assert (token["max_depth"], token["max_children"], token["max_cost"]) == (1, 2, 0.5)
    assert len(dibs("token", "rotate", "coder", "--grace", "1h", "--json", ok=True).json["secret"]) == len(first)
    assert len(dibs("token", "ls", "--json", ok=True).json) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        (("add",), 2, "name"),
        (("add", ""), 2, "name"),
        (("add", "x", "--role", "root"), 2, "role"),
        (("add", "x", "--type", ""), 2, "types"),
        (("add", "x", "--role", "viewer", "--type", "a"), 2, "types"),
        (("add", "x", "--expires", "soon"), 2, "expires"),
        (("add", "x", "--max-depth", "99"), 2, "max_depth"),
        (("add", "x", "--max-cost", "much"), 2, "max_cost"),
        (("revoke", "x"), 4, "token"),
        (("rotate", "x"), 4, "token"),
        (("rotate",), 2, "token"),
    ],
)
def test_what_is_no_token_is_refused(dibs: Run, arguments: tuple[object, ...], code: int, field: str) -> None:
    dibs("add", "job", ok=True)
    wrong = dibs("token", *arguments, "--json")
    assert (wrong.code, wrong.error["field"]) == (code, field)
    assert dibs("token", "ls", "--all", "--json", ok=True).json == []
    assert dibs("audit", "ls", "--json", ok=True).json == []


def test_whatever_is_done_to_tokens_is_in_the_audit(dibs: Run) -> None:
    assert dibs("audit", "ls", "--json", ok=True).json == []
    dibs("token", "add", "coder", ok=True)
    dibs("token", "revoke", "coder", ok=True)
    found = dibs("audit", "ls", "--json", ok=True).json
    assert [entry["act"] for entry in found] == ["create_token", "revoke_token"]
    assert all(entry["by"].startswith("shell:") for entry in found)
    assert len(dibs("audit", "ls", "--act", "revoke_token", ok=True).out.splitlines()) == 1
    assert dibs("audit", "ls", "--after", 1, "--limit", 1, ok=True).line.split("\t")[3] == "revoke_token"
    noted = dibs("audit", "verify", ok=True).line
    assert noted == f"2:{found[-1]['digest']}"
    assert dibs("audit", "verify", "--noted", noted, "--json", ok=True).json["sound"] is True
    assert dibs("audit", "verify", "--noted", "x", "--json").error["field"] == "noted"
    assert dibs("audit", "prune", "--keep", 1, ok=True).line == "1"
    assert dibs("audit", "verify", "--json", ok=True).json["pruned"] == 1
    assert dibs("audit", "prune", "--json", ok=True).json == {"pruned": 0}


def test_an_edited_audit_is_named(dibs: Run, url: str) -> None:
    for name in ("a", "b", "c"):
        dibs("token", "add", name, ok=True)
    with package.connect_sync(url) as queue:
        store = queue.queue.store
        [kept] = drive(store.documents("", audit.KIND, name=audit.name_of(2)))
        drive(store.write_document("", audit.KIND, kept.name, kept.body.replace(b"(b,", b"(z,")))
    wrong = dibs("audit", "verify")
    assert wrong.code == 1
    assert wrong.line.startswith("Entry 2 was changed after it was written")
    assert dibs("audit", "verify", "--json").json["sound"] is False
