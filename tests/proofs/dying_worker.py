"""A worker that kills itself with `kill -9` at the n-th call to its store, before or after the call takes effect.

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
from dibs.queue import Queue
from dibs.stores import open_store

app = dibs.App()


def _pay(what: str) -> str:
    with open(os.environ["PAID_LOG"], "a") as log:
        log.write(what + "\n")
    return f"paid for {what}"


@app.handler("parent")
async def parent(ctx: dibs.Context, goal: str) -> dict[str, Any]:
    plan = await ctx.step("plan", _pay, "plan")
    await ctx.spawn("aside", {"note": goal}, wait=False)
    first = await ctx.spawn("child", {"part": 1})
    draft = await ctx.step("draft", _pay, "draft")
    second = await ctx.spawn("child", {"part": 2})
    return {"plan": plan, "draft": draft, "parts": [first.output, second.output]}


@app.handler("asker")
async def asker(ctx: dibs.Context) -> str:
    await ctx.step("think", _pay, "thought")
    colour = await ctx.ask("Which colour?", {"enum": ["red", "blue"]})
    bought: str = await ctx.step("buy", _pay, colour)
    return bought


@app.handler("child")
async def child(part: int) -> int:
    return part * 10


@app.handler("aside")
async def aside(note: str) -> str:
    return note


class Mortal:
    """A store whose n-th call by the worker is its last."""

    def __init__(self, store: Any, last: int, when: str) -> None:
        self._store = store
        self._left = last
        self._when = when

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in ("claim", "insert", "ask", "write_journal", "settle", "start", "renew", "read_journal"):
            return found

        async def call(*args: Any, **kwargs: Any) -> Any:
            self._left -= 1
            if self._left == 0 and self._when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            answer = await found(*args, **kwargs)
            if self._left == 0 and self._when == "after":
                os.kill(os.getpid(), signal.SIGKILL)
            return answer

        return call


async def work(url: str, last: int, when: str, offset_s: float) -> None:
    """Work until nothing is left to do, or until death."""
    store = open_store(url, clock=lambda: time.time_ns() // 1_000 + int(offset_s * 1e6))
    queue = Queue(Mortal(store, last, when))
    async with dibs.Worker(app, queue, agent="mortal", concurrency=1) as worker:
        await worker.drain()
    await queue.close()


def run(url: str, last: int, when: str, offset_s: float) -> None:
    """The same for who has no event loop."""
    asyncio.run(work(url, last, when, offset_s))
