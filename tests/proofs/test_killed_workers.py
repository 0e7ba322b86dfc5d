"""`kill -9` as a way of life: workers die every second, and every task still ends completed, once."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import dibs
from tests.proofs.crowd import Forked, shell

if TYPE_CHECKING:
    from pathlib import Path

TASKS = 2_000
WORKERS = 2


def _start_worker(url: str, log: Path) -> Forked:
    command = ("worker", "tests.proofs.chaos_app:app", "--url", url, "--concurrency", "2", "--lease", "8s")
    return Forked(shell, *command, env={**os.environ, "CHAOS_LOG": str(log)})


@pytest.mark.timeout(240)
def test_killing_a_worker_every_second_loses_nothing_and_settles_nothing_twice(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'dibs.db'}"
    log = tmp_path / "runs.log"
    draw = random.Random(7)
    with dibs.connect_sync(url) as queue:
        ids: set[str] = set()

        def add() -> None:
            ids.update(task.id for task in queue.add_many([dibs.NewTask("short", {"i": i}) for i in range(TASKS)]))

        add()
        workers = [_start_worker(url, log) for _ in range(WORKERS)]
        killed = 0
        try:
            until = time.monotonic() + 180
            while time.monotonic() < until and queue.stats().by_status.get("completed", 0) < len(ids):
                time.sleep(1)  # the rhythm of the killing
                if killed < 2 and queue.stats().by_status.get("ready", 0) < TASKS / 2:
                    add()  # whoever kills was kept from it
                written = _written(log)
                at_work = [number for number in range(WORKERS) if f" {workers[number].pid}\n" in written]
                if not at_work:
                    continue  # where a worker takes longer than that to start, nobody would ever work
                victim = draw.choice(at_work)
                workers[victim].kill()
                killed += 1
                workers[victim] = _start_worker(url, log)
        finally:
            for worker in workers:
                worker.kill()
        assert queue.stats().by_status == {"completed": len(ids)}
        assert killed >= 2, "the tasks were over before anybody was killed"

        ran = Counter(line.split()[1] for line in log.read_text().splitlines())
        assert set(ran) == ids, "the count outside the store knows every task"
        completions: Counter[str] = Counter()
        cursor = 0
        while batch := queue.read_events(cursor, 1_000):
            completions.update(e.task_id for e in batch if e.type == "task.completed" and e.task_id)
            assert not [e for e in batch if e.type == "task.dead_lettered"]
            cursor = batch[-1].seq
        assert set(completions) == ids
        assert set(completions.values()) == {1}
        for id in ids:
            if ran[id] > 1:
                assert sum(attempt.outcome == "completed" for attempt in queue.history(id)) == 1
        assert not [task for task in _all(queue) if task.poison_pill]


def _written(log: Path) -> str:
    return log.read_text() if log.exists() else ""


def _all(queue: dibs.SyncQueue) -> list[dibs.Task]:
    tasks: list[dibs.Task] = []
    cursor = None
    while True:
        page = queue.find(limit=1_000, cursor=cursor)
        tasks += page.items
        cursor = page.cursor
        if cursor is None:
            return tasks
