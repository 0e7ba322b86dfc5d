"""When a request that was not answered is made again."""

from __future__ import annotations

import pytest

from dibs.rules import repeating


@pytest.mark.parametrize(
    ("heard", "safe", "known", "again"),
    [
        (False, False, True, True),
        (False, True, True, True),
        (True, True, True, True),
        (True, True, False, True),
        (True, False, True, False),
        (False, True, False, False),
    ],
)
def test_what_reached_nobody_or_does_no_harm_twice_is_said_again(
    heard: bool, safe: bool, known: bool, again: bool
) -> None:
    assert repeating.is_made_again(heard=heard, safe=safe, known=known, waited_s=1.0) is again


@pytest.mark.parametrize("heard", [True, False])
def test_nobody_waits_for_ever(heard: bool) -> None:
    late = repeating.PATIENCE_S
    assert not repeating.is_made_again(heard=heard, safe=True, known=True, waited_s=late)
    assert repeating.is_made_again(heard=heard, safe=True, known=True, waited_s=late, patience_s=late + 1)


def test_pauses_grow_to_a_limit_and_differ_between_clients() -> None:
    assert [repeating.pause_s(tries, 0.5) for tries in range(4)] == [0.05, 0.1, 0.2, 0.4]
    assert repeating.pause_s(1_000, 0.5) == repeating.LONGEST_PAUSE_S
    assert repeating.pause_s(3, 0.0) == pytest.approx(0.2)
    assert repeating.pause_s(3, 1.0) == pytest.approx(0.6)


def test_a_server_that_asks_for_more_time_gets_it() -> None:
    assert repeating.pause_s(0, 0.5, asked_s=3.0) == 3.0
    assert repeating.pause_s(6, 0.5, asked_s=0.1) == 2.0
