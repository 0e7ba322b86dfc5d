"""The Tasks extension (SEP-2663): what the conformance scenarios for servers check, as far as it applies here.

Names such as `sep-2663-…` are those of the checks of `@modelcontextprotocol/conformance`. Not applicable: tasks that
end `failed` (there is no fault of the protocol in a task of ours), tools that demand the extension (ours go on without
it), and rounds of input before a task is made.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any, Literal

import mcp_types as types
import pytest
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim

import dibs
from dibs.mcp import handles
from dibs.model.question import Question
from tests.mcp.agents import in_loop, over_http
from tests.server.process import up

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from dibs.sync import SyncQueue
    from tests.server.process import Up

VERSION = "2026-07-28"
BOTH: dict[str, Any] = {"extensions": {handles.EXTENSION: {}}, "elicitation": {}}
METHODS: dict[str, dict[str, Any]] = {"tasks/get": {}, "tasks/update": {"inputResponses": {}}, "tasks/cancel": {}}
"""Those of the extension, with what they need beside a task."""
ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


class Rpc:
    """Plain requests to a server, each standing alone."""

    def __init__(self, server: Up) -> None:
        self._server = server

    def __call__(
        self,
        method: str,
        capabilities: Any = BOTH,
        *,
        token: str | None = None,
        header: str | None = None,
        **params: Any,
    ) -> dict[str, Any]:
        """The result, or the error."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP_Protocol_Version": VERSION,
            "Mcp_Method": method,
        }
        named = header or params.get("taskId") or params.get("name")
        if named is not None:
            headers["Mcp_Name"] = named
        answer = self._server.ask("POST", "/mcp", body, token=token or self._server.token, **headers)
        told: dict[str, Any] = answer.json
        found: dict[str, Any] = told.get("result") or told["error"]
        return found

    def add(self, *tasks: dict[str, Any], **options: Any) -> dict[str, Any]:
        given = {"tasks": list(tasks), "wait": True}
        return self("tools/call", name="add", arguments=given, **options)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    home = tmp_path_factory.mktemp("server")
    with up(home, f"sqlite:{home}/work.db") as running:
        yield running


@pytest.fixture(scope="module")
def rpc(server: Up) -> Rpc:
    return Rpc(server)


@pytest.fixture
def queue(server: Up) -> Iterator[SyncQueue]:
    with dibs.connect_sync(f"sqlite:{server.home}/work.db") as opened:
        yield opened


def _worked(queue: SyncQueue, type: str, output: Any) -> None:
    [claim] = queue.claim("worker", types=[type], wait=60)
    queue.complete(claim, output)


def test_the_extension_is_advertised_and_the_old_surface_is_gone(rpc: Rpc) -> None:
    """tasks-extension-advertised, sep-2663-tasks-result-removed-method-not-found, tasks-removed-tasks-list"""
    capabilities = rpc("server/discover")["capabilities"]
    assert capabilities["extensions"] == {handles.EXTENSION: {}}
    assert "tasks" not in capabilities
    for method in ("tasks/result", "tasks/list"):
        assert rpc(method, taskId="x")["code"] == types.METHOD_NOT_FOUND


def test_who_has_no_extension_may_not_ask_about_tasks(rpc: Rpc) -> None:
    """sep-2663-tasks-methods-non-declaring"""
    for method, params in METHODS.items():
        error = rpc(method, {}, taskId="task_x", **params)
        assert error["code"] == types.MISSING_REQUIRED_CLIENT_CAPABILITY
        assert error["data"] == {"requiredCapabilities": {"extensions": {handles.EXTENSION: {}}}}


def test_who_has_no_extension_gets_a_plain_answer(rpc: Rpc, queue: SyncQueue) -> None:
    """sep-2663-server-rejects-undeclared-client"""
    import threading

    worker = threading.Thread(target=_worked, args=(queue, "plain", "made"))
    worker.start()
    result = rpc.add({"type": "plain"}, capabilities={})
    worker.join()
    assert (result["resultType"], "taskId" in result) == ("complete", False)
    assert json.loads(result["content"][0]["text"])["ended"]["output"] == "made"


