"""Adding many standalone tasks that are ready at once: two COPYs, whose rows the server takes in while more are sent.

No lock is held that anybody waits for: only the shared one of floors, which a claimer who raises them gives up on.
"""

from __future__ import annotations

from struct import Struct, calcsize
from typing import TYPE_CHECKING

from dibs.rules import priority

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from dibs.stores.postgres.engine import Engine
    from dibs.stores.postgres.pool import Connection
    from dibs.stores.values import Draft, LaneKey

FEWEST = 100
"""Below this the round trips cost more than the rows."""

_BEGIN = "SELECT * FROM dibs.begin_copy($1, $2, $3)"
_END = "SELECT dibs.end_copy($1, $2, $3, $4, $5)"
_SPECS = (
    "n",
    "id",
    "spec",
    "created_at",
    "timeout_s",
    "max_attempts",
    "fallback_lane",
    "project",
    "type",
    "user",
    "on_deadline",
)
_WORK = (
    "n",
    "bytes",
    "rank",
    "priority",
    "boost",
    "updated_at",
    "ready_at",
    "lane",
    "weight",
    "solo",
    "timeout_s",
    "status",
)
_CHUNK = 64 * 1024

# PostgreSQL's binary format: a row is the number of its columns, and each column its length and its bytes.
_HEADER = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_TRAILER = b"\xff\xff"
_begin_spec = Struct(">hiqi").pack
_begin_work = Struct(">hiqii").pack
_length = Struct(">i").pack
_pack = {kind: Struct(f">i{kind}").pack for kind in "hiqd?"}
_NOTHING = _length(-1)


def fits(drafts: Sequence[Draft], framed: Sequence[Draft]) -> bool:
    """Whether it is worth it, and all of these are ready at once, with a rank that does not depend on a deadline."""
    return len(drafts) >= FEWEST and all(
        draft.task.deadline is None and draft.task.run_after is None for draft in framed
    )


async def copy(
    engine: Engine,
    version: int,
    drafts: Sequence[Draft],
    specs: Sequence[str],
    places: Sequence[int],
    framed: Sequence[Draft],
    numbers: Mapping[LaneKey, int],
) -> int | None:
    """Add them in one transaction; now, or None if lanes changed meanwhile."""
    ids = [draft.task.id for draft in drafts]
    items = '"' + '","'.join(ids) + '"'

    async def work(connection: Connection) -> int | None:
        async with connection.transaction():
            [(now, taken)] = await connection.fetch(engine.text(_BEGIN), engine.at, version, len(drafts))
            if now is None:
                return None
            await _copy(
                connection, engine.schema, "specs", _SPECS, _spec_rows(taken, ids, specs, places, framed, numbers, now)
            )
            ranks = [priority.rank(draft.task.priority, draft.lane.boost, now, draft.weight, 0) for draft in framed]
            await _copy(
                connection, engine.schema, "work", _WORK, _work_rows(taken, drafts, places, framed, numbers, ranks, now)
            )
            lanes = [numbers[draft.lane] for draft in framed]
            await connection.fetch(engine.text(_END), now, lanes, ranks, len(drafts), items)
            return int(now)

    return await engine.together(work)


async def _copy(connection: Connection, schema: str, table: str, columns: Sequence[str], rows: list[bytes]) -> None:
    data = b"".join((_HEADER, *rows, _TRAILER))

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(data), _CHUNK):
            yield data[start : start + _CHUNK]

    await connection.copy_to_table(table, schema_name=schema, columns=columns, source=chunks(), format="binary")


def _spec_rows(
    taken: Sequence[int],
    ids: Sequence[str],
    specs: Sequence[str],
    places: Sequence[int],
    framed: Sequence[Draft],
    numbers: Mapping[LaneKey, int],
    now: int,
) -> list[bytes]:
    tails = []
    for draft in framed:
        task = draft.task
        fallback = None if draft.fallback_lane is None else numbers[draft.fallback_lane]
        tails.append(
            _column("q", now)
            + _column("d", task.timeout)
            + _column("i", task.max_attempts)
            + _column("i", fallback)
            + b"".join(map(_text, (task.project, task.type, task.user, task.on_deadline)))
        )
    width = len(_SPECS)
    rows = []
    for n, id, spec, place in zip(taken, ids, specs, places, strict=True):
        name, body = id.encode(), spec.encode()
        rows.append(_begin_spec(width, 8, n, len(name)) + name + _length(len(body)) + body + tails[place - 1])
    return rows


def _work_rows(
    taken: Sequence[int],
    drafts: Sequence[Draft],
    places: Sequence[int],
    framed: Sequence[Draft],
    numbers: Mapping[LaneKey, int],
    ranks: Sequence[float],
    now: int,
) -> list[bytes]:
    tails = [
        _column("d", rank)
        + _column("d", draft.task.priority)
        + _column("d", draft.lane.boost)
        + _column("q", now) * 2
        + _column("i", numbers[draft.lane])
        + _column("h", draft.weight)
        + _column("?", draft.task.max_attempts == 1)
        + _column("d", draft.task.timeout)
        + _text("ready")
        for draft, rank in zip(framed, ranks, strict=True)
    ]
    width = len(_WORK)
    return [
        _begin_work(width, 8, n, 4, len(draft.payload)) + tails[place - 1]
        for n, draft, place in zip(taken, drafts, places, strict=True)
    ]


def _column(kind: str, value: float | None) -> bytes:
    """A number, of a kind that `struct` knows."""
    return _NOTHING if value is None else _pack[kind](calcsize(f">{kind}"), value)


def _text(value: str | None) -> bytes:
    if value is None:
        return _NOTHING
    data = value.encode()
    return _length(len(data)) + data
