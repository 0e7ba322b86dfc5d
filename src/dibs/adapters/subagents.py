"""Subagents in the background: a task each, a file for their output, a state to show, a word to the parent at the end.

`enqueue_subagent_task` adds two tasks in one commit: the work, whose type is the subagent's, and (unless it is silent)
an item for the parent's `QueueRuntime` that waits until the work has ended in whatever way. So the parent hears of it
once, also when the worker died, the work was cancelled, or nobody was listening at that moment.

The state of a subagent is what its task says; there is no second record of it that could say otherwise. Any worker can
do the work; `subagent_app` makes one that also writes the output file.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dibs.adapters import items, mapping
from dibs.adapters.items import Notification
from dibs.adapters.mapping import RUNTIME
from dibs.errors import Invalid, NotFound
from dibs.model.status import Status
from dibs.model.task import NewTask
from dibs.rules import validation
from dibs.worker import App, Context, Fail

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.model.task import Task
    from dibs.queue import Queue

log = logging.getLogger("dibs.adapters")

KIND = "task_notification"
TAG = "subagent"
"""The tag of every subagent's task."""

OUTPUT_FOLDER = ".dibs/subagents"
MAX_DESCRIPTION_CHARS = 1_000
_ID = "subagent_"


class TaskEnqueueResult(Struct, kw_only=True):
    """What the caller gets at once."""

    task_id: str
    output_file: str
    subagent_id: str


class SubagentTask(Struct, kw_only=True):
    """What a subagent is started with."""

    task_id: str
    subagent_id: str
    subagent_type: str
    prompt: str
    description: str
    output_file: str
    model: str | None = None
    tool_call_id: str | None = None
    existing_agent_id: str | None = None
    existing_conversation_id: str | None = None
    max_turns: int | None = None


class SubagentResult(Struct, kw_only=True):
    """How a subagent ended. One that did not succeed has failed for good; one that raises is tried again."""

    success: bool = True
    report: Any = None
    error: str | None = None
    total_tokens: int | None = None
    turns: int | None = None
    cost: float | None = None


class Subagent(Struct, kw_only=True):
    """A subagent as an interface shows it. `status`: pending, running, completed, failed or cancelled."""

    id: str
    type: str
    description: str
    status: str
    task_id: str
    tool_call_id: str | None = None
    output_file: str | None = None
    error: str | None = None
    total_tokens: int | None = None
    progress: float | None = None
    note: str | None = None
    silent: bool = False
    created_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None


Spawn = Callable[[SubagentTask], Awaitable[SubagentResult]]
"""Runs a subagent to its end."""


async def enqueue_subagent_task(
    queue: Queue,
    subagent_type: str,
    prompt: str,
    description: str,
    *,
    model: str | None = None,
    tool_call_id: str | None = None,
    existing_agent_id: str | None = None,
    existing_conversation_id: str | None = None,
    max_turns: int | None = None,
    priority: int = RUNTIME.default_priority,
    max_attempts: int = RUNTIME.max_attempts,
    silent: bool = False,
    agent_id: str | None = None,
    conversation_id: str | None = None,
    output_folder: str | Path = OUTPUT_FOLDER,
) -> TaskEnqueueResult:
    """Give a prompt to a subagent in the background. Once this returns the task survives any crash.

    `agent_id` and `conversation_id` are the parent's: its notification carries them. An `existing_agent_id` is gone on
    with instead of starting a new one. The output file is in `output_folder`, empty until the subagent has ended.
    """
    folder = _folder(output_folder)
    told = validation.text(description, "description", max_chars=MAX_DESCRIPTION_CHARS)
    item = items.QueueItem(
        kind=KIND,
        prompt=items.prose(prompt, "prompt"),
        subagent_type=validation.text(subagent_type, "subagent_type"),
        model=model,
        existing_agent_id=existing_agent_id,
        existing_conversation_id=existing_conversation_id,
        max_turns=max_turns,
        priority=priority,
        max_attempts=max_attempts,
        agent_id=agent_id,
        conversation_id=conversation_id,
    )
    work = items.new_task(item)
    work.type, work.ref, work.title, work.tags = subagent_type, "work", told, (TAG,)
    work.payload |= {"description": told, "output_folder": str(folder)}
    if tool_call_id is not None:
        work.payload["tool_call_id"] = validation.text(tool_call_id, "tool_call_id")
    if validation.flag(silent, "silent"):
        work.payload["silent"] = True
    await asyncio.to_thread(_make, folder)
    [task, *_] = await queue.add_many([work] if silent else [work, _word_to_the_parent(item, work)])
    output_file = folder / f"{task.id}.txt"
    await asyncio.to_thread(output_file.touch)
    return TaskEnqueueResult(task_id=task.id, output_file=str(output_file), subagent_id=_subagent_id(task.id))