def test_a_task_is_worked_on_and_then_has_its_result(rpc: Rpc, queue: SyncQueue) -> None:
    """sep-2663-result-type-task-on-create, …-durable-create-strong-consistency, …-tasks-get-status-working,
    …-tasks-get-status-completed, tasks-wire-field-renames, tasks-no-related-task-meta-on-inlined-result,
    tasks-create-result-no-request-state, tasks-get-detailed-no-request-state"""
    created = rpc.add({"type": "slow"})
    got = rpc("tasks/get", taskId=created["taskId"])
    assert created["resultType"] == "task"
    assert got["resultType"] == "complete"
    for handle in (created, got):
        assert handle["taskId"] == queue.get(created["taskId"]).id
        assert handle["status"] == "working"
        assert ISO.fullmatch(handle["createdAt"])
        assert ISO.fullmatch(handle["lastUpdatedAt"])
        assert handle["ttlMs"] is None
        assert handle["pollIntervalMs"] == handles.POLL_MS
        assert not handle.keys() & {"result", "error", "inputRequests", "requestState", "task", "ttl", "pollInterval"}
    _worked(queue, "slow", {"pages": 3})
    ended = rpc("tasks/get", taskId=created["taskId"])
    assert ended["status"] == "completed"
    assert ended["result"] == {"content": [{"type": "text", "text": '{"pages":3}'}], "isError": False}


def test_a_long_output_is_cut_as_it_is_elsewhere(rpc: Rpc, queue: SyncQueue) -> None:
    created = rpc.add({"type": "talkative"})
    _worked(queue, "talkative", "x" * 50_000)
    [content] = rpc("tasks/get", taskId=created["taskId"])["result"]["content"]
    told = json.loads(content["text"])
    assert (told["chars"], len(told["cut"])) == (50_000, 20_000)
    assert told["whole"] == f"dibs://task/{created['taskId']}/output"


def test_other_tools_make_no_tasks(rpc: Rpc) -> None:
    """tasks-sync-tool-call, sep-2663-legacy-task-param-ignored, tasks-result-type-complete-on-non-task-responses"""
    old: list[dict[str, Any]] = [{}, {"task": {"ttl": 60_000}}]
    for more in old:
        result = rpc("tools/call", name="find", arguments={}, **more)
        assert (result["resultType"], "taskId" in result, len(result["content"])) == ("complete", False, 1)
    without_wait = rpc("tools/call", name="add", arguments={"tasks": [{"type": "later"}]})
    assert without_wait["resultType"] == "complete"


def test_a_dead_letter_is_completed_with_an_error(rpc: Rpc, queue: SyncQueue) -> None:
    """sep-2663-tool-error-uses-completed-status"""
    created = rpc.add({"type": "doomed", "max_attempts": 1})
    [claim] = queue.claim("worker", types=["doomed"], wait=60)
    queue.fail(claim, "no such file")
    ended = rpc("tasks/get", taskId=created["taskId"])
    assert ended["status"] == "completed"
    assert ended["result"]["isError"] is True
    assert json.loads(ended["result"]["content"][0]["text"])["error"] == "no such file"
    assert ended["statusMessage"] == "dead_lettered: no such file"


def test_cancelling_is_acknowledged_also_when_it_has_ended(rpc: Rpc, queue: SyncQueue) -> None:
    """sep-2663-cancel-ack-empty-result, tasks-cancel-terminal-idempotent-ack"""
    created = rpc.add({"type": "unwanted"})
    for _ in range(2):
        ack = rpc("tasks/cancel", taskId=created["taskId"])
        assert ack["resultType"] == "complete"
        assert not ack.keys() & {"taskId", "status", "result"}
        assert rpc("tasks/get", taskId=created["taskId"])["status"] == "cancelled"
    assert queue.get(created["taskId"]).cancel_reason == "cancelled by an MCP client"


def test_a_task_that_there_is_not_is_wrong(rpc: Rpc) -> None:
    """sep-2663-tasks-get-invalid-task-id-32602"""
    for id in ("task_nobody", "dag_nobody", "nonsense"):
        for method, params in METHODS.items():
            error = rpc(method, taskId=id, **params)
            assert error["code"] == types.INVALID_PARAMS, (method, id, error)
    assert rpc("tasks/get")["code"] == types.INVALID_PARAMS
    assert rpc("tasks/update", taskId="task_x", inputResponses=[])["code"] == types.INVALID_PARAMS


def test_a_header_that_names_another_task_is_refused(rpc: Rpc) -> None:
    """sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get, …-routing-headers-accepted-on-tasks-get"""
    created = rpc.add({"type": "routed"})
    assert rpc("tasks/get", taskId=created["taskId"], header="task_other")["code"] == types.HEADER_MISMATCH
    assert rpc("tasks/get", taskId=created["taskId"])["status"] == "working"


