"""Agents: who was heard of, what they are registered with, and what they hold.

What claims go by is remembered in the process. A change of it moves the lanes' counter, which every claim reads anyway:
so an agent without a rule pays nothing for those that have one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dibs.model.agent import Process, Registered
from dibs.model.instants import seconds
from dibs.rules.access import at_home
from dibs.rules.agents import LOST_AFTER_S
from dibs.stores import agents as standing
from dibs.stores.agents import Known, Rule
from dibs.stores.sqlite.jobs import UNKNOWN
from dibs.stores.sqlite.lanes import CHANGED
from dibs.stores.sqlite.rows import encode
from dibs.stores.values import Offer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.model.views import Agent
    from dibs.stores.agents import Registration
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.jobs import Unknown
    from dibs.stores.values import ClaimRequest

_COLUMNS = "offer, heard_at, started_at, registered, process, draining_at, drained_at, offline_at, lost_at, reason"
_FIND = f"SELECT {_COLUMNS} FROM agents WHERE project = ? AND id = ?"  # noqa: S608
_ALL = f"SELECT id, {_COLUMNS} FROM agents WHERE project = ? AND heard_at >= ? ORDER BY id"  # noqa: S608
_WRITE = f"""
INSERT OR REPLACE INTO agents (project, id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""  # noqa: S608
_RULES = """
SELECT project, id, registered, draining_at IS NOT NULL FROM agents
WHERE registered IS NOT NULL OR draining_at IS NOT NULL
"""
_TO_WATCH = f"""
SELECT project, id, {_COLUMNS} FROM agents
WHERE (heard_at < ? AND lost_at IS NULL AND offline_at IS NULL) OR (draining_at IS NOT NULL AND drained_at IS NULL)
ORDER BY project, id
"""  # noqa: S608
_HELD = "project = ? AND status <> 'ready' AND status IN ('claimed', 'running')"
_HELD_BY_ALL = f"SELECT agent, id FROM tasks INDEXED BY task_status WHERE {_HELD} ORDER BY n"  # noqa: S608
_HELD_BY = f"SELECT id FROM tasks INDEXED BY task_status WHERE {_HELD} AND agent = ? ORDER BY n"  # noqa: S608
_COUNT_HELD_BY = f"SELECT count(*) FROM tasks INDEXED BY task_status WHERE {_HELD} AND agent = ?"  # noqa: S608
_FORGET = "DELETE FROM agents WHERE heard_at < ? RETURNING registered IS NOT NULL OR draining_at IS NOT NULL"

_decode_offer = msgspec.json.Decoder(Offer).decode
_decode_registered = msgspec.json.Decoder(Registered).decode
_decode_process = msgspec.json.Decoder(Process).decode


class Rules:
    """What the claims of registered and draining agents go by, as of a version of the lanes' counter."""

    def __init__(self) -> None:
        self._version: int | None = None
        self._rules: dict[tuple[str, str], Rule] = {}

    def forget(self) -> None:
        """Read them again before they are used: a transaction that wrote some may have been undone."""
        self._version = None

    def of(self, tx: Transaction, version: int, project: str, agent: str) -> Rule | None:
        """The rule of one agent; None for most."""
        if version != self._version:
            self._rules = {
                (home, id): Rule(Registered() if told is None else _decode_registered(told), bool(draining))
                for home, id, told, draining in tx.connection.execute(_RULES)
            }
            self._version = version
        return self._rules.get((project, agent))


def room(tx: Transaction, request: ClaimRequest, rule: Rule, limit: int) -> tuple[int, str | None]:
    """How many tasks a claim that goes by a rule may take; if none at all, why."""
    if rule.draining:
        return 0, standing.DRAINING
    most = left(tx, request, rule)
    if most is None:
        return limit, None
    return min(limit, most), standing.FULL if most <= 0 else None


def left(tx: Transaction, request: ClaimRequest, rule: Rule) -> int | None:
    """How many more tasks an agent that goes by a rule may hold; None: any number."""
    most = rule.registered.max_concurrent
    return None if most is None else most - tx.row(_COUNT_HELD_BY, (request.project, request.agent))[0]


# Hearing of them


def hear(tx: Transaction, project: str, agent: str, offer: Offer | None) -> None:
    """A claim, with what it offers, or a renewal was heard of."""
    news = standing.heard(_find(tx, project, agent), offer, tx.now)
    if news is not None:
        _write(tx, project, agent, *news)


def hear_renewals(tx: Transaction, names: Iterable[tuple[str, str]]) -> None:
    """Whoever renews is heard of, too."""
    for project, agent in names:
        hear(tx, project, agent, None)


# Verbs


def register(tx: Transaction, told: Registration) -> Agent:
    before = _find(tx, told.project, told.agent)
    after, events = standing.registered(before, told, tx.now)
    _write(tx, told.project, told.agent, after, events)
    _tell(tx, before, after)
    return _agent(tx, told.project, told.agent, after)


def drain(tx: Transaction, project: str, agent: str) -> Agent:
    before = _get(tx, project, agent)
    after = standing.drained(before, tx.now)
    _tell(tx, before, after)
    after, events = standing.emptied(after, tx.now, holds=_holds(tx, project, agent))
    _write(tx, project, agent, after, events)
    return _agent(tx, project, agent, after)


def unregister(tx: Transaction, project: str, agent: str, reason: str | None) -> Agent:
    before = _get(tx, project, agent)
    after, events = standing.unregistered(before, reason, tx.now)
    _write(tx, project, agent, after, events, reason)
    _tell(tx, before, after)
    return _agent(tx, project, agent, after)


def watch(tx: Transaction) -> int:
    """Mark who is lost, and who has drained. How many events that made."""
    made = 0
    for project, agent, *columns in list(tx.connection.execute(_TO_WATCH, (tx.now - seconds(LOST_AFTER_S),))):
        after, events = standing.watched(_known(columns), tx.now, holds=_holds(tx, project, agent))
        if events:
            _write(tx, project, agent, after, events)
            made += len(events)
    return made


def watch_glance(tx: Transaction) -> int | Unknown:
    """0 while nobody needs to be looked at."""
    return UNKNOWN if tx.row(_TO_WATCH, (tx.now - seconds(LOST_AFTER_S),)) else 0


def prune(tx: Transaction, before: int) -> None:
    """Forget who has not been heard of since then."""
    if any(ruled for [ruled] in list(tx.connection.execute(_FORGET, (before,)))):
        tx.run(CHANGED)


# Reading


def agents(tx: Transaction, project: str, since: int = 0) -> list[Agent]:
    """All that are known and were heard of since then, by id."""
    held: dict[str, list[str]] = {}
    for agent, id in tx.connection.execute(_HELD_BY_ALL, (project,)):
        held.setdefault(agent, []).append(id)
    return [
        standing.agent_of(id, _known(columns), held.get(id, ()))
        for id, *columns in tx.connection.execute(_ALL, (project, since))
    ]


def _agent(tx: Transaction, project: str, agent: str, known: Known) -> Agent:
    tasks = [id for [id] in tx.connection.execute(_HELD_BY, (project, agent))]
    return standing.agent_of(agent, known, tasks)


def _holds(tx: Transaction, project: str, agent: str) -> bool:
    return bool(tx.row(_COUNT_HELD_BY, (project, agent))[0])


def _get(tx: Transaction, project: str, agent: str) -> Known:
    known = _find(tx, project, agent)
    if known is None:
        raise standing.no_agent(agent)
    return known


def everybody(tx: Transaction) -> list[tuple[str, str, Known]]:
    """Whoever is known, in every project."""
    found = tx.connection.execute(f"SELECT project, id, {_COLUMNS} FROM agents ORDER BY project, id")  # noqa: S608
    return [(project, id, _known(columns)) for project, id, *columns in found]


def put(tx: Transaction, project: str, agent: str, known: Known) -> None:
    """Write down what is known of an agent; nothing happened to it."""
    _write(tx, project, agent, known, ())


def _find(tx: Transaction, project: str, agent: str) -> Known | None:
    row = tx.row(_FIND, (project, agent))
    return None if row is None else _known(row)


def _known(columns: Sequence[Any]) -> Known:
    offer, heard_at, started_at, registered, process, draining_at, drained_at, offline_at, lost_at, reason = columns
    return Known(
        offer=_decode_offer(offer),
        heard_at=heard_at,
        started_at=started_at,
        registered=None if registered is None else _decode_registered(registered),
        process=None if process is None else _decode_process(process),
        draining_at=draining_at,
        drained_at=drained_at,
        offline_at=offline_at,
        lost_at=lost_at,
        reason=reason,
    )


def _write(
    tx: Transaction, project: str, agent: str, known: Known, events: Sequence[str], reason: str | None = None
) -> None:
    tx.run(
        _WRITE,
        (
            project,
            agent,
            encode(known.offer).decode(),
            known.heard_at,
            known.started_at,
            None if known.registered is None else encode(known.registered).decode(),
            None if known.process is None else encode(known.process).decode(),
            known.draining_at,
            known.drained_at,
            known.offline_at,
            known.lost_at,
            known.reason,
        ),
    )
    for event in events:
        tx.outbox.one(event, tx.now, None, None, agent=agent, reason=reason, data=at_home({}, project))


def _tell(tx: Transaction, before: Known | None, after: Known) -> None:
    """Everybody who claims reads the rules again, if this one has changed."""
    if (before.rule if before else None) != after.rule:
        tx.run(CHANGED)
