"""The two sides of a comparison: versions of dibs, each in a process of its own that is told what to do next."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import versions
from benchmarks.children import ROOT, Child, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.operations.operation import Operation
    from benchmarks.operations.places import Place

TREE = "tree"
"""Who runs the working tree; also what its rows are kept under."""
ANSWER_LIMIT_S = 600.0


class Failed(RuntimeError):
    """An operation that this version cannot do; says why."""


@dataclass(frozen=True)
class Version:
    """A dibs: whose it is, its Python, and the folder that its package must come from."""

    who: str
    python: Path
    source: Path


def working_tree() -> Version:
    return Version(TREE, Path(sys.executable), ROOT / "src")


def at_ref(ref: str, say: Callable[[str], None]) -> Version:
    python = versions.python_of(ref, say)
    return Version("ref", python, python.parents[2] / "source" / "src")


class Performer:
    """A process that runs operations, one sample at a time."""

    def __init__(self, child: Child) -> None:
        self._child = child

    def open(self, url: str, operation: Operation, server: int | None) -> None:
        """Go to a store for one operation."""
        self._ask({"do": "open", "url": url, "operation": operation.name, "server": server})

    def sample(self, size: str) -> dict[str, float]:
        """Seconds of one operation: `wall`, `cpu`, `server`."""
        found: dict[str, float] = self._ask({"do": "sample", "size": size})
        return found

    def close(self) -> None:
        """Leave the store."""
        self._ask({"do": "close"})

    def home(self) -> Path:
        """Where its dibs comes from."""
        return Path(self._ask({"do": "hello"})["dibs"])

    def _ask(self, question: dict[str, Any]) -> Any:
        process = self._child.process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            process.wait()
            self._child.check()
        if not select.select([process.stdout], [], [], ANSWER_LIMIT_S)[0]:
            raise TimeoutError(f"no answer to {question['do']} in {ANSWER_LIMIT_S:.0f} s")
        line = process.stdout.readline()
        if not line:
            process.wait()
            self._child.check()
            raise RuntimeError("it left in the middle of its work")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer


@contextmanager
def performing(version: Version, folder: Path) -> Iterator[Performer]:
    """Its process, which has ended when the block is left."""
    log = folder / f"{version.who}-{time.monotonic_ns()}.log"
    variables = environment()
    paths = [str(version.source), str(ROOT)]
    # Sets in one order for both, so that luck with hashes is nobody's advantage.
    variables |= {"PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(version.python), "-m", "benchmarks.operations.performer"],
            cwd=folder,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            stderr=output,
            start_new_session=True,
        )
    child = Child(process, log, grace_s=0)
    try:
        performer = Performer(child)
        home = performer.home()
        if not home.is_relative_to(version.source):
            raise RuntimeError(f"{version.who}: dibs comes from {home}, not from {version.source}")
        yield performer
    finally:
        child.end()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def opened(performers: dict[str, Performer], place: Place, operation: Operation) -> dict[str, str]:
    """All of them at a fresh place; what keeps one from it, by name."""
    for performer in performers.values():
        performer.close()
    urls = place.fresh()
    reasons = {}
    for who, performer in performers.items():
        try:
            performer.open(urls(who), operation, place.server)
        except Failed as error:
            reasons[who] = str(error)
    return reasons
