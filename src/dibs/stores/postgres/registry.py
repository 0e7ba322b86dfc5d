"""Agents: what they are registered with, how they stand, what they hold.

What is decided about one agent is decided by `stores.agents` from its row, and written if the row is still the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dibs.model.agent import Process, Registered
from dibs.rules.agents import LOST_AFTER_S
from dibs.stores import agents as standing
from dibs.stores.agents import Known, Rule
from dibs.stores.values import Offer

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.model.views import Agent
    from dibs.stores.agents import Registration
    from dibs.stores.postgres.engine import Engine

_RULES = """
SELECT project, id, registered, draining_at IS NOT NULL FROM dibs.agents
WHERE registered IS NOT NULL OR draining_at IS NOT NULL
"""
_FIND = """
SELECT coalesce($1::bigint, dibs.micros()) AS now, a.xmin::text AS was, a.*
FROM (SELECT 1) one LEFT JOIN dibs.agents a ON a.project = $2 AND a.id = $3
"""
_WRITE = "SELECT dibs.write_agent($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
_WATCH = "SELECT dibs.watch_agents($1, $2, $3, $4)"
_AGENTS = """
WITH holding AS (
    SELECT w.agent, array_agg(s.id ORDER BY w.n) AS tasks
    FROM dibs.held w JOIN dibs.lanes l ON l.id = w.lane JOIN dibs.specs s ON s.n = w.n
    WHERE l.project = $1 AND ($3::text IS NULL OR w.agent = $3) GROUP BY w.agent
)
SELECT a.*, h.tasks FROM dibs.agents a LEFT JOIN holding h ON h.agent = a.id
WHERE a.project = $1 AND a.heard_at >= $2 AND ($3::text IS NULL OR a.id = $3) ORDER BY a.id
"""

_encode = msgspec.json.Encoder().encode
_decode_offer = msgspec.json.Decoder(Offer).decode
_decode_registered = msgspec.json.Decoder(Registered).decode
_decode_process = msgspec.json.Decoder(Process).decode


class Rules:
    """What the claims of registered and draining agents go by, as of a version of the lanes."""

    def __init__(self) -> None:
        self.version = -1
        self._rules: dict[tuple[str, str], Rule] = {}

    async def refresh(self, engine: Engine, version: int) -> None:
        """Read them again. They are as new as this version of the lanes, at least."""
        found = await engine.fetch(_RULES)
        self._rules = {
            (project, id): Rule(Registered() if told is None else _decode_registered(told), draining)
            for project, id, told, draining in found
        }
        self.version = version

    def of(self, project: str, agent: str) -> Rule | None:
        """The rule of one agent; None for most."""
        return self._rules.get((project, agent))


# Verbs


async def register(engine: Engine, told: Registration) -> Agent:
    """Write down what an agent is registered with."""
    await _change(engine, told.project, told.agent, lambda known, now: standing.registered(known, told, now))
    return await _one(engine, told.project, told.agent)


async def drain(engine: Engine, project: str, agent: str) -> Agent:
    """Hand nothing new to it. Claims under way have ended once that is written; then it is known what it holds."""

    def decide(known: Known | None, now: int) -> tuple[Known, list[str]]:
        return standing.drained(_there(known, agent), now), []

    await _change(engine, project, agent, decide)
    if await engine.value(_WATCH, engine.at, None, project, agent):
        engine.changed()
    return await _one(engine, project, agent)


async def unregister(engine: Engine, project: str, agent: str, reason: str | None) -> Agent:
    """It is gone."""
    await _change(engine, project, agent, lambda known, now: standing.unregistered(_there(known, agent), reason, now))
    return await _one(engine, project, agent)


async def watch(engine: Engine) -> int:
    """Mark who is lost, and who has drained. How many events that made."""
    made = int(await engine.value(_WATCH, engine.at, LOST_AFTER_S, None, None))
    if made:
        engine.changed()
    return made


async def _change(
    engine: Engine, project: str, agent: str, decide: Callable[[Known | None, int], tuple[Known, list[str]]]
) -> None:
    while True:
        [row] = await engine.fetch(_FIND, engine.at, project, agent)
        before = None if row["was"] is None else known(row)
        after, events = decide(before, row["now"])
        if after is before or await _write(engine, project, agent, row, before, after, events):
            break
    if events:
        engine.changed()


async def _write(
    engine: Engine, project: str, agent: str, row: Any, before: Known | None, after: Known, events: list[str]
) -> bool:
    return bool(
        await engine.value(
            _WRITE,
            row["now"],
            row["was"],
            project,
            agent,
            _encode(after.offer).decode(),
            after.heard_at,
            after.started_at,
            None if after.registered is None else _encode(after.registered).decode(),
            None if after.process is None else _encode(after.process).decode(),
            after.draining_at,
            after.drained_at,
            after.offline_at,
            after.lost_at,
            after.reason,
            events,
            (before.rule if before else None) != after.rule,
        )
    )


# Reading


async def agents(engine: Engine, project: str, since: int = 0, agent: str | None = None) -> list[Agent]:
    """All that are known and were heard of since then, by id; or one of them."""
    found = await engine.fetch(_AGENTS, project, since, agent)
    return [standing.agent_of(row["id"], known(row), row["tasks"] or ()) for row in found]


async def _one(engine: Engine, project: str, agent: str) -> Agent:
    [found] = await agents(engine, project, agent=agent)
    return found


def _there(known: Known | None, agent: str) -> Known:
    if known is None:
        raise standing.no_agent(agent)
    return known


def known(row: Any) -> Known:
    """What a row says of an agent."""
    return Known(
        offer=_decode_offer(row["offer"]),
        heard_at=row["heard_at"],
        started_at=row["started_at"],
        registered=None if row["registered"] is None else _decode_registered(row["registered"]),
        process=None if row["process"] is None else _decode_process(row["process"]),
        draining_at=row["draining_at"],
        drained_at=row["drained_at"],
        offline_at=row["offline_at"],
        lost_at=row["lost_at"],
        reason=row["reason"],
    )


def kept(known: Known) -> dict[str, Any]:
    """A row's columns."""
    return {
        "offer": _encode(known.offer).decode(),
        "heard_at": known.heard_at,
        "started_at": known.started_at,
        "registered": None if known.registered is None else _encode(known.registered).decode(),
        "process": None if known.process is None else _encode(known.process).decode(),
        "draining_at": known.draining_at,
        "drained_at": known.drained_at,
        "offline_at": known.offline_at,
        "lost_at": known.lost_at,
        "reason": known.reason,
    }
