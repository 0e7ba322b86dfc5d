"""How waits are judged: whoever is passed over has waited; whoever stood still with everybody else has not."""

from __future__ import annotations

from tests.proofs.crowd import longest_wait


def writes(count: int, each_s: float, start: float = 0.0) -> list[tuple[float, float]]:
    return [(start + number * each_s, start + (number + 1) * each_s) for number in range(count)]


def test_whoever_is_passed_over_again_and_again_has_waited() -> None:
    busy = [writes(100, 0.02), writes(100, 0.02, 0.001)]
    assert longest_wait([*busy, [(0.0, 1.5)]]) == 1.5


def test_whoever_stood_still_with_everybody_has_not() -> None:
    stalled = [[(0.0, 2.0), *writes(10, 0.01, 2.0)] for _ in range(3)]
    assert longest_wait(stalled) == 0


def test_on_a_slow_machine_everybody_takes_long_and_nobody_is_passed_over() -> None:
    assert longest_wait([writes(20, 1.2, 0.1 * number) for number in range(16)]) == 0
