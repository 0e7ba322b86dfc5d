"""Pause, resume, gates; circuit breakers by hand and from files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


def test_a_paused_type_is_not_claimed_until_it_is_resumed(dibs: Run) -> None:
    dibs("add", "code", ok=True)
    assert dibs("pause", "--type", "code", "--reason", "broken", ok=True).line == "type:code"
    assert dibs("claim", "--agent", "a").code == 3
    assert dibs("resume", "--type", "code", ok=True).out == ""
    assert dibs("claim", "--agent", "a").code == 0


def test_resuming_what_is_not_paused_is_nothing_to_do(dibs: Run) -> None:
    assert dibs("resume", "--everything").code == 3
    assert dibs("resume", "--agent", "a", "--json").json == {"resumed": False}
    dibs("pause", "--agent", "a", ok=True)
    assert dibs("resume", "--agent", "a", "--json", ok=True).json == {"resumed": True}


def test_gates_lists_what_is_closed(dibs: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "grace")
    dibs("add", "code", ok=True)
    lane = dibs("stats", "--json", ok=True).json["lanes"][0]["id"]
    paused = dibs("pause", "--lane", lane, "--until", "1h", "--json", ok=True).json
    assert (paused["gate"], paused["lane"], paused["by"]) == (f"lane:{lane}", lane, "human:grace")
    monkeypatch.delenv("USER")
    dibs("pause", "--everything", "--by", "human:ada", "--reason", "night", ok=True)
    dibs("breaker", "open", "research", "--reason", "down", ok=True)
    lines = [line.split("\t") for line in dibs("gates", ok=True).out.splitlines()]
    assert [(line[0], line[3], line[4], line[5]) for line in lines] == [
        ("everything", "human:ada", "night", "dibs resume --everything"),
        (f"lane:{lane}", "human:grace", "", f"dibs resume --lane {lane}"),
        ("breaker:research", "", "down", "dibs breaker close research"),
    ]
    assert lines[0][2] == ""
    assert lines[1][2] == paused["until"]
    assert [each["gate"] for each in dibs("gates", "--json", ok=True).json] == [line[0] for line in lines]


def test_gates_on_a_terminal_says_that_nothing_is_closed(terminal: Run, dibs: Run) -> None:
    dibs("add", "code", ok=True)
    assert "Nothing is closed." in terminal("gates").out
    dibs("pause", "--type", "code", ok=True)
    assert "type:code" in terminal("gates").out


def test_why_says_what_would_help(dibs: Run) -> None:
    id = dibs("add", "code", ok=True).line
    dibs("pause", "--type", "code", "--by", "human:ada", ok=True)
    [blocker] = dibs("why", id, "--json", ok=True).json["blockers"]
    assert (blocker["kind"], blocker["help"]) == ("gate", "dibs resume --type code")


def test_tail_tells_of_gates_and_breakers(dibs: Run) -> None:
    dibs("pause", "--type", "code", "--reason", "broken", ok=True)
    dibs("breaker", "open", "code", ok=True)
    shown = dibs("tail", "--no-follow", ok=True).out
    assert "gate.closed" in shown
    assert "broken" in shown
    assert "type:code" in shown
    assert "breaker.opened" in shown


def test_a_breaker_opens_at_its_threshold_and_is_closed_by_hand(dibs: Run) -> None:
    set_up = dibs("breaker", "set", "code", "--threshold", 2, "--half-open-after", "2m", "--json", ok=True).json
    assert (set_up["enabled"], set_up["failure_threshold"], set_up["half_open_after_s"]) == (True, 2, 120)
    for _ in range(3):
        dibs("add", "code", ok=True)
    for _ in range(2):
        claim = dibs("claim", "--agent", "a", ok=True).json
        dibs("fail", claim["task"]["id"], "--fence", 1, "--error", "boom", "--no-retry", ok=True)
    assert dibs("claim", "--agent", "a").code == 3
    every, code = (line.split("\t") for line in dibs("breaker", "ls", ok=True).out.splitlines())
    assert every[:3] == ["*", "off", "0/5"]
    assert code[:3] == ["code", "open", "2/2"]
    assert code[-1] == "2 failed attempts in a row"
    assert dibs("breaker", "close", "code", "--json", ok=True).json["state"] == "closed"
    assert dibs("claim", "--agent", "a").code == 0
    assert dibs("breaker", "set", "code", "--off", ok=True).line.split("\t")[1] == "off"
    assert dibs("breaker", "reset", "code", "--json", ok=True).json["own"] is False


def test_settings_come_from_dibs_toml(dibs: Run, tmp_path: Path) -> None:
    file = tmp_path / "dibs.toml"
    file.write_text(
        '[breakers.code]\nfailure_threshold = 3\nhalf_open_after_s = "2m"\n'
        "[breakers.defaults]\ncooldown_s = 60\n[breakers.lint]\nenabled = false\n"
    )
    applied = dibs("breaker", "apply", file, "--json", ok=True).json
    assert [(each["type"], each["failure_threshold"], each["enabled"]) for each in applied] == [
        ("*", 5, True),
        ("code", 3, True),
        ("lint", 5, False),
    ]
    assert (applied[1]["cooldown_s"], applied[1]["half_open_after_s"]) == (60, 120)


def test_settings_come_from_lokis_file(dibs: Run, tmp_path: Path) -> None:
    file = tmp_path / "circuit-breakers.yaml"
    file.write_text(
        "defaults: {failureThreshold: 4, cooldownSeconds: 200, halfOpenAfter: 30}\n"
        "overrides: {ops-security: {failureThreshold: 3}}\n"
    )
    dibs("breaker", "apply", file, ok=True)
    every, security = dibs("breaker", "ls", "--json", ok=True).json
    assert (every["failure_threshold"], every["cooldown_s"], every["half_open_after_s"]) == (4, 200, 30)
    assert (security["type"], security["failure_threshold"], security["cooldown_s"]) == ("ops-security", 3, 200)


@pytest.mark.parametrize(
    ("name", "text", "field"),
    [
        ("dibs.toml", "", "file"),
        ("dibs.toml", "[breakers", "file"),
        ("dibs.toml", "breakers = 5", "breakers"),
        ("dibs.toml", "[breakers]\ncode = 5", "breakers"),
        ("dibs.toml", "[breakers.code]\nthreshold = 5", "threshold"),
        ("dibs.toml", "[breakers.lint]\ncooldown_s = 9\n[breakers.code]\nfailure_threshold = 0", "failure_threshold"),
        ("dibs.toml", '[breakers.code]\nenabled = "yes"', "enabled"),
        ("dibs.toml", '[breakers.defaults]\nenabled = true\n[breakers."*"]\nenabled = true', "breakers"),
        ("b.yaml", "[1]", "file"),
        ("b.yaml", "defaults: {failureThreshold: five}", "failureThreshold"),
        ("b.yaml", "defaults: {failureThreshold: 2.5}", "failure_threshold"),
        ("b.json", '{"breakers": {"code": {"cooldown_s": "soon"}}}', "cooldown_s"),
        ("missing.toml", None, "file"),
    ],
    ids=str,
)
def test_a_file_with_a_mistake_sets_nothing(dibs: Run, tmp_path: Path, name: str, text: str | None, field: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    refused = dibs("breaker", "apply", tmp_path / name, "--json")
    assert (refused.code, refused.error["field"]) == (2, field)
    assert [each["type"] for each in dibs("breaker", "ls", "--json", ok=True).json] == ["*"]


@pytest.mark.parametrize(
    ("argv", "code", "field"),
    [
        (["pause"], 2, "type"),
        (["pause", "--type", "a", "--agent", "b"], 2, "agent"),
        (["pause", "--lane", "one"], 2, "lane"),
        (["pause", "--lane", "77"], 4, "lane"),
        (["pause", "--type", "a", "--until", "yesterday"], 2, "until"),
        (["resume"], 2, "type"),
        (["resume", "--provider", "acme", "--type", "a"], 2, "provider"),
        (["resume", "--provider", "acme", "--limit", "a"], 2, "limit"),
        (["resume", "--provider", ""], 2, "provider"),
        (["breaker", "set", "a", "--threshold", "0"], 2, "failure_threshold"),
        (["breaker", "set", "a", "--cooldown", "0"], 2, "cooldown_s"),
        (["breaker", "open", "*"], 2, "type"),
        (["breaker", "close"], 2, "type"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused_by_field(dibs: Run, argv: list[str], code: int, field: str) -> None:
    refused = dibs(*argv, "--json")
    assert (refused.code, refused.error["field"]) == (code, field)
    assert dibs("gates", "--json", ok=True).json == []


def test_a_rate_limit_closes_a_gate_that_gates_and_why_name(dibs: Run) -> None:
    dibs("add", "code", "--provider", "acme", ok=True)
    id = dibs("add", "lint", "--provider", "acme", ok=True).line
    claim = dibs("claim", "--agent", "a", "--type", "code", ok=True).json
    dibs(
        "fail", claim["task"]["id"], "--fence", "1", "--error", "429 Too Many Requests", "--retry-after", "1h", ok=True
    )
    assert dibs("claim", "--agent", "a").code == 3
    [line] = [line.split("\t") for line in dibs("gates", ok=True).out.splitlines()]
    help = "dibs resume --provider acme, or wait: it opens by itself"
    assert (line[0], line[4], line[5]) == ("provider:acme", "rate limit", help)
    [gate] = dibs("gates", "--json", ok=True).json
    assert (gate["kind"], gate["provider"], gate["until"]) == ("limit", "acme", line[2])
    [blocker] = dibs("why", id, "--json", ok=True).json["blockers"]
    assert blocker["ids"] == ["provider:acme"]
    assert "acme turned work away (rate limit)" in dibs("why", id, ok=True).out


@pytest.mark.parametrize(("option", "name"), [("--provider", "acme"), ("--limit", "code")])
def test_what_a_rate_limit_closed_can_be_opened_by_hand(dibs: Run, option: str, name: str) -> None:
    provider = ["--provider", "acme"] if option == "--provider" else []
    for _ in range(2):
        dibs("add", "code", *provider, ok=True)
    claim = dibs("claim", "--agent", "a", ok=True).json
    dibs("fail", claim["task"]["id"], "--fence", "1", "--error", "429", "--reason", "rate_limit", ok=True)
    assert dibs("claim", "--agent", "a").code == 3
    assert dibs("resume", option, "other").code == 3
    assert dibs("resume", option, name, "--json", ok=True).json == {"resumed": True}
    assert dibs("gates", "--json", ok=True).json == []
    dibs("claim", "--agent", "a", ok=True)
    assert dibs("resume", option, name, "--json").json == {"resumed": False}


def test_an_empty_claim_says_how_long_to_slow_down(dibs: Run) -> None:
    for _ in range(2):
        dibs("add", "code", "--provider", "acme", ok=True)
    claim = dibs("claim", "--agent", "a", ok=True).json
    dibs("fail", claim["task"]["id"], "--fence", "1", "--error", "429: too many", "--retry-after", "1h", ok=True)
    told = dibs("claim", "--agent", "a", "--json")
    assert (told.code, told.out, told.error["reason"]) == (3, "", None)
    assert 1_700 < told.error["slow_down"] <= 1_800
    words = dibs("claim", "--agent", "a")
    assert (words.code, words.out) == (3, "")
    assert words.err.startswith("A rate limit keeps work back: ask again in 1")
    assert dibs("claim", "--agent", "a", "--type", "other", "--json").err == ""
