"""The SDK's client against two servers on one store: whatever is asked of one is known to the other."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from a2a.types.a2a_pb2 import (
    AuthenticationInfo,
    CancelTaskRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import InvalidParamsError, TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError
from google.protobuf.json_format import MessageToDict

import dibs
from tests.a2a.client import client, last_task, message, output, state, told
from tests.hooks.receiver import until
from tests.server.running import in_loop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from a2a.types.a2a_pb2 import StreamResponse

    from tests.a2a.conftest import Pair

PATIENCE_S = 60.0


async def heard(stream: AsyncIterator[StreamResponse], kind: str, what: str) -> StreamResponse:
    """The next event of a stream that is this one; those before it are passed over."""
    async with asyncio.timeout(PATIENCE_S):
        async for event in stream:
            if told(event) == (kind, what):
                return event
    raise AssertionError(f"the stream ended without {kind} {what}")


async def rest(stream: AsyncIterator[StreamResponse]) -> list[StreamResponse]:
    async with asyncio.timeout(PATIENCE_S):
        return [event async for event in stream]


async def claimed(queue: Any) -> Any:
    [claim] = await queue.claim("ada", wait=60)
    return claim


@in_loop
async def test_a_task_is_sent_here_asks_is_answered_there_and_is_known_to_both(pair: Pair) -> None:
    async with (
        dibs.connect(pair.store) as queue,
        client(pair.here.url, pair.token) as here,
        client(pair.there.url, pair.token) as there,
    ):
        sent = here.send_message(message("write it", {"pages": 3}))
        task_id = (await heard(sent, "task", "submitted")).task.id
        watched = there.subscribe(SubscribeToTaskRequest(id=task_id))
        await heard(watched, "task", "submitted")

        claim = await claimed(queue)
        assert (claim.task.id, claim.task.type) == (task_id, "echo")
        assert claim.task.payload == {"prompt": "write it", "pages": 3}
        assert type(claim.task.payload["pages"]) is int
        await queue.renew(claim, progress=0.25, note="a quarter")
        for stream in (sent, watched):
            await heard(stream, "status_update", "working")
            said = (await heard(stream, "status_update", "working")).status_update.status.message
            assert (said.parts[0].text, said.metadata["progress"]) == ("a quarter", 0.25)

        await queue.ask(claim, "In which colour?", {"enum": ["red", "blue"]})
        for stream in (sent, watched):
            # It says what is asked, and there the stream ends.
            [asked] = await rest(stream)
            assert told(asked) == ("status_update", "input_required")
            said = asked.status_update.status.message
            assert said.parts[0].text == "In which colour?"
            assert MessageToDict(said.metadata)["schema"] == {"enum": ["red", "blue"]}

        answered = there.send_message(message("blue", task_id=task_id))
        await heard(answered, "task", "working")
        again = await claimed(queue)
        assert list(again.answers.values()) == ["blue"]
        await queue.complete(again, {"colour": "blue", "big": 2**60})
        *_, made, ended = await rest(answered)
        assert (told(made), told(ended)) == (("artifact_update", "output"), ("status_update", "completed"))

        for side in (here, there):
            task = await side.get_task(GetTaskRequest(id=task_id))
            assert state(task.status.state) == "completed"
            # A number that the protocol cannot carry arrives as it is, in a text.
            assert json.loads(output(task)) == {"colour": "blue", "big": 2**60}
            parts = [said.parts[0] for said in task.history]
            assert [part.text for part in parts] == ["write it", "In which colour?", "blue"]
            last = await side.get_task(GetTaskRequest(id=task_id, history_length=1))
            assert [said.parts[0].text for said in last.history] == ["blue"]


@in_loop
async def test_what_is_cancelled_there_is_heard_here_and_by_its_agent(pair: Pair) -> None:
    async with (
        dibs.connect(pair.store) as queue,
        client(pair.here.url, pair.token) as here,
        client(pair.there.url, pair.token) as there,
    ):
        sent = here.send_message(message("never mind"))
        task_id = (await heard(sent, "task", "submitted")).task.id
        claim = await claimed(queue)
        await heard(sent, "status_update", "working")

        ended = await there.cancel_task(CancelTaskRequest(id=task_id))
        assert state(ended.status.state) == "canceled"
        *_, last = await rest(sent)
        assert told(last) == ("status_update", "canceled")
        assert (await queue.renew(claim)).cancel
        with pytest.raises(TaskNotCancelableError):
            await here.cancel_task(CancelTaskRequest(id=task_id))
        for odd in ("task_unknown", "a\0b", "%00", "' OR 1=1 --"):
            with pytest.raises((TaskNotFoundError, InvalidParamsError)):
                await there.cancel_task(CancelTaskRequest(id=odd))
        with pytest.raises(UnsupportedOperationError, match="has ended"):
            await rest(there.subscribe(SubscribeToTaskRequest(id=task_id)))


@contextmanager
def receiver() -> Iterator[tuple[str, list[tuple[dict[str, str], Any]]]]:
    """A server that is called back: its URL, and what it got."""
    got: list[tuple[dict[str, str], Any]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            got.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}/a2a", got
        serving.shutdown()


async def until_told(got: list[tuple[dict[str, str], Any]], wanted: str) -> Any:
    """The task as it was told, once it is in this state."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            for _, body in got:
                if body["task"]["status"]["state"] == wanted:
                    return body["task"]
            await asyncio.sleep(0.02)


