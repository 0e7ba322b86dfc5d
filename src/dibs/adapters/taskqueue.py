"""`TaskQueue`: the verbs of a persistent queue behind a Task tool, on any store of dibs.

A task is a prompt for a kind of subagent. Here its `subagent_type` is the type, so that workers of every sort can do it
(`@app.handler("coder")`, `dibs run --type coder -- claude -p "{prompt}"`) beside those that `dequeue` it. Its prompts
are the payload, its model a wish, its owner the user, and `parent_task` what it comes after.

Four things differ from the design whose names these are, because there they lose work or do it twice:

- An id is made by the queue, and `complete` and `fail` prove by the fence of the dequeue that the task is still the
  worker's own. Another process passes `fence`.
- A retry waits in the store, not in the process that failed.
- A worker's heartbeat extends the leases of what it holds. However long the work takes, it is not taken away while
  heartbeats arrive; what stalls is offered again by itself, and `requeue_stalled` only looks at once.
- `STALLED` is not stored: it is what a task is called whose lease is over until it is offered again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from msgspec import Struct

from dibs.adapters import mapping
from dibs.adapters.holding import Holdings, lease_of, milliseconds, text_id
from dibs.adapters.items import prose
from dibs.adapters.mapping import TASK_QUEUE
from dibs.errors import Conflict, Invalid, NotFound
from dibs.model.agent import AgentStatus
from dibs.model.instants import to_micros
from dibs.model.status import FINAL, HELD, Status
from dibs.model.task import NewTask
from dibs.requests import MAX_LIMIT, MAX_WAIT_S
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    import dibs
    from dibs.model.claim import Claim
    from dibs.queue import Queue

MAX_AGE_S = 86_400.0


class TaskStatus(StrEnum):
    """Where a task is, in this design's words."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    STALLED = "stalled"


class Task(Struct, kw_only=True):
    """A prompt for a subagent. The upper half is asked for, the lower half is known once it is in the queue.

    `priority`: lower runs first, 200 and beyond last. `max_retries` are tries after the first one. `fence` proves a
    dequeue. `payload` is all that the subagent is given, also where the task was not added by a `TaskQueue`.
    """

    subagent_type: str
    prompt: str
    system_prompt: str | None = None
    model: str | None = None
    priority: int = TASK_QUEUE.default_priority
    max_retries: int = TASK_QUEUE.max_attempts - TASK_QUEUE.first
    tags: Sequence[str] = ()
    user_id: str | None = None
    parent_task: str | UUID | None = None

    id: str | None = None
    status: TaskStatus = TaskStatus.PENDING
    created_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    agent_id: str | None = None
    retry_count: int = 0
    result: Any = None
    error: str | None = None
    exit_code: int | None = None
    fence: int | None = None
    payload: Any = None


class TaskSummary(Struct, kw_only=True):
    """A task in a list."""

    id: str
    subagent_type: str
    status: TaskStatus
    priority: int
    prompt: str
    tags: tuple[str, ...] = ()
    created_at: datetime | None = None
    error: str | None = None


