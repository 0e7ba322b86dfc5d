"""Whoever holds a lock is killed: the next one gets it when the lease is over, and nothing stays held."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import dibs
from dibs.sync import drive
from tests.proofs.holder import SOON_S, end_soon, holding

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'dibs.db'}"
    found: str = request.getfixturevalue("postgres_url")
    return found


def test_a_lock_of_a_killed_holder_goes_to_the_next_after_its_lease(url: str) -> None:
    with dibs.connect_sync(url) as queue:
        first, second = queue.add_many([dibs.NewTask("job", locks=["repo"], max_attempts=1) for _ in range(2)])
        with holding("claim", url) as (_, claimed):
            assert claimed == first.id
            assert queue.claim("next") == []
        assert queue.claim("next") == [], "its lease lasts longer than it"
        end_soon(queue, first.id)
        [claim] = queue.claim("next", wait=60)
        assert claim.task.id == second.id
        [attempt] = queue.history(first.id)
        assert attempt.started_at is not None
        assert attempt.ended_at is not None
        held_s = (attempt.ended_at - attempt.started_at).total_seconds()
        assert held_s >= SOON_S, "the lock was taken from somebody who held it"
        queue.complete(claim)
        assert queue.get(first.id).status == "dead_lettered"
        assert queue.locks() == []
        assert drive(queue.queue.store.check()) == []


def test_so_does_a_lock_on_redis(redis_url: str) -> None:
    test_a_lock_of_a_killed_holder_goes_to_the_next_after_its_lease(redis_url)
