"""Producers: tasks per second that 32 processes add one by one, all at once, with notifications on and off.

Meanwhile one worker process listens; it serves another type, so that its own work does not count (`listening`), or it
drains what is added (`draining`).
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from benchmarks import lanes
from benchmarks.children import wait_until

if TYPE_CHECKING:
    from benchmarks.contest.stage import Contest, Contestant

TYPES = {"listening": ["nothing"], "draining": [lanes.ONLY]}
UNITS = {f"adds of many producers, {worker}, notify={notify}": "/s" for worker in TYPES for notify in ("on", "off")}
LIMIT_S = 60.0


def once(contest: Contest, contestant: Contestant) -> dict[str, float]:
    return {
        f"adds of many producers, {worker}, notify={notify}": added_per_second(contest, contestant, types, notify)
        for worker, types in TYPES.items()
        for notify in ("on", "off")
    }


def added_per_second(contest: Contest, contestant: Contestant, types: list[str], notify: str) -> float:
    sizes = contest.sizes
    settings = {} if notify == "on" else {"query": "notify=off"}
    with contest.stage(contestant, settings) as stage, ExitStack() as stack:
        stage.tidy()
        worker = stack.enter_context(stage.process("work", types=types))
        producers = [
            stack.enter_context(stage.process("produce", int(1_000 * sizes.producing_s)))
            for _ in range(sizes.producers)
        ]
        stage.open_gate([worker, *producers])

        def all_done() -> bool:
            for producer in producers:
                if producer.process.poll():
                    producer.check()
            return len(list(stage.folder.glob("produced.*"))) == len(producers)

        wait_until(all_done, what="the producers", timeout_s=LIMIT_S, alive=[worker])
        for producer in producers:
            producer.process.wait()
        added = sum(int(path.read_text()) for path in stage.folder.glob("produced.*"))
        return added / sizes.producing_s
