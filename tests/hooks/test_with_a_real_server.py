"""`dibs up` tells hooks and readers of events, is killed in the middle, and goes on: nothing is missed by anybody."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import TYPE_CHECKING

import aiohttp

import dibs
from tests.hooks.receiver import receiving, until, until_so
from tests.hooks.serving import blocks
from tests.server.process import Up, up
from tests.servers.ports import free_port

if TYPE_CHECKING:
    from pathlib import Path

    from dibs.queue import Queue

TASKS = 150
KILLS = 2


async def test_a_hook_is_set_tested_and_told_from_the_shell(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'dibs.db'}"
    async with receiving() as receiver:
        with up(tmp_path, store, "--allow-target", f"127.0.0.1:{receiver.port}") as server:

            def run(*argv: str) -> str:
                done = server.shell("hook", *argv)
                assert done.returncode == 0, done.stderr
                return done.stdout

            made = json.loads(
                await asyncio.to_thread(run, "add", "ci", receiver.url, "--on", "task.completed", "--json")
            )
            sent = json.loads(await asyncio.to_thread(run, "test", "ci", "--json"))
            assert (sent["outcome"], sent["code"]) == ("delivered", 200)
            assert receiver.got[0].is_signed_with(made["secret"])
            async with dibs.connect(store) as queue:
                await work(queue, 1)
            got = (await receiver.until(2))[1]
            assert got.event["type"] == "dibs.task.completed"

            async def shown() -> bool:
                return got.id in await asyncio.to_thread(run, "deliveries", "ci")

            await until(shown)
            refused = await asyncio.to_thread(server.shell, "hook", "add", "ci", receiver.url)
            assert refused.returncode == 5


async def test_a_server_that_is_killed_misses_nothing_when_it_is_back(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'dibs.db'}"
    async with receiving() as receiver, dibs.connect(store) as queue:
        target = ("--allow-target", f"127.0.0.1:{receiver.port}")
        server = await asyncio.to_thread(started, tmp_path, store, target, free_port())
        token = server.token
        assert token is not None
        try:
            await queue.add_hook("ends", receiver.url, events=["task.completed"])
            reader = Reader(server.port, token)
            reading = asyncio.create_task(reader.run())
            adding = asyncio.create_task(work(queue, TASKS))
            for number in range(KILLS):
                await receiver.until(10)
                await reader.until(100 * (number + 1))
                await reader.has_come(number + 1)
                await asyncio.to_thread(end, server)
                server = await asyncio.to_thread(started, tmp_path, store, target, server.port)
            await adding
            last = await queue.store.last_seq()

            async def all_is_read() -> bool:
                return reader.seen == last

            async def all_is_told() -> bool:
                return len({got.id for got in receiver.got}) == TASKS

            await until(all_is_read, 60)
            await until(all_is_told, 60)
            reading.cancel()
        finally:
            await asyncio.to_thread(end, server)
        assert reader.got == list(range(1, last + 1))
        assert reader.connections >= KILLS + 1
        bodies = {got.id: got.body for got in receiver.got}
        assert all(bodies[got.id] == got.body for got in receiver.got)


def started(home: Path, store: str, target: tuple[str, ...], port: int) -> Up:
    """One at this port."""
    return Up(home, store, *target, port=port)


def end(server: Up) -> None:
    """kill -9, and whatever is left of it."""
    server.signal(signal.SIGKILL)
    server.wait()
    assert server.process.stdout is not None
    assert server.process.stderr is not None
    server.process.stdout.close()
    server.process.stderr.close()


class Reader:
    """Reads the stream, and comes back to it whenever it breaks off, as a browser does."""

    def __init__(self, port: int, token: str) -> None:
        self._url = f"http://127.0.0.1:{port}/v1/events"
        self._headers = {"Authorization": f"Bearer {token}"}
        self.got: list[int] = []
        self.seen = 0
        self.connections = 0

    async def until(self, seq: int) -> None:
        """Until it has read so far."""
        await until_so(lambda: self.seen >= seq)

    async def has_come(self, times: int) -> None:
        """Until it was let in so often: what it read before may be much, but only who is there can be cut off."""
        await until_so(lambda: self.connections >= times)

    async def run(self) -> None:
        async with aiohttp.ClientSession() as session:
            while True:
                try:
                    resumed = {**self._headers, "Last-Event-ID": str(self.seen)} if self.seen else self._headers
                    async with session.get(self._url, headers=resumed) as response:
                        assert response.status == 200, await response.text()
                        self.connections += 1
                        async for block in blocks(response.content):
                            self.seen = self.seen if block.id is None else block.id
                            if block.data is not None:
                                self.got.append(block.data["seq"])
                except aiohttp.ClientError:
                    await asyncio.sleep(0.05)


async def work(queue: Queue, count: int) -> None:
    """Tasks that are added and done."""
    for _ in range(count):
        await queue.add("job")
        [claim] = await queue.claim("ada", types=["job"])
        await queue.complete(claim)
        await asyncio.sleep(0.02)
