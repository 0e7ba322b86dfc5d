"""What Loki's files say: their names, and what a task in them must look like.

A field that is missing or null has its default; a field of the wrong type is refused, with the file, the task and the
field named. Of tasks that are over (completed, cancelled) only the id is read: they are not brought in.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from dibs.errors import Invalid
from dibs.model.instants import from_micros, seconds
from dibs.rules import validation

PENDING = "pending"
IN_PROGRESS = "in-progress"
COMPLETED = "completed"
DEAD_LETTER = "dead-letter"
CANCELLED = "cancelled"

QUEUES = (PENDING, IN_PROGRESS, COMPLETED, DEAD_LETTER, CANCELLED)
"""The five queues; a task is in one of them."""

OVER = (COMPLETED, CANCELLED)

DEFAULT_PRIORITY = 5
DEFAULT_TIMEOUT_S = 3_600
DEFAULT_MAX_RETRIES = 3
DEFAULT_BACKOFF_S = 60
MAX_RETRIES = 1_000

OWN = "dibs"
"""The field of a task in which dibs keeps what Loki has no field for."""

_READ = frozenset(
    {"id", "type", "priority", "dependencies", "payload", "timeout", "retries", "maxRetries", "backoffSeconds"}
    | {"availableAt", OWN}
)
_GIVEN_UP = frozenset({"claimedBy", "claimedAt"})
"""Claims do not move with their task: whoever held it in Loki holds nothing in dibs."""


class LokiTask(Struct, kw_only=True):
    """One task as it stands in a file. `rest` is what was said beside the fields that are read here."""

    id: str
    queue: str
    path: str
    type: str = ""
    priority: float = DEFAULT_PRIORITY
    dependencies: tuple[str, ...] = ()
    payload: dict[str, Any] = {}
    timeout_s: float | None = None
    retries: int = 0
    max_retries: int = DEFAULT_MAX_RETRIES
    backoff_s: float = DEFAULT_BACKOFF_S
    available_at: datetime | None = None
    dibs: dict[str, Any] | None = None
    rest: dict[str, Any] = {}

    @property
    def who(self) -> str:
        """How errors name it."""
        return f"{self.path}: task {self.id!r}"


def file_of(queue: str) -> str:
    """The name of the file that holds a queue."""
    return f"{queue}.json"


def read_tasks(content: Any, queue: str, path: str) -> list[LokiTask]:
    """The tasks of one file; `Invalid` names what is wrong and where."""
    tasks = content.get("tasks") if isinstance(content, dict) else None
    if not isinstance(tasks, list):
        raise Invalid(f'{path} must hold an object with a list of tasks: {{"tasks": [...]}}.', field="tasks")
    read: dict[str, LokiTask] = {}
    for place, item in enumerate(tasks, 1):
        task = _read_task(item, place, queue, path)
        if task.id in read:
            raise Invalid(f"{task.who} is there twice; remove one of them.", field="id")
        read[task.id] = task
    return list(read.values())


def _read_task(item: Any, place: int, queue: str, path: str) -> LokiTask:
    if not isinstance(item, dict):
        raise Invalid(f"{path}: task {place} must be an object with an id and a type.", field="tasks")
    id = item.get("id")
    who = f"{path}: task {id!r:.80}" if isinstance(id, str) and id else f"{path}: task {place}"
    try:
        checked = validation.text(id, "id")
        if queue in OVER:
            return LokiTask(id=checked, queue=queue, path=path)
        return LokiTask(id=checked, queue=queue, path=path, **_fields(item))
    except Invalid as error:
        raise Invalid(f"{who}: {error.message}", field=error.field, code=error.code) from None


def _fields(item: dict[str, Any]) -> dict[str, Any]:
    said = {name: value for name, value in item.items() if value is not None}
    timeout = said.get("timeout")
    return {
        "type": validation.text(said.get("type"), "type"),
        "priority": validation.number(said.get("priority", DEFAULT_PRIORITY), "priority", 1, 10),
        "dependencies": _dependencies(said.get("dependencies", [])),
        "payload": _object(said.get("payload", {}), "payload"),
        "timeout_s": None if timeout is None else validation.duration_s(timeout, "timeout"),
        "retries": validation.whole(said.get("retries", 0), "retries", 0, MAX_RETRIES),
        "max_retries": validation.whole(said.get("maxRetries", DEFAULT_MAX_RETRIES), "maxRetries", 0, MAX_RETRIES),
        "backoff_s": validation.duration_s(said.get("backoffSeconds", DEFAULT_BACKOFF_S), "backoffSeconds"),
        "available_at": _instant(said.get("availableAt"), "availableAt"),
        "dibs": _object(said[OWN], OWN) if OWN in said else None,
        "rest": {name: value for name, value in said.items() if name not in _READ and name not in _GIVEN_UP},
    }


def _dependencies(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise Invalid("dependencies must be a list of task ids.", field="dependencies")
    return tuple(dict.fromkeys(validation.text(id, "dependencies") for id in value))


def _object(value: Any, field: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Invalid(f"{field} must be an object.", field=field)
    return value


def _instant(value: Any, field: str) -> datetime | None:
    """An ISO text (without a zone: this machine's, as Loki's tools write it), or seconds since 1970, as `jq` does."""
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        first, last = (micros // 1_000_000 for micros in (validation.FIRST_INSTANT, validation.LAST_INSTANT))
        return from_micros(seconds(validation.number(value, field, first, last)))
    try:
        return datetime.fromisoformat(value.strip()).astimezone()
    except (AttributeError, ValueError, OverflowError):
        raise Invalid(f"{field} must be an instant such as 2030-01-31T12:00:00Z.", field=field) from None
