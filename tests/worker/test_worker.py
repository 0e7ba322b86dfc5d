"""Claiming, draining, stopping and leases inside one process."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import re
import time
from datetime import UTC, datetime
from typing import Any

import pytest

import dibs
from dibs.rules.retry import PoisonPolicy
from dibs.sync import drive
from dibs.worker.pace import MAX_AHEAD, Pace
from dibs.worker.work import Stop
from tests.worker.facts import LEASE_S, PATIENCE_S, eventually, first, has_status, until_renewed


async def test_drain_ends_when_everything_has_and_leaves_scheduled_tasks(url: str) -> None:
    app = dibs.App()
    app.handler("quick")(_quick)
    async with dibs.connect(url) as queue:
        await queue.add_many([dibs.NewTask("quick") for _ in range(700)])
        later = await queue.add("quick", run_after="1h")
        other = await queue.add("nobody's")
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
        stats = await queue.stats()
        assert stats.by_status == {"completed": 700, "scheduled": 1, "ready": 1}
        assert await has_status(queue, later.id, "scheduled")
        assert await has_status(queue, other.id, "ready")


async def _quick() -> None: ...


async def test_drain_works_through_a_graph_in_order(url: str) -> None:
    app = dibs.App()

    @app.handler("add")
    async def add(ctx: dibs.Context, value: int = 0) -> Any:
        return value + sum(ctx.inputs.values())

    async with dibs.connect(url) as queue:
        async with queue.dag("sum") as dag:
            leaves = [dag.add("add", {"value": n}, ref=f"n{n}") for n in range(5)]
            total = dag.add("add", after=leaves)
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
        assert (await queue.get(total.id)).output == 10


async def test_drain_waits_for_what_another_agent_holds(url: str) -> None:
    app = dibs.App()
    app.handler("quick")(_quick)
    async with dibs.connect(url) as queue:
        await queue.add("quick")
        [claim] = await queue.claim("other")
        async with dibs.Worker(app, queue) as worker:
            draining = asyncio.create_task(worker.drain())
            done, _ = await asyncio.wait({draining}, timeout=0.3)
            assert not done
            await queue.release(claim)
            await first(draining)
        assert await has_status(queue, claim.task.id, "completed")


async def test_no_more_than_concurrency_run_at_once_and_none_is_claimed_ahead_of_long_work(url: str) -> None:
    app, running, most, release = dibs.App(), 0, 0, asyncio.Event()

    @app.handler("long")
    async def long() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await release.wait()
        running -= 1

    async with dibs.connect(url) as queue:
        await queue.add_many([dibs.NewTask("long") for _ in range(10)])
        async with dibs.Worker(app, queue, concurrency=3) as worker:
            draining = asyncio.create_task(worker.drain())
            await eventually(lambda: running == 3)
            assert (await queue.stats()).by_status == {"running": 3, "ready": 7}
            release.set()
            await first(draining)
        assert most == 3


async def test_tasks_that_are_handed_out_alone_still_fill_all_slots(url: str) -> None:
    app, running, together = dibs.App(), 0, asyncio.Event()

    @app.handler("solo")
    async def solo() -> None:
        nonlocal running
        running += 1
        if running == 4:
            together.set()
        await together.wait()

    async with dibs.connect(url) as queue:
        await queue.add_many([dibs.NewTask("solo", max_attempts=1) for _ in range(4)])
        async with dibs.Worker(app, queue, concurrency=4) as worker:
            await first(worker.drain())
        assert (await queue.stats()).by_status == {"completed": 4}


async def test_a_new_task_wakes_an_idle_worker(url: str) -> None:
    app = dibs.App()
    app.handler("quick")(_quick)
    async with dibs.connect(url) as queue, dibs.Worker(app, queue) as worker:
        running = asyncio.create_task(worker.run())
        for _ in range(3):
            task = await queue.add("quick")
            assert (await first(queue.wait(task.id))).status == "completed"
        worker.stop()
        await first(running)


async def test_what_was_taken_begins_before_the_next_claim(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    app = dibs.App()
    said: list[str] = []

    @app.handler("quick")
    async def quick() -> None:
        said.append("begins")

    async with dibs.connect(url) as queue:
        claim = queue.claim

        async def claimed(*args: Any, **options: Any) -> Any:
            said.append("claims")
            return await claim(*args, **options)

        monkeypatch.setattr(queue, "claim", claimed)
        await queue.add("quick")
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
    assert said[:3] == ["claims", "begins", "claims"]


async def test_stop_lets_running_work_finish(url: str) -> None:
    app, began, release = dibs.App(), asyncio.Event(), asyncio.Event()

    @app.handler("long")
    async def long() -> str:
        began.set()
        await release.wait()
        return "finished"

    async with dibs.connect(url) as queue:
        task = await queue.add("long")
        async with dibs.Worker(app, queue) as worker:
            running = asyncio.create_task(worker.run())
            await first(began.wait())
            worker.stop()
            await queue.add("long")
            release.set()
            await first(running)
        assert (await queue.get(task.id)).output == "finished"
        assert (await queue.stats()).by_status == {"completed": 1, "ready": 1}


async def test_leaving_the_block_releases_running_work(url: str) -> None:
    app, began = dibs.App(), asyncio.Event()

    @app.handler("long")
    async def long() -> None:
        began.set()
        await asyncio.sleep(300)

    async with dibs.connect(url) as queue:
        task = await queue.add("long")
        async with dibs.Worker(app, queue) as worker:
            running = asyncio.create_task(worker.run())
            await first(began.wait())
        await first(running)
        task = await queue.get(task.id)
        assert (task.status, task.attempts) == ("ready", 0)
        assert [attempt.outcome for attempt in await queue.history(task.id)] == ["released"]


async def test_cancelling_run_releases_running_work(url: str) -> None:
    app, began = dibs.App(), asyncio.Event()

    @app.handler("long")
    async def long() -> None:
        began.set()
        await asyncio.sleep(300)

    async with dibs.connect(url) as queue:
        task = await queue.add("long")
        running = asyncio.create_task(dibs.Worker(app, queue).run())
        await first(began.wait())
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first(running)
        assert await has_status(queue, task.id, "ready")


async def test_a_handler_that_blocks_the_loop_keeps_its_lease(url: str) -> None:
    app = dibs.App()

    @app.handler("blocks")
    async def blocks(ctx: dibs.Context) -> int:
        with dibs.connect_sync(url) as watching:
            until_renewed(watching, ctx.task.id)
        return ctx.fence

    async with dibs.connect(url) as queue:
        task = await queue.add("blocks", max_attempts=1)
        async with dibs.Worker(app, queue, lease=LEASE_S) as worker:
            await first(worker.drain())
        assert (await queue.get(task.id)).output == 1


async def test_work_that_lost_its_lease_is_stopped_and_not_settled(url: str, caplog: Any) -> None:
    app, began, stopped = dibs.App(), asyncio.Event(), asyncio.Event()

    @app.handler("long")
    async def long() -> None:
        began.set()
        try:
            await asyncio.sleep(300)
        finally:
            stopped.set()

    async with dibs.connect(url) as queue:
        task = await queue.add("long")
        async with dibs.Worker(app, queue, lease=LEASE_S) as worker:
            running = asyncio.create_task(worker.run())
            await first(began.wait())
            # Somebody else settles it under the same fence: the lease is gone.
            await queue.complete((task.id, 1), "by another hand")
            await first(stopped.wait())
            worker.stop()
            await first(running)
        assert (await queue.get(task.id)).output == "by another hand"
        assert len(await queue.history(task.id)) == 1
    assert [record.getMessage() for record in caplog.records if task.id in record.getMessage()] != []


async def test_work_that_is_stopped_while_it_begins_gives_back_its_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    app, runs = dibs.App(), []

    @app.handler("short")
    async def short(ctx: dibs.Context) -> None:
        runs.append(ctx.fence)
        await asyncio.sleep(0)

    async with dibs.connect("memory:") as queue:
        task = await queue.add("short", timeout=PATIENCE_S)
        async with dibs.Worker(app, queue, concurrency=1) as worker:
            expect = worker._sweep.expect

            def meanwhile(ends_at: float) -> None:
                """As the thread that renews leases may, between the last look at the work and its first step."""
                monkeypatch.undo()
                [work] = worker._running
                work.stop(Stop.LEAVING)
                expect(ends_at)

            monkeypatch.setattr(worker._sweep, "expect", meanwhile)
            await first(worker.drain())
        assert (await queue.get(task.id)).status == "completed"
        assert [attempt.outcome for attempt in await queue.history(task.id)] == ["released", "completed"]
        assert runs == [1, 2]


async def test_work_claimed_ahead_of_a_blocked_loop_is_given_back(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    app, ready, claiming = dibs.App(), 0, 0
    app.handler("quick")(_quick)

    @app.handler("blocks")
    async def blocks() -> None:
        nonlocal ready
        with dibs.connect_sync(url) as watching:
            # A claim that is under way when the loop blocks arrives only afterwards: let it arrive before.
            await eventually(lambda: not claiming and (worker._ready or not worker._pace.ahead()))
            deadline = time.monotonic() + PATIENCE_S / 2
            # Blocks the whole worker until everything behind this task is there for others. What comes before it may be
            # there, too: if the process stood still, it was given back as well.
            while ready < 300 and time.monotonic() < deadline:
                time.sleep(0.01)
                ready = len(watching.find(tag="behind", status="ready", limit=1000).items)

    async with dibs.connect(url) as queue:
        claim = queue.claim

        async def claimed(*args: Any, **options: Any) -> Any:
            nonlocal claiming
            claiming += 1
            try:
                return await claim(*args, **options)
            finally:
                claiming -= 1

        monkeypatch.setattr(queue, "claim", claimed)
        await queue.add_many([dibs.NewTask("quick") for _ in range(300)])
        await queue.add("blocks", priority=60)
        await queue.add_many([dibs.NewTask("quick", priority=70, tags=["behind"]) for _ in range(300)])
        async with dibs.Worker(app, queue, concurrency=1) as worker:
            await first(worker.drain())
        assert ready == 300
        assert (await queue.stats()).by_status == {"completed": 601}


class Away:
    """A store that cannot be reached for some of its methods, now and then."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.refused: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        if self.refused.get(name, 0) > 0:
            self.refused[name] -= 1
            return self._refuse
        return getattr(self._store, name)

    async def _refuse(self, *_: Any) -> Any:
        raise dibs.Unavailable("the store is away")


