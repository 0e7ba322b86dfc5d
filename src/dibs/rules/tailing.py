"""Following a log of which only the end is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def unseen(before: Sequence[str], now: Sequence[str]) -> Sequence[str]:
    """The lines of `now` that came after those of `before`: the beginning may have been dropped meanwhile.

    Where both have many equal lines, as few as possible are taken for new.
    """
    if len(now) >= len(before) and list(now[: len(before)]) == list(before):
        return now[len(before) :]
    for length in range(min(len(before), len(now)), 0, -1):
        if before[-1] == now[length - 1] and list(before[-length:]) == list(now[:length]):
            return now[length:]
    return now
