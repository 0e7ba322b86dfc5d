"""Locks on named things: a task that needs some gets all of them with its claim, or none.

A lock has slots, one unless somebody said otherwise. It *admits* a task while a slot is free, and while it is not
reserved for another. A ready task that one of its locks does not admit is *parked* there, so that claims do not look
at it again; when a slot becomes free, the best tasks parked there, of every lane, may try again.

A task that needs several locks could be passed over for ever by tasks that need one. So what has been parked for long
reserves its locks, in the order of their names: nobody else gets them, and they become free one after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.errors import Invalid
from dibs.rules.budgets import PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SLOTS = 1
"""What a lock admits at once, unless it was given more."""

MAX_SLOTS = 1_000_000
MAX_LOCKS = 20
"""How many locks one task may need."""

PASSED_OVER_S = 60.0
"""A task that was parked for so long reserves its locks."""

LOOKED_AT = 100
"""How many parked tasks of a lane are looked at when a slot becomes free. The duty looks again."""


def check_name(name: str, field: str) -> None:
    """Refuse a name that a task parked on a budget would seem to wait for."""
    if name.startswith(PREFIX):
        raise Invalid(f"{field} must not begin with {PREFIX}, which is kept for budgets: {name!r:.80}.", field=field)


def admits(*, slots: int, taken: int, reserved_for: int | None, number: int) -> bool:
    """Whether a lock lets this task (its number) in."""
    return taken < slots and reserved_for in (None, number)


def first_closed(names: Iterable[str], admitted: Callable[[str], bool]) -> str | None:
    """The lock that a task is parked on: the first, by name, that does not admit it. None: it gets them all."""
    return next((name for name in sorted(names) if not admitted(name)), None)
