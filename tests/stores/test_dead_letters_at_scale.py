"""Ten thousand dead letters are a handful of groups, at once, on every store that keeps them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from dibs.model.review import Resolution
from dibs.model.status import Status
from dibs.model.task import NewTask, Task
from dibs.rules.retry import fingerprint
from dibs.stores.values import Settlement
from dibs.sync import SyncQueue, connect_sync

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 10_000
QUICK_S = 3.0
"""A tenth of this is usual; nothing that goes through tasks one by one comes near it."""


def bury(queue: SyncQueue, count: int) -> None:
    """So many dead letters of five types, each of which fails in two ways."""
    from dibs.model.status import Outcome

    queue.add_many([NewTask("abcde"[number % 5], {"text": "x" * 200}) for number in range(count)])
    while claims := queue.claim("ada", limit=1000):
        errors = [f"row {number} is {'odd' if number % 2 else 'bad'}" for number in range(len(claims))]
        queue.settle(
            [
                Settlement(
                    task_id=claim.task.id,
                    fence=claim.fence,
                    outcome=Outcome.FAILED,
                    next=Status.DEAD_LETTERED,
                    digest="d",
                    reason="error",
                    error=error,
                    fingerprint=fingerprint("error", error),
                )
                for claim, error in zip(claims, errors, strict=True)
            ]
        )


@pytest.mark.parametrize("store", ["memory", "sqlite", "postgres"])
def test_ten_thousand_dead_letters_come_out_as_ten_groups(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = {"memory": "memory:", "sqlite": f"sqlite:{tmp_path / 'dibs.db'}"}.get(store)
    with connect_sync(url or request.getfixturevalue("postgres_url")) as queue:
        bury(queue, COUNT)
        took_s = []
        for _ in range(3):
            began = time.monotonic()
            groups = queue.dead_letters()
            took_s.append(time.monotonic() - began)
        assert [group.count for group in groups] == [1000] * 10
        assert min(took_s) < QUICK_S
        ids = queue.dead_letter_ids(type="a", fingerprint=groups[0].fingerprint)
        assert len(ids) == 1000
        answers = queue.review_many(ids[:300], Resolution.KEPT, by="grace")
        assert all(isinstance(answer, Task) for answer in answers)
        [group] = queue.dead_letters(type="a", fingerprint=groups[0].fingerprint)
        assert (group.count, group.unreviewed) == (1000, 700)
