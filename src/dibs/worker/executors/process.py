"""Handlers in child processes: fresh interpreters, reused, and killed with their whole group when they must stop.

The worker and a child talk JSON over a socket pair. The child asks (steps, spawns, progress), the worker answers.
A child that loses its worker ends itself and everything it started.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins
from msgspec.json import decode, encode

from dibs.errors import DibsError
from dibs.worker.context import hear
from dibs.worker.executors.groups import enter_group, leave_group, relay
from dibs.worker.outcomes import ChildFailed, Completed, Ending, Failed, Released, Suspend, Suspended
from dibs.worker.work import signal_group

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.worker.executors.threads import DaemonThreads
    from dibs.worker.line import Line

CHECK_S = 0.5
"""How often a silent child is looked at: a process it forked may hold its end of the socket open."""

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from dibs.worker.executors.child import main; main(int(sys.argv[1]))"
)


class Child:
    """One child process in its own session."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, str(theirs.fileno()), encode(sys.path).decode()],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._line = Connection(ours.detach())
        self.pid = self._process.pid

    def run(
        self, job: dict[str, Any], answer: Callable[[str, dict[str, Any]], dict[str, Any]]
    ) -> dict[str, Any] | None:
        """Have the child do a job, answering what it asks meanwhile; its last word, or None if it died."""
        try:
            self._line.send_bytes(encode(job))
            while True:
                while not self._line.poll(CHECK_S):
                    if self._process.poll() is not None and not self._line.poll():
                        return None
                said: dict[str, Any] = decode(self._line.recv_bytes())
                if "ended" in said:
                    return said
                reply = answer(said["verb"], said["arguments"])
                if said["waits"]:
                    self._line.send_bytes(encode(reply))
        except (EOFError, OSError):
            return None

    def returncode(self) -> int:
        """Negative: the signal that killed it. Waits for its end, which is near: its socket is closed."""
        return self._process.wait()

    def close(self) -> None:
        """An idle child ends when its line does."""
        self._line.close()
        try:
            self._process.wait(CHECK_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Children:
    """The child processes of a worker: as many as process handlers run at once."""

    def __init__(self) -> None:
        self._idle: list[Child] = []

    def take(self) -> Child:
        try:
            return self._idle.pop()
        except IndexError:
            return Child()

    def give_back(self, child: Child) -> None:
        self._idle.append(child)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()


async def run_in_process(line: Line, threads: DaemonThreads, children: Children) -> Ending:
    """Run a function in a child process. A child killed by a signal is a crash."""
    work = line.work
    signature = work.handler.call
    assert signature is not None
    function = work.handler.function
    job = {
        "module": function.__module__,
        "function": function.__qualname__,
        "main": getattr(sys.modules["__main__"], "__file__", None) if function.__module__ == "__main__" else None,
        "arguments": signature.arguments(work.claim.task.payload),
        "context": signature.context,
        "claim": work.claim,
    }
    loop = asyncio.get_running_loop()

    def answer(verb: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if verb in ("log", "spend", "decide"):
            hear(work, verb, arguments)
            return {}
        try:
            return {"value": asyncio.run_coroutine_threadsafe(line.call(verb, arguments), loop).result()}
        except Suspend:
            return {"suspend": True}
        except ChildFailed as error:
            return {"child": to_builtins(error.task)}
        except DibsError as error:
            return {"error": type(error).__name__, "message": error.message, "code": error.code, "field": error.field}

    def talk() -> Ending:
        child = children.take()
        enter_group(work, child.pid)
        try:
            said = child.run(job, answer)
        except BaseException:
            leave_group(work)
            child.close()
            raise
        # Forgotten before asking: a stop that comes now must not signal a child that serves the next task.
        work.group = None
        if said is not None and work.stopped is None:
            children.give_back(child)
            return _ending(said)
        signal_group(child.pid, signal.SIGKILL)
        code = child.returncode()
        child.close()
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"exit code {code}"
        return Failed(f"the handler's process died: {name}", reason="crash", crash=code < 0, exit_code=code)

    return await relay(work, threads, talk)


def _ending(said: dict[str, Any]) -> Ending:
    """The child's last word as a value."""
    match said["ended"]:
        case "completed":
            return Completed(said["output"], sanitized=said["sanitized"])
        case "released":
            return Released(said["delay_s"])
        case "suspended":
            return Suspended()
        case _:
            return Failed(said["error"], said["reason"], said["retry"], said["retry_after"])
