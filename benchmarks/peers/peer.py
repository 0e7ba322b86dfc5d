"""One contestant: which script, in which environment, with which settings, and what it cannot do."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dibs
from benchmarks import environments, machine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.environments import Environment

DRIVEN_BY = ("asyncpg", "hiredis", "msgspec", "redis", "uvloop")
"""What the environment of the harness runs dibs with."""

SCRIPTS = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Sizes:
    """How many tasks each measure takes of this peer, at full size: enough for some seconds of work."""

    add: int = 3_000
    bulk: int = 50_000
    drain: int = 10_000
    sample: int = 5_000
    """Handler starts over which a drain of a long backlog is timed."""


@dataclass(frozen=True)
class Peer:
    """A queue with one set of settings. `unfinished` is SQL (on Redis: Lua), true while anything waits or runs."""

    name: str
    script: str
    unfinished: str
    about: str
    packages: tuple[str, ...] = ()
    """Empty: it runs in the environment of the harness."""
    language: str = "Python"
    python: tuple[int, int] = (3, 11)
    server: tuple[int, int] = (0, 0)
    """The oldest server that it runs on."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    sizes: Sizes = field(default_factory=Sizes)
    recovery: Mapping[str, Any] = field(default_factory=dict)
    """Settings under which a dead worker is noticed after about 10 s, where there are such."""
    at_once: int = 10
    """Tasks that a worker holds when it is killed."""
    release: str | None = None
    """SQL (on Redis: Lua) that gives back what a killed worker still holds, between two runs on one backlog."""
    cannot: Mapping[str, str] = field(default_factory=dict)
    """Measures that it is left out of, and why."""
    warm_up_s: float = 1.0
    """From the start of a worker to its being idle."""
    tasks_per_graph: int = 12
    """Of a graph that fans out to ten and in again."""
    stall_s: float = 40.0
    """How long the outcomes may take after the last handler start."""

    def variant(self, name: str, settings: Mapping[str, Any], **changes: Any) -> Peer:
        """The same queue with other settings."""
        return replace(self, name=name, settings={**self.settings, **settings}, **changes)

    def prepare(self, say: Callable[[str], None]) -> Environment:
        """Its environment, made if need be. Raises `Missing` where this machine lacks something."""
        if self.language == "Node":
            return environments.of_node(self.packages, say)
        if self.packages:
            return environments.of_python(self.script.removesuffix("_peer.py"), self.packages, self.python, say)
        versions = [f"{package} {machine.version_of(package)}" for package in DRIVEN_BY]
        return environments.Environment((sys.executable,), versions=(f"dibs {dibs.__version__}", *versions))