async def test_work_that_could_not_be_given_back_is_given_back_later() -> None:
    app, ready = dibs.App(), 0
    app.handler("quick")(_quick)
    async with dibs.connect("memory:") as real:
        away: Any = Away(real.store)
        queue = dibs.Queue(away)

        @app.handler("blocks")
        async def blocks() -> None:
            nonlocal ready
            # The loop is blocked, so only the thread that gives back what waits behind this task can settle now.
            away.refused["settle"] = 1
            deadline = time.monotonic() + PATIENCE_S / 2
            while ready < 300 and time.monotonic() < deadline:
                time.sleep(0.01)
                ready = len(drive(real.find(tag="behind", status="ready", limit=1000)).items)

        await queue.add_many([dibs.NewTask("quick") for _ in range(300)])
        await queue.add("blocks", priority=60)
        await queue.add_many([dibs.NewTask("quick", priority=70, tags=["behind"]) for _ in range(300)])
        async with dibs.Worker(app, queue, concurrency=1) as worker:
            await first(worker.drain())
        assert (ready, away.refused) == (300, {"settle": 0})
        assert (await queue.stats()).by_status == {"completed": 601}


async def test_work_is_stopped_before_its_lease_ends_when_it_cannot_be_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    app, began, stopped = dibs.App(), asyncio.Event(), asyncio.Event()
    lease_s, passed_s = 600.0, 0.0
    monkeypatch.setattr("dibs.worker.renewals.monotonic", lambda: time.monotonic() + passed_s)

    @app.handler("long")
    async def long() -> None:
        began.set()
        try:
            await asyncio.sleep(300)
        finally:
            stopped.set()

    async with dibs.connect("memory:") as real:
        away: Any = Away(real.store)
        away.refused["renew"] = tries = 1_000_000
        queue = dibs.Queue(away)
        task = await queue.add("long")
        async with dibs.Worker(app, queue, lease=lease_s) as worker:
            running = asyncio.create_task(worker.run())
            await first(began.wait())
            passed_s = lease_s - 120
            await eventually(lambda: away.refused["renew"] < tries - 1)
            assert not stopped.is_set()
            passed_s = lease_s - 0.5
            await first(stopped.wait())
            now = await queue.get(task.id)
            assert now.lease_expires_at is not None
            assert datetime.now(UTC) < now.lease_expires_at
            assert (now.status, now.fence) == ("running", 1)
            worker.stop()
            await first(running)
        assert await queue.history(task.id) == []


