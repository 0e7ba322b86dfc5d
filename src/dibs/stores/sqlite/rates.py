"""Rates of types: buckets, and when each will be full. Lanes remember which types have one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules import rates as rules
from dibs.rules.rates import Rate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.model.views import TypeRate
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.lanes import Lanes

_ALL = "SELECT type, amount, per_s, burst, full_at FROM rates WHERE project = ? ORDER BY type"
_PUT = "INSERT OR REPLACE INTO rates (project, type, amount, per_s, burst, full_at) VALUES (?, ?, ?, ?, ?, ?)"
_DROP = "DELETE FROM rates WHERE project = ? AND type = ?"
_MOVE = "UPDATE rates SET full_at = ?3 WHERE project = ?1 AND type = ?2"


def left(tx: Transaction, project: str) -> dict[str, int]:
    """How many tokens each type that has a rate has left."""
    return {type: rules.tokens(*known, tx.now) for type, known in _known(tx, project).items()}


def take(tx: Transaction, project: str, types: Iterable[str]) -> None:
    """Tasks of these types were handed out."""
    known = _known(tx, project)
    counts: dict[str, int] = {}
    for type in types:
        if type in known:
            counts[type] = counts.get(type, 0) + 1
    for type, count in counts.items():
        tx.run(_MOVE, (project, type, rules.taken(*known[type], tx.now, count)))


def opens_at(tx: Transaction, project: str, types: Iterable[str]) -> list[int]:
    """When those of these types that have no token have one."""
    known = _known(tx, project)
    found = [known[type] for type in dict.fromkeys(types) if type in known]
    return [rules.opens_at(*each) for each in found if not rules.tokens(*each, tx.now)]


def set_rate(tx: Transaction, lanes: Lanes, project: str, type: str, rate: Rate | None) -> TypeRate | None:
    """How many may be handed out in a time; None: any number."""
    lanes.change(tx)
    if rate is None:
        tx.run(_DROP, (project, type))
        return None
    before = _known(tx, project).get(type)
    full_at = tx.now if before is None else rules.changed(rate, before[1], tx.now)
    tx.run(_PUT, (project, type, rate.amount, rate.per_s, rate.burst, full_at))
    return rules.shown(type, rate, full_at, tx.now)


def rates(tx: Transaction, project: str) -> list[TypeRate]:
    """The types that have a rate, by name."""
    return [rules.shown(type, *known, tx.now) for type, known in _known(tx, project).items()]


def _known(tx: Transaction, project: str) -> dict[str, tuple[Rate, int]]:
    return {
        type: (Rate(amount, per_s, burst), full_at)
        for type, amount, per_s, burst, full_at in tx.connection.execute(_ALL, (project,))
    }
