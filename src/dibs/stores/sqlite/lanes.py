"""Lanes by number, remembered in the process. A counter in the database tells when they must be read again.

Adding and settling never write a lane: only its first task does, and the duty that retires idle ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dibs.rules.matching import choose_model, may_serve
from dibs.stores.values import LaneKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set

    from dibs.rules.closing import Shut, Ways
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.values import ClaimRequest, Draft

VERSION = "SELECT value FROM meta WHERE name = 'lanes'"
_ALL = "SELECT id, key FROM lanes WHERE retired_at IS NULL"
_SHUT = """
SELECT project, 'paused', gate, until FROM pauses
UNION ALL
SELECT project, shut, type, due_at FROM breakers WHERE shut IS NOT NULL
UNION ALL
SELECT project, 'limited', gate, until FROM backoffs WHERE shut
UNION ALL
SELECT project, 'slots', type, slots FROM type_slots
UNION ALL
SELECT project, 'rate', type, NULL FROM rates
UNION ALL
SELECT DISTINCT project, 'spends', substr(scope, 7), NULL FROM budgets WHERE scope GLOB 'agent:*'
UNION ALL
SELECT project, 'window', name, ends_at FROM budgets WHERE ends_at IS NOT NULL
"""
CHANGED = "UPDATE meta SET value = value + 1 WHERE name = 'lanes'"
_STANDS = "SELECT 1 FROM meta WHERE name = 'standing' AND value->>'state' IN ('filling', 'closed', 'moved')"
_BUDGETED = "SELECT DISTINCT project FROM budgets WHERE scope NOT GLOB 'agent:*'"
_ADD = """
INSERT INTO lanes (project, type, boost, key) VALUES (?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET retired_at = NULL, idle_since = NULL
"""
_READY = """
EXISTS (SELECT 1 FROM tasks WHERE lane = lanes.id AND status = 'ready' AND parked_on IS NULL)
    OR id IN (SELECT lane FROM tasks INDEXED BY task_parked WHERE parked_on IS NOT NULL)
"""
_NOTE_IDLE = f"""
UPDATE lanes SET idle_since = ? WHERE retired_at IS NULL AND idle_since IS NULL AND NOT ({_READY})
"""  # noqa: S608
_NOTE_BUSY = f"""
UPDATE lanes SET idle_since = NULL WHERE retired_at IS NULL AND idle_since IS NOT NULL AND ({_READY})
"""  # noqa: S608

_encode = msgspec.json.Encoder().encode
decode_key = msgspec.json.Decoder(LaneKey).decode


class Lanes:
    """The lanes in use, and which of them an agent may serve."""

    def __init__(self) -> None:
        self.version = -1
        self.keys: dict[int, LaneKey] = {}
        self.budgeted: frozenset[str] = frozenset()
        """The projects that have budgets, but for those of agents: only there every claim looks at them."""
        self._ids: dict[LaneKey, int] = {}
        self._served: dict[tuple[object, ...], list[int]] = {}
        self._ways: dict[tuple[object, ...], Ways] = {}
        self._shut: dict[str, Shut] = {}
        self._changes_at: int | None = None
        self.is_left = False
        """Whether the file is being filled or left: then nobody may claim, even if there is nothing."""

    def forget(self) -> None:
        """Read the lanes again before they are used: a transaction that wrote some may have been undone."""
        self.version = -1

    def refresh(self, tx: Transaction, version: int) -> None:
        """Read the lanes again if the counter is not the one they were read at."""
        if version == self.version:
            return
        self.keys = {id: decode_key(key) for id, key in tx.connection.execute(_ALL)}
        self._ids = {key: id for id, key in self.keys.items()}
        self._served = {}
        self._read_shut(tx)
        self.budgeted = frozenset(project for (project,) in tx.connection.execute(_BUDGETED))
        self.is_left = tx.row(_STANDS) is not None
        self.version = version

    def _read_shut(self, tx: Transaction) -> None:
        """What is closed; usually nothing."""
        rows = list(tx.connection.execute(_SHUT))
        self._ways, self._shut, self._changes_at = {}, {}, None
        if rows:
            from dibs.rules import closing

            self._shut = closing.gather(rows)
            self._changes_at = closing.changes_at(self._shut)

    def is_due(self, now: int) -> bool:
        """Whether time has opened something that is not noted yet, as far as is known here."""
        return self._changes_at is not None and self._changes_at <= now

    def slots_in(self, project: str) -> Mapping[str, int]:
        """The types of which only so many tasks may be held at once; mostly none."""
        shut = self._shut.get(project)
        return {} if shut is None else shut.slots

    def rates_in(self, project: str) -> Set[str]:
        """The types of which only so many tasks may be handed out in a time; mostly none."""
        shut = self._shut.get(project)
        return frozenset() if shut is None else shut.rates

    def spends(self, request: ClaimRequest) -> bool:
        """Whether the agent has budgets of its own."""
        shut = self._shut.get(request.project)
        return shut is not None and request.agent in shut.spenders

    def change(self, tx: Transaction) -> None:
        """What is open or closed was changed: everybody shall read it again, we too."""
        tx.run(CHANGED)
        # If this transaction fails, the counter may come to the same number with something else closed.
        self.version = -1

    def current(self, tx: Transaction) -> None:
        """As `refresh`, with the counter read here."""
        self.refresh(tx, tx.row(VERSION)[0])

    def numbers(self, tx: Transaction, wanted: Iterable[LaneKey]) -> dict[LaneKey, int]:
        """The number of each lane; lanes that are new or retired come into use."""
        known = self._ids
        missing = [key for key in dict.fromkeys(wanted) if key not in known]
        if missing:
            for key in missing:
                text = _encode(key).decode()
                tx.run(_ADD, (key.project, key.type, key.boost, text))
            tx.run(CHANGED)
            self.current(tx)
            known = self._ids
            # If this transaction fails, the counter may come to the same number with other lanes.
            self.version = -1
        return known

    def revive(self, tx: Transaction, number: int) -> None:
        """Take a lane back into use."""
        if number not in self.keys:
            tx.run("UPDATE lanes SET retired_at = NULL, idle_since = NULL WHERE id = ?", (number,))
            tx.run(CHANGED)
            self.version = -1

    def ways(self, request: ClaimRequest) -> Ways | None:
        """What more there is to know about the lanes of an agent while something is closed; None: nothing is."""
        if request.project not in self._shut:
            return None
        self.served_by(request)
        return self._ways.get(_offer(request))

    def served_by(self, request: ClaimRequest) -> list[int]:
        """The numbers of the lanes that this agent may serve and that are open."""
        offer = _offer(request)
        served = self._served.get(offer)
        if served is None:
            if len(self._served) > 1_000:
                self._served.clear()
                self._ways.clear()
            served = self._served[offer] = [
                id
                for id, key in self.keys.items()
                if key.project == request.project
                and may_serve(
                    type=key.type,
                    assignee=key.assignee,
                    requires=key.requires,
                    models=key.models,
                    agent=request.agent,
                    agent_type=request.agent_type,
                    capabilities=request.capabilities,
                    types=request.types,
                    offered_models=request.models,
                )
            ]
            if request.project in self._shut:
                ways = self._ways[offer] = self._ways_of(request, served)
                served = self._served[offer] = ways.lanes
        return served

    def _ways_of(self, request: ClaimRequest, served: list[int]) -> Ways:
        """Which of these lanes are open to the agent, while something is closed."""
        from dibs.rules import closing, providers

        shut = self._shut[request.project]
        limited = {
            id: providers.opens_at(
                shut.limited, provider=key.provider, models=key.models, type=key.type, offered=request.models
            )
            for id, key in ((id, self.keys[id]) for id in (served if shut.limited else ()))
        }
        return closing.ways(shut, [(id, self.keys[id].type) for id in served], request.agent, limited)

    def model(self, number: int, request: ClaimRequest) -> str | None:
        """What a task of this lane is done with."""
        key = self.keys[number]
        models = key.models
        shut = self._shut.get(request.project)
        if models and shut is not None and shut.limited:
            from dibs.rules import providers

            models = providers.open_models(shut.limited, provider=key.provider, models=models, type=key.type)
        return choose_model(models, request.models)


def _offer(request: ClaimRequest) -> tuple[object, ...]:
    name = (request.project, request.agent, request.agent_type)
    return (*name, request.capabilities, request.types, request.models)


def retire(tx: Transaction, idle_s: float) -> None:
    """Retire lanes in which nothing waits or runs and nothing was ready for a while."""
    tx.run(_NOTE_IDLE, (tx.now,))
    tx.run(_NOTE_BUSY)
    idle = [
        row[0]
        for row in tx.connection.execute(
            "SELECT id FROM lanes WHERE retired_at IS NULL AND idle_since <= ?",
            (tx.now - round(idle_s * 1_000_000),),
        )
    ]
    if not idle:
        return
    live = "status IN ('pending', 'scheduled', 'claimed', 'running', 'validating', 'waiting', 'retrying')"
    used = {row[0] for row in tx.connection.execute(f"SELECT DISTINCT lane FROM tasks WHERE {live}")}  # noqa: S608
    retired = [lane for lane in idle if lane not in used]
    if retired:
        text = _encode(retired).decode()
        tx.run("UPDATE lanes SET retired_at = ? WHERE id IN (SELECT value FROM json_each(?))", (tx.now, text))
        tx.run(CHANGED)


def lane_keys(drafts: Sequence[Draft]) -> list[LaneKey]:
    """The lanes that these tasks are in or may fall back to."""
    keys = [draft.lane for draft in drafts]
    keys.extend(draft.fallback_lane for draft in drafts if draft.fallback_lane is not None)
    return keys
