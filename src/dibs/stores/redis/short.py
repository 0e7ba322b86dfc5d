"""Tasks that only quick scripts have touched: a few fields stand for many.

Each field costs the server, and its log, nearly a microsecond whenever it is written. Whoever else changes such a task,
or makes anything hang on it, an edge or the row of a dag, writes it in full, as `layout` says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from dibs.model.ids import dag_of
from dibs.model.status import Outcome, Status
from dibs.stores.redis.layout import DEFAULTS, ENDINGS, Ended, encode, task_of, written

if TYPE_CHECKING:
    from dibs.stores.redis.layout import Fields


class New(Struct, array_like=True, gc=False):
    """What `add.lua` says of a task in one field."""

    number: int
    lane: str
    at: int
    rank: str
    kind: str


class _Claim(Struct, array_like=True, gc=False):
    """What `claim.lua` and `renew.lua` do."""

    status: str
    fence: int
    agent: str
    lease_s: str
    ends_at: int
    at: int
    timeout_at: int | bool
    model: str
    renewed_at: int | None = None


class _End(Struct, array_like=True, gc=False):
    """And `settle.lua`."""

    at: int
    digest: str


new_of = msgspec.msgpack.Decoder(New).decode
_claim_of = msgspec.msgpack.Decoder(_Claim).decode
_end_of = msgspec.msgpack.Decoder(_End).decode

SHORT = (b"new", b"also", b"claim", b"end")
"""Fields that stand for many, of tasks that only quick scripts have touched. Each field costs the server, and its log,
nearly a microsecond whenever it is written."""


def also_of(packed: bytes) -> Fields:
    """The fields of a task that are not as usual, and that others of its kind have, too."""
    parts = [part.encode() for part in msgspec.msgpack.decode(packed, type=list[str])]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def in_full(fields: Fields) -> Fields:
    """A hash with nothing in short."""
    if b"new" not in fields:
        return fields
    full = {name: value for name, value in fields.items() if name not in SHORT}
    added = new_of(fields[b"new"])
    at = b"%d" % added.at
    full |= {
        b"number": b"%d" % added.number,
        b"lane": added.lane.encode(),
        b"kind": added.kind.encode(),
        b"rank": written(float(added.rank)),
        b"status": b"ready",
        b"dag_id": dag_of(task_of(fields[b"spec"]).id).encode(),
        b"created_at": at,
        b"ready_at": at,
        b"updated_at": at,
    }
    if b"also" in fields:
        full |= also_of(fields[b"also"])
    if b"claim" in fields:
        _write_claim(full, _claim_of(fields[b"claim"]))
        if b"end" in fields:
            _write_end(full, _end_of(fields[b"end"]))
    return full


HOLDING = (b"kind", b"agent", b"new", b"claim")
"""The fields that tell who holds a task."""


def holding(values: list[bytes | None]) -> tuple[str, str | None]:
    """The project of a task, and who holds it; from these fields."""
    kind, agent, added, claim = values
    if added is not None:
        kind = new_of(added).kind.encode()
        agent = None if claim is None else _claim_of(claim).agent.encode()
    project, _ = msgspec.json.decode((kind or b"")[:-1] + b"]", type=tuple[str, str])
    return project, None if agent is None else agent.decode()


def _write_claim(full: Fields, claim: _Claim) -> None:
    at = b"%d" % claim.at
    full |= {
        b"status": claim.status.encode(),
        b"fence": b"%d" % claim.fence,
        b"agent": claim.agent.encode(),
        b"lease_expires_at": b"%d" % claim.ends_at,
        b"claimed_at": at,
        b"updated_at": at,
    }
    lease_s = float(claim.lease_s)
    if lease_s != DEFAULTS["lease_s"]:
        full[b"lease_s"] = written(lease_s)
    if claim.status == Status.RUNNING:
        full[b"started_at"] = at
    if claim.timeout_at:
        full[b"timeout_at"] = b"%d" % claim.timeout_at
    if claim.model:
        full[b"model"] = claim.model.encode()
    if claim.renewed_at is not None:
        full[b"renewed_at"] = full[b"updated_at"] = b"%d" % claim.renewed_at
        if claim.status == Status.RUNNING:
            full[b"confirmed"] = b"1"


def _write_end(full: Fields, end: _End) -> None:
    at = b"%d" % end.at
    started_at, model = full.get(b"started_at"), full.get(b"model")
    ended = Ended(
        1,
        full[b"agent"].decode(),
        Outcome.COMPLETED,
        None if started_at is None else int(started_at),
        end.at,
        end.digest,
        Status.COMPLETED,
        None,
        None if model is None else model.decode(),
    )
    full |= {b"status": b"completed", b"attempts": b"1", b"completed_at": at, b"updated_at": at}
    full[ENDINGS + full[b"fence"]] = encode(ended)
    for name in (b"lease_expires_at", b"timeout_at", b"confirmed"):
        full.pop(name, None)
