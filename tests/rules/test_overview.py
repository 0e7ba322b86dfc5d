"""What stands out when somebody looks at everything."""

from __future__ import annotations

from dibs.model.instants import from_micros
from dibs.model.task import Task
from dibs.model.views import Budget
from dibs.rules.overview import is_stalled, pace
from dibs.rules.spending import Sum

SECOND = 1_000_000


def held(claimed: int, ends: int, renewed: int | None = None) -> Task:
    return Task(
        id="task_1",
        type="a",
        claimed_at=from_micros(claimed * SECOND),
        renewed_at=None if renewed is None else from_micros(renewed * SECOND),
        lease_expires_at=from_micros(ends * SECOND),
    )


def test_a_lease_of_which_less_than_a_third_is_left_is_stalled() -> None:
    assert not is_stalled(held(0, 60), 40 * SECOND)
    assert is_stalled(held(0, 60), 40 * SECOND + 1)
    assert is_stalled(held(0, 60), 100 * SECOND)
    assert not is_stalled(held(0, 90, renewed=30), 70 * SECOND)


def test_nobody_holds_a_task_without_a_lease() -> None:
    assert not is_stalled(Task(id="task_1", type="a"), 0)
    assert not is_stalled(Task(id="task_1", type="a", lease_expires_at=from_micros(1)), 0)


def test_without_costs_there_is_no_pace() -> None:
    found = pace([], [], [Budget(scope="global", limit=5, left=5)], 0)
    assert (found.spent_usd, found.unpriced, found.per_hour_usd) == (None, 0, None)
    assert (found.scope, found.left_usd, found.cap_in_s) == ("global", 5, None)
    assert pace([], [], [], 0).scope is None


def test_the_budget_that_is_used_up_first_is_told() -> None:
    today = [Sum(0, "a", 2, 3.0), Sum(0, "b", 1, None, 1)]
    hour = [Sum(0, "a", 1, 1.0), Sum(0, "b", 1, None, 1)]
    everything = Budget(scope="global", limit=20, left=10)
    one = Budget(scope="type:a", limit=4, left=0.5)
    others = [Budget(scope="type:a", unit="tokens", left=1), Budget(scope="user:grace", left=0), Budget(scope="type:z")]
    found = pace(today, hour, [everything, one, *others], 0)
    assert (found.spent_usd, found.unpriced, found.per_hour_usd) == (3.0, 1, 1.0)
    assert (found.scope, found.limit_usd, found.left_usd, found.cap_in_s) == ("type:a", 4, 0.5, 1800)
    assert pace(today, hour, [everything, Budget(scope="type:b", left=1)], 0).scope == "global"
    assert pace(today, hour, [Budget(scope="type:a", left=-1)], 0).cap_in_s == 0


def test_a_budget_that_begins_anew_before_it_is_used_up_has_no_end_in_sight() -> None:
    hour = [Sum(0, "a", 1, 1.0)]
    daily = Budget(scope="type:a", limit=4, left=2, window="day", ends_at=from_micros(7200 * SECOND))
    assert pace(hour, hour, [daily], 0).cap_in_s == 7200
    assert pace(hour, hour, [daily], 1).cap_in_s is None
