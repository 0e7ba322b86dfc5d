"""Everything dies: workers by `kill -9` every second, the server by stopping, crashing and `kill -9`. Nothing is lost.

Takes $DIBS_CHAOS_S seconds of trouble (default 40), then as long as the rest takes to drain.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import dibs
from tests.servers import postgres

if TYPE_CHECKING:
    from pathlib import Path

TROUBLE_S = float(os.environ.get("DIBS_CHAOS_S", "40"))
WORKERS = 8
RESTART_EVERY_S = 10.0
ENDINGS = ("fast", "immediate", "kill -9")


class Fleet:
    """Workers in processes of their own; one that is killed is followed by another."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self.runs = folder / "runs.log"
        self.said = folder / "workers.log"
        self._draw = random.Random(11)
        self._workers = [self._start() for _ in range(WORKERS)]
        self.killed = 0

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dibs", "worker", "tests.proofs.chaos_app:app", "--url", self._url]
        with self.said.open("ab") as said:
            return subprocess.Popen(
                [*command, "--concurrency", "4", "--lease", "5s"],
                env={**os.environ, "CHAOS_LOG": str(self.runs)},
                stdout=said,
                stderr=said,
                start_new_session=True,
            )

    def kill_one(self) -> None:
        victim = self._draw.randrange(WORKERS)
        self._end(self._workers[victim])
        self._workers[victim] = self._start()
        self.killed += 1

    def end(self) -> None:
        for worker in self._workers:
            self._end(worker)

    @staticmethod
    def _end(worker: subprocess.Popen[bytes]) -> None:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


class Producer(threading.Thread):
    """Adds tasks all the time. What `add` answered was accepted; an id it was not answered for may exist or not."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self.accepted: list[str] = []
        self.refused: list[str] = []
        self.enough = threading.Event()

    def run(self) -> None:
        with dibs.connect_sync(self._url) as queue:
            for i in itertools.count():
                if self.enough.is_set():
                    return
                try:
                    self.accepted += [task.id for task in queue.add_many([dibs.NewTask("steps", {"i": i})] * 4)]
                except dibs.Unavailable as error:
                    self.refused.append(str(error))
                time.sleep(0.05)  # about 80 tasks a second


def _in_trouble(server: postgres.Server, fleet: Fleet) -> int:
    """Kill a worker every second and the server every ten. How often the server went away."""
    endings = itertools.cycle(ENDINGS)
    away = 0
    end = time.monotonic() + TROUBLE_S
    restart_at = time.monotonic() + RESTART_EVERY_S / 2
    while time.monotonic() < end:
        time.sleep(1)  # the rhythm of the killing
        fleet.kill_one()
        if time.monotonic() > restart_at:
            restart_at = time.monotonic() + RESTART_EVERY_S
            ending = next(endings)
            if ending == "kill -9":
                server.kill()
            else:
                server.stop(ending)
            server.start()
            away += 1
    return away


@pytest.mark.alone
@pytest.mark.timeout(TROUBLE_S + 240)
def test_workers_and_servers_that_die_all_the_time_lose_nothing_and_settle_nothing_twice(tmp_path: Path) -> None:
    with postgres.private() as server:
        url = server.url()
        with dibs.connect_sync(url) as queue:
            queue.stats()
        producer, fleet = Producer(url), Fleet(url, tmp_path)
        producer.start()
        try:
            away = _in_trouble(server, fleet)
            producer.enough.set()
            producer.join()
            with dibs.connect_sync(url) as queue:
                _until_all_ended(queue)
        finally:
            producer.enough.set()
            producer.join()
            fleet.end()
        assert away >= 2
        assert fleet.killed >= 10
        assert not producer.refused, "a server that is away for a second is waited for"
        with dibs.connect_sync(url) as queue:
            _check(queue, set(producer.accepted), fleet)


def _until_all_ended(queue: dibs.SyncQueue) -> None:
    end = time.monotonic() + 180
    while time.monotonic() < end:
        counts = queue.stats().by_status
        if set(counts) <= {"completed", "dead_lettered", "cancelled"}:
            return
        time.sleep(0.5)  # a look now and then
    pytest.fail(f"not drained: {counts}")


def _check(queue: dibs.SyncQueue, accepted: set[str], fleet: Fleet) -> None:
    lines = [line.split(maxsplit=2) for line in fleet.runs.read_text().splitlines()]
    errors = [line for line in lines if line[0] == "error"]
    assert not errors, f"handlers were told of trouble: {errors[:3]}"
    completions: Counter[str] = Counter()
    cursor = 0
    while batch := queue.read_events(cursor, 1_000):
        completions.update(e.task_id for e in batch if e.type == "task.completed" and e.task_id)
        assert not [e for e in batch if e.type == "task.dead_lettered"]
        cursor = batch[-1].seq
    assert accepted <= set(completions), "what was accepted was done"
    assert set(completions.values()) == {1}, "and settled once"
    assert queue.stats().by_status == {"completed": len(completions)}
    ran = Counter(line[1] for line in lines if line[0] == "ran")
    assert set(completions) <= set(ran), "the count outside the store knows every task"
    paid = Counter(line[1] for line in lines if line[0] == "paid")
    repeated = {task for task, count in paid.items() if count > ran[task]}
    assert not repeated, "a step that was recorded is not paid for again"
    said = fleet.said.read_text(errors="replace")
    assert "Traceback" not in said, said[said.index("Traceback") :][:3_000]
