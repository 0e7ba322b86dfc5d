"""What attempts used, added up."""

from __future__ import annotations

from dibs.rules.usage import plus


def test_what_is_known_is_added_up() -> None:
    assert plus(2, 3) == 5
    assert plus(0.25, 0.5) == 0.75


def test_unknown_is_not_zero() -> None:
    assert plus(None, 3) == 3
    assert plus(3, None) == 3
    assert plus(None, 0) == 0
    assert plus(None, None) is None
