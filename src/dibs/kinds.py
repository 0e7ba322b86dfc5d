"""What tasks of one kind have in common: checked once, and remembered, because tasks come in kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from dibs.errors import Invalid
from dibs.model.task import Task
from dibs.rules import budgets, coalescing, locks, priority, retry, validation
from dibs.stores.values import LaneKey

if TYPE_CHECKING:
    from dibs.model.retry import Retry
    from dibs.model.task import NewTask

ON_DEADLINE = ("keep", "cancel")
MAX_ATTEMPTS = 1_000
MIN_TIMEOUT_S = 0.01
MAX_TIMEOUT_S = 7 * 86_400.0


class Kind(Struct, frozen=True):
    """Everything about a task that tasks of one kind share, checked once. `task` is copied, never handed out."""

    task: Task
    lane: LaneKey
    fallback_lane: LaneKey | None
    window_s: float = 0.0


_kinds: dict[tuple[Any, ...], Kind] = {}


def kind_of(spec: NewTask, project: str) -> Kind:
    """The checked common part of a task."""
    name = (
        project,
        spec.type,
        # True equals 1 and would find its kind, but must be refused: so the type is part of the name.
        spec.priority,
        spec.priority.__class__,
        spec.boost,
        spec.boost.__class__,
        spec.on_deadline,
        spec.requires,
        spec.assignee,
        spec.models,
        spec.fallback_models,
        spec.provider,
        spec.max_attempts,
        spec.max_attempts.__class__,
        spec.retry,
        spec.timeout,
        spec.timeout.__class__,
        spec.tags,
        spec.user,
        spec.created_by,
        spec.max_cost,
        spec.max_cost.__class__,
        spec.max_tokens,
        spec.max_tokens.__class__,
        spec.max_turns,
        spec.max_turns.__class__,
        spec.locks,
        spec.expects,
        spec.approval,
        spec.approval.__class__,
        spec.coalesce_key,
        spec.coalesce_window,
        spec.coalesce_window.__class__,
    )
    try:
        kind = _kinds.get(name)
    except TypeError:  # a list or set among the fields
        return _checked(spec, project)
    if kind is None:
        kind = _checked(spec, project)
        if len(_kinds) > 1_000:
            _kinds.clear()
        _kinds[name] = kind
    return kind


def _checked(spec: NewTask, project: str) -> Kind:
    type = validation.text(spec.type, "type")
    wanted = validation.number(spec.priority, "priority", 0, 100)
    boost = priority.round_boost(validation.number(spec.boost, "boost", 0, 1000))
    if spec.on_deadline not in ON_DEADLINE:
        raise Invalid(f"on_deadline must be keep or cancel, not {spec.on_deadline!r}.", field="on_deadline")
    requires = validation.names(spec.requires, "requires")
    assignee = _optional(spec.assignee, "assignee")
    models = validation.names(spec.models, "models", ordered=True)
    fallback_models = validation.names(spec.fallback_models, "fallback_models", ordered=True)
    provider = _optional(spec.provider, "provider")
    fields: dict[str, Any] = {
        "type": type,
        "project": project,
        "priority": wanted,
        "boost": boost,
        "on_deadline": spec.on_deadline,
        "requires": requires,
        "assignee": assignee,
        "models": models,
        "fallback_models": fallback_models,
        "provider": provider,
        "max_attempts": validation.whole(spec.max_attempts, "max_attempts", 1, MAX_ATTEMPTS),
        "retry": _retry(spec.retry),
        "timeout": None
        if spec.timeout is None
        else validation.duration_s(spec.timeout, "timeout", low=MIN_TIMEOUT_S, high=MAX_TIMEOUT_S),
        "max_cost": None
        if spec.max_cost is None
        else validation.number(spec.max_cost, "max_cost", 0, budgets.MAX_COST),
        "max_tokens": _count(spec.max_tokens, "max_tokens"),
        "max_turns": _count(spec.max_turns, "max_turns"),
        "locks": _locks(spec.locks),
        "tags": validation.names(spec.tags, "tags"),
        "user": _optional(spec.user, "user"),
        "created_by": _optional(spec.created_by, "created_by"),
        "expects": None if spec.expects is None else _contract(spec.expects),
        "approval": validation.flag(spec.approval, "approval"),
        "coalesce_key": _optional(spec.coalesce_key, "coalesce_key"),
    }
    defaults = {name: value for name, value in fields.items() if value not in (None, ())}
    lane = LaneKey(project, type, assignee, requires, models, boost, provider)
    fallback = replace(lane, models=fallback_models) if fallback_models else None
    return Kind(Task(id="", **defaults), lane, fallback, _window_s(spec))


def is_like(last: NewTask, spec: NewTask) -> bool:
    """Whether a task is what the last one was but for its payload, which `last` takes over. Tasks that are added
    together mostly are, and comparing them takes a third of the time of looking their kind up."""
    last.payload = spec.payload
    return (
        last == spec
        # True equals 1, and 3.0 equals 3, but not for those who check them.
        and last.priority is spec.priority
        and last.boost is spec.boost
        and last.max_attempts is spec.max_attempts
        and last.timeout is spec.timeout
        and last.max_cost is spec.max_cost
        and last.max_tokens is spec.max_tokens
        and last.max_turns is spec.max_turns
        and last.approval is spec.approval
        and last.coalesce_window is spec.coalesce_window
    )


def _optional(value: Any, field: str) -> str | None:
    return None if value is None else validation.text(value, field)


def _contract(expects: Any) -> Any:
    """What is expected of the output, if it can be checked here and now. Tasks without it do not pay for the import."""
    from dibs import checking

    return checking.accepted(expects)


def _locks(value: Any) -> tuple[str, ...]:
    names = validation.names(value, "locks")
    if len(names) > locks.MAX_LOCKS:
        raise Invalid(f"locks names {len(names)}; a task may need at most {locks.MAX_LOCKS}.", field="locks")
    for name in names:
        locks.check_name(name, "locks")
    return names


def _count(value: Any, field: str) -> int | None:
    return None if value is None else validation.whole(value, field, 0, budgets.MAX_COUNT)


def _window_s(spec: NewTask) -> float:
    """How long a task waits for others of its group; 0 without a group."""
    if spec.coalesce_key is None and spec.coalesce_window != coalescing.WINDOW_S:
        raise Invalid("coalesce_window says nothing without coalesce_key; give both.", field="coalesce_window")
    window_s = validation.duration_s(spec.coalesce_window, "coalesce_window", high=coalescing.MAX_WINDOW_S)
    return 0.0 if spec.coalesce_key is None else window_s


def _retry(value: Retry | str | None) -> Retry | None:
    if value is None:
        return None
    return retry.parse(value) if isinstance(value, str) else retry.check(value)
