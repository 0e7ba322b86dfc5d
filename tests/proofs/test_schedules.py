"""One task for each tick: with five servers whose clocks are stepped back and forth, and with some that are killed."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.model.instants import to_micros
from dibs.sync import connect_sync
from dibs.testing import FakeClock
from tests.proofs.crowd import exit_of, run_crowd
from tests.proofs.dying import Killed

if TYPE_CHECKING:
    from pathlib import Path

START = datetime(2026, 3, 29, 0, 55, tzinfo=UTC)
"""Five minutes before clocks in Berlin are put forward."""
FASTER = 60
SERVERS = 5
LASTS_S = 6.0
ZONES = {"berlin": "Europe/Berlin", "new-york": "America/New_York", "lord-howe": "Australia/Lord_Howe"}


def _serve(url: str, number: int) -> int:
    """Keep time for a while, by a clock that is stepped by 90 s every now and then. How many ticks were made here."""
    # All of them are let loose at this moment, however long each took to start.
    began = time.time()

    def clock() -> int:
        passed = time.time() - began
        stepped_s = (-90, 0, 90, 45, -45)[(number + int(passed * 3)) % 5]
        return to_micros(START) + int(passed * FASTER * 1_000_000) + stepped_s * 1_000_000

    async def serve() -> int:
        from dibs.duties.schedule import schedule

        made = 0
        async with await dibs.connect(url, clock=clock) as queue:
            end, over = time.time() + LASTS_S, False
            while not over:
                # Once more after the end: nobody is stopped for longer than that.
                over = time.time() > end
                # Not elected: all of them do it at once, all the time.
                made += await schedule(queue._desk)
        return made

    return asyncio.run(serve())


async def _plan(url: str) -> None:
    async with await dibs.connect(url, clock=lambda: to_micros(START)) as queue:
        for name, zone in ZONES.items():
            task = {"type": name}
            await queue.add_schedule(
                name, cron="*/20 * * * * *", timezone=zone, task=task, missed="all", max_missed=1000
            )
        await queue.add_schedule("every", every=7, task={"type": "every"}, missed="all", max_missed=1000)


@pytest.mark.timeout(300)
def test_five_servers_with_stepped_clocks_make_one_task_for_each_tick(tmp_path: Path) -> None:
    _prove(f"sqlite:{tmp_path / 'dibs.db'}", tmp_path)


@pytest.mark.timeout(300)
def test_so_they_do_on_postgres(postgres_url: str, tmp_path: Path) -> None:
    _prove(postgres_url, tmp_path)


@pytest.mark.timeout(300)
def test_so_they_do_on_redis(redis_url: str, tmp_path: Path) -> None:
    _prove(redis_url, tmp_path)


def _prove(url: str, tmp_path: Path) -> None:
    asyncio.run(_plan(url))
    made = run_crowd(tmp_path, _serve, [(url, number) for number in range(SERVERS)])
    assert sum(count > 0 for count in made) > 1, f"one server did all the work: {made}"

    async def look() -> None:
        async with await dibs.connect(url) as queue:
            for name, step_s in [*((name, 20) for name in ZONES), ("every", 7)]:
                found: list[str] = []
                cursor = None
                while True:
                    page = await queue.find(type=name, limit=1000, cursor=cursor)
                    found += [task.key or "" for task in page.items]
                    cursor = page.cursor
                    if cursor is None:
                        break
                assert len(found) == len(set(found)), "a tick has two tasks"
                ticks = sorted(datetime.fromisoformat(key.removeprefix(f"cron:{name}:")) for key in found)
                assert len(ticks) > LASTS_S * FASTER / step_s / 2
                gaps = {after - before for before, after in pairwise(ticks)}
                assert gaps == {timedelta(seconds=step_s)}, "a tick has no task"
                schedule = await queue.get_schedule(name)
                assert schedule.made >= len(ticks) - len(schedule.firing) - 1

    asyncio.run(look())


def _die(path: str, now: int, at: int, after: bool) -> None:
    from dibs.duties.desk import Desk
    from dibs.duties.schedule import schedule
    from dibs.sync import drive

    queue = connect_sync(f"sqlite:{path}", clock=lambda: now)
    killed: Any = Killed(queue.queue.store, at, after)
    drive(schedule(Desk(killed, draw=lambda: 0.5)))


@pytest.mark.timeout(300)  # A process for every point.
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("makes", ["task", "dag"])
def test_a_server_that_is_killed_anywhere_leaves_one_task_for_each_tick(
    makes: str, after: bool, tmp_path: Path
) -> None:
    clock = FakeClock()
    path = str(tmp_path / "dibs.db")
    task = {"type": "audit"}
    made: dict[str, Any] = {"task": task} if makes == "task" else {"dag": {"title": "Audit", "tasks": [task]}}
    with connect_sync(f"sqlite:{path}", clock=clock) as queue:
        queue.add_schedule("audit", every=60, overlap="cancel", **made)
    for at in range(1, 40):
        clock.advance(60)
        ended = exit_of(_die, path, clock(), at, after)
        with connect_sync(f"sqlite:{path}", clock=clock) as queue:
            queue.run_duties()
            clock.advance(2)
            queue.run_duties()
            clock.advance(-2)
            found = [item.key or item.dag_id for item in queue.find(type="audit", limit=1000).items]
            assert len(found) == len(set(found)) == at
            live = queue.find(status="ready", limit=1000).items
            assert len(live) == 1, "what was made before is cancelled"
            schedule = queue.get_schedule("audit")
            assert (schedule.made, schedule.firing) == (at, ())
        if ended == 0:
            break
    assert ended == 0, "it never came to an end"
    assert at > 5
