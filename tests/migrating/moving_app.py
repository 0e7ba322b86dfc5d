"""Handlers that write down each time they run, for a worker whose store moves while it works."""

from __future__ import annotations

import asyncio
import os

import dibs

app = dibs.App()


@app.handler("work")
async def work(ctx: dibs.Context, seconds: float) -> str:
    with open(os.environ["MOVING_LOG"], "a") as log:
        log.write(f"{ctx.task.id}\n")
    await asyncio.sleep(seconds)
    return f"done by {ctx.task.agent}"
