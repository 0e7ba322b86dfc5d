"""How far a claim reads its lanes: as far as the last one had to, and hardly where it found nothing."""

from __future__ import annotations

from dibs.stores.postgres.reaching import Reach


def test_one_lane_or_one_task_needs_no_guess() -> None:
    assert Reach(1).reads(100) is None
    assert Reach(50).reads(1) is None


def test_at_first_all_lanes_are_read_alike() -> None:
    assert Reach(50).reads(600) == [14] * 50


def test_lanes_are_read_as_far_as_the_last_claim_took_from_them() -> None:
    reach = Reach(4)
    reach.took([1] * 20 + [2, 3] * 40)
    first, second, third, fourth = reach.reads(100) or []
    assert 20 <= first < 40
    assert 40 <= second < 70
    assert 40 <= third < 70
    assert fourth == 0, "nothing was found there"


def test_what_was_taken_last_tells_most() -> None:
    reach = Reach(3)
    reach.took([1] * 400 + [2] * 200)
    first, second, third = reach.reads(600) or []
    assert first >= 400
    assert second == 600, "the next claim may find all its tasks there, and needs no more"
    assert third == 0


def test_small_claims_are_judged_together() -> None:
    reach = Reach(8)
    for _ in range(4):
        for place in range(1, 9):
            reach.took([place])
    assert reach.reads(8) == [5] * 8


def test_a_lane_that_gave_nothing_for_long_is_not_read() -> None:
    reach = Reach(2)
    reach.took([1, 2] * 50)
    for _ in range(11):
        reach.took([1] * 100)
    assert (reach.reads(100) or [])[1] > 0
    reach.took([1] * 100)
    assert (reach.reads(100) or [])[1] == 0


def test_nobody_reads_more_than_is_claimed() -> None:
    reach = Reach(2)
    reach.took([1] * 50)
    assert reach.reads(3) == [3, 0]
