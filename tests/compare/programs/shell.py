"""The shell itself: every page of help, and what is not a command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.compare.processes import command
from tests.compare.program import IN_OTHER_PROCESSES, Program

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.compare.program import Scene

PARTS = 4
BAD = (
    ("nothing-of-the-kind",),
    ("add",),
    ("add", "code", "--no-such-option"),
    ("add", "code", "--payload", "{"),
    ("show", "task_00000000000000000000000000"),
    ("complete", "task_00000000000000000000000000", "--fence", "x"),
    ("--version",),
    ("ls", "--url", "nothing:here"),
    ("ls", "--url", "http://127.0.0.1:9"),
)


def _help(part: int) -> Callable[[Scene], None]:
    def run(scene: Scene) -> None:
        overview = command(scene, "--help").out
        if part == 0:
            scene.note("dibs --help", overview.splitlines())
        names = sorted(set(re.findall(r"^  ([a-z0-9-]+) {2,}\S", overview, re.MULTILINE)))
        for name in names[part::PARTS]:
            page = command(scene, name, "--help")
            scene.note(f"dibs {name} --help", page.seen)
            for below in re.findall(rf"^  dibs {name} ([a-z-]+)(?: {{2,}}|$)", page.out, re.MULTILINE):
                scene.note(f"dibs {name} {below} --help", command(scene, name, below, "--help").seen)

    return run


def _bad(scene: Scene) -> None:
    for words in BAD:
        scene.note(f"dibs {' '.join(words)}", command(scene, *words).seen)
        scene.note(f"dibs {' '.join(words)} --json", command(scene, *words, "--json").seen)


PROGRAMS = (
    *(Program("help", f"pages {part + 1} of {PARTS}", _help(part), stores=("sqlite",)) for part in range(PARTS)),
    Program("shell", "what is no command, or not there", _bad, stores=IN_OTHER_PROCESSES),
)
