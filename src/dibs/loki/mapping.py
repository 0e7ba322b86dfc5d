"""A task of dibs as Loki writes it, and back. Pure.

- **Priority.** Loki: 1 to 10, 10 is urgent. dibs: 0 to 100, 0 is urgent. Ten points are one step, and the words agree:
  10 is critical, 8–9 high, 5–7 normal, 3–4 low, 1–2 background.
- **Retries.** Loki gives up when `retries` reaches `maxRetries`, so that is `max_attempts`. What was tried in Loki
  stays counted: the task comes with the attempts that are left.
- **Backoff.** Loki overwrites `backoffSeconds` with each wait and multiplies the next from it, so waits compound. Here
  it always means the first wait; that is worked out from a file, and written to one.
- **What Loki has no field for** is kept in the task's field `dibs`: what was asked for, which comes back, and how it
  went, for people. A field of Loki's that was changed since wins over what is kept there.
- **What dibs has no field for** (`createdAt`, `lastError`, fields nobody knows …) is kept in the task's context below
  `loki`, where agents can see it and the next export finds it.
"""

from __future__ import annotations

from math import ldexp
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import fields

from dibs.errors import Invalid
from dibs.loki.format import (
    CANCELLED,
    COMPLETED,
    DEAD_LETTER,
    DEFAULT_TIMEOUT_S,
    IN_PROGRESS,
    OWN,
    PENDING,
    LokiTask,
)
from dibs.model.retry import Retry
from dibs.model.status import Status
from dibs.model.task import NewTask, Task
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from dibs.model.attempt import Attempt

KEY = "loki:"
"""What the idempotency key of a task from Loki begins with; its id follows."""

KEPT = "loki"
"""The key of a task's context below which Loki's own fields are kept."""

QUEUE_OF = {
    Status.PENDING: PENDING,
    Status.SCHEDULED: PENDING,
    Status.READY: PENDING,
    Status.RETRYING: PENDING,
    # Somebody has to answer before it goes on: not to be claimed there.
    Status.WAITING: IN_PROGRESS,
    Status.CLAIMED: IN_PROGRESS,
    Status.RUNNING: IN_PROGRESS,
    Status.VALIDATING: IN_PROGRESS,
    Status.COMPLETED: COMPLETED,
    Status.DEAD_LETTERED: DEAD_LETTER,
    Status.CANCELLED: CANCELLED,
}
"""In which of Loki's queues a task of dibs belongs."""

_IN_LOKI = frozenset({"type", "payload", "max_attempts", "run_after", "context"})
"""What Loki's own fields say completely; priority, timeout and retry they say only roughly."""

_DEFAULTS = {
    field.name: field.default
    for field in fields(NewTask)
    if field.name in Task.__struct_fields__ and field.name not in _IN_LOKI
}
"""What was asked for and a task still knows, with its default: these ride in the field `dibs`."""

_TOLD = (
    "dag_id",
    "parent_id",
    "crashes",
    "reason",
    "exit_code",
    "poison_pill",
    "cost_usd",
    "tokens_in",
    "tokens_out",
    "turns",
    "artifacts",
)
"""How it went: written for people, not read back."""

_AMOUNTS = frozenset({"cost_usd", "tokens_in", "tokens_out", "turns"})
"""Where 0 is something else than unknown."""

_KNOWN = frozenset({*_DEFAULTS, *_TOLD, "id", "status", "history", "context", "lent", "wrapped", "after_ended"})

_PLACES = (
    ("goal", None, "goal"),
    ("constraints", None, "constraints"),
    ("related_files", "context", "relatedFiles"),
    ("decisions", "context", "architectureDecisions"),
)
"""Where Loki's agents look in the payload for what dibs has in the context."""

MAX_WAIT_S = 3_600.0
"""The longest wait that Loki speaks of."""


