"""A line that is cut at the worst moment: what is said again is done once, and what must not be said again is not."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.errors import DibsError
from dibs.model.task import NewTask
from dibs.queue import Queue
from dibs.remote.exchange import Unanswered, Unheard
from dibs.rules import repeating
from dibs.stores.memory import MemoryStore
from dibs.stores.values import Entry
from tests.servers.serving import Serving
from tests.worker.facts import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from dibs.remote.exchange import Answer, Line, Request
    from dibs.remote.queue import RemoteQueue


class Cut:
    """A line that loses the next answers (`after`), or requests (`before`)."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self.before = self.after = 0
        self.sent = 0
        self.stuck: asyncio.Event | None = None
        self.waits = False
        self.serving: Any = None

    async def send(self, request: Request) -> Answer:
        if self.before:
            self.before -= 1
            raise Unheard from ConnectionRefusedError("nobody there")
        self.sent += 1
        answer = await self._line.send(request)
        if self.stuck is not None:
            self.waits = True
            await self.stuck.wait()
        if self.after:
            self.after -= 1
            raise Unanswered from ConnectionResetError("cut")
        return answer

    async def pause(self, seconds: float) -> None:
        await self._line.pause(min(seconds, 0.01))

    async def close(self) -> None:
        await self._line.close()


@asynccontextmanager
async def cut_line() -> AsyncIterator[tuple[RemoteQueue, Queue, Cut]]:
    """A client whose line can be cut, the queue of its server, and the line."""
    queue = Queue(MemoryStore(None))
    async with Serving(queue) as serving:
        client = serving.connect()
        await client.stats()
        cut = client._server.line = Cut(client._server.line)
        cut.serving = serving
        try:
            yield client, queue, cut
        finally:
            await client.close()
    await queue.close()


async def reassign_what_is_free(queue: RemoteQueue) -> Any:
    [task] = (await queue.find(type="free")).items
    return await queue.reassign(task.id, "somebody")


REPEATED: dict[str, Callable[[RemoteQueue, Any], Awaitable[Any]]] = {
    "add": lambda queue, _: queue.add("more", {"n": 1}),
    "add_many": lambda queue, _: queue.add_many([NewTask("more"), NewTask("more")]),
    "add_dag": lambda queue, _: queue.add_dag("graph", [NewTask("a", ref="a"), NewTask("b", after=["a"])]),
    "claim": lambda queue, _: queue.claim("bob", types=["free"]),
    "renew": lambda queue, claim: queue.renew(claim),
    "complete": lambda queue, claim: queue.complete(claim, {"done": True}),
    "fail": lambda queue, claim: queue.fail(claim, "no"),
    "release": lambda queue, claim: queue.release(claim),
    "spawn": lambda queue, claim: queue.spawn(claim, [NewTask("child")]),
    "spawn and wait": lambda queue, claim: queue.spawn(claim, [NewTask("child")], wait=True),
    "ask": lambda queue, claim: queue.ask(claim, "which?"),
    "step": lambda queue, claim: queue.record(claim, [Entry(kind="step", name="s", value=b"1")]),
    "checkpoint": lambda queue, claim: queue.checkpoint(claim, {"page": 7}),
    "set_budget": lambda queue, _: queue.set_budget("global", 5),
    "pause": lambda queue, _: queue.pause(type="x"),
    "register_agent": lambda queue, _: queue.register_agent("carl", max_concurrent=2),
    "set_priority": lambda queue, claim: queue.set_priority(claim.task.id, 7),
    "reassign": lambda queue, _: reassign_what_is_free(queue),
    "stats": lambda queue, _: queue.stats(),
}

TOLD: dict[str, Callable[[Any, Any], Awaitable[Any]]] = {
    "cancel": lambda queue, claim: queue.cancel(claim.task.id),
    "log": lambda queue, claim: queue.log(claim, "a line"),
    "raise_budget": lambda queue, _: queue.raise_budget("global", 1),
    "resume": lambda queue, _: queue.resume(type="paused"),
    "review": lambda queue, _: queue.review(queue.dead, "kept", by="ada"),
}


async def scene(queue: Queue) -> None:
    """Something to work on, something dead, something paused, a budget."""
    await queue.add("held")
    await queue.add("free")
    await queue.add("dead")
    [dead] = await queue.claim("ada", types=["dead"])
    await queue.fail(dead, "it broke", retry=False)
    await queue.pause(type="paused")
    await queue.set_budget("global", 100)


async def seen(queue: Queue) -> Any:
    """All that there is, but for instants and ids."""
    tasks = (await queue.find(limit=100)).items
    journal = [len(await queue.journal(task.id)) for task in tasks]
    counted = sorted(
        (task.type, task.status, task.fence, task.attempts, task.releases, task.progress) for task in tasks
    )
    [budget] = await queue.budgets()
    events = [event.type for event in await queue.read_events(0, 500)]
    return counted, sorted(journal), budget.limit, len(await queue.gates()), events, len(await queue.inbox())


