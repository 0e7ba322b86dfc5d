"""Every verb answers the same in Python, blocking, over HTTP, to a client of a server, and in the shell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.doors import doors, forms, shelf
from tests.doors.masks import Masks
from tests.doors.serving import TOKENS, Host, hosting
from tests.doors.story import filled, holds
from tests.servers.quick import sqlite_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.doors.doors import Outcome
    from tests.doors.story import Story


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with hosting() as found:
        yield found


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without settings; artifacts are kept there."""
    monkeypatch.chdir(tmp_path)
    # Commands ask the terminal how wide it is for each of their options, unless it is said.
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setenv("DIBS_ARTIFACTS", f"file:{tmp_path / 'kept'}")
    return tmp_path


STORIES = [
    pytest.param(story, id=f"{topic}-{story.name.replace(' ', '_')}")
    for topic, stories in shelf.by_topic().items()
    for story in stories
]


@pytest.mark.parametrize("story", STORIES)
def test_a_story_goes_the_same_way_through_every_door(story: Story, host: Host, home: Path) -> None:
    seen = {"python": doors.python(story, "memory:"), "sync": doors.sync(story, "memory:")}
    with host.serves("memory:") as url:
        seen["http"] = doors.over_http(story, url, TOKENS)
    with host.serves("memory:") as url:
        seen["remote"] = doors.remote(story, url, TOKENS)
    seen["shell"] = doors.shell(story, f"sqlite:{sqlite_file(home / 'work.db')}")
    for name, outcomes in seen.items():
        check(name, outcomes)
    for name in ("sync", "http", "remote", "shell"):
        compare(name, seen[name], seen["python"])
    compare("remote", seen["remote"], seen["http"])


def check(door: str, outcomes: list[Outcome]) -> None:
    """Each step went as it says; the facts are those that it names."""
    saved: dict[str, Any] = {}
    for outcome in outcomes:
        step, refusal = outcome.step, outcome.refusal
        about = (door, step.verb, dict(step.arguments), step.shell, outcome.answer, refusal)
        if step.saves is not None:
            saved[step.saves] = outcome.answer
        assert (None if refusal is None else refusal.code) == step.refused, about
        if refusal is not None:
            assert step.wrong is None or refusal.field == forms.field_in(outcome.door, step), about
            exit_code, status = forms.of_refusal(refusal.code)
            assert outcome.sign in (None, status if outcome.door == "http" else exit_code), about
            continue
        assert outcome.door != "shell" or outcome.sign == forms.exit_code_of(step, outcome.answer), about
        if step.answers is not None:
            wanted, answer = filled(step.answers, saved), outcome.answer
            if outcome.door == "shell" and forms.tells_otherwise(step):
                wanted, answer = forms.common(wanted, answer)
            assert holds(wanted, answer), (wanted, *about)


def compare(door: str, outcomes: list[Outcome], theirs: list[Outcome]) -> None:
    """What this door answered is what the other one did, in the steps that both have."""
    there = {outcome.place: outcome for outcome in theirs}
    one, other = Masks(), Masks()
    for outcome in outcomes:
        reference = there.get(outcome.place)
        if reference is None:
            continue
        expected, answer = reference.answer, outcome.answer
        if outcome.door == "shell" and forms.tells_otherwise(outcome.step):
            expected, answer = forms.common(expected, answer)
        about = (door, outcome.step.verb, dict(outcome.step.arguments), outcome.step.shell)
        assert other(answer) == one(expected), about
        if outcome.refusal is not None and reference.refusal is not None and forms.is_told_alike(outcome):
            assert other(list(outcome.refusal)) == one(list(reference.refusal)), about
