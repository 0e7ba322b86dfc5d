"""How far a claim reads each of its lanes at first: a guess, by where the tasks of the last claim came from.

Too little costs a second look, too much the reading of what stays where it is. The tasks of a lane often come in a row:
what a claim took last may tell more about the next one than all that it took.
"""

from __future__ import annotations

from collections import Counter

_FEWEST = 4
"""Of a lane that gave anything lately: what comes next there says whether it may be left out."""
_ROOM = 1.2
"""Times as many as were taken: the next claim is not quite like the last."""
_TELLING = 32
"""So many tasks say where the next ones are. Where claims are smaller, those of several do."""
_LATELY = 12
"""Claims."""


class Reach:
    """Where the claims of one agent found their tasks. Lanes go by their places, which are counted from 1."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._claims = 0
        self._gave: dict[int, int] = {}
        """When a lane last gave something, in claims."""
        self._taken: list[int] = []
        """The lanes of what was taken last."""

    def reads(self, limit: int) -> list[int] | None:
        """How many tasks to look at in each lane for a claim of so many; None: as many as are claimed."""
        if limit == 1 or self._lanes <= 1:
            return None
        taken = self._taken
        if not taken:
            return [2 + limit // self._lanes] * self._lanes
        found = [0] * self._lanes
        for place, claim in self._gave.items():
            if self._claims - claim < _LATELY:
                found[place - 1] = min(limit, _FEWEST)
        end = taken[-max(_TELLING, len(taken) // 3) :]
        for part in (taken, end):
            for place, count in Counter(part).items():
                guess = _FEWEST + int(_ROOM * limit * count / len(part))
                found[place - 1] = min(limit, max(found[place - 1], guess))
        return found

    def took(self, places: list[int]) -> None:
        """Remember which lanes a claim took its tasks from, best first."""
        self._claims += 1
        self._gave.update(dict.fromkeys(places, self._claims))
        self._taken = (self._taken + places)[-max(_TELLING, len(places)) :]
