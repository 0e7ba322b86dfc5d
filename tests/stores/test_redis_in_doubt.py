"""Answers of a Redis server that never arrive: what was asked has happened once, and is answered as if nothing was.

And a client that stops in the middle of a step: others go on without it, and it cannot write what it thought then.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import redis

import dibs
from dibs.stores.redis import RedisStore
from dibs.stores.redis.scripting import script
from dibs.sync import drive
from tests.servers.wire import Cut, Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.queue import Queue

CUTS = [Cut.BEFORE, Cut.AFTER, Cut.LATE]

each_cut = pytest.mark.parametrize("cut", CUTS, ids=[cut.name.lower() for cut in CUTS])


class Looped:
    """A queue of an event loop, whose verbs wait for it: calls go another way there."""

    def __init__(self, url: str) -> None:
        self._runner = asyncio.Runner()
        self._queue = self._runner.run(_opened(url))

    def __getattr__(self, verb: str) -> Any:
        found = getattr(self._queue, verb)
        return lambda *args, **options: self._runner.run(found(*args, **options))

    def drop_lines(self) -> None:
        """Keep no connection but the one for quick calls."""
        store: Any = self._queue.store
        store._engine.drop()

    def close(self) -> None:
        self._runner.run(self._queue.close())
        self._runner.close()


async def _opened(url: str) -> Queue:
    return await dibs.connect(url)


class Scene:
    """A queue behind a wire, and one that looks at the same tasks without it."""

    def __init__(self, url: str, connect: Callable[[str], Any] = dibs.connect_sync) -> None:
        self.wire = Wire(url)
        self.queue = connect(self.wire.url)
        self.beside = dibs.connect_sync(url)
        # Every script is known to the server and every lane to the client, so that each call is one message.
        for options in ({}, {"locks": ["warm"]}, {"key": "warm"}):
            self.queue.add("work", **options)
            for claim in self.queue.claim("a"):
                self.queue.complete(claim)
        self.before = {task.id for task in self.beside.find(limit=500).items}

    def cut(self, name: str, how: Cut) -> None:
        self.wire.cut_at(script(name).digest.encode(), how)

    def tasks(self) -> dict[str, str]:
        """The status of each task that was not there before."""
        found = self.beside.find(limit=500).items
        return {task.id: task.status for task in found if task.id not in self.before}

    def close(self) -> None:
        self.wire.until_over()
        assert self.wire.cuts == 1
        assert drive(self.beside.queue.store.check()) == []
        self.queue.close()
        self.beside.close()
        self.wire.__exit__(None, None, None)


@pytest.fixture(params=[dibs.connect_sync, Looped], ids=["blocking", "in a loop"])
def scene(redis_url: str, request: pytest.FixtureRequest) -> Iterator[Scene]:
    scene = Scene(redis_url, request.param)
    yield scene
    scene.close()


@each_cut
def test_a_task_is_added_once(scene: Scene, cut: Cut) -> None:
    scene.cut("add", cut)
    task = scene.queue.add("work", {"n": 1})
    scene.wire.until_over()
    assert scene.tasks() == {task.id: "ready"}
    assert scene.beside.get(task.id).created_at == task.created_at


@each_cut
def test_many_tasks_are_added_once(scene: Scene, cut: Cut) -> None:
    scene.queue.add_many([dibs.NewTask("work") for _ in range(2)])
    scene.before = {task.id for task in scene.beside.find(limit=500).items}
    scene.cut("add_many", cut)
    tasks = scene.queue.add_many([dibs.NewTask("work", {"n": n}) for n in range(3)])
    scene.wire.until_over()
    assert scene.tasks() == {task.id: "ready" for task in tasks}
    assert {scene.beside.get(task.id).created_at for task in tasks} == {task.created_at for task in tasks}


@each_cut
def test_what_was_handed_out_is_handed_over(scene: Scene, cut: Cut) -> None:
    tasks = scene.queue.add_many([dibs.NewTask("work", {"n": n}) for n in range(4)])
    scene.cut("claim", cut)
    claims = scene.queue.claim("a", limit=2)
    scene.wire.until_over()
    assert [claim.task.id for claim in claims] == [task.id for task in tasks[:2]]
    assert [claim.task.payload for claim in claims] == [{"n": 0}, {"n": 1}]
    assert [claim.fence for claim in claims] == [scene.beside.get(claim.task.id).fence for claim in claims]
    assert list(scene.tasks().values()).count("ready") == 2
    for claim in claims:
        scene.queue.complete(claim)


@each_cut
def test_a_task_is_completed_once(scene: Scene, cut: Cut) -> None:
    scene.queue.add("work")
    [claim] = scene.queue.claim("a")
    scene.cut("settle", cut)
    scene.queue.complete(claim, {"done": True})
    [attempt] = scene.beside.history(claim.task.id)
    assert attempt.outcome == "completed"
    assert scene.beside.get(claim.task.id).output == {"done": True}


@each_cut
def test_a_task_with_a_key_is_added_once_and_is_new(scene: Scene, cut: Cut) -> None:
    scene.cut("commit", cut)
    task = scene.queue.add("work", key="one")
    assert scene.tasks() == {task.id: "ready"}
    assert scene.queue.add("work", key="one").id == task.id


@each_cut
def test_a_step_that_hands_out_is_answered_with_what_it_handed_out(scene: Scene, cut: Cut) -> None:
    tasks = [scene.queue.add("work", locks=[f"lock-{n}"]) for n in range(3)]
    scene.cut("commit", cut)
    [claim] = scene.queue.claim("a")
    scene.wire.until_over()
    assert claim.task.id == tasks[0].id
    assert claim.fence == scene.beside.get(claim.task.id).fence
    assert scene.tasks() == {tasks[0].id: "running", tasks[1].id: "ready", tasks[2].id: "ready"}


@each_cut
def test_a_failure_is_counted_once(scene: Scene, cut: Cut) -> None:
    task = scene.queue.add("work", retry="fixed:60s")
    [claim] = scene.queue.claim("a")
    scene.cut("commit", cut)
    scene.queue.fail(claim, "no")
    found = scene.beside.get(task.id)
    assert (found.status, found.attempts) == ("retrying", 1)


@each_cut
def test_cancelling_answers_with_what_it_ended(scene: Scene, cut: Cut) -> None:
    task = scene.queue.add("work")
    scene.cut("commit", cut)
    assert scene.queue.cancel(task.id) == [task.id]


def test_who_stops_waiting_at_any_moment_leaves_no_connection_open(redis_url: str) -> None:
    async def story() -> None:
        for moment in range(40):
            async with dibs.connect(redis_url) as queue:
                waiting = asyncio.create_task(queue.claim("ada", wait=20))
                await asyncio.sleep(moment * 0.001)
                waiting.cancel()
                await asyncio.wait([waiting])

    gc.collect()  # of others
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        asyncio.run(story())
        gc.collect()
    assert [str(warning.message) for warning in told if warning.category is ResourceWarning] == []


def test_a_server_that_stays_away_leaves_a_write_in_doubt_and_a_read_not(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.stores.redis.engine.GIVE_UP_S", 0.2)
    scene.cut("add", Cut.AFTER)
    scene.wire.close_door()
    if isinstance(scene.queue, Looped):
        scene.queue.drop_lines()
    with pytest.raises(dibs.Unavailable) as caught:
        scene.queue.add("work")
    assert caught.value.code == "outcome_unknown"
    with pytest.raises(dibs.Unavailable) as caught:
        scene.queue.stats()
    assert caught.value.code == "unavailable"


# A client that stops


_SLOW = """
import sys
from dibs.stores.redis import RedisStore, store
from dibs.sync import drive
store.PATIENCE = 0
redis = RedisStore(sys.argv[1], blocking=True)
drive(redis.connect())
seen = []
def step(state):
    state.duties["slow"] = len(seen)
    seen.append(state.reader.version)
    if len(seen) == 1:
        # Somebody else writes: this look is in vain, and the next is made with a turn of its own.
        state.reader.version = b"another"
    elif len(seen) == 2:
        print("turn", flush=True)
        sys.stdin.readline()
    return len(seen)
