"""How dags, locks and budgets become hashes: scalars as in `layout`, and a field for each member of a collection."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from dibs.model.status import DagStatus, Status
from dibs.rules.windows import Window
from dibs.stores.ledger.records import BudgetRecord, DagRecord, LockRecord
from dibs.stores.redis.layout import encode, text, truth, written

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dibs.stores.redis.layout import Fields

_window = msgspec.json.Decoder(Window)


def _scalars(values: Mapping[str, Any]) -> Fields:
    return {name.encode(): written(value) for name, value in values.items() if value is not None and value is not False}


def dag_fields(dag: DagRecord) -> Fields:
    fields = _scalars(
        {
            name: getattr(dag, name)
            for name in ("id", "project", "title", "key", "body_hash", "on_failure", "user", "created_by")
        }
    )
    fields |= _scalars(
        {name: getattr(dag, name) for name in ("closed", "started", "cause", "cancel_reason", "created_at")}
    )
    fields |= _scalars({"started_at": dag.started_at, "ended_at": dag.ended_at, "status": dag.status.value})
    if dag.drafted:
        fields[b"drafted"] = encode(dag.drafted)
    for (status, requested), count in dag.tally.items():
        if count:
            fields[b"c:%d:%b" % (requested, status.value.encode())] = b"%d" % count
    return fields


_DAG: dict[bytes, Callable[[bytes], Any]] = {
    b"id": text,
    b"project": text,
    b"title": text,
    b"key": text,
    b"body_hash": text,
    b"on_failure": text,
    b"user": text,
    b"created_by": text,
    b"closed": truth,
    b"started": truth,
    b"cause": text,
    b"cancel_reason": text,
    b"created_at": int,
    b"started_at": int,
    b"ended_at": int,
    b"status": lambda value: DagStatus(value.decode()),
    b"drafted": msgspec.json.Decoder(list[str]).decode,
}


def dag_record(fields: Mapping[bytes, bytes]) -> DagRecord:
    tally: Counter[tuple[Status, bool]] = Counter()
    values: dict[str, Any] = {}
    for key, value in fields.items():
        if key[:2] == b"c:":
            tally[Status(key[4:].decode()), key[2:3] == b"1"] = int(value)
        else:
            values[key.decode()] = _DAG[key](value)
    return DagRecord(tally=tally, **values)


def lock_fields(lock: LockRecord) -> Fields:
    fields = _scalars({"slots": lock.slots, "reserved_for": lock.reserved_for})
    fields |= _pairs(b"h", lock.holders)
    fields |= {b"p:%d" % number: b"%d" % place for place, number in enumerate(lock.parked)}
    return fields


def lock_record(fields: Mapping[bytes, bytes]) -> LockRecord:
    return LockRecord(
        slots=int(fields[b"slots"]),
        reserved_for=_number(fields, b"reserved_for"),
        holders=dict.fromkeys(_claims(fields, b"h")),
        parked=_parked(fields),
    )


def budget_fields(budget: BudgetRecord) -> Fields:
    names = ("limit", "default_reserve", "ends_at", "spent", "unpriced", "saved_for", "offered")
    fields = _scalars({name: getattr(budget, name) for name in names})
    if budget.window is not None:
        fields[b"window"] = encode(budget.window)
    fields |= _pairs(b"r", budget.reserved)
    fields |= _pairs(b"x", budget.earlier)
    fields |= {b"p:%d" % number: b"%d" % place for place, number in enumerate(budget.parked)}
    return fields


def budget_record(fields: Mapping[bytes, bytes]) -> BudgetRecord:
    window = fields.get(b"window")
    return BudgetRecord(
        limit=int(fields[b"limit"]),
        default_reserve=int(fields.get(b"default_reserve", 0)),
        window=None if window is None else _window.decode(window),
        ends_at=_number(fields, b"ends_at"),
        spent=int(fields.get(b"spent", 0)),
        unpriced=int(fields.get(b"unpriced", 0)),
        reserved=_claims(fields, b"r"),
        parked=_parked(fields),
        earlier=_claims(fields, b"x"),
        saved_for=_number(fields, b"saved_for"),
        offered=int(fields.get(b"offered", 0)),
    )


def _number(fields: Mapping[bytes, bytes], name: bytes) -> int | None:
    value = fields.get(name)
    return None if value is None else int(value)


def _pairs(kind: bytes, claims: Mapping[tuple[int, int], int | None]) -> Fields:
    """What is kept for claims, by task number and fence."""
    return {b"%b:%d:%d" % (kind, number, fence): b"%d" % (amount or 0) for (number, fence), amount in claims.items()}


def _claims(fields: Mapping[bytes, bytes], kind: bytes) -> dict[tuple[int, int], int]:
    found = {}
    for key, value in fields.items():
        if key[:2] == kind + b":":
            _, number, fence = key.split(b":")
            found[int(number), int(fence)] = int(value)
    return dict(sorted(found.items()))


def _parked(fields: Mapping[bytes, bytes]) -> dict[int, None]:
    found = sorted((int(value), int(key[2:])) for key, value in fields.items() if key[:2] == b"p:")
    return {number: None for _, number in found}
