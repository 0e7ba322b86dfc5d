"""Pauses, and what time opens: the gates that close whole lanes. Lanes remember them; a change makes everybody read
them again, and no task is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dibs.model.views import Lane
from dibs.rules import closing
from dibs.rules.access import at_home
from dibs.rules.closing import Pause
from dibs.stores import refusals
from dibs.stores.sqlite import allotting, breakers, providers
from dibs.stores.sqlite.jobs import UNKNOWN
from dibs.stores.sqlite.lanes import decode_key

if TYPE_CHECKING:
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.jobs import Unknown
    from dibs.stores.sqlite.lanes import Lanes

_FIELDS = "scope, name, since, until, reason, by"
_ONE = f"SELECT {_FIELDS} FROM pauses WHERE project = ? AND gate = ?"  # noqa: S608
_ALL = f"SELECT {_FIELDS} FROM pauses WHERE project = ? AND (until IS NULL OR until > ?) ORDER BY gate"  # noqa: S608
_PUT = "INSERT OR REPLACE INTO pauses VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_OVER = "SELECT project, gate, scope, name FROM pauses WHERE until <= ? ORDER BY project, gate"
_DROP = "DELETE FROM pauses WHERE project = ? AND gate = ?"


def pause(tx: Transaction, lanes: Lanes, project: str, wanted: Pause) -> Pause:
    """Close it; what is closed already keeps its beginning, and is told of only if something else changed."""
    tend_if_due(tx, lanes)
    lane = _lane(tx, project, wanted.name) if wanted.scope == "lane" else None
    found = tx.row(_ONE, (project, wanted.gate))
    known = None if found is None else _pause(found)
    closed = replace(wanted, since=tx.now if known is None else known.since)
    if closed != known:
        values = (closed.scope, closed.name, closed.since, closed.until, closed.reason, closed.by)
        tx.run(_PUT, (project, closed.gate, *values))
        data = closing.event_data(closed)
        _tell(tx, "gate.closed", project, closed.scope, closed.name, closed.reason, data)
        lanes.change(tx)
    return replace(closed, lane=lane)


def resume(tx: Transaction, lanes: Lanes, project: str, gate: str) -> bool:
    """Open it; whether it was closed."""
    tend_if_due(tx, lanes)
    found = tx.row(_ONE, (project, gate))
    if found is not None:
        _open(tx, project, gate, found[0], found[1], closing.RESUMED)
    elif not providers.resume(tx, project, gate):
        return False
    lanes.change(tx)
    return True


def pauses(tx: Transaction, project: str) -> list[Pause]:
    """What is paused now, by name."""
    found = [_pause(row) for row in tx.connection.execute(_ALL, (project, tx.now))]
    return [replace(pause, lane=_lane(tx, project, pause.name)) if pause.scope == "lane" else pause for pause in found]


def tend_if_due(tx: Transaction, lanes: Lanes) -> None:
    """Note what time opened, if it opened anything: whatever comes now comes after it."""
    lanes.current(tx)
    if lanes.is_due(tx.now):
        tend(tx, lanes)


def tend(tx: Transaction, lanes: Lanes) -> int:
    """Note what time opened, and free probes whose claim is gone. How many gates changed."""
    over = list(tx.connection.execute(_OVER, (tx.now,)))
    for project, gate, scope, name in over:
        _open(tx, project, gate, scope, name, closing.TIME)
    changed = len(over) + providers.tend(tx) + breakers.tend(tx) + allotting.roll(tx)
    if changed:
        lanes.change(tx)
    return changed


def tend_glance(tx: Transaction) -> int | Unknown:
    """0 while there is nothing to note."""
    if tx.row(_OVER, (tx.now,)) or allotting.anything_to_roll(tx):
        return UNKNOWN
    return UNKNOWN if providers.anything_to_tend(tx) or breakers.anything_to_tend(tx) else 0


def _open(tx: Transaction, project: str, gate: str, scope: str, name: str, reason: str) -> None:
    tx.run(_DROP, (project, gate))
    _tell(tx, "gate.opened", project, scope, name, reason, {"gate": gate})


def _tell(
    tx: Transaction, type: str, project: str, scope: str, name: str, reason: str | None, data: dict[str, str]
) -> None:
    agent = name if scope == "agent" else None
    tx.outbox.one(type, tx.now, None, None, agent=agent, reason=reason, data=at_home(data, project))


def _pause(row: tuple[object, ...]) -> Pause:
    scope, name, since, until, reason, by = row
    return Pause(scope=scope, name=name, since=since, until=until, reason=reason, by=by)  # type: ignore[arg-type]


def _lane(tx: Transaction, project: str, name: str) -> Lane:
    found = tx.row("SELECT key FROM lanes WHERE id = ? AND project = ?", (int(name), project))
    if found is None:
        raise refusals.no_lane(name)
    key = decode_key(found[0])
    return Lane(
        id=int(name),
        type=key.type,
        assignee=key.assignee,
        requires=key.requires,
        models=key.models,
        boost=key.boost,
        provider=key.provider,
    )
