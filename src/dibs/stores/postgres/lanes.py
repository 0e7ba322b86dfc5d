"""Lanes by number, remembered in the process. Functions that use the numbers are told the version they were read at,
and refuse an old one; then they are read again.

Adding and settling never write a lane: only its first task does, and the duty that retires idle ones.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from dibs.rules import closing, matching, providers
from dibs.stores.postgres import carrying
from dibs.stores.postgres.reaching import Reach
from dibs.stores.values import LaneKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Set

    from dibs.rules.closing import Shut
    from dibs.stores.postgres.engine import Engine
    from dibs.stores.values import ClaimRequest, Draft

_ADD = "SELECT version, id, key, shut, budgets FROM dibs.add_lanes($1)"
_REMEMBERED = 1_000
_LOOK_EVERY_S = 1.0
_SPENT_LOOKING = 0.01

_encode = msgspec.json.Encoder().encode
_decode_shut = msgspec.json.Decoder(list[tuple[str, str, str, int | None]]).decode
_decode_key = msgspec.json.Decoder(LaneKey).decode


class Served(Struct):
    """The lanes that an agent may serve, as a claim wants them.

    `models`: what a task of each lane would be done with; None if none of them asks for a model. `reach`: how far to
    read each lane. `due_at`: when something in them is next due, as far as is known; `look_at`: when to find that out
    again, should it be laborious. The rest is as in `rules.closing.Ways`.
    """

    lanes: list[int]
    models: list[str | None] | None
    reach: Reach
    due_at: int | None = None
    look_at: float = 0.0
    trials: list[int] | None = None
    watched: list[int] | None = None
    opens_at: int | None = None
    limited_until: int | None = None
    types: list[str | None] | None = None
    """The types of those lanes of whose type only so many tasks may be held at once, or handed out in a time (None: of
    others); None: there is no such lane."""
    spends: bool = False
    """Whether the agent has budgets of its own."""

    def looked(self, due_at: int | None, took_s: float) -> None:
        """Remember when something is next due. However long it took to find out, little time shall be spent on it."""
        self.due_at = due_at
        self.look_at = monotonic() + max(_LOOK_EVERY_S, took_s / _SPENT_LOOKING)


class Lanes:
    """The lanes in use, and which of them an agent may serve."""

    def __init__(self, engine: Engine) -> None:
        self.version = -1
        self.keys: dict[int, LaneKey] = {}
        self.budgeted: frozenset[str] = frozenset()
        """The projects that have budgets, but for those of agents: only there every claim looks at them."""
        self._engine = engine
        self._ids: dict[LaneKey, int] = {}
        self._served: dict[tuple[object, ...], Served] = {}
        self._shut: dict[str, Shut] = {}
        self.changes_at: int | None = None

    async def refresh(self) -> None:
        """Read the lanes again."""
        self._take_in(await self._engine.fetch("SELECT version, id, key, shut, budgets FROM dibs.lanes_in_use()"))

    async def refresh_for_claims(self) -> None:
        """As `refresh`; refused while everything is on its way into this schema, or out of it."""
        await carrying.refuse(self._engine)
        await self.refresh()

    async def numbers(self, wanted: Iterable[LaneKey]) -> dict[LaneKey, int]:
        """The number of each lane; lanes that are new or retired come into use."""
        keys = dict.fromkeys(wanted)
        # Each time they are read anew: others of these may have been retired since the last time.
        while missing := [key for key in keys if key not in self._ids]:
            added = [(key.project, key.type, key.boost, _encode(key).decode()) for key in missing]
            self._take_in(await self._engine.fetch(_ADD, _encode(added).decode()))
        return self._ids

    def known(self, wanted: Iterable[LaneKey]) -> dict[LaneKey, int] | None:
        """The numbers of lanes, as far as they are known here; None if one is not."""
        return self._ids if all(key in self._ids for key in wanted) else None

    def served_by(self, request: ClaimRequest) -> Served:
        """The lanes that this agent may serve and that are open."""
        name = (request.project, request.agent, request.agent_type)
        offer = (*name, request.capabilities, request.types, request.models)
        served = self._served.get(offer)
        if served is None:
            if len(self._served) > _REMEMBERED:
                self._served.clear()
            served = self._served[offer] = self._look_up(request)
        return served

    def _look_up(self, request: ClaimRequest) -> Served:
        found = {
            id: key
            for id, key in sorted(self.keys.items())
            if key.project == request.project
            and matching.may_serve(
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
        }
        types = ((id, key.type) for id, key in found.items())
        shut = self._shut.get(request.project)
        closed = {} if shut is None else shut.limited
        limited = {
            id: providers.opens_at(
                closed, provider=key.provider, models=key.models, type=key.type, offered=request.models
            )
            for id, key in (found.items() if closed else ())
        }
        ways = closing.ways(shut, types, request.agent, limited)
        found = {id: found[id] for id in ways.lanes}
        models = [
            matching.choose_model(
                providers.open_models(closed, provider=key.provider, models=key.models, type=key.type), request.models
            )
            for key in found.values()
        ]
        return Served(
            lanes=list(found),
            models=models if any(models) else None,
            reach=Reach(len(found)),
            trials=ways.trials or None,
            watched=ways.watched or None,
            opens_at=ways.opens_at,
            limited_until=ways.limited_until,
            types=None if shut is None else _limited_types(found.values(), {*shut.slots, *shut.rates}),
            spends=shut is not None and request.agent in shut.spenders,
        )

    def _take_in(self, found: Sequence[Any]) -> None:
        self.keys = {id: _decode_key(key) for _, id, key, _, _ in found if id is not None}
        self.budgeted = frozenset(found[0][4])
        self._ids = {key: id for id, key in self.keys.items()}
        self._served = {}
        shut = found[0]["shut"]
        self._shut = {} if shut is None else closing.gather(_decode_shut(shut))
        self.changes_at = closing.changes_at(self._shut)
        self.version = found[0][0]


def _limited_types(keys: Iterable[LaneKey], limited: Set[str]) -> list[str | None] | None:
    types = [key.type if key.type in limited else None for key in keys] if limited else []
    return types if any(types) else None


def lane_keys(drafts: Sequence[Draft]) -> list[LaneKey]:
    """The lanes that these tasks are in or may fall back to."""
    keys = [draft.lane for draft in drafts]
    keys.extend(draft.fallback_lane for draft in drafts if draft.fallback_lane is not None)
    return keys
