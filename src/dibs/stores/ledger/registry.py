"""Agents: who was heard of, what they are registered with, and what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules.access import at_home
from dibs.stores import agents as standing
from dibs.stores.values import Offer

if TYPE_CHECKING:
    from dibs.model.views import Agent
    from dibs.stores.agents import Known, Registration
    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State
    from dibs.stores.values import ClaimRequest


# What claims and renewals do


def hear_claim(state: State, request: ClaimRequest) -> ClaimRequest:
    """It was heard of. The request, with what it is registered with."""
    known = state.agents.get((request.project, request.agent))
    request = standing.as_registered(request, known.rule if known else None)
    _hear(state, request.project, request.agent, Offer(request.capabilities, request.types, request.models))
    return request


def hear_renewal(state: State, record: Record) -> None:
    """Whoever renews is heard of, too."""
    if record.agent is not None:
        _hear(state, record.spec.project, record.agent, None)


def _hear(state: State, project: str, agent: str, offer: Offer | None) -> None:
    news = standing.heard(state.agents.get((project, agent)), offer, state.now)
    if news is not None:
        _write(state, project, agent, *news)


def room(state: State, request: ClaimRequest) -> tuple[int | None, str | None]:
    """How many more tasks this agent may hold, None: any number; if it may not have any, why."""
    rule = state.agents[request.project, request.agent].rule
    if rule is None:
        return None, None
    if rule.draining:
        return 0, standing.DRAINING
    most = rule.registered.max_concurrent
    if most is None:
        return None, None
    left = most - len(state.held_in(request.project).get(request.agent, ()))
    return left, standing.FULL if left <= 0 else None


# Verbs


def register(state: State, told: Registration) -> Agent:
    known = state.agents.get((told.project, told.agent))
    _write(state, told.project, told.agent, *standing.registered(known, told, state.now))
    return _agent(state, told.project, told.agent)


def drain(state: State, project: str, agent: str) -> Agent:
    known = standing.drained(_get(state, project, agent), state.now)
    _write(state, project, agent, *standing.emptied(known, state.now, holds=agent in state.held_in(project)))
    return _agent(state, project, agent)


def unregister(state: State, project: str, agent: str, reason: str | None) -> Agent:
    _write(state, project, agent, *standing.unregistered(_get(state, project, agent), reason, state.now), reason)
    return _agent(state, project, agent)


def watch(state: State) -> int:
    """Mark who is lost, and who has drained. How many events that made."""
    return sum(_watch(state, project, agent) for project, agent in sorted(state.agents))


def _watch(state: State, project: str, agent: str) -> int:
    known = state.agents[project, agent]
    holds = known.draining_at is not None and agent in state.held_in(project)
    after, events = standing.watched(known, state.now, holds=holds)
    _write(state, project, agent, after, events)
    return len(events)


# Reading


def agents(state: State, project: str, since: int | None = None) -> list[Agent]:
    """All that are known, or were heard of since then, by id."""
    held = state.held_in(project)
    return [
        standing.agent_of(agent, known, held.get(agent, ()))
        for (home, agent), known in sorted(state.agents.items())
        if home == project and (since is None or known.heard_at >= since)
    ]


def _agent(state: State, project: str, agent: str) -> Agent:
    return standing.agent_of(agent, state.agents[project, agent], state.held_in(project).get(agent, ()))


def _get(state: State, project: str, agent: str) -> Known:
    known = state.agents.get((project, agent))
    if known is None:
        raise standing.no_agent(agent)
    return known


def _write(state: State, project: str, agent: str, known: Known, events: list[str], reason: str | None = None) -> None:
    if known is not state.agents.get((project, agent)):
        state.agents[project, agent] = known
        state.changed = True
    for event in events:
        state.emit(event, agent=agent, reason=reason, data=at_home({}, project))
