"""Long polls: they cost nothing while nothing happens, a new task wakes one that can do it, and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import time
from statistics import median
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import dibs
from dibs.errors import Denied, Unavailable
from dibs.model.ids import new_id
from dibs.model.role import Role
from dibs.server.callers import Caller
from dibs.server.lobby import Lobby, Waiting
from dibs.server.newsroom import Newsroom
from dibs.server.settings import Settings
from dibs.testing import FakeClock
from tests.server.running import ADMIN, TOKENS, Running, in_loop, running

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from dibs.queue import Queue

SOON_S, LONG_S = 60, 600
"""Who is not woken would wait longer: here nobody looks of their own accord."""


@pytest.fixture(autouse=True)
def nobody_looks_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.server.lobby.EVERY_S", 600.0)
    monkeypatch.setattr("dibs.server.newsroom.LOOK_S", 600.0)


class Line:
    """A connection that is kept."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, path: str, body: Any, token: str = ADMIN) -> None:
        data = msgspec.json.encode(body)
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        self.writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)

    async def answer(self) -> Any:
        head = await self.reader.readuntil(b"\r\n\r\n")
        size = next(int(row.split(b":")[1]) for row in head.split(b"\r\n") if row.lower().startswith(b"content-length"))
        return msgspec.json.decode(await self.reader.readexactly(size))

    async def ask(self, path: str, body: Any, token: str = ADMIN) -> Any:
        self.send(path, body, token)
        return await self.answer()

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()


async def dial(server: Running) -> Line:
    return Line(*await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 24))


async def until(fact: Callable[[], Awaitable[bool]]) -> None:
    while not await fact():  # noqa: ASYNC110 - the fact is made in another thread
        await asyncio.sleep(0.01)


async def until_waiting(server: Running, count: int) -> None:
    await waits(server.app.state.desk.lobby, count)


async def waits(lobby: Lobby, count: int) -> None:
    async def as_many() -> bool:
        return len(lobby) == count

    await until(as_many)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with running(f"sqlite:{tmp_path}/queue.db", settings=Settings(max_wait_s=LONG_S)) as found:
        yield found