def _word_to_the_parent(item: items.QueueItem, work: NewTask) -> NewTask:
    """The item that waits until the work has ended; what it says is read then."""
    parent = {"agent_id": item.agent_id, "conversation_id": item.conversation_id}
    payload = {"kind": KIND, "source": "system", "about": "subagent"}
    return NewTask(
        KIND,
        payload | {name: value for name, value in parent.items() if value is not None},
        priority=work.priority,
        retry=RUNTIME.retry,
        after_ended=["work"],
        created_by="system",
    )


# For an interface


async def get_subagent(queue: Queue, subagent_id: str) -> Subagent:
    """A subagent as it is now. Raises NotFound."""
    id = validation.text(subagent_id, "subagent_id")
    try:
        task = await queue.get("task_" + id.removeprefix(_ID))
    except NotFound:
        task = None
    if task is None or not id.startswith(_ID) or TAG not in task.tags:
        raise NotFound(f"There is no subagent {id}.", field="subagent_id")
    return _subagent(task)


async def list_subagents(queue: Queue, *, status: str | None = None, limit: int = 50) -> list[Subagent]:
    """The newest subagents; with `status`, of those that are there now. Reads on, from the newest task, until it has
    `limit` of them."""
    wanted = None if status is None else mapping.statuses_shown_as(RUNTIME, status)
    most = validation.whole(limit, "limit", 1, 1_000)
    found: list[Subagent] = []
    cursor = None
    while True:
        page = await queue.find(status=wanted, tag=TAG, limit=most, cursor=cursor)
        found += [_subagent(task) for task in page.items]
        cursor = page.cursor
        if cursor is None or len(found) >= most:
            return found[:most]


async def notification_of(queue: Queue, task: Task) -> Notification | None:
    """What an item that waited for a subagent tells its parent; None if it is another item."""
    if task.type != KIND or not isinstance(task.payload, dict) or task.payload.get("about") != "subagent":
        return None
    ended = await queue.get(task.depends_on[0])
    state = _subagent(ended)
    result = ended.output.get("report") if isinstance(ended.output, dict) else ended.output
    return Notification(
        task_id=ended.id,
        status=state.status,
        summary=f"Agent “{state.description}” {_ENDED.get(state.status, 'is to be tried again')}",
        result=result if ended.status is Status.COMPLETED else state.error,
        output_file=state.output_file,
    )


_ENDED = {"completed": "completed", "failed": "failed", "cancelled": "was cancelled"}


