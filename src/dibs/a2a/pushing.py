"""Calling back: whoever sent a task names a URL, and hears there where the task is, whenever that changes.

Each URL of a task is a document of its project (`a2a_push`), which also says what was told last, how that went, and who
is at it. Every server looks at them; one that has something to tell writes its name down first, with the version that
it read. So two do not call at once, and when one dies another does it. Told is always where the task is *now*: what
changes too quickly is told once, where a task ends and what it asks is told for certain, and maybe twice. When the end
was told the document goes.

Requests go through the sender of the hooks, and fail as hooks do: they are tried again, later and later, for a day.
"""

from __future__ import annotations

import asyncio
import logging
import random
from typing import TYPE_CHECKING, Any

from a2a.types.a2a_pb2 import StreamResponse, TaskPushNotificationConfig
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError
from google.protobuf.json_format import MessageToDict
from msgspec import Struct
from msgspec.json import decode, encode
from msgspec.structs import replace

from dibs.a2a import showing
from dibs.errors import Conflict, DibsError, Invalid
from dibs.model.instants import seconds
from dibs.model.status import FINAL
from dibs.requests import default_agent
from dibs.rules import hooks, validation
from dibs.rules.hooks import Verdict

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Protocol

    from dibs.a2a.showing import Seen
    from dibs.model.task import Task
    from dibs.queue import Queue
    from dibs.stores.contract import Store

    class Answer(Protocol):
        """How a request went, as `server.sending` says it."""

        @property
        def code(self) -> int | None: ...
        @property
        def error(self) -> str | None: ...
        @property
        def retry_after(self) -> float | None: ...

    Post = Callable[[str, bytes, Mapping[str, str]], Awaitable[Answer]]

log = logging.getLogger("dibs.a2a")

KIND = "a2a_push"
PROJECT = "a2a_push_project"
"""Of the whole store: each project that ever had one."""
MOST_OF_TASK = 10
MOST_OF_PROJECT = 1_000
MAX_SECRET_CHARS = 2_000
MAX_ID_CHARS = 60
LOOK_S = 0.5
"""How soon a change is noticed, at least."""
IDLE_S = 5.0
PAUSE_S = 2.0
LEASE_S = 20.0
"""How long after the death of a server another one goes on with what it was about to tell; longer than a request
takes."""
DEAD_AFTER_S = 86_400.0
MOST_AT_ONCE = 20
MAX_BODY_BYTES = 256 << 10
"""A task that is larger goes without what it made: whoever is called can get it."""
PAGE = 1_000
TOKEN_HEADER = "X-A2A-Notification-Token"  # noqa: S105 - the name of a header
MEDIA_TYPE = "application/a2a+json"


class Push(Struct, kw_only=True, omit_defaults=True):
    """A URL to call about a task, as it is kept; instants in micros.

    `told` says what was told last. `attempts` were made in vain since then, `holder` is at it until `until`.
    """

    task: str
    id: str
    url: str
    token: str = ""
    scheme: str = ""
    credentials: str = ""
    told: str = ""
    attempts: int = 0
    failing_since: int | None = None
    next_at: int = 0
    holder: str = ""
    until: int = 0


# What somebody set


def checked(config: TaskPushNotificationConfig) -> Push:
    """A URL to call, as somebody wrote it. Raises Invalid, with the field."""
    id = config.id or ""
    if id and (len(id) > MAX_ID_CHARS or not all(char.isalnum() or char in "-_." for char in id) or not id.isascii()):
        raise Invalid(f"id must be at most {MAX_ID_CHARS} letters, digits, and - _ .", field="id")
    scheme, credentials = config.authentication.scheme, config.authentication.credentials
    for field, value in (("token", config.token), ("scheme", scheme), ("credentials", credentials)):
        if not (value.isascii() and value.isprintable()) or len(value) > MAX_SECRET_CHARS:
            raise Invalid(f"{field} must be at most {MAX_SECRET_CHARS:,} characters of plain ASCII.", field=field)
    if " " in scheme:
        raise Invalid("scheme must be one word, such as Bearer.", field="scheme")
    url = hooks.check_url(config.url, "cloudevents")
    return Push(task="", id=id, url=url, token=config.token, scheme=scheme, credentials=credentials)


