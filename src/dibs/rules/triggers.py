"""Triggers: what must happen for something to be made, and how much of it is made at most.

- `webhook`: somebody sends a signed request (`rules.signatures`).
- `event`: something happened to a task or dag of the project (`task.completed`, `dag.failed`, `task.dead_lettered` …).
- `friction`: of the claims of a type that ended within a window, too many failed, or they cost too much. Once, and not
  again before it has cooled down.
- `files`: a file below certain paths was made, changed or removed.

Loops are bounded twice. What a trigger makes knows how many triggers lie before it (its **depth**, in the task's
context, inherited by what is spawned below it): at `max_depth` nothing more is made. And each trigger makes no more
than its `rate` allows, whatever happens; the rest is dropped, and counted.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from dibs.errors import Conflict, Invalid, NotFound
from dibs.model.instants import seconds
from dibs.rules import hooks, rates, signatures, templates, validation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.model.event import Event
    from dibs.model.metrics import Metrics
    from dibs.model.task import Task
    from dibs.model.trigger import Trigger

WEBHOOK, EVENT, FRICTION, FILES = "webhook", "event", "friction", "files"
KINDS = (WEBHOOK, EVENT, FRICTION, FILES)
PARTS = {
    WEBHOOK: frozenset({"scheme", "secret"}),
    EVENT: frozenset({"events"}),
    FRICTION: frozenset({"type", "failure_rate", "cost", "window", "least", "cool_down"}),
    FILES: frozenset({"paths"}),
}
MAX_TRIGGERS = 1_000
MAX_RECENT = 100
MAX_WHERE = 20
MAX_DEPTH = 20
MAX_PATHS = 20
MAX_BODY_BYTES = 512 << 10
"""Of a webhook: what becomes of it must fit into a payload."""
MIN_WINDOW_S, MAX_WINDOW_S = 60.0, 30 * 86_400.0
WINDOW_S = 86_400.0
LEAST = 10
CONTEXT = "trigger"
"""Where the context of what was made says by which trigger, for what, and how deep."""
PREFIXES = ("task.", "dag.")
TOLD = (
    *("id", "type", "title", "payload", "status", "output", "error", "reason", "tags", "user", "created_by", "dag_id"),
    *("parent_id", "attempts", "cost_usd", "cancel_reason"),
)
"""What is told of a task that something happened to."""


def parse(on: object, where: object, rate: object, max_depth: object, parts: Mapping[str, Any]) -> dict[str, Any]:
    """What a trigger waits for, checked; `secret` is left to who can draw one. Raises Invalid with the field."""
    if not isinstance(on, str) or on not in KINDS:
        raise Invalid(f"on must be one of {', '.join(KINDS)}, not {on!r:.80}.", field="on")
    given = {name: value for name, value in parts.items() if value is not None and value not in ((), [])}
    for name in sorted(given.keys() - PARTS[on]):
        raise Invalid(f"{name} does not go with on={on}.", field=name)
    rates.parse(rate)
    read: dict[str, Any] = {
        "on": on,
        "where": parse_where(where),
        "rate": rate,
        "max_depth": validation.whole(max_depth, "max_depth", 1, MAX_DEPTH),
    }
    if on == WEBHOOK:
        read["scheme"] = signatures.parse_scheme(given.get("scheme"))
    elif on == EVENT:
        read["events"] = _parse_events(given.get("events"))
    elif on == FRICTION:
        read |= _parse_friction(given)
    else:
        read["paths"] = _parse_paths(given.get("paths"))
    return read


def parse_where(where: object) -> dict[str, Any]:
    """Paths such as `event.data.ref`, each with a value, or a list of values one of which it must have."""
    if where is None:
        return {}
    if not isinstance(where, dict) or len(where) > MAX_WHERE:
        raise Invalid(f'where must be an object of up to {MAX_WHERE} paths: {{"event.type": "push"}}.', field="where")
    validation.json_bytes(where, "where", max_bytes=4_096)
    return {templates.check_path(path, "where"): wanted for path, wanted in where.items()}


def fits(trigger: Trigger, event: Mapping[str, Any]) -> bool:
    """Whether what happened is what the trigger waits for. `*` in a wanted text stands for anything."""
    return all(_is(templates.found(path, {"event": event}), wanted) for path, wanted in trigger.where.items())


def waits_for(trigger: Trigger, event: Event) -> bool:
    """Whether an event is of a type that the trigger waits for, and happened after the trigger was there."""
    if trigger.paused or event.seq <= trigger.after_seq or not event.type.startswith(PREFIXES):
        return False
    return any(fnmatchcase(event.type, wanted) for wanted in trigger.events)


def told_of_task(task: Task) -> dict[str, Any]:
    """A task, as templates and `where` see it."""
    told = {name: getattr(task, name) for name in TOLD}
    return {**told, "tags": list(task.tags), "status": str(task.status)}


def depth_of(context: object) -> int | None:
    """How many triggers lie before what has this context, its own included; None if it does not say."""
    said = context.get(CONTEXT) if isinstance(context, dict) else None
    depth = said.get("depth") if isinstance(said, dict) else None
    return depth if isinstance(depth, int) and not isinstance(depth, bool) and depth > 0 else None


def context_of(trigger: Trigger, event_id: str, depth: int) -> dict[str, Any]:
    """What is added to the context of what a trigger makes."""
    return {CONTEXT: {"name": trigger.name, "event": event_id, "depth": depth}}


def has_token(trigger: Trigger, now: int) -> bool:
    """Whether its rate allows one more."""
    return rates.tokens(rates.parse(trigger.rate), trigger.full_at, now) > 0


def token_taken(trigger: Trigger, now: int) -> int:
    """`full_at`, after one more was made."""
    return rates.taken(rates.parse(trigger.rate), trigger.full_at, now, 1)


def friction(trigger: Trigger, measured: Metrics | None) -> dict[str, Any] | None:
    """What rubs, as an event; None while it goes smoothly."""
    if measured is None:
        return None
    ended = measured.completed + measured.failed
    too_often = (
        trigger.failure_rate is not None
        and ended >= (trigger.least or 1)
        and measured.failed >= trigger.failure_rate * ended
        and measured.failed > 0
    )
    too_dear = trigger.cost is not None and (measured.cost_usd or 0.0) >= trigger.cost
    if not (too_often or too_dear):
        return None
    return {
        "type": "friction",
        "data": {
            "type": trigger.type,
            "reason": "failure_rate" if too_often else "cost",
            "completed": measured.completed,
            "failed": measured.failed,
            "failure_rate": measured.failed / ended if ended else None,
            "cost_usd": measured.cost_usd,
            "window_s": trigger.window,
        },
    }


def key_of(name: str, event_id: str) -> str:
    """The key of what is made for something that happened."""
    return f"trigger:{name}:{event_id}"


def in_words(trigger: Trigger) -> str:
    """What it waits for, for people."""
    if trigger.on == WEBHOOK:
        return f"webhook, {trigger.scheme}: POST /in/{trigger.name}"
    if trigger.on == EVENT:
        return f"event {', '.join(trigger.events)}"
    if trigger.on == FILES:
        return f"files {', '.join(trigger.paths)}"
    limits = [
        "" if trigger.failure_rate is None else f"{trigger.failure_rate:.0%} of {trigger.type} fail",
        "" if trigger.cost is None else f"{trigger.type} costs ${trigger.cost:g}",
    ]
    return f"{' or '.join(filter(None, limits))} in {trigger.window:g}s"


def no_trigger(name: str) -> NotFound:
    """There is none of this name."""
    return NotFound(f"There is no trigger {name}. `dibs trigger ls` shows the ones there are.", field="name")


def exists(name: str) -> Conflict:
    """There is another one of this name."""
    return Conflict(
        f"There is a trigger {name} that says something else; with `replace` this one takes its place.",
        code="exists",
        field="name",
    )


def _is(value: object, wanted: object) -> bool:
    if isinstance(wanted, list):
        return any(_is(value, each) for each in wanted)
    if isinstance(wanted, str) and isinstance(value, str) and "*" in wanted:
        return fnmatchcase(value, wanted.replace("[", "[[]").replace("?", "[?]"))
    # True is not 1 here, and 1 is 1.0.
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def _parse_events(events: object) -> tuple[str, ...]:
    names = validation.names([events] if isinstance(events, str) else events or (), "events")
    if not names:
        raise Invalid(
            "events must name what is waited for: task.completed, dag.failed, task.dead_lettered …", field="events"
        )
    for name in names:
        if not name.startswith(PREFIXES) or len(name) > 40:
            raise Invalid(f"events are of tasks and dags: task.completed, dag.* …, not {name!r:.80}.", field="events")
        family = name.partition(".")[0]
        if not any(fnmatchcase(f"{family}.{known}", name) for known in hooks.TYPES[family]):
            those = ", ".join(f"{family}.{known}" for known in hooks.TYPES[family])
            raise Invalid(f"events: there is no {name!r:.80}, but {those}.", field="events")
    return names


def _parse_friction(given: Mapping[str, Any]) -> dict[str, Any]:
    if "failure_rate" not in given and "cost" not in given:
        raise Invalid("say what is too much: `failure_rate` (0.4) or `cost` (USD), or both.", field="failure_rate")
    window = validation.duration_s(given.get("window", WINDOW_S), "window", low=MIN_WINDOW_S, high=MAX_WINDOW_S)
    rate, cost = given.get("failure_rate"), given.get("cost")
    return {
        "type": validation.text(given.get("type"), "type"),
        "failure_rate": None if rate is None else validation.number(rate, "failure_rate", 0.01, 1),
        "cost": None if cost is None else validation.number(cost, "cost", 0.000001, 1e9),
        "window": window,
        "least": validation.whole(given.get("least", LEAST), "least", 1, 1_000_000),
        "cool_down": validation.duration_s(
            given.get("cool_down", window), "cool_down", low=MIN_WINDOW_S, high=MAX_WINDOW_S
        ),
    }


def _parse_paths(paths: object) -> tuple[str, ...]:
    given = [paths] if isinstance(paths, str) else paths
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= MAX_PATHS:
        raise Invalid(f"paths must be one to {MAX_PATHS} paths such as /srv/docs/*.md.", field="paths")
    for path in given:
        text = validation.text(path, "paths", max_chars=1_000)
        if not text.startswith("/"):
            raise Invalid(f"paths must begin with /: where else would {text!r:.80} be?", field="paths")
    return tuple(given)


def cools_until(trigger: Trigger, now: int) -> int:
    """Until when nothing more is made because of the same friction."""
    return now + seconds(trigger.cool_down or WINDOW_S)
