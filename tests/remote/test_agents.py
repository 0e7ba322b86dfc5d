"""Agents with tokens of their own: workers that may do their work and nothing else; and how a token is found."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

import dibs
from dibs import localtokens
from dibs.rules.access import Rights
from tests.servers.ports import free_port
from tests.servers.serving import SECRET, Open
from tests.servers.threaded import threaded
from tests.worker.facts import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def authority() -> Open:
    return Open()


@pytest.fixture
def url(tmp_path: Path, authority: Open) -> Iterator[str]:
    """A server on a fresh store; no token is in the environment."""
    with threaded(f"sqlite:{tmp_path / 'dibs.db'}", authority) as found:
        yield found


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DIBS_TOKEN", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


async def test_a_worker_needs_no_more_than_the_token_of_an_agent(url: str, authority: Open) -> None:
    app = dibs.App()

    @app.handler("code")
    async def code(ctx: dibs.Context, n: int) -> int:
        await ctx.progress(0.5, "half")
        await ctx.step("once", lambda: n)
        child = await ctx.spawn("test", {"n": n}, wait=True)
        found: int = child.output
        return found

    @app.handler("test")
    def test(n: int) -> int:
        return n * 2

    rights = Rights(agent="coder", types=frozenset({"code", "test"}))
    async with (
        dibs.connect(url, token=SECRET) as queue,
        dibs.connect(url, token=authority.token_for(rights)) as own,
        dibs.Worker(app, own, agent="7") as worker,
    ):
        tasks = await queue.add_many([dibs.NewTask("code", {"n": n}) for n in range(5)])
        await worker.drain()
        assert [(await queue.get(task)).output for task in tasks] == [0, 2, 4, 6, 8]
        [agent] = await queue.agents()
        assert agent.id == "coder:7"
        with pytest.raises(dibs.Denied):
            await own.add("code")
        with pytest.raises(dibs.Denied):
            await own.claim("7", types=["deploy"])


async def test_a_worker_that_somebody_drains_leaves_under_whatever_name_it_has(url: str, authority: Open) -> None:
    app = dibs.App()

    @app.handler("code")
    def code() -> None:
        """Nothing to do."""

    rights = Rights(agent="coder", types=frozenset({"code"}))
    async with (
        dibs.connect(url, token=SECRET) as queue,
        dibs.connect(url, token=authority.token_for(rights)) as own,
        dibs.Worker(app, own, agent="7") as worker,
    ):
        await worker.drain()
        await queue.drain_agent("coder:7")
        await queue.add("code")
        await worker.drain()
        assert (await queue.stats()).by_status == {"ready": 1}


def test_who_may_not_is_told_so_and_a_worker_does_not_go_on_trying(url: str) -> None:
    with dibs.connect_sync(url) as queue, pytest.raises(dibs.Denied, match="put yours into \\$DIBS_TOKEN"):
        queue.stats()
    with dibs.connect_sync(url, token="dibs_wrong") as queue, pytest.raises(dibs.Denied, match="unknown here"):
        queue.claim("ada")


async def test_a_worker_whose_token_is_refused_ends(url: str) -> None:
    app = dibs.App()
    app.command("code", ["true"])
    async with dibs.connect(url, token="dibs_wrong") as queue:
        with pytest.raises(dibs.Denied):
            await dibs.Worker(app, queue).run()


def test_the_token_that_a_server_on_this_machine_left_is_found(url: str) -> None:
    localtokens.keep(url, SECRET)
    with dibs.connect_sync(url) as queue:
        assert queue.stats().by_status == {}


@pytest.mark.parametrize("token", ["with space", "ünicode", ""])
def test_a_token_that_cannot_be_one_is_refused_or_ignored(url: str, token: str) -> None:
    if not token:
        with dibs.connect_sync(url, token=token) as queue, pytest.raises(dibs.Denied):
            queue.stats()
        return
    with pytest.raises(dibs.Invalid) as caught:
        dibs.connect_sync(url, token=token)
    assert caught.value.field == "token"


async def test_work_that_ended_while_the_server_was_away_is_settled_when_it_is_back(tmp_path: Path) -> None:
    store, began, go_on = f"sqlite:{tmp_path / 'work.db'}", asyncio.Event(), asyncio.Event()
    app = dibs.App()

    @app.handler("slow")
    async def slow() -> str:
        began.set()
        await go_on.wait()
        return "done"

    port = free_port()
    with threaded(store, port=port) as first:
        queue = await dibs.connect(first, token=SECRET)
        task = await queue.add("slow")
        worker = await dibs.Worker(app, queue, lease=30).__aenter__()
        working = asyncio.create_task(worker.run())
        await began.wait()
    go_on.set()
    await eventually(lambda: not worker._running)
    assert worker._held, "its outcome waits for the server"
    with threaded(store, port=port):
        await eventually(lambda: not worker._held)
        assert (await queue.get(task)).output == "done"
        assert [attempt.outcome for attempt in await queue.history(task)] == ["completed"]
        worker.stop()
        await working
        await worker.__aexit__()
        await queue.close()