@pytest.mark.alone
@in_loop
async def test_a_new_task_wakes_one_of_many_and_soon(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    ask = Lobby._ask

    async def counted(lobby: Lobby, waiting: Any) -> Any:
        nonlocal asked
        asked += 1
        return await ask(lobby, waiting)

    monkeypatch.setattr(Lobby, "_ask", counted)
    lines = await asyncio.gather(*(dial(server) for _ in range(200)))
    producer = await dial(server)
    for number, line in enumerate(lines):
        line.send("/v1/claims", {"agent": f"agent-{number}", "wait": LONG_S})
    await until_waiting(server, 200)
    took, counts = [], []
    answers = {asyncio.ensure_future(line.answer()): line for line in lines}
    for number in range(30):
        before, started = asked, time.monotonic()
        await producer.ask("/v1/tasks", {"type": "code", "payload": number})
        done, _ = await asyncio.wait(answers, timeout=SOON_S, return_when=asyncio.FIRST_COMPLETED)
        took.append(time.monotonic() - started)
        counts.append(asked - before)
        [answer] = done
        [claim] = answer.result()["claims"]
        assert claim["task"]["payload"] == number
        line = answers.pop(answer)
        line.send("/v1/claims", {"agent": claim["agent"], "wait": LONG_S})
        answers[asyncio.ensure_future(line.answer())] = line
        await until_waiting(server, 200)
    for answer in answers:
        answer.cancel()
    await asyncio.gather(producer.close(), *(line.close() for line in lines))
    assert median(counts) <= 10, counts  # of those who wait, so many are asked
    assert median(took) < 0.5, took  # 50 ms on a machine that does nothing else: see benchmarks/http.py


@pytest.mark.alone
@in_loop
async def test_waiting_costs_next_to_nothing(server: Running) -> None:
    lines = await asyncio.gather(*(dial(server) for _ in range(200)))
    for number, line in enumerate(lines):
        line.send("/v1/claims", {"agent": f"agent-{number}", "wait": LONG_S})
    await until_waiting(server, 200)
    await asyncio.sleep(1)
    before = os.times()
    await asyncio.sleep(2)
    after = os.times()
    used = (after.user + after.system - before.user - before.system) / 2
    await asyncio.gather(*(line.close() for line in lines))
    assert used < 0.25, used


@in_loop
async def test_as_many_tasks_as_wait_reach_everybody(server: Running) -> None:
    lines = await asyncio.gather(*(dial(server) for _ in range(20)))
    for number, line in enumerate(lines):
        line.send("/v1/claims", {"agent": f"agent-{number}", "wait": LONG_S})
    await until_waiting(server, 20)
    producer = await dial(server)
    await producer.ask("/v1/tasks/batch", {"tasks": [{"type": "code", "payload": n} for n in range(20)]})
    answers = await asyncio.wait_for(asyncio.gather(*(line.answer() for line in lines)), SOON_S)
    assert sorted(answer["claims"][0]["task"]["payload"] for answer in answers) == list(range(20))
    await asyncio.gather(producer.close(), *(line.close() for line in lines))


@in_loop
async def test_who_waits_gets_only_what_it_can_do(server: Running) -> None:
    tester, coder = await dial(server), await dial(server)
    tester.send("/v1/claims", {"agent": "tester", "types": ["test"], "wait": LONG_S})
    coder.send("/v1/claims", {"agent": "coder", "types": ["code"], "wait": LONG_S})
    await until_waiting(server, 2)
    producer = await dial(server)
    await producer.ask("/v1/tasks", {"type": "code"})
    [claim] = (await asyncio.wait_for(coder.answer(), SOON_S))["claims"]
    assert claim["agent"] == "coder"
    await producer.ask("/v1/tasks", {"type": "test"})
    assert len((await asyncio.wait_for(tester.answer(), SOON_S))["claims"]) == 1
    await asyncio.gather(tester.close(), coder.close(), producer.close())


@in_loop
async def test_a_task_for_one_of_many_reaches_that_one(server: Running) -> None:
    lines = await asyncio.gather(*(dial(server) for _ in range(30)))
    for number, line in enumerate(lines):
        line.send("/v1/claims", {"agent": f"agent-{number}", "wait": LONG_S})
    await until_waiting(server, 30)
    producer = await dial(server)
    for number in (17, 3):
        await producer.ask("/v1/tasks", {"type": "code", "assignee": f"agent-{number}"})
        [claim] = (await asyncio.wait_for(lines[number].answer(), SOON_S))["claims"]
        assert claim["agent"] == f"agent-{number}"
    await asyncio.gather(producer.close(), *(line.close() for line in lines))


@in_loop
async def test_an_agent_that_was_paused_is_woken_when_it_may_go_on(server: Running) -> None:
    lines = await asyncio.gather(*(dial(server) for _ in range(10)))
    producer = await dial(server)
    await producer.ask("/v1/pauses", {"agent": "agent-7"})
    for number, line in enumerate(lines):
        line.send("/v1/claims", {"agent": f"agent-{number}", "types": [f"type-{number // 9}"], "wait": LONG_S})
    await until_waiting(server, 10)
    await producer.ask("/v1/tasks", {"type": "type-0", "assignee": "agent-7"})
    await asyncio.sleep(0.2)
    await producer.ask("/v1/pauses/resume", {"agent": "agent-7"})
    [claim] = (await asyncio.wait_for(lines[7].answer(), SOON_S))["claims"]
    assert claim["agent"] == "agent-7"
    await asyncio.gather(producer.close(), *(line.close() for line in lines))


@in_loop
async def test_a_task_for_a_type_of_agents_reaches_one_of_them(server: Running) -> None:
    await asyncio.to_thread(server.ask, "PUT", "/v1/agents/agent-5", {"type": "reviewer"})
    lines = await asyncio.gather(*(dial(server) for _ in range(10)))
    for number, line in enumerate(lines):
        line.send("/v1/claims", {"agent": f"agent-{number}", "wait": LONG_S})
    await until_waiting(server, 10)
    producer = await dial(server)
    await producer.ask("/v1/tasks", {"type": "code", "assignee": "reviewer"})
    [claim] = (await asyncio.wait_for(lines[5].answer(), SOON_S))["claims"]
    assert claim["agent"] == "agent-5"
    await asyncio.gather(producer.close(), *(line.close() for line in lines))


@in_loop
async def test_agents_of_several_projects_wait_side_by_side(tmp_path: Path) -> None:
    other = "dibs_of_another_project_0123456789"
    callers = {**TOKENS, other: Caller(name="eve", role=Role.ADMIN, project="elsewhere", token_id="eve")}
    with running(f"sqlite:{tmp_path}/projects.db", callers=callers) as server:
        here, there = await dial(server), await dial(server)
        here.send("/v1/claims", {"agent": "coder", "wait": LONG_S})
        there.send("/v1/claims", {"agent": "coder", "wait": LONG_S}, token=other)
        await until_waiting(server, 2)
        producer = await dial(server)
        await producer.ask("/v1/tasks", {"type": "code"}, token=other)
        [claim] = (await asyncio.wait_for(there.answer(), SOON_S))["claims"]
        assert claim["task"]["project"] == "elsewhere"
        await until_waiting(server, 1)
        await asyncio.gather(here.close(), there.close(), producer.close())


@in_loop
async def test_what_is_due_later_comes_when_it_is_due(server: Running) -> None:
    line, producer = await dial(server), await dial(server)
    line.send("/v1/claims", {"agent": "coder", "wait": LONG_S})
    await until_waiting(server, 1)
    started = time.monotonic()
    await producer.ask("/v1/tasks", {"type": "code", "run_after": 0.7})
    [_] = (await asyncio.wait_for(line.answer(), SOON_S))["claims"]
    assert time.monotonic() - started > 0.6
    await asyncio.gather(producer.close(), line.close())


@in_loop
async def test_what_was_due_later_before_anybody_waited_comes_when_it_is_due(server: Running) -> None:
    line = await dial(server)
    started = time.monotonic()
    await line.ask("/v1/tasks", {"type": "code", "run_after": 0.7})
    [_] = (await asyncio.wait_for(line.ask("/v1/claims", {"agent": "coder", "wait": LONG_S}), SOON_S))["claims"]
    assert time.monotonic() - started > 0.6
    await line.close()


@in_loop
async def test_whoever_waits_in_vain_is_told_in_time(server: Running) -> None:
    line = await dial(server)
    started = time.monotonic()
    assert await line.ask("/v1/claims", {"agent": "coder", "wait": 0.4}) == {"claims": []}
    assert 0.35 < time.monotonic() - started < 20
    await line.close()


@in_loop
async def test_a_client_that_leaves_while_it_waits_takes_nothing_with_it(server: Running) -> None:
    leaving = await dial(server)
    leaving.send("/v1/claims", {"agent": "leaver", "wait": LONG_S})
    await until_waiting(server, 1)
    await leaving.close()
    await until_waiting(server, 0)
    producer = await dial(server)
    task = await producer.ask("/v1/tasks", {"type": "code"})
    [claim] = (await producer.ask("/v1/claims", {"agent": "stayer", "wait": LONG_S}))["claims"]
    assert (claim["task"]["id"], claim["fence"]) == (task["id"], 1)
    await producer.close()


class Slow:
    """A queue whose claim takes until it is told to go on."""

    def __init__(self, queue: Queue) -> None:
        self.queue, self.store, self.project = queue, queue.store, queue.project
        self.due_in = None
        self.claiming, self.go_on = asyncio.Event(), asyncio.Event()
        self.go_on.set()

    async def claim(self, **request: Any) -> Any:
        found = await self.queue.claim(**request)
        self.claiming.set()
        await self.go_on.wait()
        return found

    async def settle(self, settlements: Any) -> Any:
        return await self.queue.settle(settlements)


@in_loop
async def test_what_was_claimed_for_somebody_who_left_is_given_back() -> None:
    async with dibs.connect("memory:") as queue:
        slow: Any = Slow(queue)
        lobby = Lobby(Newsroom(queue.store), 10)
        waiting = asyncio.ensure_future(lobby.claim(slow, {"agent": "leaver"}, LONG_S))
        await waits(lobby, 1)
        slow.go_on.clear()
        slow.claiming.clear()
        task = await queue.add("code")
        await slow.claiming.wait()
        waiting.cancel()
        await asyncio.sleep(0)
        slow.go_on.set()

        async def given_back() -> bool:
            return (await queue.get(task.id)).status == "ready"

        await until(given_back)
        now = await queue.get(task.id)
        assert (now.fence, now.attempts) == (1, 0)
        lobby.close()


@in_loop
async def test_a_store_that_is_away_is_told_to_all_that_wait() -> None:
    class Away:
        def __init__(self, queue: Queue) -> None:
            self.queue, self.store, self.project, self.due_in = queue, queue.store, queue.project, None
            self.gone = False

        async def claim(self, **request: Any) -> Any:
            if self.gone:
                raise Unavailable("the disk is gone.")
            return await self.queue.claim(**request)

    async with dibs.connect("memory:") as queue:
        away: Any = Away(queue)
        lobby = Lobby(Newsroom(queue.store), 10)
        waiting = [asyncio.ensure_future(lobby.claim(away, {"agent": name}, LONG_S)) for name in ("first", "second")]
        await waits(lobby, 2)
        away.gone = True
        await queue.add("code")
        answers = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), SOON_S)
        assert [type(answer) for answer in answers] == [Unavailable, Unavailable]
        again, _ = await lobby.claim(queue, {"agent": "third"}, 60)
        assert len(again) == 1