def _subagent(task: Task) -> Subagent:
    payload = task.payload if isinstance(task.payload, dict) else {}
    tokens = task.output.get("total_tokens") if isinstance(task.output, dict) else None
    if tokens is None and not task.tokens_in is task.tokens_out is None:
        tokens = (task.tokens_in or 0) + (task.tokens_out or 0)
    folder = payload.get("output_folder")
    return Subagent(
        id=_subagent_id(task.id),
        type=task.type,
        description=task.title or "",
        status=mapping.status_to_source(RUNTIME, task.status),
        task_id=task.id,
        tool_call_id=payload.get("tool_call_id"),
        output_file=None if folder is None else str(Path(folder) / f"{task.id}.txt"),
        error=task.cancel_reason if task.status is Status.CANCELLED else task.error,
        total_tokens=tokens,
        progress=task.progress,
        note=task.note,
        silent=payload.get("silent", False),
        created_at=task.created_at,
        started_at=task.started_at,
        completed_at=task.completed_at or task.dead_lettered_at or task.cancelled_at,
    )


# For workers


def subagent_app(spawn: Spawn, types: Iterable[str], *, output_folder: str | Path | None = None) -> App:
    """The handlers of a worker that runs subagents of these types with `spawn`: `dibs.Worker(app, queue)`.

    Their reports are the outputs of their tasks, and are written to their output files: in `output_folder`, if this
    machine has another one than whoever gave the work. A file that cannot be written is logged; the work counts.
    """
    folder = None if output_folder is None else _folder(output_folder)
    app = App()

    async def run(ctx: Context, **payload: Any) -> dict[str, Any]:
        task = _task(ctx.task, folder)
        try:
            result = await spawn(task)
        except Exception as error:
            await _write(task, "failed", str(error) or type(error).__name__)
            raise
        if not isinstance(result, SubagentResult):
            raise Fail(f"spawn must return a SubagentResult, not {type(result).__name__}.", retry=False)
        ctx.spend(usd=result.cost, turns=result.turns)
        if not result.success:
            error_text = result.error or "the subagent did not succeed"
            await _write(task, "failed", error_text)
            raise Fail(error_text, retry=False)
        await _write(task, "completed", result.report)
        return {"report": result.report, "total_tokens": result.total_tokens}

    names = validation.names(types, "types")
    if not names:
        raise Invalid("types must name at least one type of subagent.", field="types")
    for name in names:
        app.handler(name)(run)
    return app


def _task(task: Task, folder: Path | None) -> SubagentTask:
    payload = task.payload if isinstance(task.payload, dict) else {}
    prompt = payload.get("prompt")
    if not isinstance(prompt, str):
        raise Fail("the payload lacks 'prompt', which a subagent requires.", reason="invalid_input", retry=False)
    known = {name: payload.get(name) for name in ("tool_call_id", "existing_agent_id", "existing_conversation_id")}
    home = folder or Path(payload.get("output_folder") or OUTPUT_FOLDER)
    return SubagentTask(
        task_id=task.id,
        subagent_id=_subagent_id(task.id),
        subagent_type=task.type,
        prompt=prompt,
        description=task.title or "",
        output_file=str(home / f"{task.id}.txt"),
        model=task.models[0] if task.models else None,
        max_turns=task.max_turns,
        **known,
    )


async def _write(task: SubagentTask, status: str, report: Any) -> None:
    """The transcript, all of it or none."""
    body = report if isinstance(report, str) else items.as_json(report)
    text = f"# {task.description}\n\n{task.subagent_type} · {task.task_id} · {status}\n\n{body}\n"

    def write() -> None:
        path = Path(task.output_file)
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".{os.getpid()}.tmp")
        beside.write_text(text, encoding="utf-8", errors="replace")
        beside.replace(path)

    try:
        await asyncio.to_thread(write)
    except OSError as error:
        log.warning("the output of %s could not be written to %s: %s", task.subagent_id, task.output_file, error)


def _subagent_id(task_id: str) -> str:
    return _ID + task_id.removeprefix("task_")


def _folder(folder: object) -> Path:
    if not isinstance(folder, (str, Path)) or not str(folder).strip() or "\0" in str(folder):
        raise Invalid(f"output_folder must be the path of a folder, not {folder!r:.80}.", field="output_folder")
    return Path(folder).expanduser().absolute()


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Invalid(f"output_folder cannot be made: {error}.", field="output_folder") from None