print(redis._take_step(step), flush=True)
"""


def test_one_that_stops_in_its_turn_holds_up_the_others_for_two_seconds_and_cannot_write_any_more(
    redis_url: str,
) -> None:
    with dibs.connect_sync(redis_url) as queue:
        queue.add("work")
        queue.claim("a")
        with _python(_SLOW, redis_url) as slow:
            assert slow.stdin is not None
            assert slow.stdout is not None
            assert slow.stdout.readline() == "turn\n"
            os.kill(slow.pid, signal.SIGSTOP)
            begun = time.monotonic()
            task = queue.add("work")
            assert time.monotonic() - begun < 60
            assert [claim.task.id for claim in queue.claim("a")] == [task.id]
            os.kill(slow.pid, signal.SIGCONT)
            slow.stdin.write("\n")
            slow.stdin.flush()
            # It had to look a third time: what it wanted to write after the second was refused.
            assert slow.stdout.readline() == "3\n"
        assert drive(queue.queue.store.check()) == []


def test_a_turn_that_leads_to_nothing_is_given_back(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.stores.redis.store.PATIENCE", 0)
    store = RedisStore(redis_url, blocking=True)
    drive(store.connect())
    looks = []

    def step(state: Any) -> None:
        looks.append(state)
        if len(looks) == 1:
            state.duties["slow"] = 1
            state.reader.version = b"another"

    store._take_step(step)
    assert len(looks) == 2
    with redis.Redis.from_url(redis_url.partition("?")[0]) as client:
        assert client.get(store._keys.turn) is None
    drive(store.close())


def _python(program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
