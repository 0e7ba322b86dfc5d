"""Circuit breakers: `rules.breaker` decides, this keeps the records and tells of changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules import breaker
from dibs.rules.access import at_home

if TYPE_CHECKING:
    from dibs.rules.breaker import Override, Record, Settings
    from dibs.stores.ledger.records import Record as TaskRecord
    from dibs.stores.ledger.state import State
    from dibs.stores.values import Settlement


def note_ending(state: State, task: TaskRecord, settlement: Settlement) -> None:
    """A claim was settled: remember what that says about its type until the whole batch is."""
    said = breaker.verdict(
        settlement.outcome,
        settlement.reason,
        counts_attempt=settlement.counts_attempt,
        together=settlement.together,
    )
    state.endings.append(((task.spec.project, task.spec.type), (task.id, settlement.fence), said))


def judge(state: State) -> None:
    """Let each ending count."""
    for name, claim, said in state.endings:
        record = state.breakers.get(name, breaker.HEALTHY)
        _put(state, name, breaker.ended(record, settings(state, name), said, claim, state.now))
    state.endings.clear()


def take_probe(state: State, task: TaskRecord) -> None:
    """This task was just handed out; if its breaker waits for a probe, it is the one."""
    name = (task.spec.project, task.spec.type)
    record = state.breakers.get(name)
    if record is not None and record.state is breaker.State.HALF_OPEN:
        _put(state, name, breaker.probed(record, (task.id, task.fence)))


def tend(state: State) -> int:
    """Open breakers whose time has come are half-open; probes that nobody holds any more are free. How many changed."""
    changed = 0
    for name, record in sorted(state.breakers.items()):
        after = breaker.due(record, state.now)
        if after.probe is not None:
            task = state.tasks.get(after.probe[0])
            if task is None or not task.held_under(after.probe[1]):
                after = breaker.freed(after)
        changed += _put(state, name, after)
    return changed


def set_breaker(state: State, project: str, type: str, override: Override) -> None:
    """What holds for a type from now on. Switched off, it is closed."""
    state.overrides[project, type] = breaker.merged(state.overrides.get((project, type)), override)
    state.changed = True
    for name, record in sorted(state.breakers.items()):
        if name[0] == project and (type == name[1] or (type == breaker.EVERY and name not in state.overrides)):
            holds = settings(state, name)
            after = breaker.retimed(record, holds) if holds.enabled else breaker.closed(record)
            _put(state, name, after)


def steer_breaker(state: State, project: str, type: str, to: str, reason: str | None) -> None:
    """Open or close it by hand, or reset it: closed, and nothing known or set."""
    name = (project, type)
    record = state.breakers.get(name, breaker.HEALTHY)
    if to == "open":
        _put(state, name, breaker.opened(record, settings(state, name), state.now, reason))
        return
    _put(state, name, breaker.closed(record))
    if to == "reset":
        state.breakers.pop(name, None)
        state.overrides.pop(name, None)
        state.changed = True


def breakers(state: State, project: str) -> tuple[dict[str, Override], dict[str, Record]]:
    """What was set, and what is remembered, by type; as of now."""
    return (
        {type: override for (home, type), override in state.overrides.items() if home == project},
        {type: breaker.due(record, state.now) for (home, type), record in state.breakers.items() if home == project},
    )


def settings(state: State, name: tuple[str, str]) -> Settings:
    """What holds for a type."""
    return breaker.settings_of(state.overrides.get(name), state.overrides.get((name[0], breaker.EVERY)))


def _put(state: State, name: tuple[str, str], after: Record) -> bool:
    """Keep the record if it is another one, and tell of a new state."""
    before = state.breakers.get(name, breaker.HEALTHY)
    if after == before:
        return False
    state.breakers[name] = after
    state.changed = True
    event = breaker.event_between(before, after)
    if event is not None:
        data = at_home(breaker.event_data(name[1], after), name[0])
        state.emit(event, reason=after.reason, data=data)
    return True
