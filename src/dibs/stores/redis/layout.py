"""How records become hashes, and where a task is to be found.

A field that has its default is not written. Scalars are plain text, for people who look; what has parts is JSON, each
part of a collection a field of its own, after a letter that says which: steps, endings, inquiries, artifacts. What only
quick scripts have touched is kept otherwise: `short` says how.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from dibs.model.artifact import Artifact
from dibs.model.attempt import Attempt
from dibs.model.claim import Settled
from dibs.model.escalation import Escalation
from dibs.model.instants import from_micros, to_micros
from dibs.model.review import Review
from dibs.model.status import FINAL, Outcome, Status
from dibs.model.task import Task
from dibs.rules import questions, review
from dibs.stores.ledger.records import Ending, Inquiry, Record, time_over_at
from dibs.stores.specs import spec_of
from dibs.stores.values import Entry, LaneKey, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Fields = dict[bytes, bytes]

encode = msgspec.json.encode

_lane_key = msgspec.json.Decoder(LaneKey)
task_of = msgspec.json.Decoder(Task).decode


class Ended(Struct, array_like=True, gc=False):
    """An ended claim as it is kept. Scripts write the beginning of it."""

    number: int
    agent: str
    outcome: Outcome
    started_at: int | None
    ended_at: int
    digest: str = ""
    status: str | None = None
    """Of the answer to whoever settles it again; None: there is none."""
    retry_at: datetime | None = None
    model: str | None = None
    exit_code: int | None = None
    reason: str | None = None
    error: str | None = None
    fingerprint: str | None = None
    cost_usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    turns: int | None = None
    price: str | None = None


_ended = msgspec.json.Decoder(Ended)
_entry = msgspec.json.Decoder(tuple[int, Entry])
_inquiry = msgspec.json.Decoder(Inquiry)
_artifact = msgspec.json.Decoder(tuple[int, Artifact])
_texts = msgspec.json.Decoder(tuple[str, ...])
_usage = msgspec.json.Decoder(Usage)
_escalations = msgspec.json.Decoder(tuple[Escalation, ...])
_reviews = msgspec.json.Decoder(tuple[Review, ...])

_NO_USAGE = Usage()


def truth(value: bytes) -> bool:
    return value == b"1"


def text(value: bytes) -> str:
    return value.decode()


def _same(value: bytes) -> bytes:
    return value


def written(value: Any) -> bytes:
    if value is True:
        return b"1"
    return value if isinstance(value, bytes) else str(value).encode()


_SCALARS: dict[bytes, Callable[[bytes], Any]] = {
    b"number": int,
    b"payload": _same,
    b"expects": _same,
    b"context": _same,
    b"body_hash": text,
    b"dag_id": text,
    b"parent_id": text,
    b"depth": int,
    b"open_edges": int,
    b"logged": int,
    b"status": lambda value: Status(value.decode()),
    b"requested": truth,
    b"cause": text,
    b"cancel_reason": text,
    b"resolution": text,
    b"reviewed_at": int,
    b"overdue": truth,
    b"priority": float,
    b"weight": int,
    b"deadline": int,
    b"rank": float,
    b"parked_on": text,
    b"parked_since": int,
    b"step_at": int,
    b"run_after": int,
    b"retry_at": int,
    b"fence": int,
    b"agent": text,
    b"model": text,
    b"lease_s": float,
    b"lease_expires_at": int,
    b"timeout_s": float,
    b"timeout_at": int,
    b"confirmed": truth,
    b"suspect": truth,
    b"unwritten": truth,
    b"renewed_at": int,
    b"progress": float,
    b"note": text,
    b"attempts": int,
    b"crashes": int,
    b"releases": int,
    b"output": _same,
    b"output_sanitized": truth,
    b"decision": _same,
    b"error": text,
    b"reason": text,
    b"exit_code": int,
    b"poison_pill": truth,
    b"cost_usd": float,
    b"tokens_in": int,
    b"tokens_out": int,
    b"turns": int,
    b"created_at": int,
    b"ready_at": int,
    b"claimed_at": int,
    b"started_at": int,
    b"completed_at": int,
    b"cancelled_at": int,
    b"dead_lettered_at": int,
    b"updated_at": int,
}
DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(Record)}
_NAMES = [(name.decode(), name, DEFAULTS[name.decode()]) for name in _SCALARS]
"""The fields of a task that are one value each: in Python, in Redis, and by default."""

STEPS, ENDINGS, INQUIRIES, ARTIFACTS = b"j:", b"e:", b"q:", b"a:"


def task_fields(record: Record, lane: int) -> Fields:
    """A task as a hash; `lane` is the number of its lane."""
    fields: Fields = {}
    for name, key, default in _NAMES:
        value = getattr(record, name)
        if value is not None and value != default:
            fields[key] = written(value)
    fields[b"lane"] = b"%d" % lane
    fields[b"kind"] = kind_of(record.spec.project, record.spec.type)
    fields[b"spec"] = spec_of(record.spec, None).encode()
    if record.spec.escalations:
        fields[b"escalations"] = encode(record.spec.escalations)
    if record.spec.reviews:
        fields[b"reviews"] = encode(record.spec.reviews)
    if record.fallback_lane is not None:
        fields[b"fallback_lane"] = encode(record.fallback_lane)
    if record.depends_on:
        fields[b"depends_on"] = encode(record.depends_on)
    if record.usage != _NO_USAGE:
        fields[b"usage"] = encode(record.usage)
    for place, (line, entry) in enumerate(record.journal.items()):
        fields[STEPS + encode(line)] = encode((place, entry))
    for fence, ending in record.endings.items():
        fields[ENDINGS + b"%d" % fence] = encode(_ended_of(ending))
    for place, inquiry in enumerate(record.inquiries):
        fields[INQUIRIES + b"%d" % place] = encode(inquiry)
    for label, kept in record.artifacts.items():
        fields[ARTIFACTS + label.encode()] = encode(kept)
    return fields


def kind_of(project: str, type: str) -> bytes:
    """How tasks of a type are counted, but for their status: the beginning of a field of `counts`."""
    return encode((project, type))[:-1] + b","


def task_record(fields: Mapping[bytes, bytes], lanes: Callable[[int], LaneKey]) -> Record:
    """The task that a hash in full tells of."""
    spec = task_of(fields[b"spec"])
    values: dict[str, Any] = {}
    journal: list[tuple[int, tuple[str, str], Entry]] = []
    endings: dict[int, Ending] = {}
    inquiries: list[tuple[int, Inquiry]] = []
    artifacts: list[tuple[int, str, Artifact]] = []
    for key, value in fields.items():
        read = _SCALARS.get(key)
        if read is not None:
            values[key.decode()] = read(value)
        elif key[1:2] != b":":
            continue
        elif key[:2] == ENDINGS:
            fence = int(key[2:])
            endings[fence] = _ending_of(spec.id, fence, _ended.decode(value))
        elif key[:2] == STEPS:
            place, entry = _entry.decode(value)
            kind, label = _texts.decode(key[2:])
            journal.append((place, (kind, label), entry))
        elif key[:2] == INQUIRIES:
            inquiries.append((int(key[2:]), _inquiry.decode(value)))
        else:
            place, artifact = _artifact.decode(value)
            artifacts.append((place, key[2:].decode(), artifact))
    if b"escalations" in fields:
        spec.escalations = _escalations.decode(fields[b"escalations"])
    if b"reviews" in fields:
        spec.reviews = _reviews.decode(fields[b"reviews"])
    if b"depends_on" in fields:
        values["depends_on"] = _texts.decode(fields[b"depends_on"])
    if b"usage" in fields:
        values["usage"] = _usage.decode(fields[b"usage"])
    if b"fallback_lane" in fields:
        values["fallback_lane"] = _lane_key.decode(fields[b"fallback_lane"])
    if endings:
        values["endings"] = dict(sorted(endings.items()))
    if journal:
        values["journal"] = {name: entry for _, name, entry in sorted(journal, key=lambda line: line[0])}
    if inquiries:
        values["inquiries"] = [inquiry for _, inquiry in sorted(inquiries, key=lambda pair: pair[0])]
    if artifacts:
        values["artifacts"] = {name: (place, kept) for place, name, kept in sorted(artifacts, key=lambda put: put[0])}
    return Record(spec=spec, lane=lanes(int(fields[b"lane"])), **values)


def _ended_of(ending: Ending) -> Ended:
    attempt, settled = ending.attempt, ending.settled
    assert attempt.ended_at is not None
    return Ended(
        attempt.number,
        attempt.agent,
        attempt.outcome,
        None if attempt.started_at is None else to_micros(attempt.started_at),
        to_micros(attempt.ended_at),
        ending.digest,
        None if settled is None else settled.status,
        None if settled is None else settled.retry_at,
        attempt.model,
        attempt.exit_code,
        attempt.reason,
        attempt.error,
        attempt.fingerprint,
        attempt.cost_usd,
        attempt.tokens_in,
        attempt.tokens_out,
        attempt.turns,
        attempt.price,
    )


def _ending_of(task_id: str, fence: int, kept: Ended) -> Ending:
    attempt = Attempt(
        number=kept.number,
        fence=fence,
        agent=kept.agent,
        outcome=kept.outcome,
        model=kept.model,
        reason=kept.reason,
        error=kept.error,
        fingerprint=kept.fingerprint,
        exit_code=kept.exit_code,
        started_at=None if kept.started_at is None else from_micros(kept.started_at),
        ended_at=from_micros(kept.ended_at),
        cost_usd=kept.cost_usd,
        tokens_in=kept.tokens_in,
        tokens_out=kept.tokens_out,
        turns=kept.turns,
        price=kept.price,
    )
    settled = None
    if kept.status is not None:
        settled = Settled(
            task_id=task_id, fence=fence, outcome=kept.outcome, status=Status(kept.status), retry_at=kept.retry_at
        )
    return Ending(attempt, kept.digest, settled)


# Where a task is found


def member(record: Record, lane: int) -> bytes:
    """A task in a sorted set: equal scores are in the order of insertion."""
    return b"%015d:%d:%b" % (record.number, lane, record.id.encode())


def number_and_id(member: bytes) -> tuple[int, str]:
    """Which task this is."""
    return int(member[:15]), member[member.index(b":", 16) + 1 :].decode()


def lane_of(member: bytes) -> int:
    """The number of its lane."""
    return int(member[16 : member.index(b":", 16)])


def group(lane: int, key: str) -> str:
    """The order of those that wait under a coalesce key."""
    return f"group:{lane}:{key}"


def places(record: Record, lane: int) -> dict[str, float]:
    """The orders in which a task stands, and its score there."""
    found: dict[str, float] = {}
    status, number = record.status, record.number
    if status is Status.READY:
        found[f"ready:{lane}"] = record.ready_at or 0
        if record.parked_on is None:
            found[f"lane:{lane}"] = record.rank or 0.0
        if record.step_at is not None:
            found["steps"] = record.step_at
    elif status is Status.SCHEDULED and record.run_after is not None:
        found["due"] = record.run_after
    elif status is Status.RETRYING and record.retry_at is not None:
        found["due"] = record.retry_at
    elif record.held:
        at = time_over_at(record)
        if at is not None:
            found["leases"] = at
    elif status is Status.DEAD_LETTERED or status is Status.VALIDATING:
        found[status.value] = number
    if record.parked_since is not None:
        found["passed"] = record.parked_since
    if record.unwritten and record.lease_expires_at is not None:
        found["stopping"] = record.lease_expires_at
    if record.deadline is not None and not record.overdue and not record.final:
        found["deadlines"] = record.deadline
    if record.spec.coalesce_key is not None and status in (Status.READY, Status.SCHEDULED):
        found[group(lane, record.spec.coalesce_key)] = number
    if record.cause is not None:
        found[f"cause:{record.cause}"] = number
    if record.status in FINAL and (ended := _let_go_at(record)) is not None:
        found["ended"] = ended
    if any(inquiry.status == questions.OPEN for inquiry in record.inquiries):
        found["asking"] = number
    return found


def _let_go_at(record: Record) -> int | None:
    """Since when retention counts."""
    if record.status is Status.DEAD_LETTERED:
        return record.reviewed_at if review.lets_go(record.resolution) else None
    return record.ended_at
