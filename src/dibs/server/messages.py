"""What a hook of each kind is sent: the event itself, signed; or a few words for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import json

from dibs.errors import NotFound
from dibs.model.event import Event
from dibs.model.instants import from_micros
from dibs.rules import cloudevents, hooks, notices, signing

if TYPE_CHECKING:
    from dibs.model.hook import HookSpec
    from dibs.model.question import Question
    from dibs.model.task import Task
    from dibs.queue import Queue
    from dibs.server.mailing import Mailer
    from dibs.server.sending import Answer, Sender


class Messages:
    """Puts what happened in a project into the words of a hook, and sends it."""

    def __init__(self, queue: Queue, project: str, sender: Sender, mailer: Mailer) -> None:
        self._queue = queue
        self._project = project
        self._sender = sender
        self._mailer = mailer

    async def send(self, spec: HookSpec, event: Event) -> Answer:
        """Tell a hook of an event; whatever goes wrong is in the answer."""
        id = hooks.message_id(spec.id, event)
        if spec.kind == "cloudevents":
            return await self._signed(spec, id, json.encode(cloudevents.as_cloudevent(event, self._source(spec))))
        return await self._told(spec, id, notices.notice(event, await self._task(event), await self._question(event)))

    async def ping(self, spec: HookSpec, number: int) -> Answer:
        """Send a test message."""
        id = hooks.ping_id(spec.id, number)
        at = from_micros(self._queue.store.now())
        if spec.kind == "cloudevents":
            text = at.isoformat().replace("+00:00", "Z")
            return await self._signed(spec, id, json.encode(cloudevents.ping(number, text, self._source(spec))))
        return await self._told(spec, id, notices.notice(Event(seq=0, type="ping", at=at)))

    def _source(self, spec: HookSpec) -> str:
        return spec.source or cloudevents.source_of(self._project)

    async def _signed(self, spec: HookSpec, id: str, body: bytes) -> Answer:
        now = self._queue.store.now()
        headers = signing.headers(id, now // 1_000_000, body, hooks.valid_secrets(spec, now))
        return await self._sender.post(spec.url, body, {"Content-Type": cloudevents.MEDIA_TYPE, **headers})

    async def _told(self, spec: HookSpec, id: str, notice: notices.Notice) -> Answer:
        if spec.kind == "email":
            return await self._mailer.mail(spec.url.removeprefix("mailto:"), notice, id)
        body = json.encode(notices.as_chat(notice))
        return await self._sender.post(spec.url, body, {"Content-Type": "application/json", "webhook-id": id})

    async def _task(self, event: Event) -> Task | None:
        """The task that it happened to; None if it is forgotten by now."""
        if event.task_id is None:
            return None
        [task] = await self._queue.store.get([event.task_id], listed=True)
        return task

    async def _question(self, event: Event) -> Question | None:
        id = event.data.get("question") if event.type == "task.waiting" else None
        if id is None:
            return None
        try:
            return await self._queue.get_question(id)
        except NotFound:
            return None
