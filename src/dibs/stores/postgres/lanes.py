"""Lanes by number, remembered in the process. Functions that use the numbers are told the version they were read at,
and refuse an old one; then they are read again.

Adding and settling never write a lane: only its first task does, and the duty that retires idle ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dibs.rules.matching import may_serve
from dibs.stores.values import LaneKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.stores.postgres.engine import Engine
    from dibs.stores.values import ClaimRequest, Draft

_REMEMBERED = 1_000

_encode = msgspec.json.Encoder().encode
_decode_key = msgspec.json.Decoder(LaneKey).decode


class Lanes:
    """The lanes in use, and which of them an agent may serve."""

    def __init__(self, engine: Engine) -> None:
        self.version = -1
        self.keys: dict[int, LaneKey] = {}
        self._engine = engine
        self._ids: dict[LaneKey, int] = {}
        self._served: dict[tuple[object, ...], list[int]] = {}

    async def refresh(self) -> None:
        """Read the lanes again."""
        self._take_in(await self._engine.fetch("SELECT version, id, key FROM dibs.lanes_in_use()"))

    async def numbers(self, wanted: Iterable[LaneKey]) -> dict[LaneKey, int]:
        """The number of each lane; lanes that are new or retired come into use."""
        keys = dict.fromkeys(wanted)
        # Each time they are read anew: others of these may have been retired since the last time.
        while missing := [key for key in keys if key not in self._ids]:
            added = [(key.project, key.type, key.boost, _encode(key).decode()) for key in missing]
            self._take_in(
                await self._engine.fetch("SELECT version, id, key FROM dibs.add_lanes($1)", _encode(added).decode())
            )
        return self._ids

    def served_by(self, request: ClaimRequest) -> list[int]:
        """The numbers of the lanes that this agent may serve."""
        offer = (request.project, request.agent, request.capabilities, request.types, request.models)
        served = self._served.get(offer)
        if served is None:
            if len(self._served) > _REMEMBERED:
                self._served.clear()
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
                    capabilities=request.capabilities,
                    types=request.types,
                    offered_models=request.models,
                )
            ]
        return served

    def _take_in(self, found: Sequence[Any]) -> None:
        self.keys = {id: _decode_key(key) for _, id, key in found if id is not None}
        self._ids = {key: id for id, key in self.keys.items()}
        self._served = {}
        self.version = found[0][0]


def lane_keys(drafts: Sequence[Draft]) -> list[LaneKey]:
    """The lanes that these tasks are in or may fall back to."""
    keys = [draft.lane for draft in drafts]
    keys.extend(draft.fallback_lane for draft in drafts if draft.fallback_lane is not None)
    return keys
