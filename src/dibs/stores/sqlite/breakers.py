"""Circuit breakers: `rules.breaker` decides, this keeps the records and tells of changes.

Claims that settle look whether any breaker is troubled with a query they make anyway; completing costs nothing more
while none is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dibs.rules import breaker, closing
from dibs.rules.access import at_home
from dibs.rules.breaker import Override, Record, Verdict
from dibs.stores.sqlite.rows import encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.rules.breaker import Settings
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.lanes import Lanes

    Ending = tuple[tuple[str, str], tuple[str, int], Verdict]
    """Project and type, task and fence, and what it says."""

_ONE = "SELECT record FROM breakers WHERE project = ? AND type = ?"
_PUT = "INSERT OR REPLACE INTO breakers VALUES (?, ?, ?, ?, ?, ?)"
_SHUT = "SELECT project, type, record FROM breakers WHERE shut IS NOT NULL ORDER BY project, type"
_OF_PROJECT = "SELECT type, record FROM breakers WHERE project = ? ORDER BY type"
_SETTINGS = "SELECT type, override FROM breaker_settings WHERE project = ?"
_SET = "INSERT OR REPLACE INTO breaker_settings VALUES (?, ?, ?)"
_HELD = "SELECT 1 FROM tasks WHERE id = ? AND fence = ? AND status IN ('claimed', 'running')"
_TYPES = "SELECT t.id, t.project, t.type FROM json_each(?) AS j CROSS JOIN tasks AS t ON t.n = j.value"
_DUE = "SELECT 1 FROM breakers WHERE due_at <= ?"
_PROBING = "SELECT record FROM breakers WHERE shut = 'probing'"

_decode = msgspec.json.Decoder(Record).decode
_decode_override = msgspec.json.Decoder(Override).decode


def judge(tx: Transaction, lanes: Lanes, endings: Sequence[Ending], *, troubled: bool) -> None:
    """Let each ending count. Unless a breaker is troubled, that begins with a failure."""
    if not troubled and all(said is not Verdict.FAILURE for _, _, said in endings):
        return
    known: dict[tuple[str, str], tuple[Record, Settings]] = {}
    for name, claim, said in endings:
        if name not in known:
            known[name] = (_load(tx, name), _settings(tx, name))
        record, settings = known[name]
        after = breaker.ended(record, settings, said, claim, tx.now)
        if after is not record:
            _put(tx, lanes, name, record, after)
            known[name] = (after, settings)


def judge_completed(tx: Transaction, lanes: Lanes, claims: Sequence[tuple[int, int]]) -> None:
    """Tasks (number, fence) that simply completed, while some breaker is troubled."""
    found = tx.connection.execute(_TYPES, (encode([number for number, _ in claims]).decode(),))
    endings = [
        ((project, type), (id, fence), Verdict.SUCCESS)
        for (_, fence), (id, project, type) in zip(claims, list(found), strict=True)
    ]
    judge(tx, lanes, endings, troubled=True)


def take_probe(tx: Transaction, lanes: Lanes, number: int) -> None:
    """This task was just handed out by a half-open breaker: it is the probe."""
    project, type, id, fence = tx.row("SELECT project, type, id, fence FROM tasks WHERE n = ?", (number,))
    before = _load(tx, (project, type))
    _put(tx, lanes, (project, type), before, breaker.probed(before, (id, fence)))


def tend(tx: Transaction) -> int:
    """Open breakers whose time has come are half-open; probes that nobody holds any more are free. How many changed.
    The caller sees to it that lanes are read again."""
    changed = 0
    for project, type, text in list(tx.connection.execute(_SHUT)):
        before = _decode(text)
        after = breaker.due(before, tx.now)
        if after.probe is not None and not tx.row(_HELD, after.probe):
            after = breaker.freed(after)
        if after != before:
            _save(tx, (project, type), before, after)
            changed += 1
    return changed


def anything_to_tend(tx: Transaction) -> bool:
    """Whether `tend` would change something."""
    if tx.row(_DUE, (tx.now,)):
        return True
    probes = [_decode(text).probe for (text,) in tx.connection.execute(_PROBING)]
    return any(probe is not None and not tx.row(_HELD, probe) for probe in probes)


def set_breaker(tx: Transaction, lanes: Lanes, project: str, type: str, override: Override) -> None:
    """What holds for a type from now on. Switched off, it is closed."""
    overrides = _overrides(tx, project)
    overrides[type] = breaker.merged(overrides.get(type), override)
    tx.run(_SET, (project, type, encode(overrides[type]).decode()))
    for name, text in list(tx.connection.execute(_OF_PROJECT, (project,))):
        if type != name and (type != breaker.EVERY or name in overrides):
            continue
        before = _decode(text)
        holds = breaker.settings_of(overrides.get(name), overrides.get(breaker.EVERY))
        after = breaker.retimed(before, holds) if holds.enabled else breaker.closed(before)
        if after != before:
            _put(tx, lanes, (project, name), before, after)


def steer_breaker(tx: Transaction, lanes: Lanes, project: str, type: str, to: str, reason: str | None) -> None:
    """Open or close it by hand, or reset it: closed, and nothing known or set."""
    name = (project, type)
    before = _load(tx, name)
    after = breaker.opened(before, _settings(tx, name), tx.now, reason) if to == "open" else breaker.closed(before)
    if after != before:
        _put(tx, lanes, name, before, after)
    if to == "reset":
        tx.run("DELETE FROM breakers WHERE project = ? AND type = ?", name)
        tx.run("DELETE FROM breaker_settings WHERE project = ? AND type = ?", name)


def breakers(tx: Transaction, project: str) -> tuple[dict[str, Override], dict[str, Record]]:
    """What was set, and what is remembered, by type; as of now."""
    records = {
        type: breaker.due(_decode(text), tx.now) for type, text in tx.connection.execute(_OF_PROJECT, (project,))
    }
    return _overrides(tx, project), records


def _load(tx: Transaction, name: tuple[str, str]) -> Record:
    found = tx.row(_ONE, name)
    return breaker.HEALTHY if found is None else _decode(found[0])


def _overrides(tx: Transaction, project: str) -> dict[str, Override]:
    return {type: _decode_override(text) for type, text in tx.connection.execute(_SETTINGS, (project,))}


def _settings(tx: Transaction, name: tuple[str, str]) -> Settings:
    overrides = _overrides(tx, name[0])
    return breaker.settings_of(overrides.get(name[1]), overrides.get(breaker.EVERY))


def _put(tx: Transaction, lanes: Lanes, name: tuple[str, str], before: Record, after: Record) -> None:
    """Keep the record; if that opens or closes lanes, everybody reads them again."""
    _save(tx, name, before, after)
    if (closing.why_shut(before), before.due_at) != (closing.why_shut(after), after.due_at):
        lanes.change(tx)


def _save(tx: Transaction, name: tuple[str, str], before: Record, after: Record) -> None:
    """Keep the record, and tell of a new state."""
    values: tuple[Any, ...] = (closing.why_shut(after), after.due_at, int(after.is_troubled))
    tx.run(_PUT, (*name, encode(after).decode(), *values))
    event = breaker.event_between(before, after)
    if event is not None:
        data = at_home(breaker.event_data(name[1], after), name[0])
        tx.outbox.one(event, tx.now, None, None, reason=after.reason, data=data)