@in_loop
async def test_a_server_that_is_killed_while_streaming_is_replaced_by_the_other(doomed: Pair) -> None:
    async with (
        dibs.connect(doomed.store) as queue,
        client(doomed.here.url, doomed.token) as here,
        client(doomed.there.url, doomed.token) as there,
    ):
        sent = here.send_message(message("a long one", id="message-1"))
        task_id = (await heard(sent, "task", "submitted")).task.id
        claim = await claimed(queue)
        await heard(sent, "status_update", "working")
        doomed.here.process.kill()
        doomed.here.process.wait()
        with pytest.raises(Exception):  # noqa: B017 - whatever the client makes of a connection that is cut
            await rest(sent)

        # While nobody listened, it went on.
        await queue.renew(claim, progress=0.5, note="half")
        back = there.subscribe(SubscribeToTaskRequest(id=task_id))
        now = (await heard(back, "task", "working")).task
        assert now.status.message.parts[0].text == "half"
        # A client that does not know whether its message arrived sends it again.
        async with client(doomed.there.url, doomed.token, polling=True, streaming=False) as sender:
            assert (await last_task(sender.send_message(message("a long one", id="message-1")))).id == task_id
        await queue.renew(claim, progress=0.9, note="nearly")
        await queue.complete(claim, "done")
        events = await rest(back)
        assert [told(event) for event in events] == [
            ("status_update", "working"),
            ("artifact_update", "output"),
            ("status_update", "completed"),
        ]
        assert events[0].status_update.status.message.parts[0].text == "nearly"
        assert events[1].artifact_update.artifact.parts[0].text == "done"
        with pytest.raises(UnsupportedOperationError, match="has ended"):
            await rest(there.subscribe(SubscribeToTaskRequest(id=task_id)))
        assert output(await there.get_task(GetTaskRequest(id=task_id))) == "done"


@in_loop
async def test_whoever_wants_to_be_called_is_told_until_the_end(pair: Pair) -> None:
    with receiver() as (url, got):
        async with (
            dibs.connect(pair.store) as queue,
            client(pair.here.url, pair.token) as here,
            client(pair.there.url, pair.token) as there,
        ):
            request = message("call me")
            secret = AuthenticationInfo(scheme="Bearer", credentials="s3cret")
            config = TaskPushNotificationConfig(id="mine", url=url, token="known", authentication=secret)
            request.configuration.task_push_notification_config.CopyFrom(config)
            task_id = (await heard(here.send_message(request), "task", "submitted")).task.id
            await until_told(got, "TASK_STATE_SUBMITTED")
            headers, body = got[0]
            assert headers["authorization"] == "Bearer s3cret"
            assert headers["x-a2a-notification-token"] == "known"
            assert headers["content-type"] == "application/a2a+json"
            assert body["task"]["id"] == task_id

            # It is kept in the store, and its secrets are not shown again.
            wanted = GetTaskPushNotificationConfigRequest(task_id=task_id, id="mine")
            kept = await there.get_task_push_notification_config(wanted)
            assert (kept.url, kept.token, kept.authentication.credentials) == (url, "", "")
            wanted.id = "other"
            with pytest.raises(TaskNotFoundError):
                await there.get_task_push_notification_config(wanted)

            claim = await claimed(queue)
            await until_told(got, "TASK_STATE_WORKING")
            await queue.ask(claim, "Which?")
            asked = await until_told(got, "TASK_STATE_INPUT_REQUIRED")
            assert asked["status"]["message"]["parts"][0]["text"] == "Which?"
            async with client(pair.there.url, pair.token, polling=True, streaming=False) as sender:
                await last_task(sender.send_message(message("this", task_id=task_id)))
            await queue.complete(await claimed(queue), "done")
            ended = await until_told(got, "TASK_STATE_COMPLETED")
            assert ended["artifacts"][0]["parts"][0]["text"] == "done"

            # That was the end, and nobody is called any more.
            everybody = ListTaskPushNotificationConfigsRequest(task_id=task_id)

            async def nobody_is_left() -> bool:
                return not (await there.list_task_push_notification_configs(everybody)).configs

            await until(nobody_is_left)
            states = [body["task"]["status"]["state"] for _, body in got]
            assert states[-1] == "TASK_STATE_COMPLETED"
            assert states.count("TASK_STATE_COMPLETED") == 1
