"""Adding up what attempts used."""

from __future__ import annotations

from typing import TypeVar

Number = TypeVar("Number", int, float)


def plus(total: Number | None, used: Number | None) -> Number | None:
    """Both together. None is unknown, which is not zero: unknown and 3 are 3, unknown and unknown stay unknown."""
    if used is None:
        return total
    return used if total is None else total + used
