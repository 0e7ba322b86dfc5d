"""A handler that asks a person, killed at every point before and after the answer, asks once and gets the answer."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import dibs
from tests.proofs.crowd import exit_of
from tests.proofs.dying_worker import run, work

if TYPE_CHECKING:
    from pathlib import Path

POINTS = 30


def _answer(url: str) -> int:
    """Answer whatever is open; how much that was."""
    with dibs.connect_sync(url) as queue:
        questions = queue.inbox()
        for question in questions:
            queue.answer(question, "red", by="grace")
        return len(questions)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("answered", [False, True], ids=["unanswered", "answered"])
def test_a_handler_killed_at_every_point_asks_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, answered: bool
) -> None:
    for point in range(1, POINTS):
        url = f"sqlite:{tmp_path / f'{point}.db'}"
        paid = tmp_path / f"{point}.paid"
        monkeypatch.setenv("PAID_LOG", str(paid))
        with dibs.connect_sync(url) as queue:
            task = queue.add("asker")
        if answered:
            asyncio.run(work(url, 0, when, 0))
            assert _answer(url) == 1
        died = exit_of(run, url, point, when, 0)
        assert died in (0, -signal.SIGKILL)
        # The lease of the dead is over: who comes later asks, if nobody has, and goes on if there is an answer.
        asyncio.run(work(url, 0, when, 3_600))
        assert _answer(url) == (0 if answered else 1)
        asyncio.run(work(url, 0, when, 7_200))
        with dibs.connect_sync(url) as queue:
            ended = queue.get(task.id)
            assert (ended.status, ended.output) == ("completed", "paid for red"), (point, queue.why(task.id))
            assert len(queue.questions_of(task.id)) == 1, f"killed {when} call {point}"
        bought = Counter(paid.read_text().split())
        assert bought.total() <= 3, "at most the one step that was cut off is paid twice"
        if died == 0:
            return
    pytest.fail("the handler has more points than were tried")
