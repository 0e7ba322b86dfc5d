"""The gates of providers: `rules.providers` decides, this keeps the records and tells of changes.

Claims that settle look whether any record is kept with a query they make anyway; completing costs nothing more while
there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.model.status import Outcome
from dibs.rules import closing, providers
from dibs.rules.access import at_home
from dibs.rules.providers import Backoff
from dibs.stores.sqlite.rows import encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.model.attempt import Limited
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.lanes import Lanes
    from dibs.stores.sqlite.rows import Row
    from dibs.stores.values import Settlement

    Name = tuple[str, str]
    """Project and gate."""

_ONE = "SELECT limits, since, until, shut FROM backoffs WHERE project = ? AND gate = ?"
_CLOSED = "SELECT gate, limits, since, until, shut FROM backoffs WHERE project = ? AND until > ? ORDER BY gate"
_ANY_CLOSED = "SELECT project, gate, until FROM backoffs WHERE until > ?"
_PUT = "INSERT OR REPLACE INTO backoffs VALUES (?, ?, ?, ?, ?, ?)"
_DROP = "DELETE FROM backoffs WHERE project = ? AND gate = ?"
_OVER = "SELECT project, gate, limits, since, until, shut FROM backoffs WHERE until <= ? ORDER BY project, gate"
_ASKED = "SELECT t.project, t.lane, t.model, t.type FROM json_each(?) AS j CROSS JOIN tasks AS t ON t.n = j.value"


def judge(tx: Transaction, lanes: Lanes, ended: Iterable[tuple[Row, Settlement, int]], *, remembered: bool) -> None:
    """Let each ending count, with the lane it was claimed from. Unless something is remembered, that begins with a
    limit."""
    told = [
        (row, lane, settlement.limited)
        for row, settlement, lane in ended
        if settlement.limited is not None or settlement.outcome is Outcome.COMPLETED
    ]
    if remembered or any(limited is not None for *_, limited in told):
        lanes.current(tx)
        names = [(row.project, _gate(lanes, lane, row.model, row.type)) for row, lane, _ in told]
        _count(tx, lanes, list(zip(names, (limited for *_, limited in told), strict=True)))


def judge_completed(tx: Transaction, lanes: Lanes, numbers: Sequence[int]) -> None:
    """Tasks that simply completed, while something is remembered."""
    lanes.current(tx)
    asked = list(tx.connection.execute(_ASKED, (encode(numbers).decode(),)))
    _count(tx, lanes, [((project, _gate(lanes, *attempt)), None) for project, *attempt in asked])


def tend(tx: Transaction) -> int:
    """Note which gates have opened, and forget those that did so long ago. How many opened. The caller sees to it that
    lanes are read again."""
    opened = 0
    for project, gate, *values in list(tx.connection.execute(_OVER, (tx.now,))):
        record = _backoff(values)
        if record.shut:
            _tell_opened(tx, (project, gate))
            opened += 1
        if providers.is_forgotten(record, tx.now):
            tx.run(_DROP, (project, gate))
        elif record.shut:
            tx.run(_PUT, (project, gate, record.limits, record.since, record.until, 0))
    return opened


def anything_to_tend(tx: Transaction) -> bool:
    """Whether `tend` would change something."""
    over = [_backoff(values) for _, _, *values in tx.connection.execute(_OVER, (tx.now,))]
    return any(record.shut or providers.is_forgotten(record, tx.now) for record in over)


def resume(tx: Transaction, project: str, gate: str) -> bool:
    """Open it and forget its limits; whether it was closed. The caller sees to it that lanes are read again."""
    found = tx.row(_ONE, (project, gate))
    if found is None or not _backoff(found).shut:
        return False
    tx.run(_DROP, (project, gate))
    _tell_opened(tx, (project, gate), closing.RESUMED)
    return True


def backoffs(tx: Transaction, project: str) -> dict[str, Backoff]:
    """What is closed now."""
    return {gate: _backoff(values) for gate, *values in tx.connection.execute(_CLOSED, (project, tx.now))}


def slow_downs(tx: Transaction, lanes: Lanes, rows: Sequence[Row]) -> list[float | None]:
    """What the holders of these tasks are told; usually nothing."""
    closed = {(project, gate): until for project, gate, until in tx.connection.execute(_ANY_CLOSED, (tx.now,))}
    if not closed:
        return [None] * len(rows)
    lanes.current(tx)
    return [providers.slow_down_s(closed.get(_name(lanes, row)), tx.now) for row in rows]


def _count(tx: Transaction, lanes: Lanes, told: Sequence[tuple[Name, Limited | None]]) -> None:
    known: dict[Name, Backoff | None] = {}
    for name, limited in told:
        if name not in known:
            found = tx.row(_ONE, name)
            known[name] = None if found is None else _backoff(found)
        before = known[name]
        if limited is not None:
            after: Backoff | None = providers.turned_away(before, limited, tx.now)
        else:
            after = None if before is None else providers.succeeded(before, tx.now)
        if after is not before:
            _put(tx, lanes, name, before, after)
            known[name] = after


def _put(tx: Transaction, lanes: Lanes, name: Name, before: Backoff | None, after: Backoff | None) -> None:
    """Keep the record, and tell of what changed; if that opens or closes lanes, everybody reads them again."""
    if before is not None and before.shut and before.until <= tx.now:
        _tell_opened(tx, name)
    if after is None:
        tx.run(_DROP, name)
    else:
        tx.run(_PUT, (*name, after.limits, after.since, after.until, int(after.shut)))
        data = at_home(providers.event_data(name[1], after), name[0])
        tx.outbox.one("gate.closed", tx.now, None, None, reason=providers.REASON, data=data)
    if after is not None or (before is not None and before.shut):
        lanes.change(tx)


def _tell_opened(tx: Transaction, name: Name, reason: str = closing.TIME) -> None:
    data = at_home(providers.event_data(name[1], None), name[0])
    tx.outbox.one("gate.opened", tx.now, None, None, reason=reason, data=data)


def _name(lanes: Lanes, row: Row) -> Name:
    return row.project, _gate(lanes, row.lane, row.model, row.type)


def _gate(lanes: Lanes, lane: int, model: str | None, type: str) -> str:
    """The gate of an attempt."""
    return providers.gate_of(lanes.keys[lane].provider, model, type)


def _backoff(values: Sequence[Any]) -> Backoff:
    limits, since, until, shut = values
    return Backoff(limits=limits, since=since, until=until, shut=bool(shut))
