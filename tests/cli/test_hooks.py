"""dibs hook: set, looked at, changed; what is wrong is named and changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run

URL = "https://ci.example.com/dibs"


def test_a_hook_is_added_shown_and_removed_and_its_secret_told_once(dibs: Run) -> None:
    assert dibs("hook", "ls", "--json", ok=True).json == []
    made = dibs("hook", "add", "ci", URL, "--on", "task.completed,dag.*", "--json", ok=True).json
    assert (made["name"], made["kind"], made["url"]) == ("ci", "cloudevents", URL)
    assert made["events"] == ["task.completed", "dag.*"]
    assert made["secret"].startswith("whsec_")
    shown = dibs("hook", "show", "ci", "--json", ok=True).json
    assert shown == {name: value for name, value in made.items() if name != "secret"}
    assert dibs("hook", "ls", "--json", ok=True).json == [shown]
    assert dibs("hook", "ls", ok=True).out.split("\t") == [
        *("ci", "cloudevents", "active", URL, "task.completed,dag.*", "0", "\n"),
    ]
    told = dibs("hook", "show", "ci", ok=True).out
    assert f"url\t{URL}" in told
    assert f"events\t{','.join(shown['events'])}\n" in told
    assert dibs("hook", "rm", "ci", "--json", ok=True).json == {"removed": "ci"}
    assert dibs("hook", "ls", ok=True).out == ""


def test_a_chat_and_a_mailbox_have_no_secret_and_get_what_needs_a_person(dibs: Run) -> None:
    chat = dibs("hook", "add", "chat", "https://chat.example.com/x", "--kind", "slack", "--json", ok=True).json
    mail = dibs("hook", "add", "mail", "oncall@example.com", "--kind", "email", "--json", ok=True).json
    assert "secret" not in chat
    assert mail["url"] == "mailto:oncall@example.com"
    assert "task.dead_lettered" in chat["events"]
    assert chat["events"] == mail["events"]
    refused = dibs("hook", "rotate", "chat", "--json")
    assert (refused.code, refused.error["field"]) == (2, "name")


def test_it_is_paused_resumed_rotated_and_replayed(dibs: Run) -> None:
    dibs("add", "job", ok=True)
    secret = dibs("hook", "add", "ci", URL, "--json", ok=True).json["secret"]
    assert dibs("hook", "show", "ci", "--json", ok=True).json["seq"] == 2
    assert dibs("hook", "pause", "ci", "--json", ok=True).json["status"] == "paused"
    assert dibs("hook", "test", "ci").code == 5
    assert "status" not in dibs("hook", "resume", "ci", "--json", ok=True).json
    rotated = dibs("hook", "rotate", "ci", "--overlap", "1h", "--json", ok=True).json
    assert rotated["secret"] != secret
    assert rotated["old_secret_until"]
    assert "seq" not in dibs("hook", "replay", "ci", "--after", "0", "--json", ok=True).json
    assert dibs("hook", "deliveries", "ci", "--json", ok=True).json == []


def test_it_is_told_elsewhere_and_of_other_events_and_keeps_its_secret(dibs: Run) -> None:
    made = dibs("hook", "add", "ci", URL, "--on", "task.*", "--agent", "ada", "--json", ok=True).json
    changed = dibs("hook", "set", "ci", f"{URL}/v2", "--on", "dag.failed,task.completed", "--json", ok=True).json
    assert (changed["url"], changed["events"]) == (f"{URL}/v2", ["dag.failed", "task.completed"])
    assert "agent" not in changed
    assert "secret" not in changed
    assert changed["id"] == made["id"]
    refused = dibs("hook", "set", "ci", "ftp://x.test", "--json")
    assert (refused.code, refused.error["field"]) == (2, "url")
    assert dibs("hook", "show", "ci", "--json", ok=True).json == changed
    assert dibs("hook", "set", "nobody", URL).code != 0


def test_where_nobody_delivers_a_test_says_so(dibs: Run) -> None:
    dibs("hook", "add", "ci", URL, ok=True)
    tried = dibs("hook", "test", "ci", "--wait", "0.2")
    assert (tried.code, tried.out) == (3, "")
    assert "dibs up" in tried.err


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        (("add", "ci", "ftp://x.test"), 2, "url"),
        (("add", "ci", "https://u:p@x.test"), 2, "url"),
        (("add", "", URL), 2, "name"),
        (("add", "ci", URL, "--kind", "pager"), 2, "kind"),
        (("add", "ci", URL, "--on", "task.complete"), 2, "events"),
        (("add", "ci", URL, "--on", "task.*,"), 2, "events"),
        (("add", "ci", URL, "--after", "-1"), 2, "after"),
        (("add", "ci", "x", "--kind", "email"), 2, "url"),
        (("add", "old", URL), 5, "name"),
        (("show", "ci"), 4, "name"),
        (("rm", "ci"), 4, "name"),
        (("pause", "ci"), 4, "name"),
        (("resume", "ci"), 4, "name"),
        (("rotate", "ci"), 4, "name"),
        (("rotate", "old", "--overlap", "-1"), 2, "overlap"),
        (("replay", "ci", "--after", "0"), 4, "name"),
        (("replay", "old"), 2, "after"),
        (("replay", "old", "--after", "x"), 2, "after"),
        (("deliveries", "ci"), 4, "name"),
        (("deliveries", "old", "--limit", "0"), 2, "limit"),
        (("test", "ci"), 4, "name"),
        (("test", "old", "--wait", "later"), 2, "wait"),
    ],
)
def test_what_is_wrong_is_named_and_changes_nothing(
    dibs: Run, arguments: tuple[str, ...], code: int, field: str
) -> None:
    dibs("hook", "add", "old", URL, ok=True)
    before = dibs("hook", "ls", "--json", ok=True).json
    tried = dibs("hook", *arguments, "--json")
    assert (tried.code, tried.error["field"]) == (code, field), tried.err
    assert dibs("hook", "ls", "--json", ok=True).json == before
