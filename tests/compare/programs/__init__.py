"""All programs, in the order in which they run: 300, whatever the store; some need a store that processes can share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.compare.programs import elsewhere, routes, shell, stories, tools, walks, work

if TYPE_CHECKING:
    from tests.compare.program import Program

COUNT = 300
_TOLD = (*(*stories.PROGRAMS, *routes.PROGRAMS, *shell.PROGRAMS, *tools.PROGRAMS, *work.PROGRAMS, *elsewhere.PROGRAMS),)
PROGRAMS: tuple[Program, ...] = (*_TOLD, *walks.of_seeds(range(COUNT - len(_TOLD))))
"""What is told by hand, and walks for the rest."""


def chosen(store: str, only: str = "") -> list[Program]:
    """The programs that can run on a store; with `only`, those whose kind, or kind and name, begins so."""
    words = [word.strip() for word in only.split(",") if word.strip()]
    return [
        each
        for each in PROGRAMS
        if store in each.stores and (not words or any(f"{each.kind} {each.name}".startswith(word) for word in words))
    ]
