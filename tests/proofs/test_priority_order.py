"""Priority order is exact, also with 200,000 tasks waiting."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import dibs
from dibs.model.instants import to_micros
from dibs.rules import priority
from dibs.sync import drive
from dibs.testing import FakeClock

if TYPE_CHECKING:
    from pathlib import Path

BOOSTS = [0, 0.01, 0.05, 0.1, 0.5, 1, 2, 10]


def _waiting(draw: random.Random, number: int) -> tuple[list[dibs.NewTask], list[dibs.NewTask]]:
    """Random tasks, those that stand alone and chains: every tenth heads one, so that critical paths differ."""
    alone, chained = [], []
    for i in range(number):
        deadline = draw.choice([None, None, None, draw.uniform(60, 3 * 3600)])
        spec = dibs.NewTask(
            draw.choice(["code", "research", "design"]),
            {"i": i},
            ref=None if i % 10 else f"t{i}",
            priority=draw.randint(0, 100),
            boost=draw.choice(BOOSTS),
            deadline=deadline,
        )
        if i % 10:
            alone.append(spec)
            continue
        chained.append(spec)
        above = f"t{i}"
        for link in range(draw.randint(1, 4)):
            below = f"t{i}-{link}"
            chained.append(dibs.NewTask("later", ref=below, after=[above]))
            above = below
    return alone, chained


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("store", "number", "take"), [("memory", 400, 400), ("sqlite", 400, 400), ("sqlite", 200_000, 3_000)]
)
def test_claims_come_out_in_the_order_of_effective_priority(tmp_path: Path, store: str, number: int, take: int) -> None:
    draw = random.Random(number)
    clock = FakeClock()
    url = "memory:" if store == "memory" else f"sqlite:{tmp_path / 'dibs.db'}"
    with dibs.connect_sync(url, clock=clock) as queue:
        waiting: dict[str, dibs.Task] = {}
        weight: dict[str, int] = {}
        for start in range(0, number, 5_000):
            alone, chained = _waiting(draw, min(5_000, number - start))
            below = Counter(str(spec.ref).split("-")[0] for spec in chained if spec.type == "later")
            # What stands alone is added in bulk if all of a call does; there are many.
            for task in (*queue.add_many(alone), *queue.add_many(chained)):
                if task.type != "later":
                    waiting[task.id] = task
                    weight[task.id] = below[task.ref] if task.ref else 0
            clock.advance(draw.uniform(1, 200))
        clock.advance(1_000)
        while drive(queue.queue.store.rerank(1_000)):
            pass

        def exact(task: dibs.Task) -> float:
            assert task.ready_at is not None
            return priority.exact_effective(
                task.priority,
                task.boost,
                to_micros(task.ready_at),
                weight[task.id],
                None if task.deadline is None else to_micros(task.deadline),
                clock(),
            )

        order: list[dibs.Task] = []
        while len(order) < take and (claims := queue.claim("agent", types=["code", "research", "design"], limit=100)):
            order += [claim.task for claim in claims]
        values = [exact(task) for task in order]
        for earlier, later in zip(range(len(values)), range(1, len(values)), strict=False):
            tolerance = 1.0 if order[earlier].deadline or order[later].deadline else 1e-6
            assert values[earlier] <= values[later] + tolerance, (order[earlier], order[later])
        taken = {task.id for task in order}
        worst = max(values)
        left = [exact(task) for id, task in waiting.items() if id not in taken]
        assert not left or min(left) >= worst - 1.0, "a better task was left waiting"
        plain = [value for value, task in zip(values, order, strict=True) if task.deadline is None]
        assert plain == sorted(plain)
