"""Workers that are killed and a producer that goes on adding, for proofs in which everything dies all the time."""

from __future__ import annotations

import itertools
import os
import random
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import dibs
from tests.proofs.crowd import Forked, shell

if TYPE_CHECKING:
    from pathlib import Path

WORKERS = 8


class Fleet:
    """Workers in processes of their own; one that is killed is followed by another."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self.runs = folder / "runs.log"
        self.said = folder / "workers.log"
        self._draw = random.Random(11)
        self._workers = [self._start() for _ in range(WORKERS)]
        self.killed: list[int] = []

    def _start(self) -> Forked:
        command = ("worker", "tests.proofs.chaos_app:app", "--url", self._url, "--concurrency", "4", "--lease", "8s")
        return Forked(shell, *command, said=self.said, env={**os.environ, "CHAOS_LOG": str(self.runs)})

    def kill_one(self) -> None:
        victim = self._draw.randrange(WORKERS)
        self.killed.append(self._workers[victim].pid)
        self._workers[victim].kill()
        self._workers[victim] = self._start()

    def end(self) -> None:
        for worker in self._workers:
            worker.kill()


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


def until_all_ended(queue: dibs.SyncQueue) -> None:
    end = time.monotonic() + 180
    while time.monotonic() < end:
        counts = queue.stats().by_status
        if set(counts) <= {"completed", "dead_lettered", "cancelled"}:
            return
        time.sleep(0.5)  # a look now and then
    pytest.fail(f"not drained: {counts}")


def _was_too_late(queue: dibs.SyncQueue, line: list[str]) -> bool:
    """Whether a handler was told that its lease is lost, and it was: a machine that stands still renews nothing."""
    _, task_id, pid, told = line
    ended = [attempt.agent.split(":")[1] for attempt in queue.history(task_id) if attempt.outcome == "expired"]
    return told.startswith("LeaseLost") and pid in ended


def check(queue: dibs.SyncQueue, accepted: set[str], fleet: Fleet) -> None:
    lines = [line.split(maxsplit=3) for line in fleet.runs.read_text().splitlines()]
    errors = [line for line in lines if line[0] == "error" and not _was_too_late(queue, line)]
    assert not errors, f"handlers were told of trouble: {errors[:3]}"
    completions: Counter[str] = Counter()
    unlucky: set[str] = set()
    cursor = 0
    while batch := queue.read_events(cursor, 1_000):
        completions.update(e.task_id for e in batch if e.type == "task.completed" and e.task_id)
        unlucky.update(e.task_id for e in batch if e.type == "task.dead_lettered" and e.task_id)
        cursor = batch[-1].seq
    for task_id in unlucky:
        attempts = queue.history(task_id)
        pids = [int(attempt.agent.split(":")[1]) for attempt in attempts]
        assert len(pids) == 3 and set(pids) <= set(fleet.killed), f"given up, though its workers lived: {attempts}"  # noqa: PT018
    assert accepted <= set(completions) | unlucky, "what was accepted was done, or killed its worker three times"
    assert not set(completions) & unlucky
    assert set(completions.values()) == {1}, "and settled once"
    given_up = {"dead_lettered": len(unlucky)} if unlucky else {}
    assert queue.stats().by_status == {"completed": len(completions)} | given_up
    ran = Counter(line[1] for line in lines if line[0] == "ran")
    assert set(completions) <= set(ran), "the count outside the store knows every task"
    paid = Counter(line[1] for line in lines if line[0] == "paid")
    repeated = {task for task, count in paid.items() if count > ran[task]}
    assert not repeated, "a step that was recorded is not paid for again"
    said = fleet.said.read_text(errors="replace")
    assert "Traceback" not in said, said[said.index("Traceback") :][:3_000]
