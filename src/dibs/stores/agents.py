"""Agents as a store keeps them, and what happens to them: heard of, registered, drained, unregistered, lost.

The contract says what each verb means. These functions change what is known of one agent and answer with the events
of it; a store finds the agent, asks, and writes both down in one step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dibs.errors import NotFound
from dibs.model.agent import AgentStatus, Process, Registered
from dibs.model.instants import from_micros
from dibs.model.views import Agent
from dibs.rules import agents as rules
from dibs.stores.values import ClaimRequest, Offer

if TYPE_CHECKING:
    from collections.abc import Sequence

REGISTERED = "agent.registered"
RETURNED = "agent.returned"
DRAINED = "agent.drained"
LOST = "agent.lost"
UNREGISTERED = "agent.unregistered"

DRAINING = "draining"
FULL = "max_concurrent"
"""Why a claim got nothing although there may be something: `Claimed.reason`."""


class Registration(Struct, kw_only=True):
    """An agent, and what it is registered with. `keep`: what is not told stays as it was registered before."""

    agent: str
    project: str = "default"
    registered: Registered = Registered()
    process: Process | None = None
    keep: bool = False


class Rule(Struct, frozen=True):
    """What the claims of one agent must go by; most agents have none."""

    registered: Registered = Registered()
    draining: bool = False


class Known(Struct, kw_only=True):
    """What a store knows of an agent. Instants are micros."""

    offer: Offer
    heard_at: int
    started_at: int | None = None
    registered: Registered | None = None
    process: Process | None = None
    draining_at: int | None = None
    drained_at: int | None = None
    offline_at: int | None = None
    lost_at: int | None = None
    reason: str | None = None

    @property
    def status(self) -> AgentStatus:
        return rules.status_of(
            draining=self.draining_at is not None, lost=self.lost_at is not None, offline=self.offline_at is not None
        )

    @property
    def rule(self) -> Rule | None:
        """What its claims go by; a change of it is told to everybody who claims."""
        if self.registered is None and self.draining_at is None:
            return None
        return Rule(self.registered or Registered(), self.draining_at is not None)


# What happens


def heard(known: Known | None, offer: Offer | None, now: int) -> tuple[Known, list[str]] | None:
    """A claim (with what it offers) or a renewal was heard of. None: there is nothing to write down."""
    if known is None:
        return None if offer is None else (Known(offer=offer, heard_at=now, started_at=now), [REGISTERED])
    offer = known.offer if offer is None else offer
    back = known.offline_at is not None or known.lost_at is not None
    if not back and offer == known.offer and not rules.is_worth_writing(known.heard_at, now):
        return None
    after = replace(known, offer=offer, heard_at=now)
    if known.offline_at is not None:
        # Whatever was registered with it is over; this is somebody new of that name.
        after.process, after.started_at = None, now
    after.offline_at = after.lost_at = after.reason = None
    return after, [RETURNED] if back else []


def registered(known: Known | None, told: Registration, now: int) -> tuple[Known, list[str]]:
    """It was registered, perhaps again."""
    what = rules.merged(known.registered if known else None, told.registered, keep=told.keep)
    offered = known.offer if known else Offer()
    has = what or Registered()
    offer = Offer(
        capabilities=has.capabilities or (offered.capabilities if told.keep else ()),
        types=offered.types,
        models=has.models or (offered.models if told.keep else ()),
    )
    if known is None:
        known = Known(offer=offer, heard_at=now, started_at=now, registered=what, process=told.process)
        return known, [REGISTERED]
    begins = told.process is not None or known.offline_at is not None
    after = Known(
        offer=offer,
        heard_at=now,
        started_at=now if begins else known.started_at,
        registered=what,
        process=told.process if begins else known.process,
    )
    return after, [] if known.status is AgentStatus.ACTIVE else [RETURNED]


def drained(known: Known, now: int) -> Known:
    """It shall get nothing new. Told before: no change."""
    return known if known.draining_at is not None else replace(known, draining_at=now)


def unregistered(known: Known, reason: str | None, now: int) -> tuple[Known, list[str]]:
    """It is gone. Gone before: no change."""
    if known.offline_at is not None:
        return known, []
    after = replace(known, offline_at=now, reason=reason)
    after.lost_at = after.draining_at = after.drained_at = None
    return after, [UNREGISTERED]


def emptied(known: Known, now: int, *, holds: bool) -> tuple[Known, list[str]]:
    """It was told to drain, and is done once it holds nothing more."""
    if known.draining_at is None or known.drained_at is not None or holds:
        return known, []
    return replace(known, drained_at=now), [DRAINED]


def watched(known: Known, now: int, *, holds: bool) -> tuple[Known, list[str]]:
    """What time has made of it: drained, or lost."""
    after, events = emptied(known, now, holds=holds)
    if known.offline_at is None and known.lost_at is None and rules.is_lost(known.heard_at, now):
        after, events = replace(after, lost_at=now), [*events, LOST]
    return after, events


# What it means


def as_registered(request: ClaimRequest, rule: Rule | None) -> ClaimRequest:
    """The request of an agent as what it is registered: what it does not offer itself it has from there."""
    if rule is None:
        return request
    has = rule.registered
    return replace(
        request,
        agent_type=has.type,
        capabilities=request.capabilities or has.capabilities,
        models=request.models or has.models,
    )


def agent_of(id: str, known: Known, tasks: Sequence[str]) -> Agent:
    """An agent as it is shown, with the tasks that it holds."""
    has, process = known.registered or Registered(), known.process or Process()
    return Agent(
        id=id,
        type=has.type,
        capabilities=known.offer.capabilities,
        types=known.offer.types,
        models=known.offer.models,
        heard_at=from_micros(known.heard_at),
        max_concurrent=has.max_concurrent,
        concurrency=process.concurrency,
        version=process.version,
        host=process.host,
        pid=process.pid,
        poll_s=process.poll_s,
        started_at=None if known.started_at is None else from_micros(known.started_at),
        status=known.status,
        reason=known.reason,
        tasks=list(tasks),
        utilisation=rules.utilisation(len(tasks), has.max_concurrent, process.concurrency),
    )


def no_agent(agent: str) -> NotFound:
    """Nobody knows this agent."""
    return NotFound(f"There is no agent {agent}. `dibs agents` shows the ones there are.", field="agent")
