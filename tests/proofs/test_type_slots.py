"""Slots of a type hold however many processes race for them, and however their holders end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import dibs
from dibs.sync import drive
from tests.proofs.crowd import let_loose
from tests.proofs.holder import end_soon, holding

if TYPE_CHECKING:
    from pathlib import Path

AGENTS = 20

# A process that claims again and again, three at a time, and settles what it got, until the queue is empty.
WORK = """
import sys, time, dibs

with dibs.connect_sync(sys.argv[1]) as queue:
    print("ready", flush=True)
    sys.stdin.readline()
    most = 0
    while queue.find(status=("ready", "running", "retrying"), limit=1).items:
        claims = queue.claim(f"agent-{sys.argv[2]}", limit=3, lease=600)
        if claims:
            [slots] = queue.type_slots()
            most = max(most, slots.held)
        for number, claim in enumerate(claims):
            if number % 2:
                queue.release(claim)
            else:
                queue.complete(claim)
    print(most, flush=True)
"""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'dibs.db'}"
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.mark.timeout(300)
def test_twenty_processes_never_hold_more_than_three_slots(url: str) -> None:
    with dibs.connect_sync(url) as queue:
        queue.set_slots(type="render", slots=3)
        queue.add_many([dibs.NewTask("render", boost=boost) for boost in (0, 0.1) for _ in range(60)])
        with let_loose(WORK, [(url, number) for number in range(AGENTS)]) as processes:
            most = [int(process.communicate(timeout=240)[0]) for process in processes]
        assert max(most) == 3
        [slots] = queue.type_slots()
        assert slots.held == 0
        assert queue.stats().by_status["completed"] == 120
        assert drive(queue.queue.store.check()) == []


def test_the_slot_of_a_killed_holder_is_free_after_its_lease(url: str) -> None:
    with dibs.connect_sync(url) as queue:
        queue.set_slots(type="render", slots=1)
        first, second = queue.add_many([dibs.NewTask("render", max_attempts=1) for _ in range(2)])
        with holding("claim", url) as (_, claimed):
            assert claimed == first.id
            assert queue.claim("next") == []
        assert queue.claim("next") == [], "its lease lasts longer than it"
        end_soon(queue, first.id)
        [claim] = queue.claim("next", wait=60)
        assert claim.task.id == second.id
