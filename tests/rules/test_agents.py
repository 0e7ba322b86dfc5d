"""Agents: how they stand, what a registration means, who could take what."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dibs.model.agent import AgentStatus, Registered
from dibs.model.instants import to_micros
from dibs.model.views import Agent, Lane
from dibs.rules import agents

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOW = to_micros(NOON)


@pytest.mark.parametrize(
    ("facts", "status"),
    [
        (set(), AgentStatus.ACTIVE),
        ({"draining"}, AgentStatus.DRAINING),
        ({"lost"}, AgentStatus.LOST),
        ({"draining", "lost"}, AgentStatus.LOST),
        ({"offline"}, AgentStatus.OFFLINE),
        ({"draining", "lost", "offline"}, AgentStatus.OFFLINE),
    ],
)
def test_that_it_is_gone_counts_for_more_than_what_it_was_told(facts: set[str], status: AgentStatus) -> None:
    assert agents.status_of(**{fact: fact in facts for fact in ("draining", "lost", "offline")}) is status


@pytest.mark.parametrize(("ago_s", "worth"), [(0, False), (4.9, False), (5, True), (600, True), (-1, True)])
def test_hearing_of_an_agent_is_news_after_a_while_or_when_the_clock_was_put_back(ago_s: float, worth: bool) -> None:
    assert agents.is_worth_writing(NOW - int(ago_s * 1e6), NOW) is worth


@pytest.mark.parametrize(("ago_s", "lost"), [(0, False), (90, False), (90.1, True)])
def test_an_agent_is_lost_after_ninety_seconds_of_silence(ago_s: float, lost: bool) -> None:
    assert agents.is_lost(NOW - int(ago_s * 1e6), NOW) is lost


def test_a_registration_replaces_the_one_before() -> None:
    before = Registered(type="coder", capabilities=("git",), max_concurrent=2)
    assert agents.merged(before, Registered(models=("large",)), keep=False) == Registered(models=("large",))
    assert agents.merged(before, Registered(), keep=False) is None


@pytest.mark.parametrize(
    ("told", "known"),
    [
        (Registered(), Registered("coder", ("git",), ("large",), 2)),
        (Registered(type="writer"), Registered("writer", ("git",), ("large",), 2)),
        (Registered(capabilities=("web",)), Registered("coder", ("web",), ("large",), 2)),
        (Registered(models=("tiny",), max_concurrent=5), Registered("coder", ("git",), ("tiny",), 5)),
    ],
)
def test_what_is_not_told_can_stay_as_it_was(told: Registered, known: Registered) -> None:
    assert agents.merged(Registered("coder", ("git",), ("large",), 2), told, keep=True) == known


def test_there_may_be_nothing_to_keep() -> None:
    assert agents.merged(None, Registered(type="coder"), keep=True) == Registered(type="coder")
    assert agents.merged(None, Registered(), keep=True) is None


@pytest.mark.parametrize(
    ("held", "most", "at_once", "share"),
    [(1, 4, None, 0.25), (3, 2, 10, 1.5), (1, None, 10, 0.1), (1, None, None, None)],
)
def test_utilisation_is_what_it_holds_of_what_it_may(
    held: int, most: int | None, at_once: int | None, share: float | None
) -> None:
    assert agents.utilisation(held, most, at_once) == share


@pytest.mark.parametrize(
    ("facts", "live"),
    [
        ({}, True),
        ({"heard_at": NOON - timedelta(seconds=91)}, False),
        ({"heard_at": None}, False),
        ({"status": AgentStatus.DRAINING}, False),
        ({"status": AgentStatus.LOST}, False),
        ({"status": AgentStatus.OFFLINE}, False),
    ],
)
def test_a_live_agent_is_active_and_was_heard_of_lately(facts: dict[str, Any], live: bool) -> None:
    assert agents.is_live(Agent(**{"id": "ada", "heard_at": NOON, **facts}), NOW) is live


@pytest.mark.parametrize(("most", "tasks", "full"), [(None, 9, False), (2, 1, False), (2, 2, True), (2, 3, True)])
def test_an_agent_is_full_when_it_holds_as_much_as_it_may(most: int | None, tasks: int, full: bool) -> None:
    assert agents.is_full(Agent(id="ada", max_concurrent=most, tasks=["t"] * tasks)) is full


def test_a_lane_is_served_by_live_agents_that_can_do_it() -> None:
    lane = Lane(id=1, type="code", assignee="coder", requires=("git",))
    known = [
        Agent(id="able", type="coder", capabilities=("git", "web"), heard_at=NOON),
        Agent(id="coder", capabilities=("git",), heard_at=NOON),
        Agent(id="other", type="writer", capabilities=("git",), heard_at=NOON),
        Agent(id="unskilled", type="coder", heard_at=NOON),
        Agent(id="silent", type="coder", capabilities=("git",)),
        Agent(id="picky", type="coder", capabilities=("git",), types=("design",), heard_at=NOON),
    ]
    assert agents.servers(lane, known, NOW) == ["able", "coder"]
    assert agents.servers(lane, known[2:], NOW) == []


@pytest.mark.parametrize(
    ("status", "silent_s", "seen"),
    [
        (AgentStatus.ACTIVE, 90, AgentStatus.ACTIVE),
        (AgentStatus.ACTIVE, 91, AgentStatus.LOST),
        (AgentStatus.DRAINING, 91, AgentStatus.LOST),
        (AgentStatus.LOST, 91, AgentStatus.LOST),
        (AgentStatus.OFFLINE, 91, AgentStatus.OFFLINE),
        (AgentStatus.ACTIVE, None, AgentStatus.ACTIVE),
    ],
)
def test_a_silent_agent_is_seen_to_be_lost(status: AgentStatus, silent_s: int | None, seen: AgentStatus) -> None:
    heard_at = None if silent_s is None else NOON - timedelta(seconds=silent_s)
    assert agents.seen_at(Agent(id="ada", status=status, heard_at=heard_at), NOW) is seen
