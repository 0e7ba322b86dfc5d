"""What one server answers: to whom, about what, and to what it does not take."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from a2a.client.errors import A2AClientError
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Part,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    ContentTypeNotSupportedError,
    InternalError,
    InvalidParamsError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

import dibs
from dibs.a2a.handling import MOST_BY_ONE
from tests.a2a.client import client, last_task, message, offer, output, state, told
from tests.hooks.receiver import until
from tests.server.process import Up, up
from tests.server.process import until as until_so
from tests.server.running import in_loop, running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from a2a.client import Client

PATIENCE_S = 60.0
HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "'; DROP TABLE tasks; --",
    "{{7*7}} ${7*7} #{7*7} %s %n",
    "\u202egnp.exe \u200b\ufeff \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "line\nand\ttab",
    "data: x\n\nevent: error\nid: 7",
    "x" * 200_000,
)


def token_for(server: Up, role: str, project: str | None = None) -> str:
    name = f"{role}-{project or 'own'}"
    made = server.ask("POST", "/v1/tokens", {"name": name, "role": role, "project": project}, token=server.token).json
    return str(made["secret"])


async def sent(sender: Client, request: Any) -> Any:
    """The task of a message that is not waited for."""
    request.configuration.return_immediately = True
    return await last_task(sender.send_message(request))


async def all_of(stream: AsyncIterator[Any]) -> list[Any]:
    async with asyncio.timeout(PATIENCE_S):
        return [event async for event in stream]


def store_of(server: Up) -> str:
    return f"sqlite:{server.home / 'work.db'}"


# Who


def test_the_card_is_for_anybody_and_says_what_is_offered(server: Up) -> None:
    for path in ("/.well-known/agent-card.json", "/a2a/.well-known/agent-card.json"):
        answer = server.ask("GET", path)
        assert answer.status == 200
        card = answer.json
        assert card["name"] == "The tests' agent"
        assert [skill["id"] for skill in card["skills"]] == ["echo", "slow"]
        assert card["supportedInterfaces"][0]["url"] == f"{server.url}/a2a"
        assert card["capabilities"]["streaming"]
        assert card["capabilities"]["pushNotifications"]
        assert card["securityRequirements"]


def test_without_an_offer_there_is_no_such_door() -> None:
    with running() as server:
        assert server.ask("GET", "/.well-known/agent-card.json").status == 404
        assert server.ask("POST", "/a2a", {}).status == 404


@in_loop
async def test_who_has_no_token_or_a_wrong_one_is_turned_away(server: Up) -> None:
    for token in (None, "dibs_nobody_knows_this_token_at_all"):
        async with client(server.url, token, streaming=False) as stranger:
            with pytest.raises(A2AClientError, match="401"):
                await stranger.get_task(GetTaskRequest(id="task_1"))
        async with client(server.url, token) as stranger:
            with pytest.raises(A2AClientError, match="401"):
                await all_of(stranger.send_message(message("let me in")))


@in_loop
async def test_roles_are_those_of_the_rest_of_the_server(server: Up) -> None:
    async with client(server.url, server.token, streaming=False) as admin:
        task = await sent(admin, message("for all to see", metadata={"skill": "slow"}))
    async with client(server.url, token_for(server, "viewer"), streaming=False) as viewer:
        assert (await viewer.get_task(GetTaskRequest(id=task.id))).id == task.id
        assert task.id in [found.id for found in (await viewer.list_tasks(ListTasksRequest())).tasks]
        for forbidden in (
            sent(viewer, message("no")),
            viewer.cancel_task(CancelTaskRequest(id=task.id)),
            viewer.create_task_push_notification_config(
                TaskPushNotificationConfig(task_id=task.id, url="https://example.com")
            ),
        ):
            with pytest.raises(A2AClientError, match="403"):
                await forbidden
    async with client(server.url, token_for(server, "agent"), streaming=False) as agent:
        with pytest.raises(A2AClientError, match="403"):
            await agent.get_task(GetTaskRequest(id=task.id))
    async with client(server.url, token_for(server, "orchestrator"), streaming=False) as orchestrator:
        assert state((await orchestrator.cancel_task(CancelTaskRequest(id=task.id))).status.state) == "canceled"


@in_loop
async def test_what_is_not_ones_own_is_not_found(server: Up) -> None:
    async with client(server.url, server.token, streaming=False) as owner:
        theirs = (await sent(owner, message("secret plans", metadata={"skill": "slow"}))).id
    async with dibs.connect(store_of(server)) as queue:
        plain = (await queue.add("slow", {"topic": "not by this door"})).id
    other = token_for(server, "orchestrator", "elsewhere")
    for token, ids in (
        (other, [theirs]),
        (str(server.token), [plain, "task_unknown", "x" * 5_000, "../../etc", "\u202e", "a\0b"]),
    ):
        async with client(server.url, token) as caller:
            said = set()
            for id in ids:
                for asked in (
                    caller.get_task(GetTaskRequest(id=id)),
                    caller.cancel_task(CancelTaskRequest(id=id)),
                    all_of(caller.subscribe(SubscribeToTaskRequest(id=id))),
                    all_of(caller.send_message(message("yes", task_id=id))),
                    caller.create_task_push_notification_config(
                        TaskPushNotificationConfig(task_id=id, url="https://example.com")
                    ),
                ):
                    with pytest.raises((TaskNotFoundError, InvalidParamsError)) as refused:
                        await asked
                    said.add(str(refused.value))
            if token == other:
                assert said == {"Task not found"}
                assert not (await caller.list_tasks(ListTasksRequest())).tasks
    async with dibs.connect(store_of(server)) as queue:
        assert (await queue.get(theirs)).status == "ready"
        assert (await queue.get(plain)).status == "ready"


# Messages


@in_loop
async def test_hostile_text_is_text(server: Up) -> None:
    async with dibs.connect(store_of(server)) as queue, client(server.url, server.token) as sender:
        for text in HOSTILE:
            stream = sender.send_message(message(text, {"also": text}))
            first = await anext(aiter(stream))
            [claim] = await queue.claim("ada", types=["echo"], wait=60)
            assert claim.task.payload == {"prompt": text, "also": text}
            await queue.renew(claim, note=text[:1_000])
            await queue.complete(claim, text)
            *_, made, ended = await all_of(stream)
            assert made.artifact_update.artifact.parts[0].text == text
            assert told(ended) == ("status_update", "completed")
            task = await sender.get_task(GetTaskRequest(id=first.task.id))
            assert output(task) == task.history[0].parts[0].text == text


@in_loop
async def test_what_a_message_must_not_say_is_refused_and_nothing_is_added(server: Up) -> None:
    async with dibs.connect(store_of(server)) as queue, client(server.url, server.token, streaming=False) as sender:
        before = len((await queue.find(limit=1000)).items)
        for wrong, words in (
            (message("NUL \0 inside"), "NUL"),
            (message("hello", context_id="c" * 5_000), "contextId"),
            (message("hello", context_id="a\0b"), "contextId"),
            (message("hello", id="m" * 5_000), "messageId"),
            (message(None, [1, 2]), "object"),
            (message("twice", {"prompt": "other"}), "prompt"),
            (message("which?", metadata={"skill": "unknown"}), "echo, slow"),
            (message("which?", metadata={"skill": 7}), "echo, slow"),
            (message(None, None), "Validation"),
            (message("x" * 2_000_000), "payload"),
        ):
            with pytest.raises(InvalidParamsError, match=words):
                await sent(sender, wrong)
        file = message("with a picture")
        file.message.parts.append(Part(raw=b"\x89PNG", media_type="image/png"))
        with pytest.raises(ContentTypeNotSupportedError):
            await sent(sender, file)
        picture = message("as a picture")
        picture.configuration.accepted_output_modes.append("image/png")
        with pytest.raises(ContentTypeNotSupportedError):
            await sent(sender, picture)
        long = message("how much?")
        long.configuration.history_length = -1
        with pytest.raises(InvalidParamsError, match="history"):
            await sent(sender, long)
        for url in ("ftp://example.com", "https://user:word@example.com", "nowhere", "https://example.com/\r\nX: y"):
            call = message("call me")
            call.configuration.task_push_notification_config.url = url
            with pytest.raises(InvalidParamsError, match="url"):
                await sent(sender, call)
        call = message("call me")
        call.configuration.task_push_notification_config.url = "https://example.com"
        call.configuration.task_push_notification_config.token = "a\r\nHost: evil"
        with pytest.raises(InvalidParamsError, match="token"):
            await sent(sender, call)
        assert len((await queue.find(limit=1000)).items) == before


def test_what_is_not_json_rpc_is_told_so(server: Up) -> None:
    def rpc(body: Any) -> Any:
        return server.ask("POST", "/a2a", body, token=server.token, A2A_Version="1.0").json["error"]["code"]

    assert rpc([]) == -32600
    assert rpc([{"jsonrpc": "2.0", "id": 1, "method": "GetTask"}]) == -32600
    assert rpc({"jsonrpc": "1.0", "id": 1, "method": "GetTask"}) == -32600
    assert rpc({"jsonrpc": "2.0", "id": 1, "method": "Explode"}) == -32601
    assert rpc({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": 7}}) == -32602
    assert rpc({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {}}) == -32602
    assert rpc({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": {"parts": "x"}}}) == -32602
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    assert rpc({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": deep}) == -32700
    assert rpc("x" * (5 << 20)) == -32700
    lone: Any = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage"}
    lone["params"] = {"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "\ud800"}]}}
    assert rpc(lone) in (-32602, -32700)
    assert server.ask("GET", "/a2a", token=server.token).status == 405


@in_loop
async def test_the_same_message_again_is_the_same_task(server: Up) -> None:
    async with client(server.url, server.token, streaming=False) as sender:
        first = await sent(sender, message("once", id="only", metadata={"skill": "slow"}))
        assert (await sent(sender, message("once", id="only", metadata={"skill": "slow"}))).id == first.id
        with pytest.raises(InvalidParamsError):
            await sent(sender, message("something else", id="only", metadata={"skill": "slow"}))
    async with client(server.url, token_for(server, "admin"), streaming=False) as another:
        # What others call their messages is their business.
        assert (await sent(another, message("once", id="only", metadata={"skill": "slow"}))).id != first.id


@in_loop
async def test_an_answer_must_be_what_the_question_asks_for(server: Up) -> None:
    async with dibs.connect(store_of(server)) as queue, client(server.url, server.token, streaming=False) as sender:
        task = await sent(sender, message("count", context_id="talk"))
        with pytest.raises(UnsupportedOperationError, match="asks nothing"):
            await sent(sender, message("five", task_id=task.id))
        [claim] = await queue.claim("ada", types=["echo"], wait=60)
        await queue.ask(claim, "How many?", {"type": "integer", "minimum": 1})
        asked = await sender.get_task(GetTaskRequest(id=task.id))
        assert state(asked.status.state) == "input_required"
        for wrong in (message("many", task_id=task.id), message(None, {"n": 5}, task_id=task.id)):
            with pytest.raises(InvalidParamsError):
                await sent(sender, wrong)
        with pytest.raises(InvalidParamsError, match="contextId"):
            await sent(sender, message("5", task_id=task.id, context_id="another"))
        assert state((await sender.get_task(GetTaskRequest(id=task.id))).status.state) == "input_required"
        answer = message("5", task_id=task.id, context_id="talk")
        for _ in range(2):
            # Whoever did not hear that it arrived says it again.
            assert state((await sent(sender, answer)).status.state) == "working"
        [again] = await queue.claim("ada", types=["echo"], wait=60)
        assert list(again.answers.values()) == [5]
        await queue.complete(again)
        with pytest.raises(UnsupportedOperationError, match="has ended"):
            await sent(sender, message("six", task_id=task.id))


@in_loop
async def test_approval_is_for_those_on_this_side(server: Up) -> None:
    async with dibs.connect(store_of(server)) as queue, client(server.url, server.token, streaming=False) as sender:
        task = await queue.add("echo", {"prompt": "dangerous"}, approval=True, tags=["a2a"])
        seen = await sender.get_task(GetTaskRequest(id=task.id))
        assert (state(seen.status.state), seen.status.message.parts[0].text) == (
            "submitted",
            "it waits for somebody on this side",
        )
        with pytest.raises(UnsupportedOperationError):
            await sent(sender, message("true", task_id=task.id))
        [question] = await queue.inbox()
        await queue.answer(question, False, by="grace")
        assert state((await sender.get_task(GetTaskRequest(id=task.id))).status.state) == "rejected"


# Lists


@in_loop
async def test_lists_are_of_a_context_and_a_state_in_pages(server: Up) -> None:
    async with dibs.connect(store_of(server)) as queue, client(server.url, server.token, streaming=False) as sender:
        made = [
            (await sent(sender, message(f"number {n}", context_id="listed", metadata={"skill": "slow"}))).id
            for n in range(5)
        ]
        await sender.cancel_task(CancelTaskRequest(id=made[0]))
        await queue.claim("ada", types=["slow"], limit=1)

        async def found(**wanted: Any) -> list[str]:
            listed, token = [], ""
            while True:
                page = await sender.list_tasks(ListTasksRequest(context_id="listed", page_token=token, **wanted))
                listed += [task.id for task in page.tasks]
                token = page.next_page_token
                if not token:
                    return listed

        assert await found() == made[::-1]
        assert await found(page_size=2) == made[::-1]
        page = await sender.list_tasks(ListTasksRequest(context_id="listed", page_size=2))
        assert (len(page.tasks), page.page_size, page.total_size) == (2, 2, 5)
        assert await found(status=TaskState.TASK_STATE_CANCELED) == [made[0]]
        assert len(await found(status=TaskState.TASK_STATE_SUBMITTED, page_size=1)) + len(
            await found(status=TaskState.TASK_STATE_WORKING)
        ) in (4, 5)
        assert await found(status=TaskState.TASK_STATE_AUTH_REQUIRED) == []
        for wrong in ({"page_size": 101}, {"page_size": 0, "history_length": -1}, {"page_token": "garbage"}):
            with pytest.raises(InvalidParamsError):
                await sender.list_tasks(ListTasksRequest(**wrong))


# Older clients, leaving, rights that end


def test_version_0_3_is_understood(server: Up) -> None:
    said = {"messageId": "old-1", "role": "user", "kind": "message", "parts": [{"kind": "text", "text": "hello"}]}
    said["metadata"] = {"skill": "slow"}  # type: ignore[assignment]
    params = {"message": said, "configuration": {"blocking": False}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params}
    answer = server.ask("POST", "/a2a", body, token=server.token).json
    task = answer["result"]
    assert (task["kind"], task["status"]["state"]) == ("task", "submitted")
    body = {"jsonrpc": "2.0", "id": 2, "method": "tasks/get", "params": {"id": task["id"]}}
    assert server.ask("POST", "/a2a", body, token=server.token).json["result"]["id"] == task["id"]


@in_loop
async def test_a_stream_that_was_left_does_not_count(server: Up) -> None:
    async with client(server.url, server.token) as caller:
        task = (await anext(aiter(caller.send_message(message("watched", metadata={"skill": "slow"}))))).task

        async def come_and_go() -> bool:
            """Whether there was room."""
            stream: Any = caller.subscribe(SubscribeToTaskRequest(id=task.id))
            try:
                await anext(stream)
            except InternalError:
                return False
            await stream.aclose()
            return True

        for _ in range(MOST_BY_ONE + 5):
            # Whoever left is noticed in a moment.
            await until(come_and_go)


@in_loop
async def test_a_stream_ends_when_its_token_does(server: Up) -> None:
    name = "short-lived"
    secret = server.ask("POST", "/v1/tokens", {"name": name, "role": "orchestrator"}, token=server.token).json["secret"]
    async with dibs.connect(store_of(server)) as queue, client(server.url, secret) as caller:
        stream = caller.send_message(message("watch me"))
        assert told(await anext(aiter(stream))) == ("task", "submitted")
        assert server.ask("DELETE", f"/v1/tokens/{name}", token=server.token).status == 200
        async with asyncio.timeout(60):
            assert await all_of(stream) == []
        [claim] = await queue.claim("ada", types=["echo"], wait=60)
        await queue.complete(claim)


def test_a_server_that_leaves_ends_its_streams_and_answers_who_waits(tmp_path: Path) -> None:
    async def go(server: Up) -> None:
        async with (
            client(server.url, server.token) as streaming,
            client(server.url, server.token, streaming=False) as waiting,
        ):
            stream = streaming.send_message(message("long"))
            assert told(await anext(aiter(stream))) == ("task", "submitted")
            answer = asyncio.ensure_future(last_task(waiting.send_message(message("longer", id="waits"))))
            async with dibs.connect(store_of(server)) as queue:

                async def both_are_there() -> bool:
                    return len((await queue.find(type="echo")).items) == 2

                await until(both_are_there)
            server.signal()
            assert await all_of(stream) == []
            assert state((await answer).status.state) == "submitted"

    with up(tmp_path, f"sqlite:{tmp_path / 'work.db'}", "--a2a", offer(tmp_path)) as server:
        asyncio.run(go(server))
        assert server.wait() == 0
        assert "Traceback" not in server.log


def test_acts_are_in_the_audit(server: Up) -> None:
    async def go() -> None:
        async with client(server.url, server.token, streaming=False) as sender:
            await sent(sender, message("noted", metadata={"skill": "slow"}))

    asyncio.run(go())
    # It is written beside the requests.
    until_so(lambda: "a2a.send" in json.dumps(server.ask("GET", "/v1/audit?limit=1000", token=server.token).json))
