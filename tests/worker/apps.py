"""Handlers for tests that need them in an importable module: those of child processes, and of whole workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

import dibs
from tests.worker.facts import file_exists, note

app = dibs.App()


@app.handler("double", executor="process")
def double(ctx: Any, number: int) -> dict[str, int]:
    ctx.log(f"doubling {number}")
    ctx.spend(usd=0.5, tokens_in=7)
    return {"double": 2 * number, "pid": os.getpid()}


@app.handler("die", executor="process", retry="immediate")
def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@app.handler("refuse", executor="process")
def refuse() -> None:
    raise dibs.Fail("no such account", reason="auth_failure", retry=False)


@app.handler("hang", executor="process")
def hang(pids: str) -> None:
    grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    note(pids, f"{os.getpid()} {grandchild.pid}")
    time.sleep(300)


@app.handler("family", executor="process")
def family(ctx: Any) -> Any:
    kept = ctx.step("count", len, [1, 2, 3])
    child = ctx.spawn("double", {"number": kept})
    return child.output["double"]


@app.handler("poll in a process", executor="process")
def poll_in_a_process(ctx: Any) -> Any:
    said = ctx.ask("Which one?", {"type": "string"}, timeout="1h", default="blue")
    return {"said": said, "known": ctx.answers}


@app.handler("poll in a thread")
def poll_in_a_thread(ctx: Any) -> Any:
    return poll_in_a_process(ctx)


@app.handler("nap")
async def nap(began: str, release: str) -> str:
    """Runs until the file `release` exists."""
    note(began, str(os.getpid()))
    await file_exists(release)
    return "rested"


@app.handler("count", retry="immediate")
async def count(path: str) -> None:
    note(path, str(os.getpid()))


@app.handler("steps", retry="immediate")
async def steps(ctx: dibs.Context, path: str, release: str) -> list[Any]:
    """Two steps with a long wait between them."""
    one = await ctx.step("one", _noted, path, "one")
    await file_exists(release)
    two = await ctx.step("two", _noted, path, "two")
    return [one, two]


def _noted(path: str, what: str) -> str:
    note(path, what)
    return what


app.command(
    "sleep",
    [
        sys.executable,
        "-c",
        # The claim arrives on stdin once the command is minded: from then on it ends with its worker.
        "import os, subprocess, sys, time; sys.stdin.read()\n"
        "grandchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'])\n"
        "open(sys.argv[1], 'a').write(f'{os.getpid()} {grandchild.pid}\\n')\n"
        "time.sleep(300)",
        "{payload.pids}",
    ],
)


class Odd:
    """Something that is not JSON."""

    def __str__(self) -> str:
        return "odd"


def odd_step(ctx: Any) -> Any:
    return ctx.step("odd", Odd)


def odd_checkpoint(ctx: Any) -> None:
    ctx.checkpoint(Odd())


def context_of(ctx: Any) -> Any:
    return ctx.context


def decide(ctx: Any) -> str:
    ctx.decide({"decision": "tea", "reasoning": "it was there"})
    return "out"