@in_loop
async def test_that_agents_were_heard_of_wakes_nobody(tmp_path: Path) -> None:
    """It was a commit like any other: two asked, were written down as heard of, and so woke the next two."""
    asked: list[str] = []

    class Counting:
        def __init__(self, queue: Queue) -> None:
            self.queue, self.store, self.project, self.due_in = queue, queue.store, queue.project, None

        async def claim(self, **request: Any) -> Any:
            asked.append(request["agent"])
            return await self.queue.claim(**request)

    clock = FakeClock()
    async with dibs.connect(f"sqlite:{tmp_path}/queue.db", clock=clock) as queue:
        counting: Any = Counting(queue)
        newsroom = Newsroom(queue.store)
        lobby = Lobby(newsroom, 100)

        async def calm() -> bool:
            """Whether the lobby has seen everything, and waits for more."""
            number = await newsroom.number()
            return bool(len(newsroom)) and lobby._seen == number

        offers = [{"agent": f"agent-{number}", "types": ["code"]} for number in range(20)]
        waiting = [asyncio.ensure_future(lobby.claim(counting, offer, LONG_S)) for offer in offers]
        await waits(lobby, 20)
        await queue.add("test")
        await until(calm)
        clock.advance(20)
        asked.clear()
        await queue.add("test")
        await until(calm)
        assert 2 <= len(asked) <= 4, asked
        task = await queue.add("code")
        done, _ = await asyncio.wait(waiting, timeout=SOON_S, return_when=asyncio.FIRST_COMPLETED)
        assert [claim.task.id for each in done for claim in each.result()[0]] == [task.id]
        lobby.close()
        await asyncio.gather(*waiting)


