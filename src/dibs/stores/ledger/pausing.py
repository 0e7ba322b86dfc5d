"""Pauses, and what time opens: the gates that close whole lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dibs.model.views import Lane
from dibs.rules import closing, providers
from dibs.rules.access import at_home
from dibs.stores import refusals
from dibs.stores.ledger import breakers, budgets
from dibs.stores.ledger import providers as backoffs

if TYPE_CHECKING:
    from dibs.rules.breaker import Override
    from dibs.rules.closing import Pause, Shut, Ways
    from dibs.stores.ledger.state import State
    from dibs.stores.values import ClaimRequest, LaneKey


def pause(state: State, project: str, wanted: Pause) -> Pause:
    """Close it; what is closed already keeps its beginning, and is told of only if something else changed."""
    tend_if_due(state)
    known = state.pauses.get((project, wanted.gate))
    lane = lane_of(state, project, wanted.name) if wanted.scope == "lane" else None
    since = state.now if known is None else known.since
    closed = replace(wanted, since=since, lane=lane)
    if closed != known:
        state.pauses[project, wanted.gate] = closed
        agent = wanted.name if wanted.scope == "agent" else None
        data = at_home(closing.event_data(closed), project)
        state.emit("gate.closed", agent=agent, reason=wanted.reason, data=data)
    return replace(closed)


def resume(state: State, project: str, gate: str) -> bool:
    """Open it; whether it was closed."""
    tend_if_due(state)
    if (project, gate) not in state.pauses:
        return backoffs.resume(state, (project, gate))
    _open(state, project, gate, closing.RESUMED)
    return True


def set_breaker(state: State, project: str, type: str, override: Override) -> None:
    """What holds for the breaker of a type from now on."""
    tend_if_due(state)
    breakers.set_breaker(state, project, type, override)


def steer_breaker(state: State, project: str, type: str, to: str, reason: str | None) -> None:
    """Open, close or reset it by hand."""
    tend_if_due(state)
    breakers.steer_breaker(state, project, type, to, reason)


def pauses(state: State, project: str) -> list[Pause]:
    """What is paused now, by name."""
    return [
        replace(pause)
        for (home, _), pause in sorted(state.pauses.items())
        if home == project and (pause.until is None or pause.until > state.now)
    ]


def tend_if_due(state: State) -> None:
    """Note what time opened, if it opened anything: whatever comes now comes after it."""
    at = closing.changes_at(shut(state))
    if at is not None and at <= state.now:
        tend(state)


def tend(state: State) -> int:
    """Note what time opened, and free probes whose claim is gone. How many gates changed."""
    over = [
        name for name, pause in sorted(state.pauses.items()) if pause.until is not None and pause.until <= state.now
    ]
    for project, gate in over:
        _open(state, project, gate, closing.TIME)
    return len(over) + backoffs.tend(state) + breakers.tend(state) + budgets.roll(state)


def shut(state: State) -> dict[str, Shut]:
    """What is closed in each project."""
    rows: list[tuple[str, str, str, int | None]] = [
        (project, closing.PAUSED, gate, pause.until) for (project, gate), pause in state.pauses.items()
    ]
    for (project, type), record in state.breakers.items():
        why = closing.why_shut(record)
        if why is not None:
            rows.append((project, why, type, record.due_at))
    for (project, gate), backoff in state.backoffs.items():
        if backoff.shut:
            rows.append((project, closing.LIMITED, gate, backoff.until))
    for (project, name), budget in state.windowed():
        rows.append((project, closing.WINDOW, name, budget.ends_at))
    return closing.gather(rows)


def ways(state: State, lanes: list[LaneKey], request: ClaimRequest) -> Ways:
    """Which of these lanes are open to the agent."""
    numbered = [(state.lane_ids[lane], lane.type) for lane in lanes]
    closed = shut(state).get(request.project)
    gates = {} if closed is None else closed.limited
    limited = {
        state.lane_ids[lane]: providers.opens_at(
            gates, provider=lane.provider, models=lane.models, type=lane.type, offered=request.models
        )
        for lane in lanes
    }
    return closing.ways(closed, numbered, request.agent, limited)


def _open(state: State, project: str, gate: str, reason: str) -> None:
    pause = state.pauses.pop((project, gate))
    agent = pause.name if pause.scope == "agent" else None
    state.emit("gate.opened", agent=agent, reason=reason, data=at_home({"gate": gate}, project))


def lane_of(state: State, project: str, name: str) -> Lane:
    for key, number in state.lane_ids.items():
        if str(number) == name and key.project == project:
            return Lane(
                id=number,
                type=key.type,
                assignee=key.assignee,
                requires=key.requires,
                models=key.models,
                boost=key.boost,
                provider=key.provider,
            )
    raise refusals.no_lane(name)
