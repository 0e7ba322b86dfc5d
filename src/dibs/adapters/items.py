"""What a `QueueRuntime` carries: items of four kinds, and batches of those that belong together. Pure.

| kind | carries | coalesces |
|---|---|---|
| `message` | `content`: what a user or a hook says, in any form | with others of its scope |
| `task_notification` | `text`: that a task has ended; or the `prompt` of a subagent | no |
| `approval_result` | `text`: what was approved or refused | no |
| `overlay_action` | `text`: what was chosen in the interface | no |

An item may say otherwise by `is_coalescable`. The scope is the `scope_key`; without one, the agent and conversation.
"""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import fields

from dibs.adapters import mapping
from dibs.adapters.mapping import RUNTIME
from dibs.errors import Invalid
from dibs.model.instants import to_micros
from dibs.model.retry import Retry
from dibs.model.task import NewTask
from dibs.rules import validation
from dibs.rules.coalescing import WINDOW_S

if TYPE_CHECKING:
    from dibs.model.task import Task

COALESCES = {"message": True, "task_notification": False, "approval_result": False, "overlay_action": False}
"""The kinds, and whether items of that kind are taken together."""

KINDS = tuple(COALESCES)
SOURCES = ("user", "system", "hook")

FIRST_MS = validation.FIRST_INSTANT // 1000
LAST_MS = validation.LAST_INSTANT // 1000


class Notification(Struct, kw_only=True):
    """That a subagent's task has ended, told to its parent. `status`: completed, failed or cancelled."""

    task_id: str
    status: str
    summary: str
    result: Any = None
    output_file: str | None = None

    @property
    def text(self) -> str:
        """For the parent to read."""
        lines = [f"{self.summary} ({self.task_id}: {self.status})."]
        if self.result is not None:
            lines.append(self.result if isinstance(self.result, str) else as_json(self.result))
        if self.output_file is not None:
            lines.append(f"Output file: {self.output_file}")
        return "\n".join(lines)


class QueueItem(Struct, kw_only=True):
    """One thing for an agent to take up. `id`, `enqueued_at`, `attempt_count` and `fence` are the queue's to fill in.

    `run_after` and `enqueued_at` are milliseconds since 1970. `priority`: 0 to 9, 0 is the most urgent.
    """

    kind: str
    content: Any = None
    text: str | None = None
    source: str = "user"
    agent_id: str | None = None
    conversation_id: str | None = None
    client_message_id: str | None = None
    scope_key: str | None = None
    is_coalescable: bool | None = None
    subagent_type: str | None = None
    prompt: str | None = None
    model: str | None = None
    existing_agent_id: str | None = None
    existing_conversation_id: str | None = None
    max_turns: int | None = None
    priority: int = RUNTIME.default_priority
    run_after: int | None = None
    max_attempts: int = RUNTIME.max_attempts
    backoff_multiplier: float = RUNTIME.retry.multiplier
    max_backoff_ms: int = int(RUNTIME.retry.cap * 1000)

    id: str | None = None
    enqueued_at: int | None = None
    attempt_count: int = 0
    fence: int | None = None
    notification: Notification | None = None


class DequeuedBatch(Struct, kw_only=True):
    """Items taken together. `merged_count`: how many; `queue_len_after`: how many wait."""

    batch_id: str
    items: list[QueueItem]
    merged_count: int
    queue_len_after: int


class Blocked(Struct, kw_only=True):
    """Items wait, and nothing may be taken."""

    reason: str
    queue_len: int


_FILLED_IN = ("id", "enqueued_at", "attempt_count", "fence", "notification")
_ASIDE = frozenset({*_FILLED_IN, "priority", "run_after", "max_attempts", "backoff_multiplier", "max_backoff_ms"})
"""What the queue itself keeps; the rest of an item is its payload."""

_IN_PAYLOAD = tuple(field.name for field in fields(QueueItem) if field.name not in _ASIDE)
_TEXTS = (
    "scope_key",
    "agent_id",
    "conversation_id",
    "client_message_id",
    "subagent_type",
    "model",
    "existing_agent_id",
    "existing_conversation_id",
)


