"""Pause, resume, gates; circuit breakers by hand and from files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


def test_a_pause_prints_its_gate_and_its_end_nothing(dibs: Run) -> None:
    dibs("add", "code", ok=True)
    assert dibs("pause", "--type", "code", ok=True).line == "type:code"
    assert dibs("resume", "--type", "code", ok=True).out == ""
    nothing = dibs("resume", "--type", "code")
    assert (nothing.code, nothing.out) == (3, "")


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


def test_tail_tells_of_gates_and_breakers(dibs: Run) -> None:
    dibs("pause", "--type", "code", "--reason", "broken", ok=True)
    dibs("breaker", "open", "code", ok=True)
    shown = dibs("tail", "--no-follow", ok=True).out
    assert "gate.closed" in shown
    assert "broken" in shown
    assert "type:code" in shown
    assert "breaker.opened" in shown


def test_breakers_are_listed_a_line_each(dibs: Run) -> None:
    dibs("breaker", "open", "code", "--reason", "down", ok=True)
    every, code = (line.split("\t") for line in dibs("breaker", "ls", ok=True).out.splitlines())
    assert (every[:3], every[-1]) == (["*", "off", "0/5"], "")
    assert (code[:3], code[-1]) == (["code", "open", "0/5"], "down")
    assert dibs("breaker", "set", "code", "--off", ok=True).line.split("\t")[1] == "off"


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


def test_a_rate_limit_closes_a_gate_that_gates_and_why_name(dibs: Run) -> None:
    dibs("add", "code", "--provider", "acme", ok=True)
    id = dibs("add", "lint", "--provider", "acme", ok=True).line
    claim = dibs("claim", "--agent", "a", "--type", "code", ok=True).json
    dibs("fail", claim["task"]["id"], "--fence", "1", "--error", "429", "--retry-after", "1h", ok=True)
    line = dibs("gates", ok=True).line.split("\t")
    [gate] = dibs("gates", "--json", ok=True).json
    help = "dibs resume --provider acme, or wait: it opens by itself"
    assert (line[0], line[2], line[4], line[5]) == ("provider:acme", gate["until"], "rate limit", help)
    assert "acme turned work away (rate limit)" in dibs("why", id, ok=True).out


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