def test_a_question_is_input_that_is_required(rpc: Rpc, queue: SyncQueue) -> None:
    """sep-2663-tasks-get-status-input-required, tasks-mrtr-tasks-update-resumes"""
    created = rpc.add({"type": "asks"})
    [claim] = queue.claim("worker", types=["asks"], wait=60)
    asked = queue.ask(claim, "Which colour?", schema={"type": "string", "enum": ["red", "blue"]})
    waiting = rpc("tasks/get", taskId=created["taskId"])
    assert waiting["status"] == "input_required"
    assert waiting["inputRequests"] == {
        asked.id: {
            "method": "elicitation/create",
            "params": {
                "mode": "form",
                "message": "Which colour?",
                "requestedSchema": {
                    "type": "object",
                    "properties": {"answer": {"type": "string", "enum": ["red", "blue"]}},
                    "required": ["answer"],
                },
            },
        }
    }
    # Whose user cannot be asked is not asked.
    only: dict[str, Any] = {"extensions": {handles.EXTENSION: {}}}
    assert rpc("tasks/get", only, taskId=created["taskId"])["status"] == "working"

    def said(response: Any, id: str = asked.id) -> dict[str, Any]:
        return rpc("tasks/update", taskId=created["taskId"], inputResponses={id: response})

    wrong = said({"action": "accept", "content": {"answer": "green"}})
    assert wrong["code"] == types.INVALID_PARAMS
    for ignored in ({"action": "decline"}, {"action": "cancel"}, {}, "blue", None):
        assert said(ignored)["resultType"] == "complete"
    assert said({"action": "accept", "content": {"answer": "blue"}}, id="q_other")["resultType"] == "complete"
    assert rpc("tasks/get", taskId=created["taskId"])["status"] == "input_required"
    ack = said({"action": "accept", "content": {"answer": "blue"}})
    assert ack["resultType"] == "complete"
    assert not ack.keys() & {"taskId", "status", "inputRequests"}
    # Said again it is not looked at.
    assert said({"action": "accept", "content": {"answer": "red"}})["resultType"] == "complete"
    [again] = queue.claim("worker", types=["asks"], wait=60)
    assert again.answers == {asked.id: "blue"}
    queue.complete(again, "painted")
    assert rpc("tasks/get", taskId=created["taskId"])["status"] == "completed"


def test_a_dag_is_one_task_and_asks_for_all_of_its_own(rpc: Rpc, queue: SyncQueue) -> None:
    """tasks-mrtr-partial-fulfillment"""
    created = rpc.add({"type": "part", "ref": "a"}, {"type": "part", "ref": "b"})
    assert created["taskId"].startswith("dag_")
    questions = {}
    for claim in queue.claim("worker", types=["part"], limit=2, wait=60):
        questions[claim.task.ref] = queue.ask(claim, f"May {claim.task.ref} go on?", schema={"type": "boolean"}).id
    waiting = rpc("tasks/get", taskId=created["taskId"])
    assert set(waiting["inputRequests"]) == set(questions.values())
    yes = {"action": "accept", "content": {"answer": True}}
    rpc("tasks/update", taskId=created["taskId"], inputResponses={questions["a"]: yes})
    assert set(rpc("tasks/get", taskId=created["taskId"])["inputRequests"]) == {questions["b"]}
    rpc("tasks/update", taskId=created["taskId"], inputResponses={questions["b"]: yes})
    for _ in "ab":
        _worked(queue, "part", "done")
    ended = rpc("tasks/get", taskId=created["taskId"])
    assert ended["status"] == "completed"
    assert json.loads(ended["result"]["content"][0]["text"])["outputs"] == {"a": "done", "b": "done"}


def test_a_dag_that_failed_is_completed_with_an_error(rpc: Rpc, queue: SyncQueue) -> None:
    created = rpc.add({"type": "broken", "ref": "a", "max_attempts": 1}, {"type": "broken", "ref": "b", "after": ["a"]})
    [claim] = queue.claim("worker", types=["broken"], wait=60)
    queue.fail(claim, "it broke")
    ended = rpc("tasks/get", taskId=created["taskId"])
    assert (ended["status"], ended["result"]["isError"]) == ("completed", True)
    [dead] = json.loads(ended["result"]["content"][0]["text"])["dead_letters"]
    assert dead["error"] == "it broke"