async def test_outcomes_wait_for_a_store_that_is_away() -> None:
    app = dibs.App()
    app.handler("quick")(_quick)
    async with dibs.connect("memory:") as real:
        away: Any = Away(real.store)
        away.refused.update(settle=2, claim=1)
        queue = dibs.Queue(away)
        task = await queue.add("quick")
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
        assert (await queue.get(task.id)).attempts == 1
        assert away.refused == {"settle": 0, "claim": 0}


async def test_the_last_log_lines_wait_for_a_store_that_is_away() -> None:
    app = dibs.App()

    @app.handler("talks")
    async def talks(ctx: dibs.Context) -> None:
        ctx.log("one")
        ctx.log("two")

    async with dibs.connect("memory:") as real:
        away: Any = Away(real.store)
        away.refused["write_journal"] = 2
        queue = dibs.Queue(away)
        task = await queue.add("talks")
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
        assert away.refused == {"write_journal": 0}
        assert (await queue.get(task.id)).status == "completed"
        assert [e.value for e in await queue.journal(task.id) if e.kind == "log"] == [b'"one"', b'"two"']


async def test_a_thread_that_waits_for_the_store_is_told_when_its_worker_leaves() -> None:
    app, told = dibs.App(), []

    @app.handler("steps")
    def steps(ctx: dibs.SyncContext) -> None:
        try:
            ctx.step("one", int)
        except dibs.DibsError as error:
            told.append(error)
            raise

    async with dibs.connect("memory:") as real:
        away: Any = Away(real.store)
        away.refused["write_journal"] = 1_000_000
        queue = dibs.Queue(away)
        task = await queue.add("steps")
        async with dibs.Worker(app, queue) as worker:
            running = asyncio.create_task(worker.run())
            await eventually(lambda: away.refused["write_journal"] < 999_999)
            assert not told
            worker.leave()
            await first(running)
            await eventually(lambda: told)
        assert isinstance(told[0], dibs.LeaseLost)
        given_back = await queue.get(task.id)
        assert (given_back.status, given_back.attempts) == ("ready", 0)


