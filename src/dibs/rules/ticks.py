"""When a schedule ticks, and what is made when it was not looked at in time.

A schedule is a row of **ticks**: instants that follow from its words alone, so that everybody who reads it finds the
same ones. `every` counts from the instant it starts at, in real time. `at` is one tick. `cron` goes by the clocks of
its time zone, which are put forward and back:

- A *fixed time* (`30 2 * * *`: neither minute nor hour, nor second where there is one, begins with `*`) happens once on
  every day that it names. If the clocks skip it, it ticks at the moment of the change; if they show it twice, the first
  time. Several that are skipped by one change are one tick.
- Everything else (`*/15 * * * *`, `0 * * * *`) ticks whenever the clocks show such a time: not at times that are
  skipped, and again at times that are shown again.

A tick is **due** at its instant, or later by its **jitter**: a part of the schedule's jitter that follows from its name
and the tick. Ticks are taken in order. One that is seen more than `ON_TIME_S` after it was due was **missed**.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dibs.errors import Conflict, Invalid, NotFound
from dibs.model.instants import from_micros, seconds, to_micros
from dibs.rules import validation
from dibs.rules.windows import MAX_ZONE_CHARS, zone_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from dibs.model.schedule import Schedule

SKIP, ONE, ALL = "skip", "one", "all"
MISSED = (SKIP, ONE, ALL)
"""What is made for ticks that were missed: nothing, one for all of them, or one for each of the latest."""
ALLOW, CANCEL = "allow", "cancel"
OVERLAP = (ALLOW, SKIP, CANCEL)
"""What happens while something that it made before has not ended: nothing special, the tick is skipped, or what was
made before is cancelled."""

ON_TIME_S = 60.0
MAX_MISSED = 1_000
MIN_EVERY_S = 1.0
MAX_EVERY_S = 366 * 86_400.0
MAX_JITTER_S = 3_600.0
MAX_CRON_CHARS = 200
MAX_NAME_CHARS = 100
MAX_SCHEDULES = 1_000
"""How many a project may have."""
MAX_RUNS = 1_000
"""How many times to come are told at most."""
MAX_LIVE = 100
"""How many of those that have not ended are remembered."""

ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"


class Due(Struct, frozen=True):
    """What a look at a schedule found: the ticks for which something is to be made, oldest first; how many are left out
    (of those that were looked at); and the next tick, None if there is none."""

    ticks: tuple[int, ...] = ()
    skipped: int = 0
    next_at: int | None = None


def parse_name(value: object, field: str = "name") -> str:
    """What schedules and triggers are called: letters, digits, and `.`, `_`, `-` between them."""
    text = validation.text(value, field, max_chars=MAX_NAME_CHARS)
    if not re.fullmatch(_NAME, text):
        raise Invalid(
            f"{field} must be letters, digits, '.', '_' or '-', beginning with a letter or digit, not {text!r:.80}.",
            field=field,
        )
    return text


def parse_timing(cron: object, every: object, at: object, timezone: object, *, now: int) -> dict[str, Any]:
    """When a schedule ticks, checked: the parts of a `Schedule` that say so. Raises Invalid with the field at fault."""
    given = [name for name, value in (("cron", cron), ("every", every), ("at", at)) if value is not None]
    if len(given) != 1:
        fault = given[1] if given else "cron"
        raise Invalid("say when with one of cron, every and at.", field=fault)
    if timezone is not None and cron is None:
        raise Invalid("timezone is for cron: every counts real time, and at says its own.", field="timezone")
    if every is not None:
        return {"every": validation.duration_s(every, "every", low=MIN_EVERY_S, high=MAX_EVERY_S)}
    if at is not None:
        instant = validation.instant(at, "at", now, durations=True)
        if instant < now:
            raise Invalid("at must not lie in the past.", field="at")
        return {"at": from_micros(instant)}
    name = "UTC" if timezone is None else validation.text(timezone, "timezone", max_chars=MAX_ZONE_CHARS)
    zone = zone_of(name)
    if zone is None:
        raise Invalid(
            f"timezone must be a name like Europe/Berlin that is known here, not {name!r:.80}; if it should be,"
            " pip install tzdata.",
            field="timezone",
        )
    expression = parse_cron(cron)
    if next(_cron_ticks(expression, zone, now), None) is None:
        raise Invalid(f"cron {expression!r} never comes: no such day in the next 50 years.", field="cron")
    return {"cron": expression, "timezone": name}


def parse_cron(value: object) -> str:
    """A cron expression in five fields, or six with seconds in front; names such as `@daily` are written out."""
    text = " ".join(validation.text(value, "cron", max_chars=MAX_CRON_CHARS).split())
    if text.startswith("@"):
        if text.lower() not in ALIASES:
            raise Invalid(f"cron knows {', '.join(ALIASES)}, not {text!r:.80}.", field="cron")
        return ALIASES[text.lower()]
    from cronsim import CronSim, CronSimError

    try:
        CronSim(text, datetime(2000, 1, 1))  # noqa: DTZ001 - only read, by no clock
    except (CronSimError, ValueError, AssertionError, TypeError) as error:
        problem = f" ({error})" if isinstance(error, CronSimError) else ""
        raise Invalid(
            f"cron must have five fields (minute, hour, day, month, weekday), or six with seconds in front, not"
            f" {text!r:.80}{problem}.",
            field="cron",
        ) from None
    return text


def parse_policies(missed: object, max_missed: object, overlap: object, jitter: object) -> dict[str, Any]:
    """What happens to ticks that were missed or overlap, and how they are spread, checked."""
    if missed not in MISSED:
        raise Invalid(f"missed must be one of {', '.join(MISSED)}, not {missed!r:.80}.", field="missed")
    if overlap not in OVERLAP:
        raise Invalid(f"overlap must be one of {', '.join(OVERLAP)}, not {overlap!r:.80}.", field="overlap")
    return {
        "missed": missed,
        "max_missed": validation.whole(max_missed, "max_missed", 1, MAX_MISSED),
        "overlap": overlap,
        "jitter": validation.duration_s(jitter, "jitter", high=MAX_JITTER_S),
    }


def ticks_after(schedule: Schedule, after: int) -> Iterator[int]:
    """The ticks of a schedule after this instant, in order; none where it is not known (`is_known_here`)."""
    if schedule.at is not None:
        instant = to_micros(schedule.at)
        return iter([instant] if instant > after else [])
    if schedule.every is not None:
        return _every_ticks(to_micros(schedule.starts_at), seconds(schedule.every), after)
    if not is_known_here(schedule):
        return iter([])
    return _cron_ticks(schedule.cron or "", zone_of(schedule.timezone) or UTC, after)


def is_known_here(schedule: Schedule) -> bool:
    """Whether its time zone is known on this machine, and its words to this version; else it is left to others."""
    if schedule.cron is not None:
        try:
            parse_cron(schedule.cron)
        except Invalid:
            return False
    return zone_of(schedule.timezone) is not None


def next_tick(schedule: Schedule, after: int) -> int | None:
    """The first tick after this instant."""
    return next(ticks_after(schedule, after), None)


def due_at(schedule: Schedule, whose: str, tick: int) -> int:
    """When something is made for a tick. `whose`: what tells the schedule apart from all others."""
    if not schedule.jitter:
        return tick
    drawn = int.from_bytes(blake2b(f"{whose}\n{tick}".encode(), digest_size=6).digest()) / 2**48
    return tick + int(drawn * seconds(schedule.jitter))


def look(schedule: Schedule, whose: str, now: int) -> Due | None:
    """What is due of a schedule that is not paused; None while nothing is."""
    if schedule.next_at is None or not is_known_here(schedule):
        return None
    first = to_micros(schedule.next_at)
    if due_at(schedule, whose, first) > now:
        return None
    # Whatever its jitter, a tick before this is due; those after it are looked at one by one.
    surely = max(first, now - seconds(schedule.jitter) - seconds(ON_TIME_S))
    seen = _latest(schedule, first, surely, schedule.max_missed)
    next_at = None
    for tick in ticks_after(schedule, surely):
        if due_at(schedule, whose, tick) > now:
            next_at = tick
            break
        seen.append(tick)
    late = [tick for tick in seen if now - due_at(schedule, whose, tick) > seconds(ON_TIME_S)]
    if not late:
        taken = seen
    elif schedule.missed == SKIP:
        taken = seen[len(late) :]
    elif schedule.missed == ONE:
        taken = seen[-1:]
    else:
        taken = seen[-schedule.max_missed :]
    return Due(tuple(taken), len(seen) - len(taken), next_at)


def without_overlap(schedule: Schedule, due: Due, *, busy: bool) -> Due:
    """Of what is due, that for which something is made where nothing may overlap. `busy`: something that was made
    before has not ended."""
    if schedule.overlap == ALLOW or not due.ticks:
        return due
    if schedule.overlap == CANCEL:
        taken = due.ticks[-1:]
    else:
        taken = () if busy else due.ticks[:1]
    return Due(taken, due.skipped + len(due.ticks) - len(taken), due.next_at)


def key_of(name: str, tick: int) -> str:
    """The key of what is made for a tick: `cron:NAME:2026-11-16T03:00:00Z`."""
    instant = from_micros(tick)
    return f"cron:{name}:{instant.replace(tzinfo=None).isoformat()}Z"


def in_words(schedule: Schedule) -> str:
    """When it ticks, for people: `30 2 * * * Europe/Berlin`, `every 90s`, `at 2026-11-16T03:00:00+00:00`."""
    if schedule.every is not None:
        return f"every {schedule.every:g}s"
    if schedule.at is not None:
        return f"at {schedule.at.isoformat()}"
    return f"{schedule.cron} {schedule.timezone}"


def local_time(schedule: Schedule, instant: datetime) -> str:
    """An instant as the clocks that it goes by show it, with their distance from UTC."""
    return instant.astimezone(zone_of(schedule.timezone) or UTC).isoformat()


def no_schedule(name: str) -> NotFound:
    """There is none of this name."""
    return NotFound(f"There is no schedule {name}. `dibs schedule ls` shows the ones there are.", field="name")


def exists(name: str) -> Conflict:
    """There is another one of this name."""
    return Conflict(
        f"There is a schedule {name} that says something else; with `replace` this one takes its place.",
        code="exists",
        field="name",
    )


def _every_ticks(start: int, step: int, after: int) -> Iterator[int]:
    tick = start + max(1, (after - start) // step + 1) * step
    while True:
        yield tick
        tick += step


def _latest(schedule: Schedule, first: int, until: int, most: int) -> list[int]:
    """The latest `most` ticks from `first` to `until`, in order, without counting through all of a long time."""
    span = 60 * _SECOND
    while True:
        start = max(first - 1, until - span)
        found: list[int] = []
        for tick in ticks_after(schedule, start):
            if tick > until:
                break
            found.append(tick)
        if len(found) >= most or start == first - 1:
            return found[-most:]
        span *= 2


def _cron_ticks(expression: str, zone: tzinfo, after: int) -> Iterator[int]:
    times = expression.split()[:-3]
    fixed = not any(part.startswith("*") for part in times)
    ticks = _fixed_times(expression, zone, after) if fixed else _shown_times(expression, zone, after)
    last = after
    for tick in ticks:
        if tick > validation.LAST_INSTANT:
            return
        if tick > last:
            last = tick
            yield tick


def _fixed_times(expression: str, zone: tzinfo, after: int) -> Iterator[int]:
    """Each local time once: when the clocks show it first, or the moment at which they skip it."""
    from cronsim import CronSim

    for wall in CronSim(expression, _wall(after, zone)):
        instant = to_micros(wall.replace(tzinfo=zone))
        if _wall(instant, zone) == wall:
            yield instant
        else:
            # It was read by the clocks before the change, so it lies after it, by less than a day.
            yield _change(zone, instant - _DAY, instant)


def _shown_times(expression: str, zone: tzinfo, after: int) -> Iterator[int]:
    """Each instant at which the clocks show such a time: between two changes they run on evenly."""
    from cronsim import CronSim

    start = after
    while True:
        shift = _shift(start, zone)
        change = None
        for wall in CronSim(expression, from_micros(start + shift).replace(tzinfo=None)):
            instant = to_micros(wall.replace(tzinfo=UTC)) - shift
            change = _next_change(zone, start, instant)
            if change is not None:
                break
            yield instant
            start = instant
        if change is None:
            return
        # The clocks as they are after the change, a second before it: its own moment may be a tick.
        yield from _at_change(expression, zone, change)
        start = change


def _at_change(expression: str, zone: tzinfo, change: int) -> Iterator[int]:
    """The moment at which clocks are changed, if what they show then is a tick."""
    from cronsim import CronSim

    wall = _wall(change, zone)
    if next(CronSim(expression, wall - timedelta(seconds=1)), None) == wall:
        yield change


def _next_change(zone: tzinfo, start: int, end: int) -> int | None:
    """When the clocks are changed next, after `start` and not after `end`; None if they are not."""
    shift = _shift(start, zone)
    low = start
    while low < end:
        high = min(low + _DAY, end)
        if _shift(high, zone) != shift:
            return _change(zone, low, high)
        low = high
    return None


def _change(zone: tzinfo, low: int, high: int) -> int:
    """The instant between these two, the first with clocks as before, at which they are changed."""
    shift = _shift(low, zone)
    # Clocks are changed at whole seconds.
    before, after = low // _SECOND, -(-high // _SECOND)
    while after - before > 1:
        middle = (before + after) // 2
        if _shift(middle * _SECOND, zone) == shift:
            before = middle
        else:
            after = middle
    return after * _SECOND


def _shift(instant: int, zone: tzinfo) -> int:
    """How far local clocks are ahead of UTC."""
    offset = from_micros(instant).astimezone(zone).utcoffset()
    return 0 if offset is None else offset // timedelta(microseconds=1)


def _wall(instant: int, zone: tzinfo) -> datetime:
    """What local clocks show."""
    return from_micros(instant).astimezone(zone).replace(tzinfo=None)
