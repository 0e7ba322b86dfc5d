"""Work that was handed in is never done again: whoever is killed, at whatever write, before or after it."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from tests.proofs.crowd import exit_of
from tests.proofs.dying_judges import run, work

if TYPE_CHECKING:
    from pathlib import Path

POINTS = 60
EXPECTS: dict[str, Any] = {"validation": ["judge", "human"], "rubric": "It is about tea.", "criteria": ["tea"]}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("when", ["before", "after"])
def test_work_that_was_handed_in_is_done_once_and_decided_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    survived = 0
    for point in range(1, POINTS):
        url = f"sqlite:{tmp_path / f'{point}.db'}"
        done = tmp_path / f"{point}.done"
        monkeypatch.setenv("DONE_LOG", str(done))
        with dibs.connect_sync(url) as queue:
            task = queue.add("poem", {"about": "tea"}, expects=EXPECTS)
        died = exit_of(run, url, point, when, 0)
        assert died in (0, -signal.SIGKILL)
        with dibs.connect_sync(url) as queue:
            handed_in = bool(queue.history(task.id))
        # The leases of the dead are over.
        asyncio.run(work(url, 0, when, 3_600))
        with dibs.connect_sync(url) as queue:
            ended = queue.get(task.id)
            assert (ended.status, ended.output) == ("completed", "a poem about tea"), (point, queue.why(task.id))
            told = [event.type for event in queue.read_events(limit=1_000) if event.task_id == task.id]
            assert told.count("task.completed") == 1
            assert told.count("task.validating") == 1
        times = Counter(done.read_text().split())
        if handed_in:
            survived += died != 0
            assert times["wrote"] == 1, f"killed {when} write {point}"
        assert times["wrote"] <= 2
        assert times["judged"] <= 2
        if died == 0:
            assert survived >= 3, "it was killed at several points between the work and its judgement"
            return
    pytest.fail("there are more points than were tried")
