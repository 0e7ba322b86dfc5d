"""A task's journal: steps and spawns that are never done twice, the last checkpoint, log lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dibs.stores import refusals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State
    from dibs.stores.values import Entry

MAX_LOG_LINES = 1000


def write_journal(state: State, task_id: str, fence: int, entries: Sequence[Entry]) -> list[Entry]:
    """Write entries under a held fence; what is now recorded for each. All or nothing."""
    record = state.get(task_id)
    if not record.held_under(fence):
        raise refusals.lease_lost(task_id, fence)
    if record.over_timeout(state.now):
        raise refusals.over_timeout(task_id, fence, record.timeout_s)
    _check(record, entries)
    record.confirmed = True
    state.changed = True
    return [replace(write(record, entry)) for entry in entries]


def _check(record: Record, entries: Sequence[Entry]) -> None:
    """What was done once under a name cannot be something else later."""
    digests = {key: entry.digest for key, entry in record.journal.items()}
    for entry in entries:
        if entry.kind in ("step", "spawn"):
            first = digests.setdefault((entry.kind, entry.name), entry.digest)
            if first != entry.digest:
                raise refusals.journal_mismatch(entry.kind, entry.name, record.id)


def write(record: Record, entry: Entry) -> Entry:
    """Write one entry; what is now recorded."""
    kept = replace(entry, value=bytes(entry.value))
    if entry.kind in ("checkpoint", "made"):
        record.journal[entry.kind, ""] = kept
    elif entry.kind == "log":
        record.logged += 1
        record.journal[entry.kind, str(record.logged)] = kept
        # Lines leave in the order they came, so the one that is too old has a known number.
        record.journal.pop((entry.kind, str(record.logged - MAX_LOG_LINES)), None)
    else:
        return record.journal.setdefault((entry.kind, entry.name), kept)
    return kept


def read_journal(state: State, task_id: str) -> list[Entry]:
    """All entries, in the order they were first written."""
    return [replace(entry) for entry in state.get(task_id).journal.values()]


def drop_steps(record: Record) -> None:
    """Forget steps, spawns, questions and what was made: the next attempt does everything again."""
    for inquiry in record.inquiries:
        inquiry.name = None
    for key in [key for key in record.journal if key[0] in ("step", "spawn", "made")]:
        del record.journal[key]