async def keep(queue: Queue, task_id: str, push: Push) -> TaskPushNotificationConfig:
    """Call this one about the task from now on; the same id again takes the place of the one before."""
    store, project = queue.store, queue.project
    push = replace(push, task=task_id, id=push.id or queue.new_id("push"))
    known = {each.id for each, _ in await _of_task(store, project, task_id)}
    if push.id not in known:
        if len(known) >= MOST_OF_TASK:
            raise Conflict(f"Task {task_id} calls {MOST_OF_TASK} URLs already: delete one first.")
        if len(await store.documents(project, KIND, limit=MOST_OF_PROJECT)) >= MOST_OF_PROJECT:
            raise Conflict(f"{MOST_OF_PROJECT} URLs are called already: wait for tasks to end, or delete some.")
    if not await store.documents("", PROJECT, name=project):
        await store.write_document("", PROJECT, project, b"{}")
    await store.write_document(project, KIND, _name(push), encode(push))
    return _shown(push, secrets=True)


async def get(queue: Queue, task_id: str, id: str) -> TaskPushNotificationConfig:
    """One of those that are called about a task. Raises the protocol's not found."""
    for push, _ in await _of_task(queue.store, queue.project, task_id):
        if push.id == id:
            return _shown(push, secrets=False)
    raise TaskNotFoundError


async def kept_for(queue: Queue, task_id: str) -> list[TaskPushNotificationConfig]:
    """All that are called about a task."""
    return [_shown(push, secrets=False) for push, _ in await _of_task(queue.store, queue.project, task_id)]


async def forget(queue: Queue, task_id: str, id: str) -> None:
    """Call this one no more; one that is not there is not called anyway."""
    for push, _ in await _of_task(queue.store, queue.project, task_id):
        if push.id == id:
            await queue.store.write_document(queue.project, KIND, _name(push), None)


def _name(push: Push) -> str:
    return f"{push.task}/{push.id}"


async def _of_task(store: Store, project: str, task_id: str) -> list[tuple[Push, int]]:
    """In the order of their ids. A name is the task's id, a slash, and its own."""
    try:
        after = validation.text(f"{task_id}/", "task_id")
    except Invalid:
        raise InvalidParamsError(message="There is no such task.") from None
    found = await store.documents(project, KIND, after=after, limit=MOST_OF_TASK + 1)
    return [(decode(each.body, type=Push), each.version) for each in found if each.name.startswith(after)]


def _shown(push: Push, *, secrets: bool) -> TaskPushNotificationConfig:
    config = TaskPushNotificationConfig(task_id=push.task, id=push.id, url=push.url)
    if push.scheme:
        config.authentication.scheme = push.scheme
    if secrets:
        config.token = push.token
        if push.credentials:
            config.authentication.credentials = push.credentials
    return config


# Calling


