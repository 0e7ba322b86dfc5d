"""The gates of providers: `rules.providers` decides, this keeps the records and tells of changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dibs.model.status import Outcome
from dibs.rules import closing, providers
from dibs.rules.access import at_home

if TYPE_CHECKING:
    from dibs.rules.providers import Backoff
    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State
    from dibs.stores.values import LaneKey, Settlement


def note_ending(state: State, record: Record, settlement: Settlement) -> None:
    """A claim was settled: remember what that says about its provider until the whole batch is."""
    if settlement.limited is not None or settlement.outcome is Outcome.COMPLETED:
        state.replies.append(((record.spec.project, gate_of(record)), settlement.limited))


def judge(state: State) -> None:
    """Let each ending count."""
    for name, limited in state.replies:
        before = state.backoffs.get(name)
        if limited is not None:
            _put(state, name, providers.turned_away(before, limited, state.now))
        elif before is not None:
            _put(state, name, providers.succeeded(before, state.now))
    state.replies.clear()


def tend(state: State) -> int:
    """Note which gates have opened, and forget those that did so long ago. How many opened."""
    opened = 0
    for name, record in sorted(state.backoffs.items()):
        if record.shut and record.until <= state.now:
            _open(state, name)
            state.backoffs[name] = replace(record, shut=False)
            opened += 1
        if providers.is_forgotten(record, state.now):
            del state.backoffs[name]
    return opened


def resume(state: State, name: tuple[str, str]) -> bool:
    """Open it and forget its limits; whether it was closed."""
    record = state.backoffs.get(name)
    if record is None or not record.shut:
        return False
    del state.backoffs[name]
    state.emit("gate.opened", reason=closing.RESUMED, data=at_home(providers.event_data(name[1], None), name[0]))
    return True


def backoffs(state: State, project: str) -> dict[str, Backoff]:
    """What is closed now."""
    return {
        gate: record
        for (home, gate), record in sorted(state.backoffs.items())
        if home == project and record.until > state.now
    }


def closed_until(state: State, record: Record) -> int | None:
    """Until when the gate of a held task is closed."""
    known = state.backoffs.get((record.spec.project, gate_of(record)))
    return None if known is None else known.until


def gate_of(record: Record) -> str:
    """The gate of the attempt under way."""
    return providers.gate_of(record.lane.provider, record.model, record.spec.type)


def open_models(state: State, lane: LaneKey) -> tuple[str, ...]:
    """Those of a lane's models that may be chosen now."""
    closed = {
        gate: record.until for (home, gate), record in state.backoffs.items() if home == lane.project and record.shut
    }
    return providers.open_models(closed, provider=lane.provider, models=lane.models, type=lane.type)


def _put(state: State, name: tuple[str, str], after: Backoff | None) -> None:
    """Keep the record if it is another one, and tell of what changed."""
    before = state.backoffs.get(name)
    if after is before:
        return
    state.changed = True
    if before is not None and before.shut and before.until <= state.now:
        _open(state, name)
    if after is None:
        del state.backoffs[name]
        return
    state.backoffs[name] = after
    state.emit("gate.closed", reason=providers.REASON, data=at_home(providers.event_data(name[1], after), name[0]))


def _open(state: State, name: tuple[str, str]) -> None:
    state.emit("gate.opened", reason=closing.TIME, data=at_home(providers.event_data(name[1], None), name[0]))
