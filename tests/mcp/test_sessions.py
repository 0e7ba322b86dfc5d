"""What a session holds is its own, is kept while it lives, and comes back when it is gone."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING

import pytest

import dibs
from dibs.mcp.session import Presence, Session
from tests.mcp.agents import LEGACY, MODERN, in_loop, inside, over_http, over_stdio
from tests.server.process import environment, up
from tests.worker.facts import LEASE_S, renewed, until_renewed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLIENT = """
import asyncio, sys
from pathlib import Path
from tests.mcp.agents import over_http, over_stdio

async def main(door, home, url, *more):
    opened = over_stdio(Path(home), url, *more) if door == "stdio" else over_http(url, *more[:1], mode=more[1])
    async with opened as agent:
        await agent("find")
        print("here", flush=True)
        print((await agent("claim", wait=40))["task"], flush=True)
        await asyncio.sleep(600)

asyncio.run(main(*sys.argv[1:]))
"""


@contextmanager
def _connected(home: Path, *argv: str) -> Iterator[IO[str]]:
    """A client in a process of its own that is about to claim a task, and says which; at the end it is killed."""
    program = [sys.executable, "-c", CLIENT, *argv]
    with subprocess.Popen(program, stdout=subprocess.PIPE, env=environment(home), text=True) as client:
        try:
            assert client.stdout is not None
            assert client.stdout.readline() == "here\n"
            yield client.stdout
        finally:
            os.kill(client.pid, signal.SIGKILL)


@contextmanager
def _client(home: Path, *argv: str) -> Iterator[str]:
    """One that has claimed a task."""
    with _connected(home, *argv) as said:
        yield said.readline().strip()


@in_loop
async def test_a_lease_is_renewed_while_the_session_lives() -> None:
    async with dibs.connect("memory:") as queue, inside(queue, lease_s=LEASE_S) as agent:
        task = await queue.add("slow")
        told = await agent("claim")
        assert told["kept"] == f"renewed every {LEASE_S / 3:.1f} s while you are connected; you need not"
        await renewed(queue, task.id)
        await queue.run_duties()
        assert (await queue.get(task.id)).status == "running"
        assert (await agent("complete", output=1))["status"] == "completed"


@in_loop
async def test_who_was_cancelled_is_told_and_lets_go() -> None:
    async with dibs.connect("memory:") as queue, inside(queue, lease_s=LEASE_S) as agent:
        task = await queue.add("slow", locks=["repo"])
        await agent("claim")
        await queue.cancel(task.id, "not needed")
        async with asyncio.timeout(60):
            while not await _is_free(queue, "repo"):  # noqa: ASYNC110 - it is the store that changes
                await asyncio.sleep(0.05)
        # With whatever it asks next.
        told = await agent("find")
        assert told["notices"] == [f"{task.id} was cancelled: not needed. Stop working on it."]
        assert "notices" not in await agent("find")
        refused = await agent.refusal("complete", output=1)
        assert (refused["error"], "Change nothing more" in refused["next"]) == ("lease_lost", True)


async def _is_free(queue: dibs.Queue, name: str) -> bool:
    return not any(lock.holders for lock in await queue.locks() if lock.name == name)


@in_loop
async def test_progress_says_stop() -> None:
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        task = await queue.add("slow")
        await agent("claim")
        await queue.cancel(task.id, "not needed")
        assert (await agent("progress", note="still at it"))["stop"] == (
            f"{task.id} was cancelled: not needed. Stop working on it."
        )
        assert (await agent("claim", wait=0))["task"] is None


@in_loop
async def test_who_lost_a_task_can_do_nothing_more_with_it() -> None:
    async with dibs.connect("memory:") as queue, inside(queue, lease_s=1.0, alive=lambda: False) as agent:
        task = await queue.add("slow", retry="immediate")
        await agent("claim")
        await asyncio.sleep(1.2)
        await queue.run_duties()
        [other] = await queue.claim("other", wait=60)
        for tool, given in (("complete", {"output": "mine"}), ("fail", {"error": "x"}), ("ask", {"question": "?"})):
            refused = await agent.refusal(tool, task=task.id, **given)
            assert (refused["error"], refused["next"][:8]) == ("lease_lost", "Somebody")
        await queue.complete(other, "theirs")
        assert (await queue.get(task.id)).output == "theirs"


@in_loop
async def test_a_claim_that_nobody_waits_for_any_more_takes_nothing() -> None:
    async with dibs.connect("memory:") as queue, inside(queue, mode=LEGACY) as agent:
        waiting = asyncio.create_task(agent("claim", wait=30))
        async with asyncio.timeout(60):
            while not await queue.agents():  # noqa: ASYNC110 - it is the store that changes
                await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await agent("find")
        task = await queue.add("t")
        await asyncio.sleep(0.3)
        assert (await queue.get(task.id)).status == "ready"
        assert (await agent("claim"))["task"] == task.id


@in_loop
async def test_two_sessions_do_not_see_what_the_other_holds() -> None:
    async with dibs.connect("memory:") as queue, inside(queue, agent="a") as one, inside(queue, agent="b") as two:
        await queue.add("t")
        task = (await one("claim"))["task"]
        assert (await two.refusal("complete", output=1))["error"] == "not_held"
        assert (await two.refusal("complete", output=1, task=task))["error"] == "not_held"
        assert (await two.refusal("progress", task=task))["error"] == "not_held"
        await one("complete", output=2)
        assert (await queue.get(task)).output == 2


def test_what_a_killed_client_held_comes_back_after_its_lease(tmp_path: Path) -> None:
    """Over stdio: the process that it had started ends with it."""
    url = f"sqlite:{tmp_path}/work.db"
    with dibs.connect_sync(url) as queue:
        task = queue.add("slow", retry="immediate")
        with _client(tmp_path, "stdio", str(tmp_path), url, "--lease", f"{LEASE_S:g}s") as claimed:
            assert claimed == task.id
            until_renewed(queue, task.id)
            queue.run_duties()
            assert queue.get(task.id).status == "running"
        [again] = queue.claim("other", wait=60)
        assert (again.task.id, again.task.crashes) == (task.id, 1)


@pytest.mark.parametrize("mode", [MODERN, LEGACY])
def test_what_a_killed_client_of_a_server_held_comes_back(tmp_path: Path, mode: str) -> None:
    """Both kinds of clients: one whose every request stands alone, and one that kept a stream open."""
    url = f"sqlite:{tmp_path}/work.db"
    with up(tmp_path, url, "--mcp-patience", "6s") as server, dibs.connect_sync(url) as queue:
        task = queue.add("slow", retry="immediate")
        at = f"{server.url}/mcp?lease={LEASE_S:g}s"
        with _client(tmp_path, "http", str(tmp_path), at, server.token or "", mode) as claimed:
            assert claimed == task.id
            # Only what was begun for sure counts.
            until_renewed(queue, task.id)
        [again] = queue.claim("other", wait=60)
        assert (again.task.id, again.task.crashes) == (task.id, 1)
        # Its patience and its lease have passed, and what it takes to notice.
        [attempt] = queue.history(task.id)
        assert attempt.started_at is not None
        assert attempt.ended_at is not None
        assert (attempt.ended_at - attempt.started_at).total_seconds() >= LEASE_S


@pytest.mark.parametrize("door", ["stdio", "http", "http with a stream"])
def test_who_is_killed_while_waiting_for_work_keeps_none_from_others(tmp_path: Path, door: str) -> None:
    """Whether or not the server hears of it in time: what is given to the dead comes back after the lease."""
    url = f"sqlite:{tmp_path}/work.db"
    with ExitStack() as stack:
        queue = stack.enter_context(dibs.connect_sync(url))
        if door == "stdio":
            argv = ["stdio", str(tmp_path), url, "--lease", "1s"]
        else:
            server = stack.enter_context(up(tmp_path, url, "--mcp-patience", "1s"))
            mode = MODERN if door == "http" else LEGACY
            argv = ["http", str(tmp_path), f"{server.url}/mcp?lease=1s", server.token or "", mode]
        with _connected(tmp_path, *argv):
            deadline = time.monotonic() + 60
            while not queue.agents():
                assert time.monotonic() < deadline, "it did not ask for work"
                time.sleep(0.01)
        task = queue.add("slow", retry="immediate")
        [claim] = queue.claim("other", wait=60)
        assert claim.task.id == task.id
        queue.complete(claim, "done")
        assert queue.get(task.id).output == "done"


def test_a_client_with_a_stream_is_kept_while_it_is_open(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/work.db"
    with up(tmp_path, url, "--mcp-patience", "1s") as server, dibs.connect_sync(url) as queue:
        task = queue.add("slow")
        at = f"{server.url}/mcp?lease={LEASE_S:g}s"
        with _client(tmp_path, "http", str(tmp_path), at, server.token or "", LEGACY) as claimed:
            assert claimed == task.id
            # Long after the server's patience with those who have none.
            for _ in range(2):
                until_renewed(queue, task.id)
            assert queue.get(task.id).status == "running"


def test_a_session_that_stands_alone_goes_on_at_another_server(tmp_path: Path) -> None:
    """And nobody else's can be taken: neither by its task, nor by its agent's name, nor by guessing."""
    url = f"sqlite:{tmp_path}/work.db"

    @in_loop
    async def work() -> None:
        with up(tmp_path, url) as first, up(tmp_path, url) as second, dibs.connect_sync(url) as queue:
            task = queue.add("t")
            made = first.ask("POST", "/v1/tokens", {"name": "coder", "role": "agent"}, token=first.token)
            token, at = made.json["secret"], "/mcp?agent=zed"
            async with over_http(f"{first.url}{at}", token) as one, over_http(f"{second.url}{at}", token) as two:
                assert (await one("claim"))["task"] == task.id
                name = queue.get(task.id).agent or ""
                for guess in ("nobody", name, name.rpartition(":")[2], task.id):
                    refused = await two.refusal("complete", session=guess, output=0)
                    assert (refused["error"], refused["field"]) == ("unknown_session", "session")
                await two("claim", wait=0)
                assert (await two.refusal("complete", task=task.id, output=0))["error"] == "not_held"
                two.session = one.session
                assert (await two("complete", output=1))["status"] == "completed"
                # The first server did not know; it hears it from the store.
                assert (await one.refusal("complete", output=2))["error"] == "illegal_transition"
            assert queue.get(task.id).output == 1

    work()


def test_a_session_of_the_protocol_is_for_the_token_that_began_it(tmp_path: Path) -> None:
    @in_loop
    async def work() -> None:
        with up(tmp_path, f"sqlite:{tmp_path}/work.db") as server:
            body = {"name": "eve", "role": "admin"}
            eve = server.ask("POST", "/v1/tokens", body, token=server.token).json["secret"]
            begun = server.ask(
                "POST",
                "/mcp",
                {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "initialize",
                    "params": {
                        "protocolVersion": "2025-11-25",
                        "capabilities": {},
                        "clientInfo": {"name": "c", "version": "1"},
                    },
                },
                token=server.token,
                Accept="application/json, text/event-stream",
            )
            assert begun.status == 200
            held = begun.headers["mcp-session-id"]
            listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
            said = {"Accept": "application/json, text/event-stream", "Mcp_Session_Id": held}
            assert server.ask("POST", "/mcp", listing, token=server.token, **said).status == 200
            assert server.ask("POST", "/mcp", listing, token=eve, **said).status == 404
            assert server.ask("DELETE", "/mcp", token=eve, **said).status == 404
            assert server.ask("DELETE", "/mcp", token=server.token, **said).status == 200

    work()


def test_a_server_leaves_though_clients_have_streams_open(tmp_path: Path) -> None:
    @in_loop
    async def work() -> None:
        with up(tmp_path, f"sqlite:{tmp_path}/work.db") as server:
            async with over_http(f"{server.url}/mcp", server.token, mode=LEGACY) as agent:
                await agent("find")
                began = time.monotonic()
                server.signal()
                assert await asyncio.to_thread(server.wait) == 0
                assert time.monotonic() - began < 50

    work()


def test_a_presence_ends_sooner_for_those_whose_stream_was_closed() -> None:
    silent = Presence(patience_s=60, stream_patience_s=0)
    silent.enter()
    silent.leave()
    assert silent.is_alive()
    streamed = Presence(patience_s=60, stream_patience_s=0)
    streamed.enter(stream=True)
    assert streamed.is_alive()
    streamed.leave(stream=True)
    assert not streamed.is_alive()
    # It goes on asking: only the stream was lost.
    streamed.enter()
    streamed.leave()
    assert streamed.is_alive()


def test_a_client_that_ends_in_order_leaves_its_task_until_the_lease_ends(tmp_path: Path) -> None:
    """Nobody can tell one that was closed from one that died, and what ends its agents must not go round for ever."""
    url = f"sqlite:{tmp_path}/work.db"

    @in_loop
    async def work(id: str) -> None:
        async with over_stdio(tmp_path, url, "--lease", f"{LEASE_S:g}s") as agent:
            assert (await agent("claim"))["task"] == id
            # Only what was begun for sure counts.
            await agent("progress", note="begun")

    with dibs.connect_sync(url) as queue:
        task = queue.add("slow", retry="immediate")
        work(task.id)
        assert queue.get(task.id).status == "running"
        [again] = queue.claim("other", wait=60)
        assert (again.task.id, again.task.crashes) == (task.id, 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_once_though_its_client_is_there(tmp_path: Path, number: int) -> None:
    program = [sys.executable, "-m", "dibs", "mcp", "--url", "memory:"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(program, env=environment(tmp_path), text=True, **pipes) as served:  # type: ignore[call-overload]
        served.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        served.stdin.flush()
        assert '"id":1' in served.stdout.readline()
        served.send_signal(number)
        assert served.wait(60) == -number


@in_loop
async def test_leases_that_could_not_be_renewed_are_tried_again_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    async with dibs.connect("memory:") as queue:
        await queue.add("slow")
        session = Session(queue, "ada", lease_s=12.0)
        [claim] = await queue.claim("ada", lease=12)
        pauses: list[float] = []
        over = asyncio.Event()
        real = asyncio.sleep

        async def sleep(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 4:
                session.held.clear()
                over.set()
            await real(0)

        async def renew(self: Session) -> None:
            if len(pauses) in (1, 2):
                raise dibs.Unavailable("away")

        monkeypatch.setattr("dibs.mcp.session.asyncio.sleep", sleep)
        monkeypatch.setattr(Session, "renew", renew)
        session.take(claim)
        await over.wait()
        await session.close()
        assert pauses == [4.0, 1.0, 1.0, 4.0]
