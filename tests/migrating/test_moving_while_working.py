"""A worker drains while everything moves beneath it, and whoever moves it is killed again and again."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import dibs

if TYPE_CHECKING:
    from pathlib import Path

MORE = 60
"""Tasks that are added before each step: about three seconds of work."""
PYTHON = [sys.executable, "-m", "dibs"]


def _migrate(source: str, target: str, *step: str, after_s: float | None = None) -> int:
    """Run one step; with `after_s` it is killed so many seconds after its start. Its exit code."""
    process = subprocess.Popen(
        [*PYTHON, "migrate", "--from", source, "--to", target, *step, "--json"], stdout=subprocess.DEVNULL
    )
    try:
        return process.wait(after_s if after_s is not None else 60)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


@pytest.mark.timeout(480)
@pytest.mark.parametrize("way", ["sqlite to postgres", "postgres to sqlite", "sqlite to redis"])
def test_nothing_is_lost_or_run_twice_while_everything_moves(
    way: str, tmp_path: Path, postgres_url: str, redis_url: str
) -> None:
    urls = {"sqlite": f"sqlite:{tmp_path / 'work.db'}", "postgres": postgres_url, "redis": redis_url}
    old, new = (urls[kind] for kind in way.split(" to "))
    log = tmp_path / "runs.log"
    log.touch()
    draw = random.Random(3)
    with dibs.connect_sync(old) as queue:
        added = 0

        def feed(times: int = 1) -> None:
            nonlocal added
            wanted = MORE * times
            queue.add_many([dibs.NewTask("work", {"seconds": 0.05 + 0.3 * draw.random()}) for _ in range(wanted)])
            added += wanted

        feed()
        worker = subprocess.Popen(
            [*PYTHON, "worker", "tests.migrating.moving_app:app", "--url", old, "--concurrency", "6", "--lease", "5m"],
            env={**os.environ, "MOVING_LOG": str(log)},
            start_new_session=True,
        )
        try:
            for after_s in (0.4, 0.6):
                _migrate(old, new, after_s=after_s)
            feed()
            _migrate(old, new, "--follow", after_s=1.5)
            assert _migrate(old, new) == 0
            feed()
            assert _migrate(old, new, "--shadow") == 0
            feed(3)
            # One that is killed may leave the old store closed: whoever works waits for the next.
            for after_s in (0.35, 0.45, 0.55, 0.65):
                _migrate(old, new, "--cutover", after_s=after_s)
            assert _migrate(old, new, "--cutover") == 0
            # Told nothing, whoever used the old store is in the new one.
            feed()
            assert queue.url.partition(":")[0] == new.partition(":")[0]
            _migrate(old, new, "--follow", after_s=1.0)
            feed(2)
            for after_s in (0.4, 0.5, 0.6):
                _migrate(old, new, "--rollback", after_s=after_s)
            assert _migrate(old, new, "--rollback") == 0
            feed()
            assert queue.url.partition(":")[0] == old.partition(":")[0]
            assert _migrate(old, new, "--cutover") == 0
            assert _migrate(old, new, "--finish") == 0
            until = time.monotonic() + 240
            while queue.stats().by_status != {"completed": added} and time.monotonic() < until:
                assert worker.poll() is None, "the worker is gone"
                time.sleep(0.2)  # tasks take their time
        finally:
            os.killpg(worker.pid, signal.SIGTERM)
            worker.wait(60)
        assert queue.stats().by_status == {"completed": added}
        assert queue.url.partition(":")[0] == new.partition(":")[0]
        runs = Counter(log.read_text().split())
        assert len(runs) == added
        assert [task for task, count in runs.items() if count > 1] == []
