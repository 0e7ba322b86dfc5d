"""Events, in the order of their numbers. Whoever reads also numbers what has none yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dibs.model.event import Event
from dibs.model.instants import from_micros
from dibs.stores.unfolding import unfold

if TYPE_CHECKING:
    from dibs.stores.postgres.engine import Engine

_READ = "SELECT rows, lost, lost_at, more FROM dibs.read_events($1, $2)"
_LAST = "SELECT seq, more FROM dibs.last_seq()"

_decode = msgspec.json.Decoder(list[tuple[int, int, list[Any]]]).decode


async def events(engine: Engine, after: int, limit: int) -> list[Event]:
    """Events with seq > after, at most `limit`; `gap` first if some of them are gone."""
    while True:
        row = await engine.row(_READ, after, limit)
        assert row is not None
        found: list[Event] = []
        start = after
        if row["lost"] is not None and after < row["lost"]:
            at = engine.now() if row["lost_at"] is None else row["lost_at"]
            found.append(Event(seq=row["lost"], type="gap", at=from_micros(at)))
            start = row["lost"]
        found.extend(unfold(_decode(row["rows"]), start, limit - len(found)))
        if len(found) >= limit or not row["more"]:
            return found


async def last_seq(engine: Engine) -> int:
    """The seq of the newest event; 0 if there is none."""
    while True:
        row = await engine.row(_LAST)
        assert row is not None
        if not row["more"]:
            return int(row["seq"])
