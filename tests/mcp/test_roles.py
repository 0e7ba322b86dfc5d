"""Tokens at `/mcp`: who comes in, which tools are whose, and what of others can be seen (nothing)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from mcp.shared.exceptions import MCPError

import dibs
from dibs.mcp.definitions import TOOLS, offered
from dibs.model.role import Role
from tests.mcp.agents import LEGACY, MODERN, Refused, in_loop, over_http, over_stdio
from tests.server.process import up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.sync import SyncQueue
    from tests.mcp.agents import Agent
    from tests.server.process import Up

LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = "application/json, text/event-stream"
USUAL: dict[str, dict[str, Any]] = {
    "claim": {"wait": 0},
    "add": {"tasks": [{"type": "t"}]},
    "answer": {"question": "q_x", "value": 1},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    home = tmp_path_factory.mktemp("server")
    with up(home, f"sqlite:{home}/work.db") as running:
        yield running


@pytest.fixture
def queue(server: Up) -> Iterator[SyncQueue]:
    with dibs.connect_sync(f"sqlite:{server.home}/work.db") as opened:
        yield opened


def _token(server: Up, name: str, role: str, **body: Any) -> str:
    answer = server.ask("POST", "/v1/tokens", {"name": name, "role": role, **body}, token=server.token)
    return str(answer.json["secret"])


def test_without_a_token_nobody_comes_in(server: Up) -> None:
    for method in ("POST", "GET", "DELETE"):
        for token in (None, "dibs_wrong_0123456789012345678901234567890"):
            answer = server.ask(method, "/mcp", LISTING if method == "POST" else None, token=token, Accept=ACCEPT)
            assert answer.status == 401
            assert answer.headers["www-authenticate"] == "Bearer"


def test_pages_of_other_sites_do_not_come_in(server: Up) -> None:
    headers = {"Accept": ACCEPT, "Origin": "http://evil.example"}
    assert server.ask("POST", "/mcp", LISTING, token=server.token, **headers).status == 403


@in_loop
async def _offered(server: Up, role: Role, mode: str, found: list[str]) -> None:
    async with over_http(f"{server.url}/mcp", _token(server, f"{role}-{mode}", role), mode=mode) as agent:
        found += [tool.name for tool in (await agent.client.list_tools()).tools]
        # What is not offered is refused all the same.
        for tool in TOOLS:
            if tool.name not in found and tool.name in ("claim", "add", "inbox", "answer"):
                told = await agent.refusal(tool.name, **USUAL.get(tool.name, {}))
                assert (told["error"], told["next"][:10]) == ("denied", "Your token")


@pytest.mark.parametrize("mode", [MODERN, LEGACY])
@pytest.mark.parametrize("role", list(Role))
def test_a_role_is_offered_its_tools_and_no_others(server: Up, role: Role, mode: str) -> None:
    found: list[str] = []
    _offered(server, role, mode, found)
    assert found == [tool.name for tool in offered(role)]
    assert ("claim" in found) == (role in (Role.AGENT, Role.ADMIN))
    assert ("add" in found) == (role in (Role.ORCHESTRATOR, Role.ADMIN))


def test_over_stdio_a_client_of_a_server_is_offered_the_tools_of_its_token(server: Up) -> None:
    token = _token(server, "eyes", "viewer")

    @in_loop
    async def work() -> None:
        async with over_stdio(server.home, server.url, token=token) as agent:
            listed = [tool.name for tool in (await agent.client.list_tools()).tools]
            assert listed == ["find", "show", "why", "inbox"]
            assert (await agent.refusal("claim", wait=0))["error"] == "denied"

    work()


def test_an_agent_works_on_its_types_and_spawns_no_others(server: Up, queue: SyncQueue) -> None:
    token = _token(server, "coder", "agent", types=["code"])
    queue.add("secret", {"for": "others"})
    mine = queue.add("code")

    @in_loop
    async def work() -> None:
        async with over_http(f"{server.url}/mcp", token) as agent:
            refused = await agent.refusal("claim", wait=0, types=["secret"])
            assert (refused["error"], refused["field"]) == ("denied", "types")
            assert (await agent("claim"))["task"] == mine.id
            assert (queue.get(mine.id).agent or "").startswith("coder:")
            refused = await agent.refusal("spawn", tasks=[{"type": "secret"}])
            assert (refused["error"], refused["field"]) == ("denied", "type")
            await agent("spawn", tasks=[{"type": "code", "ref": "part"}])
            # What others are given is not told in lists.
            assert all("payload" not in task for task in (await agent("find"))["tasks"])
            assert (await agent.refusal("find", text="others"))["error"] == "denied"
            await agent("complete", output="mine")

    work()
    assert queue.get(mine.id).output == "mine"


def test_what_is_in_another_project_is_not_there(server: Up, queue: SyncQueue) -> None:
    token = _token(server, "stranger", "admin", project="elsewhere")
    task = queue.add("hidden", {"secret": "word"})

    @in_loop
    async def work() -> None:
        async with over_http(f"{server.url}/mcp", token) as agent:
            for given in ({"id": task.id}, {"id": task.dag_id}, {"id": task.id, "part": "payload"}):
                told = await agent.refusal("show", **given)
                unknown = await agent.refusal("show", **{**given, "id": given["id"][:-4] + "0000"})
                assert (told["error"], told["next"]) == (unknown["error"], unknown["next"])
                assert told["error"] == "not_found"
            assert (await agent.refusal("why", id=task.id))["error"] == "not_found"
            assert (await agent("find"))["tasks"] == []
            assert (await agent("claim", wait=0))["next"] == "Nothing is left to do: you are done."
            assert (await agent.refusal("add", tasks=[{"type": "t", "after": [task.id]}]))["error"] == "not_found"
            for uri in (f"dibs://task/{task.id}", f"dibs://task/{task.id}/payload", f"dibs://dag/{task.dag_id}"):
                with pytest.raises(MCPError, match="There is no"):
                    await agent.client.read_resource(uri)

    work()


def test_a_revoked_token_loses_its_session_and_its_task(server: Up, queue: SyncQueue) -> None:
    made = server.ask("POST", "/v1/tokens", {"name": "fired", "role": "agent"}, token=server.token).json
    task = queue.add("slow-work", retry="immediate", priority=1)

    async def going_on(agent: Agent) -> None:
        while True:
            try:
                await agent("progress")
            except Refused as refused:
                # The queue may know before the door does, and the lease may end before that.
                if refused.told["error"] not in ("unknown_token", "lease_lost"):
                    raise

    @in_loop
    async def work() -> None:
        async with over_http(f"{server.url}/mcp?lease=2s", made["secret"]) as agent:
            assert (await agent("claim", types=["slow-work"]))["task"] == task.id
            assert server.ask("DELETE", f"/v1/tokens/{made['id']}", token=server.token).status == 200
            with pytest.raises(MCPError):
                await asyncio.wait_for(going_on(agent), 60)

    work()
    [again] = queue.claim("other", types=["slow-work"], wait=60)
    assert again.task.id == task.id


def test_a_command_that_an_output_must_pass_is_not_run_by_the_server(server: Up, queue: SyncQueue) -> None:
    mark = server.home / "was-run"
    expects = {"validation": "command", "argv": ["touch", str(mark)]}
    task = queue.add("checked", expects=expects, priority=1)

    @in_loop
    async def work() -> None:
        async with over_http(f"{server.url}/mcp", server.token) as agent:
            assert (await agent("claim", types=["checked"]))["task"] == task.id
            told = await agent.refusal("complete", output="made")
            assert "must pass a command" in told["next"]
            assert not mark.exists()
            await agent("release")
        # Where the work is done it is run, and the task completed.
        async with over_stdio(server.home, server.url, token=server.token) as agent:
            assert (await agent("claim", types=["checked"]))["task"] == task.id
            assert (await agent("complete", output="made"))["status"] == "completed"
            assert mark.exists()

    work()


def test_what_is_assigned_to_a_name_is_for_the_sessions_that_have_it(server: Up, queue: SyncQueue) -> None:
    task = queue.add("for-zed", assignee="zed")

    @in_loop
    async def work() -> None:
        async with (
            over_http(f"{server.url}/mcp", server.token) as other,
            over_http(f"{server.url}/mcp?agent=zed", server.token) as zed,
        ):
            assert (await other("claim", wait=0, types=["for-zed"]))["task"] is None
            assert (await zed("claim", wait=0, types=["for-zed"]))["task"] == task.id
            await zed("complete")

    work()


@pytest.mark.parametrize(("query", "field"), [("lease=soon", "lease"), ("lease=0.1", "lease"), ("agent=%00", "agent")])
def test_a_url_that_makes_no_sense_is_named(server: Up, query: str, field: str) -> None:
    @in_loop
    async def work() -> None:
        async with over_http(f"{server.url}/mcp?{query}", server.token) as agent:
            told = await agent.refusal("claim", wait=0)
            assert (told["error"], told["field"]) == ("invalid", field)

    work()
