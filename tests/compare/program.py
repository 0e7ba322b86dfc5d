"""A program: what it does through the surface that users see, and what it notes there.

It runs with the dibs of one version or another, so it imports nothing but what users import (and nothing of `tests`
that does). What it notes is plain data; masks and the comparison come later, in another process.
"""

from __future__ import annotations

import random
import shutil
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STORES = ("memory", "sqlite", "postgres", "redis")
IN_OTHER_PROCESSES = ("sqlite", "postgres", "redis")
"""Stores that a command from the shell can open beside us."""

ABSENT = "(not in this version)"


class Note(NamedTuple):
    """What was seen at one step."""

    step: str
    seen: Any


@dataclass
class Scene:
    """Where a program runs: an empty store, an empty folder, draws that are the same for every version."""

    store: str
    url: str
    folder: Path
    seed: int
    served_at: str = ""
    """Where a server is, for programs over HTTP; each has a project of its own there."""
    admin: str = ""
    """The token of its admin."""
    notes: list[Note] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def another(self, number: int) -> str:
        """The URL of another empty store."""
        if self.store != "sqlite":
            return f"{self.url}_{number}"
        path = self.folder.parent / f"{number}.db"
        shutil.copy(self.folder.parent / "empty.db", path)
        return f"sqlite:{path}"

    def note(self, step: str, seen: Any) -> None:
        """Keep what was seen at a step: text, numbers, lists and dicts."""
        self.notes.append(Note(step, seen))

    def absent(self, step: str) -> None:
        """Say that this version does not have what a step needs; it is listed, not compared."""
        self.notes.append(Note(step, ABSENT))


class Program(NamedTuple):
    """One program. `kind` groups the differences that are shown."""

    kind: str
    name: str
    run: Callable[[Scene], None]
    seed: int = 0
    stores: tuple[str, ...] = STORES


def play(program: Program, scene: Scene) -> list[Note]:
    """Run a program to its end, or to where it broke; the last note says which."""
    try:
        program.run(scene)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        scene.note("ended", f"in {last.name}: {type(error).__name__}: {error}")
    else:
        scene.note("ended", "well")
    return scene.notes
