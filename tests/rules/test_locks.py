"""Who is let in by a lock, and where a task waits."""

from __future__ import annotations

import pytest

from dibs.rules.locks import admits, first_closed


@pytest.mark.parametrize(
    ("slots", "taken", "reserved_for", "let_in"),
    [
        (1, 0, None, True),
        (1, 1, None, False),
        (3, 2, None, True),
        (1, 2, None, False),
        (1, 0, 7, True),
        (1, 0, 8, False),
    ],
)
def test_a_lock_admits_a_task_while_a_slot_is_free_and_not_kept_for_another(
    slots: int, taken: int, reserved_for: int | None, let_in: bool
) -> None:
    assert admits(slots=slots, taken=taken, reserved_for=reserved_for, number=7) is let_in


def test_a_task_waits_at_the_first_lock_by_name_that_does_not_admit_it() -> None:
    assert first_closed(["c", "a", "b"], lambda name: name == "a") == "b"
    assert first_closed(["c", "a"], lambda _: True) is None
    assert first_closed([], lambda _: False) is None
