"""The demo's agents: handlers that pretend to think, run by ordinary `dibs worker dibs.demo.agents:app` processes.

What they report is made up; how they claim, renew, fail, resume and settle is the real thing.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from typing import Any

from dibs.demo import ledger
from dibs.demo.landing_page import KINDS
from dibs.model.status import Outcome
from dibs.worker import App, Context, Fail

LEDGER = "DIBS_DEMO_LEDGER"
PACE = "DIBS_DEMO_PACE"
PREFIX = "DIBS_DEMO_PREFIX"
STAGE = "DIBS_DEMO_STAGE"

HARM = "DIBS_DEMO_HARM"
"""Names a file that is there once an agent was killed."""

LINGER_S = 30.0
"""How long whoever works on the doomed task waits for its end."""

app = App()


async def work(
    ctx: Context,
    seconds: float,
    cost: float,
    notes: list[str],
    dig: dict[str, str] | None = None,
    failures: int = 0,
    lingers: bool = False,
    asks: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Pretend to do a task in as many parts as there are notes."""
    draft = await ctx.step("first draft", _first_draft, ctx)
    answer = None if asks is None else await ctx.ask(**asks)
    await ctx.step("the work", _carry_out, ctx, seconds, cost, notes, failures, lingers)
    found = None
    if dig is not None:
        payload = {"seconds": seconds / 2, "cost": cost / 4, "notes": ["reading the small print"]}
        child = await ctx.spawn(
            dig["type"], payload, title=dig["title"], requires=ctx.task.requires, tags=ctx.task.tags
        )
        found = child.output
    _write(ctx, ledger.DONE)
    return {"by": ctx.agent, "draft": draft, "inputs": sorted(ctx.inputs), "found": found, "answer": answer}


async def _carry_out(ctx: Context, seconds: float, cost: float, notes: list[str], failures: int, lingers: bool) -> None:
    ctx.spend(usd=cost, tokens_in=int(cost * 90_000), tokens_out=int(cost * 21_000), model="pretend-1")
    failed = sum(attempt.outcome is Outcome.FAILED for attempt in ctx.previous_attempts)
    for done, note in enumerate(notes):
        await ctx.progress(done / len(notes), note)
        if lingers and done == 2 and not _harm_was_done():
            await asyncio.sleep(LINGER_S)
        await asyncio.sleep(seconds / len(notes) * _pace())
        if failed < failures:
            raise Fail("the tag manager answered 503 Service Unavailable")


def _first_draft(ctx: Context) -> str:
    """The part of the work that must not be paid for twice, also when the agent dies after it."""
    _write(ctx, ledger.STEP)
    return f"{ctx.task.ref or 'child'} drafted by {ctx.agent}"


def _write(ctx: Context, what: str) -> None:
    ledger.write(os.environ[LEDGER], ledger.Line(what, ctx.task.id, ctx.fence, ctx.agent))


def _harm_was_done() -> bool:
    return os.path.exists(os.environ[HARM])


def _pace() -> float:
    return float(os.environ.get(PACE, "1"))


def _leave_with_the_stage(stage: int) -> None:
    """End this process when the demo that started it is gone: an orphan would work on for ever."""
    while os.getppid() == stage:
        time.sleep(0.5)
    os._exit(1)


for kind in KINDS:
    app.handler(os.environ.get(PREFIX, "") + kind)(work)

if STAGE in os.environ:
    threading.Thread(target=_leave_with_the_stage, args=(int(os.environ[STAGE]),), daemon=True).start()
