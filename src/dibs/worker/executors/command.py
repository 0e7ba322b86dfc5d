"""Any program as a handler: an argument list, never a shell; the claim on its stdin; its stdout is the output.

One thread relays for each running command: it feeds stdin, collects stdout up to the limit, and turns
lines of stderr into log lines while they come.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
from contextlib import contextmanager
from time import monotonic
from typing import IO, TYPE_CHECKING, TypeVar

from msgspec import DecodeError
from msgspec.json import decode, encode

from dibs.rules import contracts, traces, validation
from dibs.worker.executors.groups import enter_group, leave_group, relay
from dibs.worker.executors.templates import fill
from dibs.worker.outcomes import Completed, Ending, Failed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dibs.queue import Queue
    from dibs.worker.executors.minder import Minder
    from dibs.worker.executors.threads import DaemonThreads
    from dibs.worker.work import Work

P = TypeVar("P", bound="Pump")

CHUNK = 65_536
TAIL_CHARS = 4_000
LINE_BYTES = 10_000
CHECK_S = 0.1
"""How often a command that closed no pipe is looked at: it may be gone while a child of its holds them open."""
LINGER_S = 1.0
"""How long its last output is awaited after a command ended and its group was killed."""


async def run_command(work: Work, threads: DaemonThreads, minder: Minder, queue: Queue) -> Ending:
    """Run the handler's command for a claim, to the end of its whole process group."""
    argv = fill(work.handler.argv, work.claim.task)
    return await relay(work, threads, lambda: _run(work, argv, minder, queue))


def _run(work: Work, argv: list[str], minder: Minder, queue: Queue) -> Ending:
    body = encode(work.claim)
    with claim_file(body, minder) as path:
        done = run_program(work, argv, minder, environment_of(work, queue, path), body, Pump)
    return done if isinstance(done, Failed) else ending_of_command(work, argv, *done)


@contextmanager
def claim_file(body: bytes, minder: Minder) -> Iterator[str]:
    """The path of a file with a claim, while a command runs. A worker that is killed leaves none behind."""
    descriptor, path = tempfile.mkstemp(prefix="dibs-claim-", suffix=".json")
    with os.fdopen(descriptor, "wb") as file, minder.minding_file(path):
        file.write(body)
        file.close()
        yield path


def run_program(
    work: Work,
    argv: list[str],
    minder: Minder,
    environment: Mapping[str, str],
    body: bytes,
    make_pump: Callable[[Work, subprocess.Popen[bytes], bytes], P],
    folder: str | None = None,
) -> tuple[int, P] | Failed:
    """Run a program to the end of its whole process group: its exit code, and what moved its bytes."""
    with minder.starting() as mark:
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**environment, **mark},
                cwd=folder,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return Failed(f"the command {argv[0]!r} could not be started: {error}")
        minder.mind(process.pid)
    with process:
        enter_group(work, process.pid)
        pump = make_pump(work, process, body)
        try:
            pump.run()
            # Its outputs are closed a moment before it has ended, or long before: that is no reason to kill it.
            process.wait()
        finally:
            leave_group(work)
            process.wait()
            minder.forget(process.pid)
    return process.returncode, pump


def environment_of(work: Work, queue: Queue, path: str) -> dict[str, str]:
    """What a command finds in its environment: ours, and what it needs to call dibs."""
    claim = work.claim
    trace = traces.of_context(claim.context)
    return {
        **os.environ,
        "DIBS_TASK_ID": claim.task.id,
        "DIBS_FENCE": str(claim.fence),
        "DIBS_URL": queue.url,
        "DIBS_AGENT": claim.agent,
        "DIBS_CLAIM_FILE": path,
        **({"TRACEPARENT": trace.traceparent} if trace else {}),
        **({"DIBS_ARTIFACTS": queue.artifacts_at} if queue.artifacts_at else {}),
    }


def crashed(argv: list[str], code: int, tail: str) -> Failed:
    """The end of a command that a signal killed."""
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return Failed(f"{argv[0]} was killed by {name}{_said(tail)}", reason="crash", crash=True, exit_code=code)


