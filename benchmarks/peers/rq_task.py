"""The task of RQ, which imports it by its name."""

from __future__ import annotations

import kit


def noop(number: int) -> None:
    kit.hit(number)
    if kit.HANGING:
        kit.hang()
