"""An agent that knows nothing but the tools does a graph of five tasks, through every door and on two stores: one of
them spawns, one asks a person, one fails and is tried again."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.mcp.agents import LEGACY, MODERN, Agent, in_loop, over_http, over_stdio
from tests.server.process import up

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

GRAPH = [
    {"type": "research", "ref": "facts", "title": "Find three facts", "payload": {"topic": "tea"}},
    {"type": "code", "ref": "build", "title": "Build the page", "after": ["facts"], "retry": "immediate"},
    {"type": "write", "ref": "words", "title": "Write the words", "after": ["facts"]},
    {"type": "review", "ref": "check", "title": "Check both", "after": ["build", "words"]},
    {"type": "ship", "ref": "ship", "title": "Ship it", "after": ["check"]},
]


@asynccontextmanager
async def _agent(door: str, mode: str, home: Path, url: str) -> AsyncIterator[Agent]:
    """An agent of its own kind: with a process on the store, with one on a server, or with a server alone."""
    async with AsyncExitStack() as stack:
        if door == "stdio":
            yield await stack.enter_async_context(over_stdio(home, url, "--agent", "worker", mode=mode))
            return
        server = stack.enter_context(up(home, url))
        if door == "http":
            yield await stack.enter_async_context(over_http(f"{server.url}/mcp", server.token, mode=mode))
        else:
            yield await stack.enter_async_context(over_stdio(home, server.url, token=server.token, mode=mode))


async def _work(agent: Agent, done: dict[str, Any]) -> None:
    """Claim until nothing is left; two calls for each task that needs no more."""
    tries: dict[str, int] = {}
    while True:
        task = await agent("claim", wait=1)
        if task["task"] is None:
            if not task.get("unfinished"):
                assert task["next"] == "Nothing is left to do: you are done.", task
                return
            # It waits for an answer; or there was nothing within that second, which may be short.
            for asked in (await agent("inbox"))["questions"]:
                assert asked["text"] == "Which tone?"
                await agent("answer", question=asked["question"], value="calm", by="ana")
            continue
        kind = task["type"]
        tries[kind] = tries.get(kind, 0) + 1
        done.setdefault(kind, []).append(task)
        if kind == "research" and "children" not in task:
            small = [{"type": "look", "ref": f"fact-{number}", "payload": number} for number in range(2)]
            await agent("spawn", tasks=small, wait=True)
        elif kind == "write" and "answers" not in task:
            await agent("ask", question="Which tone?", schema={"type": "string"})
        elif kind == "code" and tries[kind] == 1:
            await agent("progress", progress=0.3, note="compiling")
            await agent("fail", error="the linker is missing", cost=0.01)
        else:
            await agent("complete", output={"of": kind, "try": tries[kind]})


@pytest.mark.parametrize(
    ("door", "mode", "store"),
    [
        ("stdio", MODERN, "sqlite"),
        ("stdio", LEGACY, "sqlite"),
        ("http", MODERN, "sqlite"),
        ("http", LEGACY, "sqlite"),
        ("stdio on a server", MODERN, "sqlite"),
        ("stdio", MODERN, "postgres"),
        ("http", MODERN, "postgres"),
    ],
)
def test_an_agent_does_a_graph_to_the_end(
    door: str, mode: str, store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:{tmp_path}/work.db" if store == "sqlite" else request.getfixturevalue("postgres_url")
    in_loop(_graph)(door, mode, tmp_path, url)


async def _graph(door: str, mode: str, home: Path, url: str) -> None:
    async with _agent(door, mode, home, url) as agent:
        # A server is asked in the words of 2026, where its client can: every request stands alone.
        assert agent.client.protocol_version == ("2026-07-28" if mode == MODERN else "2025-11-25")
        added = await agent("add", title="A page about tea", tasks=GRAPH)
        assert list(added["added"]) == ["facts", "build", "words", "check", "ship"]
        done: dict[str, Any] = {}
        await _work(agent, done)
        assert (agent.session is not None) == (door == "http" and mode == MODERN)

        shown = await agent("show", id=added["dag"])
        assert (shown["status"], shown["counts"]) == ("completed", {"completed": 7})
        # It spawned, was given what came of it, and went on.
        assert done["research"][1]["children"] == {
            "fact-0": {"of": "look", "try": 1},
            "fact-1": {"of": "look", "try": 2},
        }
        # It asked, and was given the answer.
        assert done["write"][1]["answers"] == [{"question": "Which tone?", "answer": "calm"}]
        # It failed, and the next attempt was told why.
        assert done["code"][1]["attempt"] == "2 of 3"
        assert [each["error"] for each in done["code"][1]["previous_attempts"]] == ["the linker is missing"]
        # Outputs flowed along the edges.
        assert done["review"][0]["inputs"] == {"build": {"of": "code", "try": 2}, "words": {"of": "write", "try": 2}}
        assert done["ship"][0]["inputs"] == {"check": {"of": "review", "try": 1}}
