"""Real processes for the proofs: started together, joined with a limit, their results read from files."""

from __future__ import annotations

import json
import multiprocessing
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

SPAWN = multiprocessing.get_context("spawn")


def run_crowd(
    folder: Path, work: Callable[..., Any], arguments: list[tuple[Any, ...]], limit_s: float = 90
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
        barrier.wait(60)
        result = {"value": work(*args)}
    except BaseException:
        result = {"error": traceback.format_exc()}
    Path(file).write_text(json.dumps(result))
