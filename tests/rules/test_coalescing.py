"""When a task gathers with others, and how many go together."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dibs.model.status import Status
from dibs.model.task import Task
from dibs.rules.coalescing import MOST, gathers, room_for_members

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def task(**options: object) -> Task:
    known = {"status": Status.SCHEDULED, "coalesce_key": "k", "run_after": NOON, "gathers_until": NOON, **options}
    return Task(id="task_1", type="note", **known)  # type: ignore[arg-type]


def test_a_task_gathers_while_it_is_scheduled_for_the_end_of_its_window() -> None:
    assert gathers(task())


@pytest.mark.parametrize(
    "options",
    [
        {"status": Status.READY},
        {"status": Status.PENDING},
        {"status": Status.RETRYING},
        {"gathers_until": None},
        {"run_after": NOON + timedelta(hours=1)},
        {"run_after": None, "gathers_until": None},
    ],
)
def test_a_task_that_waits_for_something_else_does_not_gather(options: dict[str, object]) -> None:
    assert not gathers(task(**options))


def test_a_group_has_at_most_so_many() -> None:
    assert room_for_members(taken=1, most=None) == MOST - 1
    assert room_for_members(taken=1, most=10_000) == MOST - 1


def test_an_agent_gets_no_more_of_a_group_than_it_may_hold() -> None:
    assert room_for_members(taken=1, most=4) == 3
    assert room_for_members(taken=4, most=4) == 0
    assert room_for_members(taken=7, most=4) == 0