def priority_to_loki(priority: float) -> int:
    """1 to 10, 10 is urgent."""
    return max(1, 10 - int(priority // 10))


def priority_from_loki(priority: float) -> float:
    """0 to 100, 0 is urgent."""
    return (10 - priority) * 10


def first_wait_s(backoff_s: float, retries: int) -> float:
    """The first wait of a task whose `backoffSeconds` was overwritten at each of its retries.

    The n-th wait is the one before times 2ⁿ⁻¹, so after r of them the factor is 2 to the power of r(r−1)/2. A first
    wait below a second was hardly meant: then nobody has compounded anything.
    """
    first = ldexp(backoff_s, -retries * (retries - 1) // 2)
    return first if first >= 1 else backoff_s


# From dibs to Loki


def to_loki(
    task: Task,
    id: str,
    *,
    dependencies: Sequence[str] = (),
    after_ended: Sequence[str] = (),
    history: Iterable[Attempt] = (),
) -> dict[str, Any]:
    """The task as Loki writes it. Ids are Loki's; `after_ended` are those dependencies that need only end."""
    context = dict(task.context) if isinstance(task.context, dict) else {}
    kept = context.pop(KEPT) if isinstance(context.get(KEPT), dict) else {}
    payload, context, lent, wrapped = _lend(task.payload, context, task.title)
    queue = QUEUE_OF[task.status]
    before = kept["retries"] if isinstance(kept.get("retries"), int) else 0
    held = queue != PENDING
    written: dict[str, Any] = {
        "id": id,
        "idempotencyKey": kept.get("idempotencyKey", _content_key(task.type, task.payload)),
        "type": task.type,
        "priority": priority_to_loki(task.priority),
        "dependencies": list(dependencies),
        "payload": payload,
        "createdAt": kept.get("createdAt", _iso(task.created_at)),
        "claimedBy": task.agent if held else None,
        "claimedAt": _iso(task.claimed_at) if held else None,
        "timeout": _timeout(task.timeout),
        "retries": before + task.attempts,
        "maxRetries": before + task.max_attempts,
        "backoffSeconds": _backoff(task.retry),
        "lastError": kept.get("lastError") if task.error is None else task.error,
        "completedAt": _iso(task.completed_at or task.dead_lettered_at) or kept.get("completedAt"),
        "result": _result(task) or kept.get("result"),
    }
    available_at = _available_at(task)
    if available_at is not None:
        written["availableAt"] = _iso(available_at)
    if queue == CANCELLED:
        written |= {"cancelledAt": _iso(task.cancelled_at), "cancelReason": task.cancel_reason or task.reason}
    own = _asked_for(task) | _told(task, history)
    for name, value in (("context", context), ("lent", lent), ("after_ended", list(after_ended))):
        if value:
            own[name] = value
    if wrapped:
        own["wrapped"] = True
    unknown = {name: value for name, value in kept.items() if name not in written}
    return {**written, **unknown, OWN: own}


def _lend(
    payload: Any, context: dict[str, Any], title: str | None
) -> tuple[dict[str, Any], dict[str, Any], list[str], bool]:
    """The payload as Loki's agents expect it: an object, with the goal and so on in it. Says what was done."""
    wrapped = not isinstance(payload, dict)
    filled: dict[str, Any] = dict(payload) if not wrapped else {} if payload is None else {"value": payload}
    rest = dict(context)
    lent = []
    for name, inside, field in _PLACES:
        if name not in rest:
            continue
        place = filled
        if inside is not None:
            # An empty object could not be told from one made here.
            if inside in filled and not (isinstance(filled[inside], dict) and filled[inside]):
                continue
            place = filled[inside] = dict(filled.get(inside, {}))
        if field not in place:
            place[field] = rest.pop(name)
            lent.append(name)
    if title is not None and "goal" not in filled and title != _title(filled):
        filled["goal"] = title
        lent.append("title")
    return filled, rest, lent, wrapped


def _asked_for(task: Task) -> dict[str, Any]:
    return {
        name: msgspec.to_builtins(getattr(task, name))
        for name, default in _DEFAULTS.items()
        if getattr(task, name) != default
    }


def _told(task: Task, history: Iterable[Attempt]) -> dict[str, Any]:
    told: dict[str, Any] = {"id": task.id, "status": str(task.status)}
    told |= {name: value for name in _TOLD if (value := getattr(task, name)) or (value == 0 and name in _AMOUNTS)}
    attempts = [
        {name: value for name, value in msgspec.to_builtins(attempt).items() if value is not None}
        for attempt in history
    ]
    return told | ({"history": attempts} if attempts else {})


def _result(task: Task) -> dict[str, Any] | None:
    if task.status is Status.COMPLETED:
        return {"status": "success", "output": task.output, "decisionReport": task.decision}
    if task.status is Status.DEAD_LETTERED:
        return {"status": "failed", "output": None, "decisionReport": None}
    return None


def _available_at(task: Task) -> datetime | None:
    """Not to be claimed before, where that may still lie ahead."""
    if task.status is Status.RETRYING:
        return task.retry_at
    return task.run_after if task.status in (Status.SCHEDULED, Status.PENDING) else None


def _timeout(timeout_s: float | None) -> float:
    """Loki knows no task without a timeout."""
    return DEFAULT_TIMEOUT_S if timeout_s is None else _plain(timeout_s)


def _backoff(policy: Retry | None) -> float:
    policy = policy or Retry()
    return 0 if policy.strategy == "immediate" else _plain(policy.delay)


def _plain(number: float) -> float:
    return int(number) if number == int(number) else number


def _iso(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat().replace("+00:00", "Z")


def _content_key(type: str, payload: Any) -> str:
    """A hash of the content that every process works out alike."""
    return validation.content_key(type, msgspec.json.encode(payload))


# From Loki to dibs


def own_id(task: LokiTask) -> str | None:
    """The id that the task had in dibs, if it came from there."""
    id = None if task.dibs is None else task.dibs.get("id")
    if id is None:
        return None
    if not (isinstance(id, str) and len(id) == 31 and id.startswith("task_") and id[5:].isalnum() and id.isascii()):
        raise Invalid(f"{task.who}: dibs.id is not the id of a task; remove the field dibs.", field=OWN)
    return id


def new_task(task: LokiTask, *, afresh: bool = False) -> NewTask:
    """What to add to dibs for a task of Loki's; its edges are for the caller to add. `afresh` forgets its retries.

    Raises `Invalid` where the field `dibs` says what nobody can know; everything else is checked when it is added.
    """
    own = {} if task.dibs is None else task.dibs
    for name in own:
        if name not in _KNOWN:
            raise Invalid(f"{task.who}: dibs.{name} is unknown to this version of dibs; remove it.", field=OWN)
    payload, context = _give_back(task, own)
    retries = 0 if afresh else task.retries
    kept = dict(task.rest)
    if kept.get("idempotencyKey") == _content_key(task.type, payload):
        del kept["idempotencyKey"]
    if retries:
        kept["retries"] = retries
    if kept:
        context[KEPT] = kept
    asked = {name: own[name] for name in _DEFAULTS if name in own}
    if own_id(task) is None:
        asked = {"key": KEY + task.id, "ref": task.id, "title": _title(payload), **asked}
    asked["priority"] = _priority(task, own)
    asked["timeout"] = _timeout_of(task, own)
    asked["retry"] = _retry(task, own)
    return NewTask(
        task.type,
        payload,
        run_after=None if afresh else task.available_at,
        max_attempts=max(1, task.max_retries - retries),
        context=context or None,
        **asked,
    )


def after_ended(task: LokiTask) -> frozenset[str]:
    """Those of its dependencies that need only end, in whatever way. Loki itself knows only completed ones."""
    ended = (task.dibs or {}).get("after_ended", [])
    if not (isinstance(ended, list) and all(isinstance(id, str) for id in ended)):
        raise Invalid(f"{task.who}: dibs.after_ended must be a list of task ids.", field=OWN)
    return frozenset(ended)


def _give_back(task: LokiTask, own: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Payload and context as they were before the one was lent to the other."""
    lent, context = own.get("lent", []), own.get("context", {})
    if not (isinstance(lent, list) and isinstance(context, dict)):
        raise Invalid(f"{task.who}: dibs.lent must be a list, and dibs.context an object.", field=OWN)
    payload, context = dict(task.payload), dict(context)
    for name, inside, field in _PLACES:
        place = payload if inside is None else payload.get(inside)
        if name not in lent or not isinstance(place, dict) or field not in place:
            continue
        if inside is not None:
            place = payload[inside] = dict(place)
        context[name] = place.pop(field)
        if inside is not None and not place:
            del payload[inside]
    if "title" in lent:
        payload.pop("goal", None)
    if own.get("wrapped") and payload.keys() <= {"value"}:
        return payload.get("value"), context
    return payload, context


def _priority(task: LokiTask, own: dict[str, Any]) -> Any:
    kept = own.get("priority", _DEFAULTS["priority"])
    unchanged = task.dibs is not None and isinstance(kept, (int, float)) and priority_to_loki(kept) == task.priority
    return kept if unchanged else priority_from_loki(task.priority)


def _timeout_of(task: LokiTask, own: dict[str, Any]) -> Any:
    kept = own.get("timeout")
    unchanged = task.dibs is not None and (kept is None or isinstance(kept, (int, float)))
    return kept if unchanged and _timeout(kept) == task.timeout_s else task.timeout_s


def _retry(task: LokiTask, own: dict[str, Any]) -> Retry | None:
    first_s = first_wait_s(task.backoff_s, task.retries)
    if task.dibs is not None:
        try:
            kept = msgspec.convert(own.get("retry"), Retry | None)
        except msgspec.ValidationError as error:
            raise Invalid(f"{task.who}: dibs.retry: {error}.", field=OWN) from None
        if _backoff(kept) in (task.backoff_s, first_s):
            return kept
    return Retry(delay=first_s, cap=max(first_s, MAX_WAIT_S), jitter=0.0)


def _title(payload: Any) -> str | None:
    """A line for people: the goal, else the action and its target."""
    if not isinstance(payload, dict):
        return None
    goal = payload.get("goal")
    words = [goal] if isinstance(goal, str) and goal.strip() else [payload.get("action"), payload.get("target")]
    said = " ".join(" ".join(word.split()) for word in words if isinstance(word, str))
    return "".join(char for char in said if char.isprintable())[: validation.MAX_TITLE_CHARS].strip() or None
