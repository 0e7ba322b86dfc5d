"""Which lanes are closed to an agent: pauses, breakers and rate limits close lanes as a whole, never single tasks.

A pause closes a type, a lane, an agent or everything, until an instant or until somebody resumes it. A breaker closes
its type while it is open, and while its probe is under way; half-open and without a probe, it lets one task through.
What a rate limit closes, `rules.providers` says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from dibs.model.closures import Closure
from dibs.model.instants import from_micros
from dibs.model.views import Lane
from dibs.rules.breaker import Record, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

EVERYTHING = "everything"
SCOPES = ("type", "lane", "agent", EVERYTHING)

OPEN, PROBING, TRYING, PAUSED, LIMITED = "open", "probing", "trying", "paused", "limited"
"""Why something is closed: its breaker is open, or its probe is under way, or about to be; somebody paused it; a
provider turned somebody away."""

SLOTS = "slots"
"""Not closed, but limited: a type of which only so many tasks may be held at once (in the place of `until`)."""

RATE, SPENDS, WINDOW = "rate", "spends", "window"
"""A type of which only so many tasks are handed out in a time; an agent that has budgets of its own; a budget that
begins anew when its window is over."""

RESUMED, TIME = "resumed", "until"
"""Why a pause ended."""


class Pause(Struct, kw_only=True):
    """Somebody paused this. Instants are micros; `lane` is given where a lane is paused."""

    scope: str
    name: str = ""
    since: int = 0
    until: int | None = None
    reason: str | None = None
    by: str | None = None
    lane: Lane | None = None

    @property
    def gate(self) -> str:
        """`type:code`, `lane:3`, `agent:coder-1`, `everything`."""
        return f"{self.scope}:{self.name}" if self.name else self.scope


class Shut(Struct):
    """What is closed in a project, without the words: gates of pauses, types by the state of their breaker, and
    gates of providers.

    `slots`: how many tasks of a type may be held at once, where that is limited. `rates`: types of which only so many
    are handed out in a time. `spenders`: agents with budgets of their own. `windows`: when budgets begin anew.
    """

    paused: dict[str, int | None] = field(default_factory=dict)
    open: dict[str, int | None] = field(default_factory=dict)
    probing: set[str] = field(default_factory=set)
    trying: set[str] = field(default_factory=set)
    limited: dict[str, int] = field(default_factory=dict)
    slots: dict[str, int] = field(default_factory=dict)
    rates: set[str] = field(default_factory=set)
    spenders: set[str] = field(default_factory=set)
    windows: dict[str, int] = field(default_factory=dict)


class Ways(Struct):
    """What a claim may do with the lanes its agent could serve.

    `lanes`: those that are open. `trials`: those of them from which one task is handed out, alone, as a probe.
    `watched`: closed ones that open when a claim of theirs ends. `opens_at`: when time alone opens one, or lets budgets
    begin anew; None: never.
    `limited_until`: when the first of those opens that a rate limit closes; None: there are none.
    """

    lanes: list[int]
    trials: list[int]
    watched: list[int]
    opens_at: int | None
    limited_until: int | None = None


def gather(rows: Iterable[tuple[str, str, str, int | None]]) -> dict[str, Shut]:
    """What is closed in each project, from (project, why, name, until)."""
    shut: dict[str, Shut] = {}
    for project, why, name, until in rows:
        closed = shut.setdefault(project, Shut())
        if why == PAUSED:
            closed.paused[name] = until
        elif why == OPEN:
            closed.open[name] = until
        elif why == LIMITED:
            assert until is not None
            closed.limited[name] = until
        elif why == SLOTS:
            assert until is not None
            closed.slots[name] = until
        elif why == RATE:
            closed.rates.add(name)
        elif why == SPENDS:
            closed.spenders.add(name)
        elif why == WINDOW:
            assert until is not None
            closed.windows[name] = until
        else:
            (closed.probing if why == PROBING else closed.trying).add(name)
    return shut


def why_shut(record: Record) -> str | None:
    """How `gather` calls the state of a breaker; None: it is closed, so nothing is."""
    if record.state is State.CLOSED:
        return None
    if record.state is State.OPEN:
        return OPEN
    return TRYING if record.probe is None else PROBING


def changes_at(shut: Mapping[str, Shut]) -> int | None:
    """The first instant at which time alone opens something; None: never."""
    instants = [
        until
        for closed in shut.values()
        for untils in (closed.paused, closed.open, closed.limited, closed.windows)
        for until in untils.values()
        if until is not None
    ]
    return min(instants, default=None)


def ways(
    shut: Shut | None, lanes: Iterable[tuple[int, str]], agent: str, limited: Mapping[int, int | None] | None = None
) -> Ways:
    """Which of these lanes (number, type) are open to the agent. `limited`: until when a rate limit closes each, as
    `rules.providers.opens_at` says; None: it does not."""
    if shut is None:
        return Ways([number for number, _ in lanes], [], [], None)
    found = Ways([], [], [], min(shut.windows.values(), default=None))
    for number, type in lanes:
        gates = (EVERYTHING, f"agent:{agent}", f"type:{type}", f"lane:{number}")
        untils = [shut.paused[gate] for gate in gates if gate in shut.paused]
        if type in shut.open:
            untils.append(shut.open[type])
        until = limited.get(number) if limited else None
        if until is not None:
            untils.append(until)
            found.limited_until = until if found.limited_until is None else min(until, found.limited_until)
        if untils:
            # It opens when the last of them does; one that never does by itself keeps it closed.
            times = [until for until in untils if until is not None]
            if len(times) == len(untils) and (found.opens_at is None or max(times) < found.opens_at):
                found.opens_at = max(times)
            continue
        if type in shut.probing:
            found.watched.append(number)
            continue
        found.lanes.append(number)
        if type in shut.trying:
            found.trials.append(number)
    return found


def event_data(pause: Pause) -> dict[str, str]:
    """What the event of a pause carries."""
    known: dict[str, str | None] = {
        "gate": pause.gate,
        "until": None if pause.until is None else from_micros(pause.until).isoformat(),
        "by": pause.by,
    }
    return {name: value for name, value in known.items() if value is not None}


def told(pause: Pause) -> Closure:
    """A pause as people see it."""
    named = f"--{pause.scope} {pause.name}" if pause.name else "--everything"
    kind = pause.scope if pause.name else None
    return Closure(
        gate=pause.gate,
        kind="pause",
        type=pause.name if kind == "type" else None,
        lane=int(pause.name) if kind == "lane" else None,
        agent=pause.name if kind == "agent" else None,
        since=from_micros(pause.since),
        until=None if pause.until is None else from_micros(pause.until),
        by=pause.by,
        reason=pause.reason,
        help=f"dibs resume {named}",
    )


def told_breaker(type: str, record: Record) -> Closure | None:
    """A breaker as people see it where it stops something; None if it is closed."""
    if record.state is State.CLOSED:
        return None
    reason = record.reason
    if record.state is State.HALF_OPEN:
        trial = "the next claim takes its probe" if record.probe is None else f"its probe is {record.probe[0]}"
        reason = f"{reason}; half-open, {trial}"
    return Closure(
        gate=f"breaker:{type}",
        kind="breaker",
        type=type,
        since=None if record.opened_at is None else from_micros(record.opened_at),
        until=None if record.due_at is None else from_micros(record.due_at),
        reason=reason,
        help=f"dibs breaker close {type}",
    )