@in_loop
async def test_no_more_wait_than_may() -> None:
    with running(settings=Settings(max_waiting=1)) as server:
        first, second = await dial(server), await dial(server)
        first.send("/v1/claims", {"agent": "first", "wait": LONG_S})
        await until_waiting(server, 1)
        refused = await second.ask("/v1/claims", {"agent": "second", "wait": LONG_S})
        assert (refused["status"], refused["code"]) == (429, "too_many_waiting")
        assert await second.ask("/v1/claims", {"agent": "second"}) == {"claims": []}
        await asyncio.gather(first.close(), second.close())


@pytest.mark.timeout(20)
@in_loop
async def test_who_has_come_and_been_answered_before_anybody_looked_keeps_nobody_busy() -> None:
    async with dibs.connect("memory:") as queue:
        lobby = Lobby(Newsroom(queue.store), max_waiting=2)
        late = Waiting(queue, {"agent": "bob"}, deadline=0.0)
        # Something was committed since it asked, so it is to be asked first; but its time is over already.
        late.asked_at = 0.0
        late.over()
        lobby._enter(late, seen=0, due_in=None)
        # Nothing of this store ever suspends: who has nothing to do must, or nobody gets on until the test is ended.
        await asyncio.sleep(0.05)
        assert lobby._steward is not None
        lobby._leave(late)
        waiting = asyncio.ensure_future(lobby.claim(queue, {"agent": "ada"}, SOON_S))
        await waits(lobby, 1)
        task = await queue.add("a")
        claims, _ = await waiting
        assert [claim.task.id for claim in claims] == [task.id]


