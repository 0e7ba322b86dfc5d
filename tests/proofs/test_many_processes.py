"""Many processes on one SQLite file: nothing is taken twice, nothing is lost, nobody starves."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import dibs
from dibs import settling
from dibs.model.status import Status
from tests.proofs.crowd import Pulse, longest_wait, run_crowd

if TYPE_CHECKING:
    from pathlib import Path

PROCESSES = 16
FEW = 30
pytestmark = pytest.mark.timeout(300)  # So many processes take their time to start.


def _claim_all(url: str, agent: str) -> list[tuple[str, int]]:
    taken = []
    with dibs.connect_sync(url) as queue:
        while claims := queue.claim(agent, limit=7):
            for claim in claims:
                queue.complete(claim, {"by": agent})
                taken.append((claim.task.id, claim.fence))
    return taken


def test_sixteen_processes_claim_every_task_once(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'dibs.db'}"
    with dibs.connect_sync(url) as queue:
        ids = {task.id for task in queue.add_many([dibs.NewTask("work", {"i": i}) for i in range(2_000)])}
        taken = run_crowd(tmp_path, _claim_all, [(url, f"agent-{n}") for n in range(PROCESSES)])
        counted = Counter(task_id for process in taken for task_id, _ in process)
        assert set(counted) == ids
        assert set(counted.values()) == {1}
        assert {fence for process in taken for _, fence in process} == {1}
        assert queue.stats().by_status == {"completed": 2_000}


def _add_with_one_key(url: str, times: int) -> list[str]:
    async def add_together() -> list[str]:
        async with dibs.connect(url) as queue:
            tasks = await asyncio.gather(*(queue.add("once", {"pr": 123}, key="pr-123") for _ in range(times)))
            return [task.id for task in tasks]

    return asyncio.run(add_together())


def test_fifty_concurrent_adds_with_one_key_make_one_task_and_fifty_equal_answers(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'dibs.db'}"
    answers = run_crowd(tmp_path, _add_with_one_key, [(url, 5)] * 10)
    ids = [task_id for process in answers for task_id in process]
    assert len(ids) == 50
    assert len(set(ids)) == 1
    with dibs.connect_sync(url) as queue:
        assert [task.id for task in queue.find(type="once").items] == ids[:1]


def _complete_side(url: str, side: str, expected: int) -> int:
    done = 0
    with dibs.connect_sync(url) as queue:
        while done < expected:
            for claim in queue.claim(side, types=[side], limit=3, wait=5):
                queue.complete(claim, {"side": side})
                done += 1
    return done


def test_a_diamond_completed_concurrently_two_thousand_times_joins_once_each_time(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'dibs.db'}"
    rounds = 2_000
    with dibs.connect_sync(url) as queue:
        joins = []
        for start in range(0, rounds, 500):
            specs = []
            for i in range(start, start + 500):
                specs += [
                    dibs.NewTask("left", ref=f"left-{i}"),
                    dibs.NewTask("right", ref=f"right-{i}"),
                    dibs.NewTask("join", ref=f"join-{i}", after=[f"left-{i}", f"right-{i}"]),
                ]
            joins += [task.id for task in queue.add_many(specs) if task.type == "join"]
        done = run_crowd(tmp_path, _complete_side, [(url, "left", rounds), (url, "right", rounds)])
        assert done == [rounds, rounds]

        claimed: Counter[str] = Counter()
        while claims := queue.claim("joiner", types=["join"], limit=500):
            for claim in claims:
                assert [output["side"] for _, output in sorted(claim.inputs.items())] == ["left", "right"]
                claimed[claim.task.id] += 1
            queue.settle([settling.completed(claim) for claim in claims])
        assert set(claimed) == set(joins)
        assert set(claimed.values()) == {1}
        ready: Counter[str] = Counter()
        cursor = 0
        while batch := queue.read_events(cursor, 500):
            ready.update(event.task_id for event in batch if event.type == "task.ready" and event.task_id)
            cursor = batch[-1].seq
        assert {ready[id] for id in joins} == {1}


def _hammer(url: str, agent: str, for_s: float) -> list[tuple[float, float, float]]:
    """When each of its writes began and ended, and how long it was awake meanwhile."""
    writes: list[tuple[float, float]] = []
    with dibs.connect_sync(url) as queue, Pulse() as pulse:
        # Time for others to be quicker, and writes enough to compare.
        while pulse.awake_s < for_s or len(writes) < FEW:
            started = time.monotonic()
            queue.add("noise", {"by": agent})
            added = time.monotonic()
            claims = queue.claim(agent)
            claimed = time.monotonic()
            writes += [(started, added), (added, claimed)]
            for claim in claims:
                queue.complete(claim)
                writes.append((claimed, time.monotonic()))
    return pulse.waits(writes)


@pytest.mark.alone
def test_no_write_waits_a_second_while_sixteen_processes_hammer_one_file(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'dibs.db'}"
    with dibs.connect_sync(url) as queue:
        crowd = run_crowd(tmp_path, _hammer, [(url, f"agent-{n}", 5.0) for n in range(PROCESSES)])
        longest = longest_wait(crowd)
        counts = [len(writes) for writes in crowd]
        assert longest < 1.0, f"the longest wait for a write was {longest:.2f} s"
        assert min(counts) > sum(counts) / PROCESSES / 5, f"a process starved: {sorted(counts)}"
        assert queue.stats().by_status.keys() <= {Status.COMPLETED, Status.READY}
