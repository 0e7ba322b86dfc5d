"""Real processes for the proofs: started together, and let loose at the same moment.

`run_crowd` runs a function in each and joins them with a limit; `let_loose` runs a program in each, to be watched;
`exit_of` runs a function in one that may be killed, `Forked` is one that runs until it is. Functions run in children of
one warm process (tests/servers/warm.py). `longest_wait` tells whom the others passed over from whom a busy
machine kept waiting, and `Pulse` when a process was kept from running at all.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from bisect import bisect_left, bisect_right
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.servers.warm import WARM, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def exit_of(work: Callable[..., Any], *arguments: object, limit_s: float = 60) -> int:
    """Run `work(*arguments)` in a process of its own, in this environment; how that ended: -9 where it was killed."""
    process = WARM.Process(target=_alone, args=(dict(os.environ), work, arguments))
    process.start()
    process.join(limit_s)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise AssertionError(f"it was still busy after {limit_s} s")
    return process.exitcode


def _alone(environment: dict[str, str], work: Callable[..., Any], arguments: tuple[object, ...]) -> None:
    settle(environment)
    work(*arguments)


class Forked:
    """A process of its own session that runs `work(*arguments)`; what it says goes to a file, or nowhere."""

    def __init__(
        self,
        work: Callable[..., Any],
        *arguments: object,
        said: Path | str = os.devnull,
        env: dict[str, str] | None = None,
    ) -> None:
        self._process = WARM.Process(target=_apart, args=(env or dict(os.environ), str(said), work, arguments))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.exitcode

    def kill(self) -> int:
        """`kill -9` it, and all that it started; how it ended, which may have been before."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            # It is over, or so young that it has no session yet.
            self._process.kill()
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode


def _apart(environment: dict[str, str], said: str, work: Callable[..., Any], arguments: tuple[object, ...]) -> None:
    os.setsid()
    file = os.open(said, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(file, stream.fileno())
    os.close(file)
    _alone(environment, work, arguments)


def shell(*argv: str) -> None:
    """A command of the shell, in the process that calls this."""
    from dibs.cli import main

    sys.exit(main(argv))


def run_crowd(
    folder: Path, work: Callable[..., Any], arguments: list[tuple[Any, ...]], limit_s: float = 240
) -> list[Any]:
    """Run `work(*arguments)` in a process each, all let loose at the same moment; what each returned."""
    barrier = WARM.Barrier(len(arguments))
    files = [folder / f"result-{number}.json" for number in range(len(arguments))]
    processes = [
        WARM.Process(target=_member, args=(barrier, work, args, str(file)))
        for args, file in zip(arguments, files, strict=True)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(limit_s)
    stuck = [process for process in processes if process.is_alive()]
    for process in stuck:
        process.kill()
        process.join()
    assert not stuck, f"{len(stuck)} of {len(processes)} processes were still busy after {limit_s} s"
    results = [json.loads(file.read_text()) for file in files]
    failures = [result["error"] for result in results if "error" in result]
    assert not failures, failures[0]
    return [result["value"] for result in results]


def _member(barrier: Any, work: Callable[..., Any], args: tuple[Any, ...], file: str) -> None:
    try:
        barrier.wait(120)
        result = {"value": work(*args)}
    except BaseException:
        result = {"error": traceback.format_exc()}
    Path(file).write_text(json.dumps(result))


@contextmanager
def let_loose(program: str, arguments: Sequence[Sequence[object]]) -> Iterator[list[subprocess.Popen[str]]]:
    """A process for each of these arguments, all of which have just been told to go; killed at the end of the block.

    The program prints `ready` when it is, then waits for a line on its standard input.
    """
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", program, *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for words in arguments
    ]
    try:
        for process in crowd:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in crowd:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        yield crowd
    finally:
        for process in crowd:
            process.kill()
            process.communicate()


BEAT_S = 0.02


class Pulse:
    """How long a process is awake, from the beginning of a `with` block to its end: a thread of it beats all the time.

    Whoever is stopped, or has to wait for a processor, does not beat. Whoever waits for a lock does.
    """

    def __init__(self) -> None:
        self._beats: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Pulse:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._over.wait(BEAT_S):
            self._beats.append(time.monotonic())

    @property
    def awake_s(self) -> float:
        """How long it has been awake so far."""
        return len(self._beats) * BEAT_S

    def waits(self, writes: Sequence[tuple[float, float]]) -> list[tuple[float, float, float]]:
        """When each write began and ended, and how long the process was awake meanwhile."""
        return [(began, end, min(end - began, self._awake_s_in(began, end))) for began, end in writes]

    def _awake_s_in(self, began: float, end: float) -> float:
        return BEAT_S * (bisect_right(self._beats, end) - bisect_left(self._beats, began))


ROUNDS = 12
"""How often everybody else may have a turn while somebody waits, before that one counts as passed over."""


def longest_wait(crowd: Sequence[Sequence[Sequence[float]]]) -> float:
    """Of the processes of a crowd, each with when its writes began and ended, and how long it was awake meanwhile: the
    longest that one of them waited while others were let in before it, again and again.

    A wait during which hardly anybody wrote says that the machine stood still or is slow, not who is kept from writing.
    """
    ends = sorted(end for writes in crowd for _, end, _ in writes)
    few = ROUNDS * len(crowd)
    waits = [
        awake_s
        for writes in crowd
        for began, end, awake_s in writes
        if bisect_left(ends, end) - bisect_right(ends, began) > few
    ]
    return max(waits, default=0.0)