@in_loop
async def test_a_server_that_leaves_answers_all_that_wait_at_once(server: Running) -> None:
    lines = await asyncio.gather(*(dial(server) for _ in range(5)))
    for number, line in enumerate(lines):
        line.send("/v1/claims", {"agent": f"agent-{number}", "wait": LONG_S})
    await until_waiting(server, 5)

    async def let_go() -> None:
        server.app.state.desk.let_go()

    server.inside(let_go)
    answers = await asyncio.wait_for(asyncio.gather(*(line.answer() for line in lines)), SOON_S)
    assert answers == [{"claims": []}] * 5
    await asyncio.gather(*(line.close() for line in lines))


@in_loop
async def test_waiting_for_a_task_ends_with_it(server: Running) -> None:
    producer = await dial(server)
    task = await producer.ask("/v1/tasks", {"type": "code"})
    waiting = asyncio.ensure_future(asyncio.to_thread(server.ask, "GET", f"/v1/tasks/{task['id']}/wait?timeout=60"))
    await producer.ask("/v1/claims", {"agent": "coder"})
    await producer.ask(f"/v1/tasks/{task['id']}/complete", {"fence": 1, "output": "done"})
    answer = await asyncio.wait_for(waiting, SOON_S)
    assert answer.json["task"]["output"] == "done"
    await producer.close()


@in_loop
async def test_a_repeated_claim_id_is_answered_with_the_same_claims(server: Running) -> None:
    line = await dial(server)
    await line.ask("/v1/tasks/batch", {"tasks": [{"type": "code"}, {"type": "code"}]})
    id = new_id("claim")
    first = await line.ask("/v1/claims", {"agent": "coder", "claim_id": id, "wait": LONG_S})
    again = await line.ask("/v1/claims", {"agent": "coder", "claim_id": id, "wait": LONG_S})
    assert [each["task"]["id"] for each in again["claims"]] == [each["task"]["id"] for each in first["claims"]]
    await line.close()


@in_loop
async def test_a_client_that_leaves_while_it_waits_for_a_task_is_not_waited_for(server: Running) -> None:
    task = (await asyncio.to_thread(server.ask, "POST", "/v1/tasks", {"type": "code"})).json
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = f"GET /v1/tasks/{task['id']}/wait HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n\r\n"
    writer.write(head.encode())
    newsroom: Newsroom = server.app.state.desk.newsroom

    async def waits_for_news() -> bool:
        return bool(len(newsroom))

    async def nobody_waits() -> bool:
        return not len(newsroom)

    await until(waits_for_news)
    writer.close()
    await asyncio.wait_for(until(nobody_waits), SOON_S)
    assert reader is not None


@in_loop
async def test_a_token_that_is_revoked_while_its_agent_waits_gets_nothing() -> None:
    revoked = "dibs_that_is_revoked_0123456789"
    callers = {**TOKENS, revoked: Caller(name="coder", role=Role.AGENT, token_id="coder")}
    with running(callers=callers) as server:
        line, producer = await dial(server), await dial(server)
        line.send("/v1/claims", {"agent": "coder", "wait": LONG_S}, token=revoked)
        await until_waiting(server, 1)
        del server.authority.callers[revoked]
        task = await producer.ask("/v1/tasks", {"type": "code"})
        refused = await asyncio.wait_for(line.answer(), SOON_S)
        assert (refused["status"], refused["code"]) == (401, "unknown_token")
        [claim] = (await producer.ask("/v1/claims", {"agent": "other", "wait": LONG_S}))["claims"]
        assert claim["task"]["id"] == task["id"]
        assert claim["task"]["attempts"] == 0
        await asyncio.gather(line.close(), producer.close())


@in_loop
async def test_what_is_refused_to_one_that_waits_does_not_harm_the_others() -> None:
    class Picky:
        def __init__(self, queue: Queue) -> None:
            self.queue, self.store, self.project, self.due_in = queue, queue.store, queue.project, None
            self.refuses = False

        async def claim(self, **request: Any) -> Any:
            if self.refuses and request["agent"] == "first":
                raise Denied("not you.")
            return await self.queue.claim(**request)

    async with dibs.connect("memory:") as queue:
        picky: Any = Picky(queue)
        lobby = Lobby(Newsroom(queue.store), 10)
        first, second = (
            asyncio.ensure_future(lobby.claim(picky, {"agent": name}, LONG_S)) for name in ("first", "second")
        )
        await waits(lobby, 2)
        picky.refuses = True
        await queue.add("code")
        claims, _ = await asyncio.wait_for(second, SOON_S)
        assert len(claims) == 1
        with pytest.raises(Denied):
            await asyncio.wait_for(first, SOON_S)
