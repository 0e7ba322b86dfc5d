"""The line from running work back to the queue: everything a context writes or asks, under the claim's fence.

Handlers in the loop await these methods; threads and child processes reach them by name through `call`. Steps and
spawns are journaled, so that a handler which runs again gets back what it had. For the same reason every call can be
repeated: while the store is away the handler waits, as long as its lease lasts, and hears nothing of it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import convert
from msgspec.json import decode, encode

from dibs.errors import Conflict, IllegalTransition, Invalid, LeaseLost, Unavailable
from dibs.model.retry import Retry
from dibs.model.status import Status
from dibs.model.task import NewTask, Task
from dibs.rules import validation
from dibs.stores.values import Entry
from dibs.worker.handing import to_file
from dibs.worker.outcomes import ChildFailed, Completed, Ending, Failed, Released, Suspend
from dibs.worker.patience import patiently
from dibs.worker.work import Stop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dibs.artifacts.verbs import Opened
    from dibs.model.artifact import Artifact
    from dibs.model.claim import News, Settled
    from dibs.model.heard import Heard
    from dibs.queue import Queue
    from dibs.worker.work import Work

T = TypeVar("T")

MAX_LINE_CHARS = 10_000
VERBS = frozenset(
    {
        *("find_step", "keep_step", "spawn", "ask", "progress", "checkpoint", "artifact", "fetch_artifact"),
        *("hear", "settle_member"),
    }
)


class Line:
    """What one piece of work may ask of the queue."""

    __slots__ = ("_queue", "_steps", "work")

    def __init__(self, work: Work, queue: Queue) -> None:
        self.work = work
        self._queue = queue
        self._steps: dict[str, Entry] | None = None

    async def call(self, verb: str, arguments: dict[str, Any]) -> Any:
        """One of the verbs by name, for those who cannot await it themselves."""
        if verb not in VERBS:
            raise Invalid(f"there is no verb {verb!r}.")
        return await getattr(self, verb)(**arguments)

    async def find_step(self, name: str, digest: str) -> tuple[bool, Any]:
        """Whether an earlier attempt did this step, and its result. Another body under the same name: Conflict."""
        self._check()
        if self._steps is None:
            self._steps = await self._read_steps()
        entry = self._steps.get(name)
        if entry is None:
            return False, None
        if entry.digest != digest:
            raise Conflict(
                f"step {name!r} was recorded with another function or other arguments; "
                "give changed steps a new name, or retry the task with keep_steps=False.",
                code="journal_mismatch",
                field="name",
            )
        return True, decode(entry.value)

    async def keep_step(self, name: str, digest: str, value: Any, sanitized: bool = False) -> Any:
        """Record a step's result durably; the value as every later attempt will get it.

        `sanitized`: it had to be changed on its way here already.
        """
        self._check()
        kept = self._kept(value, sanitized)
        recorded = await self._write(Entry(kind="step", name=name, digest=digest, value=encode(kept)))
        if self._steps is not None:
            self._steps[name] = recorded
        return decode(recorded.value)

    async def spawn(self, type: str, payload: Any, options: dict[str, Any], name: str, wait: bool) -> Task:
        """Add a child once. With `wait`, either it has ended and is returned (badly: ChildFailed), or this run ends."""
        self._check()
        work = self.work
        if isinstance(options.get("retry"), dict):  # as it arrives from a child process
            options["retry"] = convert(options["retry"], Retry)
        spec = NewTask(type, payload, **options)
        try:
            if wait:
                # The claim may end here, and lines can only be written while it is held.
                await self._answer(lambda: write_lines(self._queue, work))
            inserted = await self._answer(
                lambda: self._queue.spawn_below(work.claim, [spec], wait=wait, name=name, used=work.usage)
            )
        except LeaseLost:
            work.stop(Stop.LOST)
            raise
        if inserted.suspended:
            work.suspended = True
            raise Suspend
        child = inserted.tasks[0]
        if not wait:
            return child
        child_id = child.id
        child = await self._answer(lambda: self._queue.get(child_id))
        if child.status is not Status.COMPLETED:
            raise ChildFailed(child)
        return child

    async def ask(self, question: str, **options: Any) -> Any:
        """Ask a person once. Either there is an answer, or this run ends."""
        self._check()
        work = self.work
        try:
            # The claim may end here, and lines can only be written while it is held.
            await self._answer(lambda: write_lines(self._queue, work))
            asked = await self._answer(lambda: self._queue.ask_under(work.claim, question, used=work.usage, **options))
        except LeaseLost:
            work.stop(Stop.LOST)
            raise
        if asked.suspended:
            work.suspended = True
            raise Suspend
        return asked.question.answer

    async def hear(self) -> list[Heard]:
        """Which children have ended since this run last asked."""
        self._check()
        try:
            return await self._answer(lambda: self._queue.hear(self.work.claim))
        except LeaseLost:
            self.work.stop(Stop.LOST)
            raise

    async def artifact(
        self, name: str, data: Any = None, media_type: str | None = None, path: str | None = None
    ) -> Artifact:
        """Keep bytes as an artifact of this task. `path`: of the file with the bytes, from those who send them so.

        Only what the store is told is said again while it is away: data may be there to be read just once.
        """
        self._check()
        work = self.work
        artifact = await self._queue.keep_bytes(name, data if path is None else Path(path), media_type=media_type)
        claim = work.claim
        try:
            return await self._answer(lambda: self._queue.store.put_artifact(claim.task.id, claim.fence, artifact))
        except LeaseLost:
            work.stop(Stop.LOST)
            raise

    async def open_artifact(self, ref: Any) -> Opened:
        """An artifact's bytes; without a task it is looked for in the dag of this one."""
        return await self._queue.open_artifact(ref, dag=self.work.claim.task.dag_id)

    async def fetch_artifact(self, ref: Any) -> str:
        """The path of a file with an artifact's bytes, for those who cannot await them."""
        stream = await self._queue.artifact_stream(ref, dag=self.work.claim.task.dag_id)
        return await asyncio.to_thread(to_file, stream)

    async def settle_member(
        self, task_id: str, how: str, value: Any = None, sanitized: bool = False, **options: Any
    ) -> Settled | None:
        """End one of the others of this group by itself: `completed` with this value, `failed` or `released`. None:
        somebody cancelled it, or took it away."""
        from dibs.worker import together

        self._check()
        member = next((member for member in self.work.members if member.claim.task.id == task_id), None)
        if member is None:
            raise Invalid(f"{task_id} is not one of this group; see ctx.group.", field="member")
        if member.over:
            raise IllegalTransition(f"{task_id} was settled by this handler already.", field="member")
        return await together.settle(
            self.work, member, _ending(how, value, sanitized, options), self._queue, self._answer
        )

    async def progress(self, progress: float | None, note: str | None) -> None:
        """Tell how far the work is; the same call renews the lease and may bring news."""
        self._check()
        news = await self._answer(lambda: self._renew(progress, note))
        if news.cancel:
            self.work.stop(Stop.CANCELLED)
        else:
            self.work.hear(news)

    async def _renew(self, progress: float | None, note: str | None) -> News:
        """Once, with what has been used by now."""
        self.work.usage_changed = False
        return await self._queue.renew_with(self.work.claim, self.work.usage, progress=progress, note=note)

    async def checkpoint(self, data: Any, sanitized: bool = False) -> None:
        """Replace what the next attempt finds as its last checkpoint."""
        self._check()
        kept = self._kept(data, sanitized)
        await self._write(Entry(kind="checkpoint", value=encode(kept)))

    def _kept(self, value: Any, sanitized: bool) -> Any:
        """The value as it can be kept; that it had to be changed is said of the whole attempt."""
        kept, dirty = validation.clean(value)
        if dirty or sanitized:
            self.work.sanitized = True
        return kept

    def _check(self) -> None:
        """Work that has ended has no more to say, whatever its thread still does."""
        if self.work.suspended:
            raise Suspend
        if self.work.over or self.work.stopped is not None:
            why = self.work.stopped.value if self.work.stopped else "it was settled"
            raise LeaseLost(f"this attempt at {self.work.claim.task.id} has ended: {why}.")

    async def _answer(self, ask: Callable[[], Awaitable[T]]) -> T:
        """The store's answer, however long it is away while this attempt lasts; then LeaseLost, as ever."""
        return await patiently(ask, self._may_wait)

    def _may_wait(self) -> bool:
        if monotonic() >= self.work.lease_until:
            self.work.stop(Stop.LOST)
        # Raises in the end: a thread or process is not cancelled in its wait, as a coroutine is.
        self._check()
        return True

    async def _read_steps(self) -> dict[str, Entry]:
        claim = self.work.claim
        # Nothing can have been recorded before the first claim.
        if claim.fence == 1:
            return {}
        journal = await self._answer(lambda: self._queue.journal(claim.task.id))
        return {entry.name: entry for entry in journal if entry.kind == "step"}

    async def _write(self, entry: Entry) -> Entry:
        try:
            [recorded] = await self._answer(lambda: self._queue.record(self.work.claim, [entry]))
        except LeaseLost:
            self.work.stop(Stop.LOST)
            raise
        return recorded


def _ending(how: str, value: Any, sanitized: bool, options: dict[str, Any]) -> Ending:
    """How one of a group ends, as a value."""
    match how:
        case "completed":
            return Completed(value, sanitized=sanitized)
        case "failed":
            return Failed(**options)
        case _:
            return Released(options["delay"])


async def write_lines(queue: Queue, work: Work) -> None:
    """Write the log lines that have gathered. A lost lease loses them: they belong to nobody's attempt.

    If the store is away they are kept for the next time; should only its answer be lost, they are written twice.
    """
    lines = work.take_lines()
    if lines:
        entries = [Entry(kind="log", value=encode(validation.clean_text(line, MAX_LINE_CHARS)[0])) for line in lines]
        try:
            await queue.record(work.claim, entries)
        except Unavailable:
            work.put_back_lines(lines)
            raise
