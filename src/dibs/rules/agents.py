"""Agents: how each one stands, what a registration means for its claims, and who could take a task now.

An agent is *active* from its first claim or registration on. Unregistered it is *offline*; not heard of for 90 s it is
*lost*; told to drain it is *draining*, and gets nothing new. An agent that is heard of again is neither lost nor
offline; one that is registered again, or unregistered, is done with draining.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.agent import AgentStatus, Registered
from dibs.model.instants import from_micros, seconds
from dibs.rules.matching import may_serve

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from dibs.model.views import Agent, Lane

LOST_AFTER_S = 90.0
"""An agent that has not been heard of for this long is lost."""

HEARD_EVERY_S = 5.0
"""That an agent was heard of is written down at most this often."""

MAX_CONCURRENT = 1_000_000
"""The largest limit; more tasks than that nobody holds."""


def status_of(*, draining: bool, lost: bool, offline: bool) -> AgentStatus:
    """One word for how an agent stands: that it is gone counts for more than what it was told."""
    if offline:
        return AgentStatus.OFFLINE
    if lost:
        return AgentStatus.LOST
    return AgentStatus.DRAINING if draining else AgentStatus.ACTIVE


def is_worth_writing(heard_at: int, now: int) -> bool:
    """Whether it was written down so long ago, or by a clock put back since, that hearing of it again is news."""
    return not 0 <= now - heard_at < seconds(HEARD_EVERY_S)


def is_lost(heard_at: int, now: int) -> bool:
    """Whether it has been silent for too long."""
    return heard_at < now - seconds(LOST_AFTER_S)


def merged(before: Registered | None, told: Registered, *, keep: bool) -> Registered | None:
    """What holds once an agent is registered: as told, or with `keep`, what was not told stays. None: nothing does."""
    if keep and before is not None:
        told = Registered(
            type=told.type or before.type,
            capabilities=told.capabilities or before.capabilities,
            models=told.models or before.models,
            max_concurrent=before.max_concurrent if told.max_concurrent is None else told.max_concurrent,
        )
    return None if told == Registered() else told


def utilisation(held: int, max_concurrent: int | None, concurrency: int | None) -> float | None:
    """What it holds for each task that it may hold, else that it says it does at once; None if neither is known."""
    most = concurrency if max_concurrent is None else max_concurrent
    return held / most if most else None


def is_live(agent: Agent, now: int) -> bool:
    """Whether it is active and was heard of lately; the duty that marks lost ones may not have run yet."""
    return (
        agent.status is AgentStatus.ACTIVE
        and agent.heard_at is not None
        and agent.heard_at >= from_micros(now - seconds(LOST_AFTER_S))
    )


def seen_at(agent: Agent, now: int) -> AgentStatus:
    """How it stands for whoever looks now: where nobody does the duties, nobody has marked it as lost."""
    lost = agent.heard_at is not None and agent.heard_at < from_micros(now - seconds(LOST_AFTER_S))
    return AgentStatus.LOST if lost and agent.status is not AgentStatus.OFFLINE else agent.status


def is_full(agent: Agent) -> bool:
    """Whether it holds as many tasks as it may."""
    return agent.max_concurrent is not None and len(agent.tasks) >= agent.max_concurrent


def can_take(
    agent: Agent, *, type: str, assignee: str | None, requires: Collection[str], models: Collection[str]
) -> bool:
    """Whether tasks like this are for an agent with what it offered last."""
    return may_serve(
        type=type,
        assignee=assignee,
        requires=requires,
        models=models,
        agent=agent.id,
        agent_type=agent.type,
        capabilities=agent.capabilities,
        types=agent.types,
        offered_models=agent.models,
    )


def servers(lane: Lane, agents: Iterable[Agent], now: int) -> list[str]:
    """The live agents that can serve a lane. None of them: nobody can."""
    return [
        agent.id
        for agent in agents
        if is_live(agent, now)
        and can_take(agent, type=lane.type, assignee=lane.assignee, requires=lane.requires, models=lane.models)
    ]
