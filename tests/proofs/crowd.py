"""Real processes for the proofs: started together, and let loose at the same moment.

`run_crowd` runs a function in each and joins them with a limit; `let_loose` runs a program in each, to be watched.
`longest_wait` tells whom the others passed over from whom a busy machine kept waiting.
"""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import traceback
from bisect import bisect_left, bisect_right
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SPAWN = multiprocessing.get_context("spawn")


def run_crowd(
    folder: Path, work: Callable[..., Any], arguments: list[tuple[Any, ...]], limit_s: float = 240
) -> list[Any]:
    """Run `work(*arguments)` in a process each, all let loose at the same moment; what each returned."""
    barrier = SPAWN.Barrier(len(arguments))
    files = [folder / f"result-{number}.json" for number in range(len(arguments))]
    processes = [
        SPAWN.Process(target=_member, args=(barrier, work, args, str(file)))
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


ROUNDS = 12
"""How often everybody else may have a turn while somebody waits, before that one counts as passed over."""


def longest_wait(crowd: Sequence[Sequence[Sequence[float]]]) -> float:
    """Of the processes of a crowd, each with when its writes began and ended: the longest that one of them waited while
    others were let in before it, again and again.

    A wait during which hardly anybody wrote says that the machine stood still or is slow, not who is kept from writing.
    """
    ends = sorted(end for writes in crowd for _, end in writes)
    few = ROUNDS * len(crowd)
    waits = [
        end - began
        for writes in crowd
        for began, end in writes
        if bisect_left(ends, end) - bisect_right(ends, began) > few
    ]
    return max(waits, default=0.0)
