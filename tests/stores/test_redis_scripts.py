"""The scripts of the Redis store: what they say of themselves, servers that forget them, many who run them at once."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.stores.redis import engine, scripting
from dibs.sync import drive

if TYPE_CHECKING:
    from tests.servers.redis import RedisServer

SCRIPTS = sorted(Path(scripting.__file__).parent.joinpath("scripts").glob("*.lua"))
TASKS = 60
CLIENTS = 3


# What they say of themselves


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_begins_with_what_it_does_its_keys_its_arguments_and_its_replies(path: Path) -> None:
    head = path.read_text().partition("\n\n")[0]
    comments = "\n".join(line for line in path.read_text().splitlines() if line.startswith("--"))
    assert re.match(r"-- [A-Z].*\.\n", head), "one sentence first"
    for word in ("-- KEYS ", "-- ARGV ", "-- Reply "):
        assert word in comments


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_replies_with_words_that_its_head_names(path: Path) -> None:
    text = path.read_text()
    head, code = text[: text.index("\nlocal ") if "\nlocal " in text else text.index("\nif ")], text
    replies = re.findall(r"return (?:\{)?'([a-z]+)'", code)
    assert replies or path.stem == "greet"
    for word in replies:
        assert f"'{word}'" in head


# A server that forgets them


def test_scripts_may_be_forgotten_between_any_two_calls(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call = engine.Line.call
    called: Counter[str] = Counter()

    def forgotten(line: engine.Line, script: scripting.Script, *arguments: Any) -> Any:
        line.send([("SCRIPT", "FLUSH")])
        called[script.name] += 1
        return call(line, script, *arguments)

    monkeypatch.setattr(engine.Line, "call", forgotten)
    with dibs.connect_sync(redis_url) as queue:
        for _ in range(3):
            queue.add("plain")
            queue.add("locked", locks=["one"])
            for claim in queue.claim("ada", limit=2):
                queue.complete(claim)
        assert queue.stats().by_status == {"completed": 6}
        assert drive(queue.queue.store.check()) == []
    assert set(called) >= {"add", "claim", "settle", "commit", "greet"}


# Many at once


_CLIENT = """
import random, sys, time
import dibs
url, number, tasks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(number)
said = []
with dibs.connect_sync(url) as queue:
    mine = []
    for n in range(tasks):
        kind = draw.choice(["plain", "plain", "plain", "locked", "paid", "after", "dag"])
        if kind == "plain":
            mine.append(queue.add("plain", {"n": n}))
        elif kind == "locked":
            mine.append(queue.add("locked", locks=[f"lock-{n % 3}"]))
        elif kind == "paid":
            mine.append(queue.add("paid"))
        elif kind == "after" and mine:
            try:
                mine.append(queue.add("plain", after_ended=[draw.choice(mine)]))
            except dibs.Conflict:
                pass  # its dag was cancelled
        else:
            mine += queue.add_dag("graph", [dibs.NewTask("a", ref="a"), dibs.NewTask("b", after=["a"])]).tasks
        for claim in queue.claim(f"agent-{number}", limit=draw.choice([1, 3])):
            try:
                if draw.random() < 0.7:
                    queue.complete(claim, {"by": number})
                elif draw.random() < 0.5:
                    queue.fail(claim, "no", retry_after=0)
                else:
                    queue.release(claim)
            except dibs.Conflict:
                pass  # cancelled by somebody else
        try:
            if draw.random() < 0.1:
                queue.cancel(draw.choice(mine).id)
            if draw.random() < 0.1 and len(mine) > 2:
                first, second = draw.sample(mine, 2)
                queue.link(second.id, after=[first])
        except dibs.Conflict:
            pass  # it has begun, or would be a cycle
    print(len(mine))
"""


@pytest.mark.timeout(240)
def test_quick_and_slow_ways_at_once_leave_nothing_in_limbo(redis_url: str) -> None:
    with ExitStack() as stack, dibs.connect_sync(redis_url) as queue:
        queue.set_budget("type:paid", 1_000.0, default_reserve=0.1)
        clients = [stack.enter_context(_python(_CLIENT, redis_url, number, TASKS)) for number in range(CLIENTS)]
        added = 0
        while any(client.poll() is None for client in clients):
            assert drive(queue.queue.store.check()) == [], "nor is anything seen in limbo meanwhile"
            time.sleep(0.2)  # a look now and then
        for client in clients:
            out, err = client.communicate()
            assert client.returncode == 0, err
            added += int(out)
        assert drive(queue.queue.store.check()) == []
        assert sum(queue.stats().by_status.values()) == added
        completed = Counter(event.task_id for event in _events(queue) if event.type == "task.completed")
        assert set(completed.values()) == {1}
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and set(queue.stats().by_status) - {
            "completed",
            "cancelled",
            "dead_lettered",
        }:
            queue.run_duties()
            for claim in queue.claim("last", limit=50):
                queue.complete(claim)
        assert set(queue.stats().by_status) <= {"completed", "cancelled", "dead_lettered"}
        assert drive(queue.queue.store.check()) == []


def test_the_threads_of_one_store_do_not_mix_up_what_they_know(redis_url: str) -> None:
    """While one of them learns of new gates, others claim by what they knew before."""

    async def story() -> None:
        async with dibs.connect(redis_url) as queue:
            await queue.add_many([dibs.NewTask(f"type-{n % 5}") for n in range(200)])
            paused = threading.Event()

            async def pause_and_resume() -> None:
                for n in range(20):
                    await queue.pause(f"type-{n % 5}")
                    paused.set()
                    before = {
                        task.id for task in (await queue.find(status="ready", type=f"type-{n % 5}", limit=500)).items
                    }
                    await asyncio.sleep(0.01)  # meanwhile others claim
                    after = {
                        task.id for task in (await queue.find(status="ready", type=f"type-{n % 5}", limit=500)).items
                    }
                    assert after >= before, "nothing of a paused type is handed out"
                    await queue.resume(f"type-{n % 5}")

            async def work(agent: str) -> None:
                while not pausing.done():
                    for claim in await queue.claim(agent, limit=1):
                        await queue.release(claim)

            pausing = asyncio.create_task(pause_and_resume())
            await asyncio.gather(pausing, *[work(f"agent-{n}") for n in range(3)])
            assert await queue.store.check() == []

    asyncio.run(story())


# A server that hangs


def test_a_server_that_hangs_is_waited_for_and_does_everything_once(redis_server: RedisServer) -> None:
    with dibs.connect_sync(redis_server.url()) as queue:
        queue.add("plain")
        redis_server.freeze()
        thaw = threading.Timer(1.0, redis_server.thaw)
        thaw.start()
        [claim] = queue.claim("ada")
        redis_server.freeze()
        thaw.join()
        thaw = threading.Timer(1.0, redis_server.thaw)
        thaw.start()
        queue.complete(claim)
        thaw.join()
        assert queue.stats().by_status == {"completed": 1}
        assert drive(queue.queue.store.check()) == []


def _events(queue: dibs.SyncQueue) -> list[dibs.Event]:
    found: list[dibs.Event] = []
    while batch := queue.read_events(found[-1].seq if found else 0, 1_000):
        found += batch
    return found


def _python(program: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
