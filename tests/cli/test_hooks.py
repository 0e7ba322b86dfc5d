"""How hooks are shown, and a test where nobody delivers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Run

URL = "https://ci.example.com/dibs"


def test_a_hook_is_shown_and_its_secret_told_once(dibs: Run) -> None:
    made = dibs("hook", "add", "ci", URL, "--on", "task.completed,dag.*", "--json", ok=True).json
    assert made["secret"].startswith("whsec_")
    assert dibs("hook", "ls", ok=True).out.split("\t") == [
        *("ci", "cloudevents", "active", URL, "task.completed,dag.*", "0", "\n"),
    ]
    told = dibs("hook", "show", "ci", ok=True).out
    assert f"url\t{URL}" in told
    assert "events\ttask.completed,dag.*\n" in told
    assert made["secret"] not in told
    assert dibs("hook", "rotate", "ci", "--json", ok=True).json["secret"] != made["secret"]
    dibs("hook", "rm", "ci", ok=True)
    assert dibs("hook", "ls", ok=True).out == ""


def test_where_nobody_delivers_a_test_says_so(dibs: Run) -> None:
    dibs("hook", "add", "ci", URL, ok=True)
    tried = dibs("hook", "test", "ci", "--wait", "0.2")
    assert (tried.code, tried.out) == (3, "")
    assert "dibs up" in tried.err
