"""Streams of events over a real server: nothing skipped, resumed where they were, and a bad reader harms nobody."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.queue import Queue
from dibs.server import streams
from dibs.testing import FakeClock
from tests.hooks.receiver import until_so
from tests.hooks.serving import ADMIN, AGENT, OTHER, VIEWER, Line, served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def take(lines: AsyncIterator[Line], count: int) -> list[dict[str, Any]]:
    """So many events of a stream."""
    found: list[dict[str, Any]] = []
    async with asyncio.timeout(60):
        while len(found) < count:
            line = await anext(lines)
            if line.data is not None:
                assert line.id == line.data["seq"]
                found.append(line.data)
    return found


def seqs(events: list[dict[str, Any]]) -> list[int]:
    return [event["seq"] for event in events]


async def test_a_stream_begins_with_the_oldest_and_goes_on_live() -> None:
    async with dibs.connect("memory:") as queue, served(queue) as server:
        await queue.add_many([dibs.NewTask("job") for _ in range(3)])
        async with server.stream() as lines:
            assert seqs(await take(lines, 6)) == [1, 2, 3, 4, 5, 6]
            await queue.add("job")
            [added, ready] = await take(lines, 2)
            assert (added["type"], ready["type"], ready["seq"]) == ("task.added", "task.ready", 8)


async def test_a_stream_from_now_on_tells_at_once_where_it_is() -> None:
    async with dibs.connect("memory:") as queue, served(queue) as server:
        await queue.add("job")
        async with server.stream(after="now") as lines:
            assert (await anext(lines)).id == 2
            task = await queue.add("job")
            assert [event["task_id"] for event in await take(lines, 2)] == [task.id] * 2


async def test_a_reader_that_comes_back_goes_on_after_the_last_it_has_seen() -> None:
    async with dibs.connect("memory:") as queue, served(queue) as server:
        await queue.add_many([dibs.NewTask("job") for _ in range(5)])
        async with server.stream() as lines:
            seen = seqs(await take(lines, 4))
        await queue.add_many([dibs.NewTask("job") for _ in range(5)])
        async with server.stream(seen=seen[-1], after=0) as lines:
            seen += seqs(await take(lines, 16))
        assert seen == list(range(1, 21))


async def test_only_what_was_asked_for_is_sent_and_the_place_is_told_all_the_same() -> None:
    async with dibs.connect("memory:") as queue, served(queue) as server:
        first, second = await queue.add("job"), await queue.add("job")
        for claim in await queue.claim("ada", limit=2):
            await queue.complete(claim)
        newest = await queue.store.last_seq()
        async with server.stream(type="task.completed,agent.*") as lines:
            assert [event["type"] for event in await take(lines, 3)] == [
                "agent.registered",
                "task.completed",
                "task.completed",
            ]
        async with server.stream(task=first.id) as lines:
            assert {event["task_id"] for event in await take(lines, 5)} == {first.id}
            assert (await anext(lines)).id == newest
        async with server.stream(dag=second.dag_id) as lines:
            assert {event["task_id"] for event in await take(lines, 5)} == {second.id}
        async with server.stream(agent="ada", type="task.started") as lines:
            assert len(await take(lines, 2)) == 2


async def test_nothing_of_another_project_is_seen() -> None:
    async with dibs.connect("memory:") as queue, served(queue) as server:
        other = Queue(queue.store, project="other")
        async with server.stream() as mine, server.stream(OTHER) as theirs:
            first, second = await queue.add("job"), await other.add("job")
            await other.claim("eve")
            third = await queue.add("job")
            assert [event["task_id"] for event in await take(mine, 4)] == [first.id] * 2 + [third.id] * 2
            seen = await take(theirs, 5)
            assert {event.get("task_id") for event in seen} == {second.id, None}
            assert [event["agent"] for event in seen if event["type"] == "agent.registered"] == ["eve"]


async def test_an_agent_sees_what_happened_but_not_what_others_made() -> None:
    async with dibs.connect("memory:") as queue, served(queue) as server:
        await queue.add("job", {"secret": 1})
        [claim] = await queue.claim("ada")
        await queue.complete(claim, {"secret": 2})
        async with server.stream(AGENT, type="task.completed") as lines:
            [event] = await take(lines, 1)
            assert not {"payload", "output"} & event.get("data", {}).keys()
        async with server.stream(VIEWER, type="task.completed") as lines:
            [event] = await take(lines, 1)
            assert event["data"]["output"] == {"secret": 2}


async def test_what_is_forgotten_is_told_as_a_gap_whatever_was_asked_for() -> None:
    clock = FakeClock()
    async with dibs.connect("memory:", clock=clock, retention="1h") as queue, served(queue) as server:
        task = await queue.add("job")
        await queue.cancel(task)
        clock.advance(7_200)
        await queue.prune()
        await queue.add("job")
        async with server.stream(seen=1, type="task.ready") as lines:
            await anext(lines)
            gap = await anext(lines)
            assert gap.name == "gap"
            assert gap.data is not None
            assert gap.data["type"] == "gap"
            [ready] = await take(lines, 1)
            assert ready["seq"] == (gap.id or 0) + 2


async def test_a_place_that_the_store_does_not_have_any_more_is_a_gap() -> None:
    """As after a crash of a store that had not written its last events down."""
    async with dibs.connect("memory:") as queue, served(queue) as server:
        await queue.add("job")
        async with server.stream(seen=100) as lines:
            await anext(lines)
            gap = await anext(lines)
            assert (gap.name, gap.id) == ("gap", 2)
            await queue.add("job")
            assert seqs(await take(lines, 2)) == [3, 4]


async def test_a_stream_without_news_shows_that_it_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT_S", 0.05)
    async with dibs.connect("memory:") as queue, served(queue) as server:
        async with server.stream() as lines:
            blocks = [await anext(lines) for _ in range(4)]
        assert [(block.id, block.data) for block in blocks] == [(0, None)] * 4


async def test_a_token_that_is_revoked_sees_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "TRUST_S", 0.0)
    async with dibs.connect("memory:") as queue, served(queue) as server, server.stream(VIEWER) as lines:
        await queue.add("job")
        await take(lines, 2)
        del server.doorman.callers[VIEWER.name]
        await queue.add("job")
        assert [line.data async for line in lines if line.data] == []


async def test_a_hundred_readers_see_everything_and_cost_the_store_one_read(monkeypatch: pytest.MonkeyPatch) -> None:
    async with dibs.connect("memory:") as queue, served(queue) as server:
        server.app.state.desk.streams._most_of_one = 200
        reads = 0
        reading = queue.store.events

        async def counted(after: int, limit: int) -> Any:
            nonlocal reads
            reads += 1
            return await reading(after, limit)

        async def read() -> list[int]:
            async with server.stream(after="now") as lines:
                await anext(lines)
                ready.release()
                return seqs(await take(lines, 40))

        ready = asyncio.Semaphore(0)
        readers = [asyncio.create_task(read()) for _ in range(100)]
        for _ in readers:
            await ready.acquire()
        await asyncio.sleep(0.1)
        monkeypatch.setattr(server.app.state.desk.streams.feed._store, "events", counted)
        for _ in range(20):
            await queue.add("job")
        assert await asyncio.gather(*readers) == [list(range(1, 41))] * 100
        assert reads <= 60


async def test_a_reader_that_takes_nothing_is_cut_off_and_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "STUCK_S", 0.3)
    async with dibs.connect("memory:") as queue, served(queue) as server:
        open_streams = server.app.state.desk.streams._open
        narrow = socket.socket()
        narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        narrow.connect(("127.0.0.1", server.port))
        reader, writer = await asyncio.open_connection(sock=narrow, limit=1_024)
        writer.write(b"GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer dibs_admin\r\n\r\n")
        await reader.readline()
        await until_so(lambda: open_streams)
        # More than the buffers on the way hold.
        for _ in range(3):
            await queue.add_many([dibs.NewTask("job") for _ in range(10_000)])
        await until_so(lambda: not open_streams)
        monkeypatch.undo()
        async with server.stream(after="now") as lines:
            await anext(lines)
            await queue.add("job")
            assert len(await take(lines, 2)) == 2
        writer.close()


async def test_streams_are_limited_for_each_caller_and_in_all() -> None:
    async with dibs.connect("memory:") as queue, served(queue) as server:
        kept = server.app.state.desk.streams
        kept._most, kept._most_of_one = 2, 1
        async with server.stream(ADMIN) as first:
            await anext(first)
            status, problem = await server.ask("GET", "/v1/events")
            assert (status, problem["code"]) == (429, "too_many_waiting")
            assert "This token" in problem["detail"]
            async with server.stream(VIEWER) as second:
                await anext(second)
                status, problem = await server.ask("GET", "/v1/events", OTHER)
                assert (status, "The server" in problem["detail"]) == (429, True)
        await until_so(lambda: not kept._open)
        async with server.stream(ADMIN) as again:
            await anext(again)


async def test_a_server_that_leaves_ends_its_streams_in_good_order() -> None:
    async with dibs.connect("memory:") as queue, served(queue) as server, server.stream() as lines:
        await anext(lines)
        server.app.state.desk.let_go()
        async with asyncio.timeout(60):
            assert [line.data async for line in lines if line.data] == []


async def test_a_stream_may_end_with_what_there_is() -> None:
    async with dibs.connect("memory:") as queue, served(queue) as server:
        await queue.add_many([dibs.NewTask("job") for _ in range(600)])
        async with asyncio.timeout(60), server.stream(wait="0") as lines:
            assert [line.data["seq"] async for line in lines if line.data] == list(range(1, 1_201))
        async with asyncio.timeout(60), server.stream(after="now", wait="1s") as lines:
            assert [line.data async for line in lines if line.data] == []
        async with server.stream(after="now", wait="1m") as lines:
            await queue.add("job")
            assert seqs(await take(lines, 2)) == [1_201, 1_202]


@pytest.mark.parametrize(
    ("query", "headers", "field"),
    [
        ("?after=-1", {}, "after"),
        ("?after=x", {}, "after"),
        ("?after=99999999999999999999", {}, "after"),
        ("?type=task.complete", {}, "type"),
        ("?type=" + ",".join(["task.added"] * 51), {}, "type"),
        ("?task=", {}, "task"),
        ("?agent=%00", {}, "agent"),
        ("?colour=red", {}, "colour"),
        ("?wait=later", {}, "wait"),
        ("", {"Last-Event-ID": "task_1"}, "Last-Event-ID"),
        ("", {"Last-Event-ID": "-5"}, "Last-Event-ID"),
        ("", {"Last-Event-ID": "9" * 30}, "Last-Event-ID"),
    ],
)
async def test_what_makes_no_sense_is_refused_with_the_field(query: str, headers: dict[str, str], field: str) -> None:
    async with dibs.connect("memory:") as queue, served(queue) as server:
        status, problem = await server.ask("GET", f"/v1/events{query}", headers=headers)
        assert (status, problem["field"]) == (422, field)


async def test_without_a_token_there_is_no_stream() -> None:
    async with dibs.connect("memory:") as queue, served(queue) as server:
        status, problem = await server.ask("GET", "/v1/events", None)
        assert (status, problem["code"]) == (401, "no_token")
