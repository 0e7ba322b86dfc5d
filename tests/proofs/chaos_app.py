"""The worker that the kill tests kill: a few milliseconds a task, each run written to a file outside the store."""

from __future__ import annotations

import asyncio
import os

import dibs

app = dibs.App()


def _note(kind: str, what: str) -> None:
    """One short append: whole or not at all, whoever is killed when."""
    file = os.open(os.environ["CHAOS_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, f"{kind} {what}\n".encode())
    os.close(file)


@app.handler("short")
async def short(ctx: dibs.Context, i: int) -> dict[str, int]:
    _note("ran", f"{ctx.task.id} {os.getpid()}")
    await asyncio.sleep(0.004)
    return {"i": i}


@app.handler("steps")
async def steps(ctx: dibs.Context, i: int) -> dict[str, int]:
    """Works with the store in the middle: whatever the handler is told of trouble there goes into the log."""
    _note("ran", f"{ctx.task.id} {os.getpid()}")
    try:
        await ctx.step("pay", lambda: _note("paid", ctx.task.id))
        await ctx.progress(0.5)
        await asyncio.sleep(0.02)
    except Exception as error:
        _note("error", f"{ctx.task.id} {os.getpid()} {type(error).__name__}: {error}")
        raise
    return {"i": i}
