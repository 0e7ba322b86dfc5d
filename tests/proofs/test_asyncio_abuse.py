"""What asyncio programs do to a queue: cancel anything anywhere, close it while it is used, share it between loops."""

from __future__ import annotations

import asyncio
import os
import random
import sys
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import apsw
import pytest

import dibs

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from pathlib import Path

CROWD = 100
EACH = 3


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory:" if request.param == "memory" else f"sqlite:{tmp_path / 'dibs.db'}"


class _Impatient:
    """Runs verbs and cancels most of them after a few turns of the loop."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    async def __call__(self, verb: Coroutine[Any, Any, Any]) -> Any:
        """The answer, or None if it was not waited for."""
        task = asyncio.ensure_future(verb)
        for _ in range(self._draw.choice([0, 1, 2, 3, 5, 9, 30])):
            await asyncio.sleep(0)
        if self._draw.random() < 0.3:
            await asyncio.sleep(self._draw.random() * 0.01)
        if self._draw.random() < 0.6:
            task.cancel()
        try:
            return await task
        except asyncio.CancelledError:
            return None


async def _events(queue: dibs.Queue) -> list[dibs.Event]:
    events: list[dibs.Event] = []
    while batch := await queue.read_events(len(events), 1_000):
        events += batch
    return events


@pytest.mark.parametrize("seed", [1, 2])
def test_two_hundred_impatient_users_lose_no_task_and_block_nobody(url: str, seed: int) -> None:
    async def story() -> None:
        loop = asyncio.get_running_loop()
        complaints: list[Any] = []
        loop.set_exception_handler(lambda _, context: complaints.append(context))
        queue = await dibs.connect(url)
        impatient, added = _Impatient(seed), set()

        async def add(who: int) -> None:
            for n in range(EACH):
                task = await impatient(queue.add("work", {"n": n}, key=f"{who}-{n}"))
                if task is not None:
                    added.add(task.id)

        async def work(who: int) -> None:
            for n in range(EACH):
                claims = await impatient(queue.claim(f"agent-{who}", limit=2, lease=3_600, wait=0.05 * (n % 2)))
                for claim in claims or ():
                    await impatient(queue.renew(claim, progress=0.5))
                    await impatient(queue.checkpoint(claim, n))
                    await impatient(queue.get(claim.task.id))
                    while not await impatient(queue.complete(claim, n)):
                        pass

        async with asyncio.timeout(90):
            await asyncio.gather(*(each(who) for who in range(CROWD) for each in (add, work)))
            # What was claimed for somebody who left is given back a moment later.
            while (await queue.stats()).by_status.keys() - {"completed"}:
                for claim in await queue.claim("patient", limit=100, wait=0.2):
                    await queue.complete(claim)
        tasks = (await queue.find(limit=1_000)).items
        assert added <= {task.id for task in tasks}
        assert {task.status for task in tasks} == {"completed"}, "a claim was lost with who did not wait for it"
        events = await _events(queue)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        completed = Counter(event.task_id for event in events if event.type == "task.completed")
        assert set(completed.values()) == {1}
        await asyncio.wait_for(queue.close(), 30)
        assert not complaints

    asyncio.run(story())


def test_closing_answers_everybody(url: str) -> None:
    async def story() -> None:
        queue = await dibs.connect(url)
        await queue.add("work")
        adds = [asyncio.ensure_future(queue.add("work", {"n": n})) for n in range(300)]
        looks = [asyncio.ensure_future(queue.stats()) for _ in range(20)]
        waits = [asyncio.ensure_future(queue.claim("agent", types=["none"], wait=60)) for _ in range(5)]
        for _ in range(2):
            await asyncio.sleep(0)
        await asyncio.wait_for(queue.close(), 30)
        done, left = await asyncio.wait([*adds, *looks, *waits], timeout=30)
        assert not left, "somebody still waits for a closed store"
        for each in done:
            assert each.exception() is None or isinstance(each.exception(), dibs.Unavailable)
        if url != "memory:":
            answered = sum(add.exception() is None for add in adds)
            async with dibs.connect(url) as again:
                assert (await again.stats()).by_status == {"ready": answered + 1}

    asyncio.run(story())


def test_a_thousand_concurrent_adds_are_committed_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.stores.sqlite.engine._LONGEST_S", 60.0)
    path = tmp_path / "dibs.db"

    async def story() -> None:
        async with dibs.connect(f"sqlite:{path}") as queue:
            await queue.add("work")
            foreign = apsw.Connection(str(path))
            commits = "SELECT count(*) FROM outbox"
            before = foreign.execute(commits).get
            # Nobody can commit before all of them have asked, however quick the one and however slow the other.
            foreign.execute("BEGIN IMMEDIATE")
            adding = [asyncio.ensure_future(queue.add("work", {"n": n})) for n in range(1_000)]
            for _ in range(50):
                await asyncio.sleep(0)
            foreign.execute("ROLLBACK")
            await asyncio.gather(*adding)
            assert foreign.execute(commits).get - before <= 20
            foreign.close()

    asyncio.run(story())


@pytest.fixture
def nervous() -> Iterator[None]:
    """Threads take turns after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("nervous")
def test_loops_in_several_threads_may_share_a_queue(url: str) -> None:
    before = _writers()
    for _ in range(5):
        queue = asyncio.run(_opened(url))
        together = threading.Barrier(3)
        failures: list[BaseException] = []

        async def use(queue: dibs.Queue, together: threading.Barrier) -> None:
            together.wait()
            async with asyncio.timeout(60):
                for n in range(5):
                    await queue.add("work", {"n": n})
                    for claim in await queue.claim("agent"):
                        await queue.complete(claim)
                    await queue.stats()

        def run(queue: dibs.Queue, together: threading.Barrier, failures: list[BaseException]) -> None:
            try:
                asyncio.run(use(queue, together))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=run, args=(queue, together, failures)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert _writers() <= before + 1, "two writers were started: one of them would never end"
        asyncio.run(queue.close())


def _writers() -> int:
    return [thread.name for thread in threading.enumerate()].count("dibs-writer")


async def _opened(url: str) -> dibs.Queue:
    return await dibs.connect(url)


def _open_things() -> tuple[int, int]:
    return len(os.listdir("/proc/self/fd")), threading.active_count()


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc to count open files")
def test_opening_and_closing_five_hundred_times_leaves_nothing_behind(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'dibs.db'}"

    async def story() -> None:
        counts = []
        for n in range(250):
            async with dibs.connect(url) as queue:
                await queue.add("work")
                await queue.stats()
                await queue.store.news()
            if n in (10, 249):
                counts.append(_open_things())
        (files, threads), (files_later, threads_later) = counts
        # The event loop's own pool of threads may still grow to its size, but not with every connection.
        assert files_later <= files
        assert threads_later <= threads + (os.cpu_count() or 1) + 4

    asyncio.run(story())
    before = _open_things()
    for _ in range(250):
        with dibs.connect_sync(url) as queue:
            queue.claim("agent")
    files, threads = _open_things()
    assert files <= before[0]
    assert threads <= before[1]