async def outcome(verb: Callable[[Any, Any], Awaitable[Any]], cut_answers: int) -> tuple[Any, Any, int]:
    """What a verb leads to, if so many of its answers are lost: the answer, everything afterwards, how often it was
    sent."""
    async with cut_line() as (client, queue, line):
        await scene(queue)
        client.dead = (await queue.find(type="dead")).items[0].id  # type: ignore[attr-defined]
        [claim] = await client.claim("ada", types=["held"])
        line.after, line.sent = cut_answers, 0
        answer: Any
        try:
            answer = await verb(client, claim)
        except DibsError as error:
            answer = error
        return answer, await seen(queue), line.sent


@pytest.mark.parametrize("name", REPEATED)
def test_an_answer_that_was_lost_is_asked_for_again_and_nothing_is_done_twice(name: str) -> None:
    once, expected, sent = asyncio.run(outcome(REPEATED[name], 0))
    twice, found, sent_again = asyncio.run(outcome(REPEATED[name], 2))
    assert not isinstance(once, DibsError), once
    assert not isinstance(twice, DibsError), twice
    assert found == expected
    assert sent_again == sent + 2
    assert type(twice) is type(once)


@pytest.mark.parametrize("name", TOLD)
def test_what_would_add_up_is_not_said_again_but_told(name: str) -> None:
    _, expected, _ = asyncio.run(outcome(TOLD[name], 0))
    told, found, sent = asyncio.run(outcome(TOLD[name], 1))
    assert isinstance(told, dibs.Unavailable)
    assert told.code == "outcome_unknown"
    assert "look before doing it again" in told.message
    assert sent == 1
    assert found == expected, "here it was done; who asked cannot know"


@pytest.mark.parametrize("name", ["cancel", "raise_budget"])
def test_what_reached_nobody_is_said_again_whatever_it_is(name: str) -> None:
    async def run() -> Any:
        async with cut_line() as (client, queue, line):
            await scene(queue)
            [claim] = await client.claim("ada", types=["held"])
            line.before = 3
            return await TOLD[name](client, claim)

    assert not isinstance(asyncio.run(run()), DibsError)


def test_a_repeated_claim_gets_the_same_tasks() -> None:
    async def run() -> None:
        async with cut_line() as (client, queue, line):
            tasks = await queue.add_many([NewTask("job", n) for n in range(5)])
            line.after = 3
            claims = await client.claim("ada", limit=2)
            assert [claim.task.id for claim in claims] == [tasks[0].id, tasks[1].id]
            assert [claim.fence for claim in claims] == [1, 1]
            assert (await queue.stats()).by_status == {"running": 2, "ready": 3}

    asyncio.run(run())


def test_nobody_is_waited_for_longer_than_patience_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("dibs.remote.server.time", SimpleNamespace(monotonic=lambda: now, time=time.time))

    async def pause(seconds: float) -> None:
        nonlocal now
        now += seconds

    async def run() -> None:
        async with cut_line() as (client, _, line):
            monkeypatch.setattr(line, "pause", pause)
            for lost, told in (("after", "does not answer"), ("before", "is not there")):
                began, line.after, line.before = now, 0, 0
                setattr(line, lost, 1_000_000)
                with pytest.raises(dibs.Unavailable, match=told):
                    await client.stats()
                waited_s = now - began
                assert repeating.PATIENCE_S <= waited_s <= repeating.PATIENCE_S + 1.5 * repeating.LONGEST_PAUSE_S
                assert line.before + line.after < 1_000_000 - 5, "it was asked again and again"

    asyncio.run(run())


def test_a_claim_whose_caller_has_left_takes_nothing_any_more() -> None:
    async def run() -> None:
        async with cut_line() as (client, queue, line):
            lobby = line.serving.app.state.desk.lobby
            waiting = asyncio.ensure_future(client.claim("ada", wait=20))
            await eventually(lambda: len(lobby))
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await eventually(lambda: not len(lobby))
            task = await queue.add("job")
            assert (await queue.get(task.id)).status == "ready"

    asyncio.run(run())


def test_what_a_claim_took_whose_answer_was_not_read_is_given_back() -> None:
    async def run() -> None:
        async with cut_line() as (client, queue, line):
            task = await queue.add("job")
            line.stuck = asyncio.Event()
            waiting = asyncio.ensure_future(client.claim("ada", wait=20))
            await eventually(lambda: line.sent == 1 and line.waits)
            assert (await queue.get(task.id)).status == "running", "taken, and the answer is on its way"
            waiting.cancel()
            line.stuck = None
            with pytest.raises(asyncio.CancelledError):
                await waiting
            found = await queue.get(task.id)
            assert (found.status, found.releases, found.attempts) == ("ready", 0, 0)

    asyncio.run(run())


def test_a_client_that_closes_while_it_waits_leaves_nothing_behind() -> None:
    async def run() -> None:
        queue = Queue(MemoryStore(None))
        async with Serving(queue) as serving:
            client = serving.connect()
            lobby = serving.app.state.desk.lobby
            waiting = asyncio.ensure_future(client.claim("ada", wait=20))
            await eventually(lambda: len(lobby))
            await client.close()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await eventually(lambda: not len(lobby))
            task = await queue.add("job")
            assert (await queue.get(task.id)).status == "ready"
        await queue.close()

    asyncio.run(run())