async def test_a_spawn_whose_answer_was_lost_spawns_once() -> None:
    app = dibs.App()
    lost: list[Any] = []

    @app.handler("parent")
    async def parent(ctx: dibs.Context) -> Any:
        return (await ctx.spawn("child")).output

    @app.handler("child")
    async def child() -> int:
        return 7

    async with dibs.connect("memory:") as real:
        store: Any = Away(real.store)
        queue = dibs.Queue(store)
        task = await queue.add("parent")

        async def insert(*given: Any, **named: Any) -> Any:
            answer = await real.store.insert(*given, **named)
            if not lost:
                lost.append(answer)
                raise dibs.Unavailable("the answer was lost")
            return answer

        store.insert = insert
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
        ended = await queue.get(task.id)
        assert (ended.status, ended.output, ended.attempts, len(lost)) == ("completed", 7, 1, 1)
        assert len((await queue.find(type="child")).items) == 1


async def test_a_worker_keeps_to_the_poison_rule_of_its_queue() -> None:
    app = dibs.App()

    @app.handler("bad", retry="immediate")
    async def bad() -> None:
        raise RuntimeError("always the same")

    async with dibs.connect("memory:", poison=PoisonPolicy(agents=1, attempts=2)) as queue:
        task = await queue.add("bad", max_attempts=10)
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
        now = await queue.get(task.id)
        assert (now.status, now.attempts, now.poison_pill) == ("dead_lettered", 2, True)