class TaskQueue:
    """A queue of prompts on `queue`. `types`: the subagents whose tasks it hands out and looks after; None: all.

    A worker that is not heard of for `lease_ms` has lost what it holds.
    """

    def __init__(self, queue: Queue, *, types: Iterable[str] | None = None, lease_ms: int = 60_000) -> None:
        self.queue = queue
        self.types = None if types is None else validation.names(types, "types")
        self.lease_s = lease_of(lease_ms)
        self._held = Holdings(queue, self.lease_s)
        self._more: dict[str, list[Claim]] = {}

    # Core operations

    async def enqueue(self, task: Task) -> str:
        """Add a task; its id. Once this returns it survives any crash."""
        [added] = await self.queue.add_many([new_task(task)])
        return added.id

    async def dequeue(self, worker_id: UUID | str, timeout_ms: int = 5_000) -> Task | None:
        """The best task that waits, now this worker's; None if there is none within `timeout_ms`."""
        worker = text_id(worker_id, "worker_id")
        wait_s = milliseconds(timeout_ms, "timeout_ms", 0, MAX_WAIT_S)
        claim = await self._next_of_group(worker)
        if claim is None:
            claims = await self.queue.claim(worker, types=self.types, lease=self.lease_s, wait=wait_s)
            if not claims:
                return None
            [claim] = claims
            self._held.remember(claim)
            # Others added tasks that go together: here they are handed out one after the other.
            self._more[worker] = list(claim.group)
            for member in claim.group:
                self._held.remember(member)
        return self._known(claim.task, claim.fence)

    async def _next_of_group(self, worker: str) -> Claim | None:
        """The next of those that were taken together, if it is still this worker's."""
        waiting = self._more.get(worker, [])
        while waiting:
            claim = waiting.pop(0)
            if self._held.find(claim.task.id) is not claim:
                continue
            try:
                news = await self.queue.renew(claim, lease=self.lease_s)
            except (Conflict, NotFound):
                news = None
            if news is not None and not news.cancel:
                return claim
            self._held.forget(claim.task.id)
        return None

    async def complete(self, task_id: UUID | str, result: Any = None, *, fence: int | None = None) -> None:
        """The subagent succeeded. Raises LeaseLost if the task is not the worker's any more."""
        id = text_id(task_id, "task_id")
        await self.queue.complete(self._held.proof(id, fence), result)
        self._held.forget(id)

    async def fail(
        self,
        task_id: UUID | str,
        error: str,
        retryable: bool = True,
        *,
        reason: str = "error",
        exit_code: int | None = None,
        fence: int | None = None,
    ) -> None:
        """The subagent failed: it is tried again after 1, 2, 4 … s, unless it is not `retryable` or has been often
        enough. `reason`: why, where that decides (`timeout`, `syntax_error`, `out_of_memory` …)."""
        id = text_id(task_id, "task_id")
        validation.flag(retryable, "retryable")
        await self.queue.fail(self._held.proof(id, fence), error, reason=reason, retry=retryable, exit_code=exit_code)
        self._held.forget(id)

    async def cancel(self, task_id: UUID | str) -> None:
        """Cancel a task, whatever it is doing, and what comes after it. One that has ended stays as it is."""
        await self.queue.cancel((await self.queue.get(text_id(task_id, "task_id"))).id)

    # Management

    async def retry(self, task_id: UUID | str) -> None:
        """Try a failed or cancelled task again, with all its retries. Raises IllegalTransition for any other."""
        await self.queue.retry(text_id(task_id, "task_id"))

    async def requeue_stalled(self, max_age_ms: int = 60_000) -> int:
        """Offer again what is held by workers that were not heard of for so long, or whose leases are over; how many.

        Nobody needs to call this for leases that are over: workers and dequeues see to it. Who asked for a longer
        lease than this queue's is believed until that is over. What stalled too often has failed, and is not counted.
        """
        age_s = milliseconds(max_age_ms, "max_age_ms", 0, MAX_AGE_S)
        stalled = [task async for task in self._find(HELD) if self._is_silent(task, age_s)]
        await self.queue.run_duties()
        for task in stalled:
            now = await self.queue.get(task.id)
            if now.fence != task.fence or self._is_stalled(now) or not self._is_silent(now, age_s):
                continue
            why = f"{task.agent} was not heard of for {age_s:g} s"
            try:
                await self.queue.fail((task.id, task.fence), why, reason="crash", retry_after=0)
            except (Conflict, NotFound):
                pass  # It has ended meanwhile.
        back = 0
        for task in stalled:
            now = await self.queue.get(task.id)
            back += now.status not in FINAL and not (now.status in HELD and now.fence == task.fence)
        return back

    async def get_status(self, task_id: UUID | str) -> TaskStatus:
        """Where the task is."""
        return self._status(await self.queue.get(text_id(task_id, "task_id")))

    async def get(self, task_id: UUID | str) -> Task:
        """The task as it is now."""
        return self._known(await self.queue.get(text_id(task_id, "task_id")))

    async def list_by_user(self, user_id: str, status: str | None = None) -> list[TaskSummary]:
        """A user's tasks, newest first; with `status`, those that are there now."""
        user = validation.text(user_id, "user_id")
        wanted = None if status is None else TaskStatus(mapping.known_word(TASK_QUEUE, status, "status"))
        among = None if wanted is None else mapping.statuses_shown_as(TASK_QUEUE, wanted)
        found = [_summary(task, self._status(task)) async for task in self._find(among, user=user)]
        return [task for task in found if wanted is None or task.status is wanted]

    # Worker management

    async def register_worker(self, agent_id: UUID | str, capacity: int) -> None:
        """Say that a worker is there, and how many tasks it may hold at once."""
        await self.queue.register_agent(
            text_id(agent_id, "agent_id"),
            max_concurrent=validation.whole(capacity, "capacity", 1, 10_000),
            keep=True,
        )

    async def heartbeat(self, agent_id: UUID | str) -> list[str]:
        """Say that a worker is alive: all that it dequeued here stays its own for another lease.

        The ids of tasks that it must stop working on: they were cancelled, or taken away.
        """
        agent = text_id(agent_id, "agent_id")
        stop = await self._held.renew(agent)
        known = {other.id: other.status for other in await self.queue.agents()}
        # Registering would end its draining.
        if known.get(agent) is not AgentStatus.DRAINING:
            await self.queue.register_agent(agent, keep=True)
        return stop

    async def unregister_worker(self, agent_id: UUID | str, reason: str) -> None:
        """Say that a worker is gone, and why. What it dequeued here is given back unharmed."""
        agent = text_id(agent_id, "agent_id")
        why = validation.text(reason, "reason", max_chars=4_000)
        await self._held.give_back(agent)
        self._more.pop(agent, None)
        await self.queue.unregister_agent(agent, why)

    # What is known

    async def _find(self, status: Iterable[Status] | None, user: str | None = None) -> AsyncIterator[dibs.Task]:
        cursor = None
        while True:
            page = await self.queue.find(status=status, user=user, limit=MAX_LIMIT, cursor=cursor)
            for task in page.items:
                if self.types is None or task.type in self.types:
                    yield task
            cursor = page.cursor
            if cursor is None:
                return

    def _status(self, task: dibs.Task) -> TaskStatus:
        word = mapping.status_to_source(TASK_QUEUE, task.status, stalled=self._is_stalled(task))
        return TaskStatus(word)

    def _is_stalled(self, task: dibs.Task) -> bool:
        """Whether its lease is over and it was not yet offered again. Only the store's clock judges that."""
        expires_at = task.lease_expires_at
        return task.status in HELD and expires_at is not None and to_micros(expires_at) <= self.queue.store.now()

    def _is_silent(self, task: dibs.Task, age_s: float) -> bool:
        """Whether it is held by a worker that was not heard of for so long, or whose lease is over."""
        heard_at, expires_at = task.renewed_at or task.claimed_at, task.lease_expires_at
        if task.status not in HELD or heard_at is None or expires_at is None:
            return False
        if self._is_stalled(task):
            return True
        asked_for_more = (expires_at - heard_at).total_seconds() > self.lease_s
        return not asked_for_more and self.queue.store.now() - to_micros(heard_at) >= age_s * 1_000_000

    def _known(self, task: dibs.Task, fence: int | None = None) -> Task:
        payload = task.payload if isinstance(task.payload, dict) else {}
        system_prompt = payload.get("system_prompt")
        return Task(
            subagent_type=task.type,
            prompt=_prompt_of(task),
            system_prompt=system_prompt if isinstance(system_prompt, str) else None,
            model=task.models[0] if task.models else None,
            priority=mapping.priority_to_source(TASK_QUEUE, task.priority),
            max_retries=mapping.max_attempts_to_source(TASK_QUEUE, task.max_attempts),
            tags=task.tags,
            user_id=task.user,
            parent_task=task.depends_on[0] if task.depends_on else task.parent_id,
            id=task.id,
            status=self._status(task),
            created_at=task.created_at,
            started_at=task.started_at,
            completed_at=task.completed_at or task.dead_lettered_at or task.cancelled_at,
            agent_id=task.agent,
            retry_count=mapping.retries_of(task),
            result=task.output,
            error=task.error,
            exit_code=task.exit_code,
            fence=fence,
            payload=task.payload,
        )


