"""Authors, judges and a person in one process, which kills itself with `kill -9` at the n-th write to its store.

`run(URL, N, "before" or "after", OFFSET_S)`; N = 0 never dies. The store's clock runs OFFSET_S ahead, so that leases of
an earlier run are over at once.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import Any

import dibs
from dibs.model.status import FINAL
from dibs.queue import Queue
from dibs.stores import open_store

WRITES = ("claim", "insert", "await_verdict", "ask", "answer", "settle")

authors = dibs.App()
judges = dibs.App()


def _note(what: str) -> None:
    with open(os.environ["DONE_LOG"], "a") as log:
        log.write(what + "\n")


@authors.handler("poem")
async def poem(about: str) -> str:
    _note("wrote")
    return f"a poem about {about}"


@judges.handler("judge", capabilities={"judge"})
async def judge(task: dict[str, Any], output: str, rubric: str, criteria: list[str]) -> dict[str, Any]:
    _note("judged")
    good = task["payload"]["about"] in output and bool(rubric)
    return {"verdict": "pass" if good else "fail", "criteria": {name: {"pass": good} for name in criteria}}


class Mortal:
    """A store whose n-th write is its last."""

    def __init__(self, store: Any, last: int, when: str) -> None:
        self._store = store
        self._left = last
        self._when = when

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in WRITES:
            return found

        async def call(*args: Any, **kwargs: Any) -> Any:
            self._left -= 1
            is_last = self._left == 0  # others write meanwhile
            if is_last and self._when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            answer = await found(*args, **kwargs)
            if is_last and self._when == "after":
                os.kill(os.getpid(), signal.SIGKILL)
            return answer

        return call


async def work(url: str, last: int, when: str, offset_s: float) -> None:
    """Work until every poem has ended, or until death."""
    store = open_store(url, clock=lambda: time.time_ns() // 1_000 + int(offset_s * 1e6))
    queue = Queue(Mortal(store, last, when))
    workers = [
        dibs.Worker(authors, queue, agent="author", concurrency=1),
        dibs.Worker(judges, queue, agent="judge", concurrency=1),
    ]
    runs = [asyncio.create_task(worker.run()) for worker in workers]
    while any(task.status not in FINAL for task in (await queue.find(type="poem")).items):
        for question in await queue.inbox():
            await queue.answer(question, True, by="grace")
        await asyncio.sleep(0.02)
    for run in runs:
        run.cancel()
    await asyncio.gather(*runs, return_exceptions=True)
    await queue.close()


def run(url: str, last: int, when: str, offset_s: float) -> None:
    """The same for who has no event loop."""
    asyncio.run(work(url, last, when, offset_s))