class Pushing:
    """Calls those who asked for it, in all projects of a queue's store, until it is cancelled."""

    def __init__(
        self,
        queue: Queue,
        post: Post,
        url: str,
        *,
        name: str | None = None,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._queue = queue
        self._store = queue.store
        self._post = post
        self._url = url
        self._name = name or default_agent()
        self._draw = draw
        self._at_work: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Look for what is to be told, again and again."""
        try:
            while True:
                try:
                    seen = await self._store.news()
                    due = await self._look()
                    await asyncio.sleep(LOOK_S)
                    await self._store.wait_for_news(seen, IDLE_S if due is None else min(due, IDLE_S))
                except DibsError as error:
                    log.warning("who is to be called cannot be read, and is tried again: %s", error)
                    await asyncio.sleep(PAUSE_S)
                except Exception:
                    log.exception("looking for who is to be called failed; it is tried again")
                    await asyncio.sleep(PAUSE_S)
        finally:
            for task in self._at_work.values():
                task.cancel()
            await asyncio.gather(*self._at_work.values(), return_exceptions=True)

    async def _look(self) -> float | None:
        """Begin to tell what is to be told; in how many seconds something else is due, if anything is."""
        soonest: float | None = None
        for project in await self._store.documents("", PROJECT):
            after = ""
            while True:
                found = await self._store.documents(project.name, KIND, after=after, limit=PAGE)
                due = await self._tell(project.name, [(decode(each.body, type=Push), each.version) for each in found])
                soonest = due if soonest is None else soonest if due is None else min(due, soonest)
                if len(found) < PAGE:
                    break
                after = found[-1].name
        return soonest

    async def _tell(self, project: str, pushes: list[tuple[Push, int]]) -> float | None:
        now = self._store.now()
        tasks = await self._store.get([push.task for push, _ in pushes], listed=True) if pushes else []
        waits: list[float] = []
        for (push, version), task in zip(pushes, tasks, strict=True):
            if _name(push) in self._at_work or len(self._at_work) >= MOST_AT_ONCE:
                waits.append(LOOK_S)
                continue
            busy = push.until if push.holder != self._name else 0
            if max(push.next_at, busy) > now:
                waits.append((max(push.next_at, busy) - now) / 1e6)
                continue
            if task is not None and push.told == await self._mark(task):
                continue
            self._begin(project, push, version, task)
        return min(waits, default=None)

    def _begin(self, project: str, push: Push, version: int, task: Task | None) -> None:
        name = _name(push)
        calling = asyncio.create_task(self._call(project, push, version, task), name=f"call about {push.task}")
        self._at_work[name] = calling
        calling.add_done_callback(lambda _: self._at_work.pop(name, None))

    async def _mark(self, task: Task) -> str:
        """What is to be told about a task, in short; equal if there is nothing new."""
        seen = await self._seen(task)
        asked = "" if seen.question is None else seen.question.id
        return f"{seen.state}:{task.status}:{task.fence}:{asked}:{task.progress}:{(task.note or '')[:50]}"

    async def _seen(self, task: Task) -> Seen:
        return await showing.look(self._queue, task)

    async def _call(self, project: str, push: Push, version: int, task: Task | None) -> None:
        """Tell one URL where its task is."""
        name = _name(push)
        try:
            if task is None:
                # It was forgotten by now, and so is this.
                await self._store.write_document(project, KIND, name, None, version)
                return
            held = replace(push, holder=self._name, until=self._store.now() + seconds(LEASE_S))
            version = await self._store.write_document(project, KIND, name, encode(held), version)
            if task.status in FINAL:
                [task] = await self._store.get([task.id])
                if task is None:
                    return
            told, seen = await self._mark(task), await self._seen(task)
            answer = await self._post(push.url, self._body(seen), _headers(push))
            after = self._after(push, answer, told, ended=seen.has_ended)
            body = None if after is None else encode(after)
            await self._store.write_document(project, KIND, name, body, version)
        except Conflict:
            # Another server was quicker, or somebody changed it: what they wrote counts.
            return
        except DibsError as error:
            log.warning("calling about %s: %s", push.task, error)
        except Exception:
            log.exception("calling about %s failed; it is tried again", push.task)

    def _body(self, seen: Seen) -> bytes:
        """The task as it is, as a message of the protocol."""
        body = encode(MessageToDict(StreamResponse(task=showing.shown(seen, url=self._url))))
        if len(body) > MAX_BODY_BYTES:
            body = encode(MessageToDict(StreamResponse(task=showing.shown(seen, url=self._url, artifacts=False))))
        return body

    def _after(self, push: Push, answer: Answer, told: str, *, ended: bool) -> Push | None:
        """What is kept after a call; None: nothing more."""
        found = hooks.verdict(answer.code, push.attempts + 1)
        now = self._store.now()
        if found in (Verdict.DELIVERED, Verdict.REFUSED):
            told_of = replace(push, told=told, attempts=0, failing_since=None, next_at=0, holder="", until=0)
            return None if ended else told_of
        since = now if push.failing_since is None else push.failing_since
        if found is Verdict.GONE or now - since >= seconds(DEAD_AFTER_S):
            log.warning("%s is not called any more about %s: %s", push.url, push.task, answer.error)
            return None
        wait_s = hooks.delay_s(push.attempts + 1, self._draw(), answer.retry_after)
        return replace(
            push, attempts=push.attempts + 1, failing_since=since, next_at=now + seconds(wait_s), holder="", until=0
        )


def _headers(push: Push) -> dict[str, Any]:
    headers = {"Content-Type": MEDIA_TYPE}
    if push.token:
        headers[TOKEN_HEADER] = push.token
    if push.scheme and push.credentials:
        headers["Authorization"] = f"{push.scheme} {push.credentials}"
    return headers
