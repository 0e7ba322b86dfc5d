"""The protocol's requests, answered by the queue of whoever asks.

A message that names no task becomes one; the same message again, as its id says, is the same task. A message that names
a task answers its question. Whatever is not the caller's, or did not come this way, is not found.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from contextlib import aclosing
from functools import wraps
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.types.a2a_pb2 import ListTaskPushNotificationConfigsResponse, ListTasksResponse
from a2a.utils import errors as said
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.proto_utils import validate_proto_required_fields
from a2a.utils.task import apply_history_length, validate_history_length, validate_page_size

from dibs.a2a import content, pushing, showing
from dibs.a2a.following import read, updates
from dibs.a2a.showing import STATUSES, TAG, Seen
from dibs.errors import Conflict, Denied, DibsError, IllegalTransition, Invalid, KeyReused, NotFound, Unavailable
from dibs.model.status import FINAL
from dibs.rules import validation
from dibs.rules.questions import ANSWERED, QUESTION

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from a2a.server.context import ServerCallContext
    from a2a.types.a2a_pb2 import (
        AgentCard,
        CancelTaskRequest,
        DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest,
        GetTaskRequest,
        ListTaskPushNotificationConfigsRequest,
        ListTasksRequest,
        Message,
        SendMessageRequest,
        SubscribeToTaskRequest,
        Task,
        TaskPushNotificationConfig,
    )

    from dibs.a2a.following import Feed, Visit
    from dibs.a2a.offer import Offer
    from dibs.model.question import Question

log = logging.getLogger("dibs.a2a")

VISIT = "visit"
"""In the state of a call: whose it is."""
MAX_WAIT_S = 60.0
"""How long a message is waited for whose sender does not stream; then the answer is where its task is."""
MOST_FOLLOWED = 500
MOST_BY_ONE = 50
"""How many tasks one server follows at once, and how many of them for one caller."""
MAX_CONTEXT_CHARS = 150
MAX_MESSAGE_ID_CHARS = 1_000
TITLE_CHARS = 120
MOST_COUNTED = 10_000
"""Up to how many tasks a list says how many there are."""
COUNTED_AT_ONCE = 1_000
MOST_LOOKS = 20
"""How often the store is asked for one list: where few tasks fit among many, a page is short and has a next one."""


def _in_its_words(error: Exception) -> said.A2AError:
    """One of our errors in the protocol's words; of anything unforeseen nothing is told but that it happened."""
    if isinstance(error, said.A2AError):
        return error
    if not isinstance(error, DibsError):
        log.error("a request failed", exc_info=error)
        return said.InternalError(message="Something went wrong in the server; its log says what.")
    data = None if error.field is None else {"field": error.field}
    if isinstance(error, NotFound):
        return said.TaskNotFoundError()
    if isinstance(error, IllegalTransition):
        return said.UnsupportedOperationError(message=error.message)
    if isinstance(error, Invalid | KeyReused):
        return said.InvalidParamsError(message=error.message, data=data)
    if isinstance(error, Conflict | Denied):
        return said.InvalidRequestError(message=error.message, data=data)
    if isinstance(error, Unavailable):
        return said.InternalError(message=error.message)
    return said.InternalError(message="Something went wrong in the server; its log says what.")


def _answers(act: str | None = None) -> Callable[[Any], Any]:
    """A request with one answer: its required fields are there, errors are the protocol's. An `act` is recorded."""

    def decorate(method: Any) -> Any:
        @wraps(method)
        async def answer(self: Any, params: Any, context: ServerCallContext) -> Any:
            visit: Visit = context.state[VISIT]
            try:
                validate_proto_required_fields(params)
                found = await method(self, params, visit)
            except Exception as error:
                if act is not None:
                    await visit.record(act, getattr(error, "code", "refused"))
                raise _in_its_words(error) from error
            if act is not None:
                await visit.record(act, "done")
            return found

        return answer

    return decorate