def new_task(item: QueueItem, window_s: float = WINDOW_S) -> NewTask:
    """What to add to the queue for this item. Raises Invalid where it says what nobody can mean."""
    if not isinstance(item, QueueItem):
        raise Invalid(f"item must be a dibs.adapters.QueueItem, not {item!r:.80}.", field="item")
    _check(item)
    payload = {name: value for name in _IN_PAYLOAD if (value := getattr(item, name)) is not None}
    key = coalesce_key(item)
    return NewTask(
        item.kind,
        payload,
        priority=mapping.priority_to_dibs(RUNTIME, item.priority),
        run_after=None if item.run_after is None else _instant(item.run_after),
        max_attempts=mapping.max_attempts_to_dibs(RUNTIME, item.max_attempts, "max_attempts"),
        retry=retry_of(item.backoff_multiplier, item.max_backoff_ms),
        models=() if item.model is None else [item.model],
        max_turns=item.max_turns,
        coalesce_key=key,
        coalesce_window=WINDOW_S if key is None else window_s,
        created_by=f"{item.source}:{item.agent_id}" if item.agent_id else item.source,
    )


def coalesce_key(item: QueueItem) -> str | None:
    """What items have in common that are taken together; None: this one is taken alone."""
    if not (COALESCES[item.kind] if item.is_coalescable is None else item.is_coalescable):
        return None
    scope = [item.agent_id, item.conversation_id] if item.scope_key is None else [item.scope_key]
    # As JSON no two scopes are alike, whatever their names contain; a key must not be longer than this.
    key = as_json(scope)
    return key if len(key) <= validation.MAX_NAME_CHARS else sha256(key.encode()).hexdigest()


def retry_of(backoff_multiplier: float, max_backoff_ms: int) -> Retry:
    """One second, then longer and longer, a tenth more or less."""
    cap_s = validation.whole(max_backoff_ms, "max_backoff_ms", 0, 365 * 86_400_000) / 1000
    factor = validation.number(backoff_multiplier, "backoff_multiplier", 1, 1000)
    return Retry(delay=min(RUNTIME.retry.delay, cap_s), multiplier=factor, cap=cap_s, jitter=RUNTIME.retry.jitter)


def item_of(task: Task, fence: int | None = None) -> QueueItem:
    """The item that a task was added for; of a task that was added otherwise, what is known of it."""
    payload = task.payload if isinstance(task.payload, dict) else {"content": task.payload}
    kept = {name: payload[name] for name in _IN_PAYLOAD if name in payload}
    policy = task.retry or RUNTIME.retry
    return QueueItem(
        **{"kind": task.type, **kept},
        priority=mapping.priority_to_source(RUNTIME, task.priority),
        run_after=None if task.run_after is None or task.gathers_until else _ms(task.run_after),
        max_attempts=mapping.max_attempts_to_source(RUNTIME, task.max_attempts),
        backoff_multiplier=policy.multiplier,
        max_backoff_ms=int(policy.cap * 1000),
        id=task.id,
        enqueued_at=None if task.created_at is None else _ms(task.created_at),
        attempt_count=mapping.failures_of(task),
        fence=fence,
    )


def _check(item: QueueItem) -> None:
    if item.kind not in KINDS:
        raise Invalid(f"kind must be one of {', '.join(KINDS)}, not {item.kind!r:.80}.", field="kind")
    if item.source not in SOURCES:
        raise Invalid(f"source must be one of {', '.join(SOURCES)}, not {item.source!r:.80}.", field="source")
    for name in _FILLED_IN:
        if getattr(item, name):
            raise Invalid(f"{name} is the queue's to fill in; leave it out.", field=name)
    for name in _TEXTS:
        if getattr(item, name) is not None:
            validation.text(getattr(item, name), name)
    if item.is_coalescable is not None:
        validation.flag(item.is_coalescable, "is_coalescable")
    if item.max_turns is not None:
        validation.whole(item.max_turns, "max_turns", 1, mapping.MAX_COUNT)
    if item.kind == "message":
        if item.content is None:
            raise Invalid("a message needs its content.", field="content")
        return
    for name in ("text", "prompt"):
        if getattr(item, name) is not None:
            prose(getattr(item, name), name)
    if item.text is None and (item.kind != "task_notification" or item.prompt is None):
        raise Invalid(f"an item of the kind {item.kind} needs its text.", field="text")


def prose(value: Any, field: str) -> str:
    """A text of any length, as a payload can have it; what it must not contain is said when it is added."""
    if not isinstance(value, str) or not value.strip():
        raise Invalid(f"{field} must be a text that is not blank, not {value!r:.80}.", field=field)
    return value


def _instant(at_ms: object) -> datetime:
    return datetime.fromtimestamp(validation.whole(at_ms, "run_after", FIRST_MS, LAST_MS) / 1000, UTC)


def _ms(instant: datetime) -> int:
    return to_micros(instant) // 1000


def as_json(value: Any) -> str:
    return encode(value).decode()