def test_an_approval_can_be_given_and_refused(rpc: Rpc, queue: SyncQueue) -> None:
    for action, status in (("accept", "working"), ("decline", "cancelled")):
        created = rpc.add({"type": "careful", "approval": True})
        [(id, asked)] = rpc("tasks/get", taskId=created["taskId"])["inputRequests"].items()
        assert asked["params"]["requestedSchema"]["properties"] == {"approve": {"type": "boolean", "title": "Approve"}}
        response = {"action": action, "content": {"approve": True}}
        rpc("tasks/update", taskId=created["taskId"], inputResponses={id: response})
        assert rpc("tasks/get", taskId=created["taskId"])["status"] == status


def test_handles_are_for_those_who_may(server: Up, rpc: Rpc) -> None:
    """Tokens, roles and projects hold for tasks/* as for everything else."""

    def token(**body: Any) -> str:
        return str(server.ask("POST", "/v1/tokens", body, token=server.token).json["secret"])

    created = rpc.add({"type": "guarded"})
    viewer = token(name="eyes", role="viewer")
    assert rpc("tasks/get", taskId=created["taskId"], token=viewer)["status"] == "working"
    refused = rpc("tasks/cancel", taskId=created["taskId"], token=viewer)
    assert (refused["code"], refused["data"]["code"]) == (types.INVALID_REQUEST, "denied")
    assert rpc.add({"type": "t"}, token=viewer)["isError"]
    stranger = token(name="other", role="admin", project="other")
    for method in ("tasks/get", "tasks/cancel"):
        assert rpc(method, taskId=created["taskId"], token=stranger)["code"] == types.INVALID_PARAMS
    assert rpc("tasks/get", taskId=created["taskId"])["status"] == "working"


class Created(types.Result):
    """A handle, as a client of the SDK reads it."""

    result_type: Literal["task"] = "task"
    task_id: str


class Named(types.RequestParams):
    task_id: str


class GetTask(types.Request[Named, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: Named


class Got(types.Result):
    status: str
    result: dict[str, Any] | None = None


class Tasks(ClientExtension):
    """What a client needs to have the extension: it asks until the task has ended."""

    identifier = handles.EXTENSION

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return (ResultClaim(result_type="task", model=Created, resolve=self._resolve),)

    async def _resolve(self, created: Created, ctx: ClaimContext) -> types.CallToolResult:
        while True:
            asking = GetTask(params=Named(task_id=created.task_id))
            got = await ctx.session.send_request(asking, Got)
            if got.result is not None:
                return types.CallToolResult.model_validate(got.result)
            await asyncio.sleep(0.05)


def test_the_client_of_the_sdk_waits_for_what_it_added(server: Up, tmp_path: Path) -> None:
    @in_loop
    async def work() -> None:
        async with over_http(f"{server.url}/mcp", server.token, extensions=[Tasks()]) as agent:
            assert isinstance(agent.client, Client)
            given = {"tasks": [{"type": "transparent"}], "wait": True}
            adding = asyncio.create_task(agent.client.call_tool("add", given))
            async with over_http(f"{server.url}/mcp", server.token) as worker:
                await worker("claim", types=["transparent"])
                await worker("complete", output="made by another")
            result = await adding
            assert result.content[0].text == "made by another"  # type: ignore[union-attr]

    work()


@pytest.mark.parametrize(
    ("schema", "form"),
    [
        (None, {"answer": {"type": "string"}}),
        ({"type": "integer", "minimum": 1}, {"answer": {"type": "integer", "minimum": 1}}),
        ({"type": "object", "properties": {"n": {"type": "number"}}}, {"n": {"type": "number"}}),
        ({"type": "object", "properties": {"n": {"type": "array"}}}, {"answer": {"type": "string"}}),
        ({"type": "array", "items": {}}, {"answer": {"type": "string"}}),
    ],
)
def test_what_is_asked_becomes_a_form_that_clients_can_show(schema: Any, form: dict[str, Any]) -> None:
    question = Question(id="q", task_id="t", question="?", schema=schema)
    asked = handles.elicitation(question)["params"]["requestedSchema"]
    assert (asked["type"], asked["properties"]) == ("object", form)
    said = {"action": "accept", "content": {"answer": 1, "n": 2}}
    expected = said["content"] if "n" in form else 1
    assert handles.answered(question, said) == (True, expected)
