"""A handler with steps and spawns, killed at every point in turn, pays once per step it finished and spawns once."""

from __future__ import annotations

import signal
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import dibs
from tests.proofs.crowd import exit_of
from tests.proofs.dying_worker import run

if TYPE_CHECKING:
    from pathlib import Path

POINTS = 60


@pytest.mark.timeout(300)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_handler_killed_at_every_point_spawns_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    survived = 0
    for point in range(1, POINTS):
        url = f"sqlite:{tmp_path / f'{point}.db'}"
        paid = tmp_path / f"{point}.paid"
        monkeypatch.setenv("PAID_LOG", str(paid))
        with dibs.connect_sync(url) as queue:
            task = queue.add("parent", {"goal": "page"})
        died = exit_of(run, url, point, when, 0)
        if died == 0:
            survived = point
        else:
            assert died == -signal.SIGKILL
            assert exit_of(run, url, 0, when, 3_600) == 0
        with dibs.connect_sync(url) as queue:
            ended = queue.get(task.id)
            assert ended.status == "completed", (point, queue.why(task.id))
            assert ended.output == {"plan": "paid for plan", "draft": "paid for draft", "parts": [10, 20]}
            kinds = Counter(each.type for each in queue.find(limit=100).items)
            assert kinds == {"parent": 1, "child": 2, "aside": 1}, f"killed {when} call {point}"
            bought = Counter(paid.read_text().split())
            assert bought.total() <= 3, "at most the one step that was cut off is paid twice"
        if survived:
            break
    assert survived, "the handler has more points than were tried"