def _streams(method: Any) -> Any:
    """The same for a request that is answered by a stream."""

    @wraps(method)
    async def stream(self: Any, params: Any, context: ServerCallContext) -> AsyncGenerator[Any, None]:
        try:
            validate_proto_required_fields(params)
            async with aclosing(method(self, params, context.state[VISIT])) as found:
                async for event in found:
                    yield event
        except Exception as error:
            raise _in_its_words(error) from error

    return stream


class Handler(RequestHandler):
    """Answers for an offer. `url` is where this server is reached."""

    def __init__(self, offer: Offer, feed: Feed, url: str, *, max_wait_s: float = MAX_WAIT_S) -> None:
        self._offer = offer
        self._feed = feed
        self._url = url
        self._max_wait_s = max_wait_s
        self._followed: Counter[str] = Counter()

    # Messages

    @_answers("a2a.send")
    async def on_message_send(self, params: SendMessageRequest, visit: Visit) -> Task:
        """Send a message; the task, once it has ended or asks something, at the latest after a minute."""
        place = await self._feed.newest()
        seen = await self._send(params, visit)
        waits = not params.configuration.return_immediately and not seen.has_ended and seen.question is None
        if waits and not self._is_full(visit):
            async with aclosing(self._follow(visit, seen, place, self._max_wait_s)) as followed:
                async for _ in followed:
                    pass
            seen = await self._find(visit, seen.task.id)
        return apply_history_length(await self._shown(visit, seen), params.configuration)

    @_streams
    async def on_message_send_stream(self, params: SendMessageRequest, visit: Visit) -> AsyncGenerator[Any, None]:
        """Send a message, and hear what becomes of it."""
        self._must_have_room(visit)
        place = await self._feed.newest()
        try:
            seen = await self._send(params, visit)
        except Exception as error:
            await visit.record("a2a.send", getattr(error, "code", "refused"))
            raise
        await visit.record("a2a.send", "done")
        yield apply_history_length(await self._shown(visit, seen), params.configuration)
        if seen.has_ended or seen.question is not None:
            return
        async with aclosing(self._follow(visit, seen, place)) as followed:
            async for update in followed:
                yield update

    async def _send(self, params: SendMessageRequest, visit: Visit) -> Seen:
        """Make a task of a message, or answer with it."""
        configuration = params.configuration
        validate_history_length(configuration)
        modes = configuration.accepted_output_modes
        if modes and not set(modes) & {*content.MODES, "*/*"}:
            wanted = ", ".join(content.MODES)
            raise said.ContentTypeNotSupportedError(message=f"What tasks make here is {wanted}.")
        push = None
        if configuration.HasField("task_push_notification_config"):
            push = pushing.checked(configuration.task_push_notification_config)
        message = params.message
        seen = await (self._answer(message, visit) if message.task_id else self._add(params, visit))
        if push is not None and not seen.has_ended:
            await pushing.keep(visit.queue, seen.task.id, push)
        return seen

    async def _add(self, params: SendMessageRequest, visit: Visit) -> Seen:
        message, queue = params.message, visit.queue
        skill = content.skill_for(self._offer, params)
        payload = content.payload_of(message, skill)
        message_id = validation.text(message.message_id, "messageId", max_chars=MAX_MESSAGE_ID_CHARS)
        context_id = message.context_id or queue.new_id("ctx")
        validation.text(context_id, "contextId", max_chars=MAX_CONTEXT_CHARS)
        options = dict(skill.options)
        tags = (*options.pop("tags", ()), TAG, f"{TAG}:{context_id}")
        # Of the sender: what others call their messages is their business.
        own = blake2b(f"{visit.token_id}\0{message_id}".encode(), digest_size=20).hexdigest()
        task = await queue.add(
            skill.type,
            payload,
            title=_title(payload.get(skill.text)),
            key=f"{TAG}:{own}",
            tags=tags,
            created_by=visit.name,
            context=showing.kept(context_id, message_id, skill.text),
            **options,
        )
        return await read(queue, task.id)

    async def _answer(self, message: Message, visit: Visit) -> Seen:
        """A message to a task: the answer to what it asks."""
        seen = await self._find(visit, message.task_id)
        if message.context_id and message.context_id != showing.context_of(seen.task):
            raise said.InvalidParamsError(message="contextId is not the one of the task; leave it out.")
        values = content.answers_of(message)
        if seen.question is None:
            if await self._was_answered(visit, seen, values):
                return seen
            state = "has ended; send a new message" if seen.has_ended else "asks nothing now; wait until it does"
            raise said.UnsupportedOperationError(message=f"Task {seen.task.id} {state}.")
        await self._answered(visit, seen.question, values)
        return await read(visit.queue, seen.task.id)

    async def _answered(self, visit: Visit, question: Question, values: list[Any]) -> None:
        refusal: Invalid | None = None
        for value in values:
            try:
                await visit.queue.answer(question.id, value, visit.name)
                return
            except Invalid as error:
                refusal = refusal or error
        assert refusal is not None
        raise refusal

    async def _was_answered(self, visit: Visit, seen: Seen, values: list[Any]) -> bool:
        """Whether this is what the caller has answered already, and was not told so."""
        asked = await visit.queue.questions_of(seen.task.id)
        own = [question for question in asked if question.kind == QUESTION and question.answered_by == visit.name]
        return bool(own) and own[-1].status == ANSWERED and own[-1].answer in values

    # Following

    @_streams
    async def on_subscribe_to_task(self, params: SubscribeToTaskRequest, visit: Visit) -> AsyncGenerator[Any, None]:
        """Where a task is, and what becomes of it from then on."""
        self._must_have_room(visit)
        place = await self._feed.newest()
        seen = await self._find(visit, params.id)
        if seen.has_ended:
            raise said.UnsupportedOperationError(message=f"Task {params.id[:80]} has ended; get it instead.")
        yield await self._shown(visit, seen)
        async with aclosing(self._follow(visit, seen, place)) as followed:
            async for update in followed:
                yield update

    async def _follow(
        self, visit: Visit, seen: Seen, place: int, wait_s: float = float("inf")
    ) -> AsyncGenerator[Any, None]:
        self._followed[visit.token_id] += 1
        try:
            found = updates(self._feed, visit, seen, place, self._url, time.monotonic() + wait_s)
            async with aclosing(found):
                async for update in found:
                    yield update
        finally:
            self._followed[visit.token_id] -= 1
            if not self._followed[visit.token_id]:
                del self._followed[visit.token_id]

    def _is_full(self, visit: Visit) -> bool:
        return self._followed.total() >= MOST_FOLLOWED or self._followed[visit.token_id] >= MOST_BY_ONE

    def _must_have_room(self, visit: Visit) -> None:
        if self._is_full(visit):
            raise said.InternalError(message="As many tasks are followed as can be; end a stream, or come back later.")

    # Tasks

    @_answers()
    async def on_get_task(self, params: GetTaskRequest, visit: Visit) -> Task:
        """Where a task is, what it made, what was said."""
        validate_history_length(params)
        return apply_history_length(await self._shown(visit, await self._find(visit, params.id)), params)

    @_answers("a2a.cancel")
    async def on_cancel_task(self, params: CancelTaskRequest, visit: Visit) -> Task:
        """Cancel a task, whatever it is doing. What has ended is not cancelable."""
        seen = await self._find(visit, params.id)
        if params.id not in await visit.queue.cancel(params.id, f"by {visit.name}"):
            raise said.TaskNotCancelableError(message=f"Task {seen.task.id} has ended.")
        return await self._shown(visit, await self._find(visit, params.id))

    @_answers()
    async def on_list_tasks(self, params: ListTasksRequest, visit: Visit) -> ListTasksResponse:
        """The tasks that came this way, newest first."""
        validate_history_length(params)
        if params.HasField("page_size"):
            validate_page_size(params.page_size)
        size = params.page_size or DEFAULT_LIST_TASKS_PAGE_SIZE
        tag = f"{TAG}:{params.context_id}" if params.context_id else TAG
        statuses = STATUSES.get(params.status, ()) if params.status else None
        listed = ListTasksResponse(page_size=size)
        if statuses == ():
            return listed
        cursor: str | None = params.page_token or None
        for _ in range(MOST_LOOKS):
            page = await visit.queue.find(status=statuses, tag=tag, limit=size - len(listed.tasks), cursor=cursor)
            for task in page.items:
                seen = await showing.look(visit.queue, task)
                if await self._is_listed(seen, params):
                    listed.tasks.append(await self._listed(visit, seen, params))
            cursor = page.cursor
            if cursor is None or len(listed.tasks) >= size:
                break
        listed.next_page_token = cursor or ""
        is_all = cursor is None and not params.page_token
        listed.total_size = len(listed.tasks) if is_all else await self._count(visit, statuses, tag, params)
        return listed

    async def _is_listed(self, seen: Seen, params: ListTasksRequest) -> bool:
        if params.status and params.status != seen.state:
            return False
        if not params.HasField("status_timestamp_after"):
            return True
        changed = seen.task.updated_at
        return changed is not None and changed.timestamp() >= params.status_timestamp_after.ToMicroseconds() / 1e6

    async def _listed(self, visit: Visit, seen: Seen, params: ListTasksRequest) -> Task:
        if params.include_artifacts and seen.task.status in FINAL:
            seen = Seen(await visit.queue.get(seen.task.id))
        told = params.history_length or not params.HasField("history_length")
        asked = await visit.queue.questions_of(seen.task.id) if told else None
        return apply_history_length(
            showing.shown(seen, url=self._url, asked=asked, artifacts=params.include_artifacts), params
        )

    async def _count(self, visit: Visit, statuses: Any, tag: str, params: ListTasksRequest) -> int:
        """How many there are in all, counted up to a limit."""
        count, cursor = 0, None
        for _ in range(MOST_LOOKS):
            page = await visit.queue.find(status=statuses, tag=tag, limit=COUNTED_AT_ONCE, cursor=cursor)
            for task in page.items:
                count += await self._is_listed(await showing.look(visit.queue, task), params)
            cursor = page.cursor
            if cursor is None or count >= MOST_COUNTED:
                break
        return count

    async def _find(self, visit: Visit, task_id: str) -> Seen:
        """A task that came this way. Raises NotFound."""
        seen = await read(visit.queue, task_id)
        if not showing.is_ours(seen.task):
            raise said.TaskNotFoundError
        return seen

    async def _shown(self, visit: Visit, seen: Seen) -> Task:
        return showing.shown(seen, url=self._url, asked=await visit.queue.questions_of(seen.task.id))

    # Calling back

    @_answers("a2a.push.create")
    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, visit: Visit
    ) -> TaskPushNotificationConfig:
        """Call this URL when something happens to a task."""
        seen = await self._find(visit, params.task_id)
        if seen.has_ended:
            raise said.UnsupportedOperationError(message=f"Task {seen.task.id} has ended; get it instead.")
        return await pushing.keep(visit.queue, seen.task.id, pushing.checked(params))

    @_answers()
    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, visit: Visit
    ) -> TaskPushNotificationConfig:
        """One of those who are called; without their secrets."""
        await self._find(visit, params.task_id)
        return await pushing.get(visit.queue, params.task_id, params.id)

    @_answers()
    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, visit: Visit
    ) -> ListTaskPushNotificationConfigsResponse:
        """All who are called about a task; without their secrets."""
        await self._find(visit, params.task_id)
        found = await pushing.kept_for(visit.queue, params.task_id)
        return ListTaskPushNotificationConfigsResponse(configs=found)

    @_answers("a2a.push.delete")
    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, visit: Visit
    ) -> None:
        """Call somebody no more."""
        await self._find(visit, params.task_id)
        await pushing.forget(visit.queue, params.task_id, params.id)

    @_answers()
    async def on_get_extended_agent_card(self, params: GetExtendedAgentCardRequest, visit: Visit) -> AgentCard:
        """There is one card, and it is public."""
        raise said.UnsupportedOperationError(message="There is no other card than the public one.")


def _title(text: Any) -> str | None:
    """The first line of a message, in short, without what a title must not have."""
    if not isinstance(text, str) or not text.strip():
        return None
    line = "".join(char if char.isprintable() else " " for char in text.strip().splitlines()[0]).strip()
    return (line if len(line) <= TITLE_CHARS else f"{line[: TITLE_CHARS - 1]}…") or None
