"""Runs the commands of output contracts: a program of its own process group, the output on its stdin, no shell.

Whoever completes the work runs them, in its own environment and folder, or in the worktree of the attempt: there is
what the work was done on. So whoever may add tasks may have programs run where they are worked on;
`DIBS_CHECK_COMMANDS=off` keeps that from this machine.

A command is given its time and no more: when that is over, its whole group is ended. What it leaves running is ended
with it.
"""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import subprocess
import tempfile
from time import monotonic
from typing import TYPE_CHECKING

from dibs.errors import Unavailable
from dibs.rules import contracts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.model.claim import Claim

SWITCH = "DIBS_CHECK_COMMANDS"
CHUNK = 65_536
KEPT_BYTES = 4 * contracts.MAX_TAIL_CHARS
"""How much of what it wrote is kept, from the end: no character takes more than four bytes."""
CHECK_S = 0.1
"""How often a command that closed no pipe is looked at: it may be gone while a child of its holds them open."""
GRACE_S = 1.0
"""Between asking a group to end and ending it; and how long the last words of what has ended are awaited."""


def must_be_runnable(commands: Sequence[contracts.Check]) -> None:
    """Raises Unavailable where one of these could not be run. What has a path may yet be made by the work."""
    for check in commands:
        program = check.argv[0]
        if os.environ.get(SWITCH, "on") == "off":
            raise Unavailable(f"{program!r} is not run here, because {SWITCH} is off.", field="expects")
        if "/" not in program and shutil.which(program) is None:
            raise Unavailable(f"there is no program {program!r} here; install it where the work is done.")


def environment(claim: Claim, url: str) -> dict[str, str]:
    """What a command is told of the task whose output it checks, beside what everybody here knows."""
    return {
        **os.environ,
        "DIBS_TASK_ID": claim.task.id,
        "DIBS_FENCE": str(claim.fence),
        "DIBS_URL": url,
        "DIBS_AGENT": claim.agent,
    }


def run(
    check: contracts.Check,
    output: bytes,
    env: dict[str, str],
    entered: Callable[[int], None],
    left: Callable[[int], None],
    folder: str | None = None,
) -> str | None:
    """Run a command on an output (JSON); why it is refused, or None. Unavailable where it cannot be run.

    `entered` hears which group runs, so that it can be ended from elsewhere; `left` that it has been ended. `folder`:
    where the work was done, if that is not here.
    """
    must_be_runnable([check])
    with tempfile.TemporaryFile() as file:
        # A file, because it may read as slowly as it likes, or not at all.
        file.write(output)
        file.seek(0)
        try:
            process = subprocess.Popen(
                check.argv,
                stdin=file,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=env,
                cwd=folder,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise Unavailable(f"the command {check.argv[0]!r} could not be started: {error}.") from None
    with process:
        try:
            entered(process.pid)
            written, in_time = _follow(process, monotonic() + check.timeout_s)
        finally:
            end_group(process.pid, signal.SIGKILL)
            # Before it is waited for: until then nobody else can have its number.
            left(process.pid)
            process.wait()
    if in_time and process.returncode == 0:
        return None
    return contracts.failed_command(check, process.returncode if in_time else None, written)


def end_group(group: int, number: signal.Signals) -> None:
    """Signal every process of a group, if there is one left."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # macOS says the latter of a group of zombies
        pass


def _follow(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bool]:
    """Read until the command has ended: its last words, and whether it ended in time."""
    assert process.stdout is not None
    pipe = process.stdout.fileno()
    os.set_blocking(pipe, False)
    tail = bytearray()
    linger_until: float | None = None
    in_time = True
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while linger_until is None or (selector.get_map() and monotonic() < linger_until):
            if not selector.get_map():
                # It closed its outputs and works on.
                _wait(process, min(CHECK_S, max(deadline - monotonic(), 0)))
            elif selector.select(CHECK_S) and not _read(pipe, tail):
                selector.unregister(pipe)
            if linger_until is None:
                if process.poll() is None and monotonic() > deadline:
                    in_time = False
                    end_group(process.pid, signal.SIGTERM)
                    _wait(process, GRACE_S)
                if process.poll() is not None or not in_time:
                    end_group(process.pid, signal.SIGKILL)
                    linger_until = monotonic() + GRACE_S
    return bytes(tail), in_time


def _read(pipe: int, tail: bytearray) -> bool:
    """Read once, and keep the end of it; False at the end of the pipe."""
    try:
        chunk = os.read(pipe, CHUNK)
    except BlockingIOError:
        return True
    tail += chunk
    del tail[:-KEPT_BYTES]
    return bool(chunk)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass
