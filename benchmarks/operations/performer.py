"""The process that runs operations with one version of dibs, and is told which comes next.

It stays up, so that start-up is not counted. Questions come as lines of JSON on standard input, answers go to
standard output. It runs with the Python of any version, and imports of ours only what needs nothing but dibs.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

import dibs
from benchmarks.operations import cpu_time, hot, slow
from benchmarks.operations.operation import amount_of

if TYPE_CHECKING:
    from benchmarks.operations.operation import Operation

OPERATIONS = {operation.name: operation for operation in (*slow.OPERATIONS, *hot.OPERATIONS)}


class Stage:
    """A store on which one operation is run, sample by sample."""

    def __init__(self, url: str, operation: Operation, server: int | None) -> None:
        self.queue = dibs.connect_sync(url)
        self.operation = operation
        self.server = server
        operation.setup(self.queue)
        # What is imported, compiled or planned when it is first used is nobody's operation.
        self.sample("tiny")

    def sample(self, size: str) -> dict[str, float]:
        """Seconds for one operation: on the clock, of this process, of the server."""
        amount = amount_of(self.operation, size)
        made = self.operation.prepare(self.queue, amount)
        gc.collect()
        server = cpu_time.spent_by(self.server) if self.server else {}
        spent, started = cpu_time.spent_here(), time.perf_counter()
        done = self.operation.timed(self.queue, made)
        wall, client = time.perf_counter() - started, cpu_time.spent_here() - spent
        others = cpu_time.between(server, cpu_time.spent_by(self.server)) if self.server else 0.0
        self.operation.after(self.queue, done)
        return {"wall": wall / amount.times, "cpu": client / amount.times, "server": others / amount.times}


def main() -> int:
    # What dibs or a library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    stage: Stage | None = None
    for line in sys.stdin:
        asked = json.loads(line)
        answer: Any
        try:
            if stage is not None and asked["do"] != "sample":
                stage.queue.close()
                stage = None
            match asked["do"]:
                case "hello":
                    answer = {"dibs": dibs.__file__}
                case "open":
                    stage = Stage(asked["url"], OPERATIONS[asked["operation"]], asked["server"])
                    answer = {}
                case "sample" if stage is not None:
                    answer = stage.sample(asked["size"])
                case _:
                    answer = {}
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