def new_task(task: Task) -> NewTask:
    """What to add to the queue for this task. Raises Invalid where it says what nobody can mean."""
    if not isinstance(task, Task):
        raise Invalid(f"task must be a dibs.adapters.Task, not {task!r:.80}.", field="task")
    if task.id is not None:
        raise Invalid(f"task {task.id!r:.80} is in the queue already; `retry` tries it again.", field="id")
    prompts = {"prompt": prose(task.prompt, "prompt")}
    if task.system_prompt is not None:
        prompts["system_prompt"] = prose(task.system_prompt, "system_prompt")
    return NewTask(
        validation.text(task.subagent_type, "subagent_type"),
        prompts,
        title=title_of(task.prompt),
        priority=mapping.priority_to_dibs(TASK_QUEUE, task.priority),
        max_attempts=mapping.max_attempts_to_dibs(TASK_QUEUE, task.max_retries, "max_retries"),
        retry=TASK_QUEUE.retry,
        models=() if task.model is None else [validation.text(task.model, "model")],
        tags=validation.names(task.tags, "tags"),
        user=None if task.user_id is None else validation.text(task.user_id, "user_id"),
        after=() if task.parent_task is None else [text_id(task.parent_task, "parent_task")],
    )


def _summary(task: dibs.Task, status: TaskStatus) -> TaskSummary:
    return TaskSummary(
        id=task.id,
        subagent_type=task.type,
        status=status,
        priority=mapping.priority_to_source(TASK_QUEUE, task.priority),
        prompt=_prompt_of(task),
        tags=task.tags,
        created_at=task.created_at,
        error=task.error,
    )


def _prompt_of(task: dibs.Task) -> str:
    """The prompt of a task; one that was added without any is told by its title."""
    prompt = task.payload.get("prompt") if isinstance(task.payload, dict) else task.payload
    return prompt if isinstance(prompt, str) else task.title or ""


def title_of(prompt: str) -> str | None:
    """The first line of a prompt, for people; the part of it that can be shown."""
    line = prompt.strip().partition("\n")[0]
    return "".join(char for char in line if char.isprintable())[:200].strip() or None
