"""How tokens and the audit are printed, and what is said of an edited one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dibs as package
from dibs.rules import audit, tokens
from dibs.sync import drive

if TYPE_CHECKING:
    from tests.cli.conftest import Run


def test_a_secret_is_printed_alone_and_once(dibs: Run) -> None:
    first = dibs("token", "add", "coder", "--type", "code", "--type", "test", ok=True).line
    made = dibs("token", "add", "ops", "--role", "admin", "--json", ok=True).json
    assert tokens.is_secret(first)
    assert tokens.is_secret(made["secret"])
    listed = dibs("token", "ls", ok=True).out
    assert first not in listed
    assert listed.split("\t")[1:5] == ["coder", "agent", "default", "code,test"]
    assert dibs("token", "revoke", "ops", ok=True).out == ""
    second = dibs("token", "rotate", "coder", ok=True).line
    assert tokens.is_secret(second)
    assert first != second


def test_whatever_is_done_to_tokens_is_in_the_audit(dibs: Run) -> None:
    dibs("token", "add", "coder", ok=True)
    dibs("token", "revoke", "coder", ok=True)
    found = dibs("audit", "ls", "--json", ok=True).json
    assert all(entry["by"].startswith("shell:") for entry in found)
    assert [line.split("\t")[3] for line in dibs("audit", "ls", ok=True).out.splitlines()] == [
        "create_token",
        "revoke_token",
    ]
    assert dibs("audit", "verify", ok=True).line == f"2:{found[-1]['digest']}"
    assert dibs("audit", "prune", "--keep", 1, ok=True).line == "1"


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