async def test_each_handler_runs_in_a_context_of_its_own() -> None:
    app, mark = dibs.App(), contextvars.ContextVar("mark", default="clean")

    @app.handler("mark")
    async def marks() -> str:
        before = mark.get()
        mark.set("dirty")
        return before

    async with dibs.connect("memory:") as queue:
        tasks = await queue.add_many([dibs.NewTask("mark") for _ in range(50)])
        async with dibs.Worker(app, queue, concurrency=1) as worker:
            await first(worker.drain())
        assert {(await queue.get(task.id)).output for task in tasks} == {"clean"}


def test_nothing_is_claimed_ahead_before_handlers_are_known_to_be_short() -> None:
    pace = Pace()
    assert pace.ahead() == 0
    for n in range(64):
        pace.note(n * 0.001, n * 0.001 + 0.0005)
    assert 90 <= pace.ahead() <= 110
    for n in range(64):
        pace.note(1 + n * 1e-6, 1 + n * 1e-6)
    assert pace.ahead() == MAX_AHEAD
    for n in range(4):
        pace.note(2 + n, 2.06 + n)
    assert pace.ahead() == 0


def test_a_worker_refuses_nonsense() -> None:
    app = dibs.App()
    queue: Any = None
    with pytest.raises(dibs.Invalid, match="no handlers"):
        dibs.Worker(app, queue)
    app.handler("quick")(_quick)
    for wrong in ({"concurrency": 0}, {"lease": 0}, {"agent": ""}, {"capabilities": "web"}):
        with pytest.raises(dibs.Invalid):
            dibs.Worker(app, queue, **wrong)


def test_a_worker_refuses_the_queue_of_those_who_wait() -> None:
    app = dibs.App()
    app.handler("quick")(_quick)
    with dibs.connect_sync("memory:") as queue, pytest.raises(dibs.Invalid, match=r"await dibs\.connect") as refused:
        dibs.Worker(app, queue)  # type: ignore[arg-type]
    assert refused.value.field == "queue"


def test_a_handler_without_a_type_is_refused_and_not_forgotten() -> None:
    app = dibs.App()
    with pytest.raises(dibs.Invalid, match=r'@app\.handler\("research"\)'):
        app.handler(_quick)  # type: ignore[arg-type]


async def _told(caplog: pytest.LogCaptureFixture, level: int, app: dibs.App, **options: Any) -> tuple[str, list[str]]:
    """A task's id, and what a worker said while it did it; how long things took is left out."""
    caplog.set_level(level, "dibs.worker")
    async with dibs.connect("memory:") as queue:
        task = await queue.add("work", **options)
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
    said = [record.getMessage() for record in caplog.records if record.name == "dibs.worker"]
    return task.id, [re.sub(r"\d+\.\d s", "… s", line) for line in said]


async def test_who_watches_hears_of_each_task(caplog: pytest.LogCaptureFixture) -> None:
    app = dibs.App()
    app.handler("work")(_quick)
    id, told = await _told(caplog, logging.INFO, app, title="Tidy\nup")
    assert told == [f"took work Tidy up ({id})", f"completed work Tidy up ({id}) in … s"]


async def test_who_watches_hears_what_follows_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    app = dibs.App()

    @app.handler("work", retry="immediate")
    async def work() -> None:
        raise RuntimeError("no luck\nat all")

    id, told = await _told(caplog, logging.INFO, app, max_attempts=2)
    failed = f"failed work {id} after … s: RuntimeError: no luck; "
    assert told == [f"took work {id}", f"{failed}will be retried", f"took work {id}", f"{failed}dead letter"]


async def test_who_watches_hears_of_releases_and_suspensions(caplog: pytest.LogCaptureFixture) -> None:
    app, runs = dibs.App(), []

    @app.handler("work")
    async def work(ctx: dibs.Context) -> None:
        runs.append(1)
        if len(runs) == 1:
            raise dibs.Release()
        await ctx.spawn("quick")

    app.handler("quick")(_quick)
    id, told = await _told(caplog, logging.INFO, app)
    assert f"released work {id} after … s" in told
    assert f"suspended work {id}: it waits for what it spawned" in told
    assert told[-1] == f"completed work {id} in … s"


async def test_nothing_is_put_into_words_when_nobody_watches(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, worded = dibs.App(), list[Any]()
    app.handler("work")(_quick)
    monkeypatch.setattr("dibs.worker.telling._called", worded.append)
    assert (await _told(caplog, logging.WARNING, app))[1] == []
    assert worded == []