def _said(tail: str) -> str:
    return f":\n{tail}" if tail else ", and wrote nothing to stderr"


def ending_of_command(work: Work, argv: list[str], code: int, pump: Pump) -> Ending:
    """How a command ended, by its exit code and what it printed."""
    tail = pump.tail.strip()
    if code < 0:
        return crashed(argv, code, tail)
    if code > 0:
        return Failed(f"{argv[0]} ended with exit code {code}{_said(tail)}", exit_code=code)
    if pump.size > validation.MAX_OUTPUT_BYTES:
        return Failed(
            f"{argv[0]} wrote {pump.size:,} bytes to stdout; at most {validation.MAX_OUTPUT_BYTES:,} are kept.",
            reason="invalid_output",
            retry=False,
            exit_code=0,
        )
    written = bytes(pump.output)
    try:
        output = decode(written)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        text, sanitized = validation.clean_text(written, validation.MAX_OUTPUT_BYTES)
        return Completed(text.rstrip("\n"), exit_code=0, sanitized=sanitized)
    work.decision, _ = validation.clean(contracts.report_in(output, work.claim.task.expects))
    return Completed(output, exit_code=0)


class Pump:
    """Moves bytes between the worker and one command until the command has ended."""

    most = CHUNK
    """Bytes of output that are read at once."""

    def __init__(self, work: Work, process: subprocess.Popen[bytes], body: bytes) -> None:
        self._work = work
        self._process = process
        self._unsent = memoryview(body)
        self._line = b""
        self.output = bytearray()
        self.size = 0
        self.tail = ""

    def run(self) -> None:
        with selectors.DefaultSelector() as selector:
            for pipe, event in (
                (self._process.stdin, selectors.EVENT_WRITE),
                (self._process.stdout, selectors.EVENT_READ),
                (self._process.stderr, selectors.EVENT_READ),
            ):
                assert pipe is not None
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, event)
            self._move(selector)
        if self._line:
            self._say(self._line)

    def _move(self, selector: selectors.BaseSelector) -> None:
        """Until both outputs are at their end, or the command is gone and its group with it."""
        linger_until: float | None = None
        while any(key.events & selectors.EVENT_READ for key in selector.get_map().values()):
            for key, _ in selector.select(CHECK_S):
                if not self._serve(key.fileobj):  # type: ignore[arg-type]
                    selector.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
            if linger_until is None:
                if self._process.poll() is not None:
                    leave_group(self._work)
                    linger_until = monotonic() + LINGER_S
            elif monotonic() > linger_until:
                return

    def _serve(self, pipe: IO[bytes]) -> bool:
        """Read or write once; False when this pipe is finished."""
        try:
            if pipe is self._process.stdin:
                sent = os.write(pipe.fileno(), self._unsent[:CHUNK])
                self._unsent = self._unsent[sent:]
                return len(self._unsent) > 0
            chunk = os.read(pipe.fileno(), self.most)
        except BlockingIOError:
            return True
        except OSError:  # it does not read its stdin: its choice
            return False
        if pipe is self._process.stdout:
            self.take(chunk)
        else:
            self._hear(chunk)
        return bool(chunk)

    def take(self, chunk: bytes) -> None:
        """What it wrote to stdout."""
        self.size += len(chunk)
        if self.size <= validation.MAX_OUTPUT_BYTES:
            self.output += chunk

    def _hear(self, chunk: bytes) -> None:
        *lines, self._line = (self._line + chunk).split(b"\n")
        for line in lines:
            self._say(line)
        while len(self._line) > LINE_BYTES:
            self._say(self._line[:LINE_BYTES])
            self._line = self._line[LINE_BYTES:]

    def _say(self, line: bytes) -> None:
        text, _ = validation.clean_text(line, LINE_BYTES)
        self._work.log(text.rstrip("\r"))
        self.tail = f"{self.tail}{text}\n"[-TAIL_CHARS:]
