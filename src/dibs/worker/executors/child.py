"""The inside of a child process: takes jobs from its worker's socket, one at a time, and runs them in the main thread.

A second thread listens to the socket, so that the child notices at once when its worker is gone.
"""

from __future__ import annotations

import importlib
import os
import runpy
import signal
import sys
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from msgspec import convert
from msgspec.json import decode, encode

import dibs.errors
from dibs.errors import DibsError
from dibs.model.artifact import Artifact
from dibs.model.claim import Claim, Settled
from dibs.model.heard import Heard
from dibs.model.task import Task
from dibs.rules import validation
from dibs.worker.context import SyncContext
from dibs.worker.outcomes import ChildFailed, Failed, Released, Suspend, ending_of

if TYPE_CHECKING:
    from collections.abc import Callable

_MAIN = "__dibs_main__"
_KINDS: dict[str, Any] = {"artifact": Artifact, "hear": list[Heard], "settle_member": Settled | None, "spawn": Task}
"""What the answers to some verbs are, which arrive as JSON."""


def main(descriptor: int) -> None:
    """Serve jobs until the worker hangs up."""
    os.set_inheritable(descriptor, False)
    line = Connection(descriptor)
    heard: SimpleQueue[dict[str, Any]] = SimpleQueue()
    Thread(target=_listen, args=(line, heard), daemon=True).start()
    while True:
        said = _run(heard.get(), line, heard)
        sys.stdout.flush()
        sys.stderr.flush()
        line.send_bytes(encode(said))


def _listen(line: Connection, heard: SimpleQueue[dict[str, Any]]) -> None:
    try:
        while True:
            heard.put(decode(line.recv_bytes()))
    except (EOFError, OSError):
        # The worker is gone. Whatever this process does, or has started, is nobody's work any more.
        os.killpg(os.getpgrp(), signal.SIGKILL)


def _run(job: dict[str, Any], line: Connection, heard: SimpleQueue[dict[str, Any]]) -> dict[str, Any]:
    def call(verb: str, arguments: dict[str, Any]) -> Any:
        line.send_bytes(encode({"verb": verb, "arguments": _plain(arguments), "waits": True}))
        return _answer(verb, heard.get())

    def tell(verb: str, arguments: dict[str, Any]) -> None:
        line.send_bytes(encode({"verb": verb, "arguments": arguments, "waits": False}))

    try:
        function = _find(job["module"], job["function"], job["main"])
        arguments = dict(job["arguments"])
        if job["context"] is not None:
            claim = convert(job["claim"], Claim)
            # A child is killed when it must stop, so it never sees itself cancelled.
            arguments[job["context"]] = SyncContext(claim, call, tell, stopped=lambda: False)
        output, sanitized = validation.clean(function(**arguments))
    except BaseException as error:
        return _last_word(error)
    return {"ended": "completed", "output": output, "sanitized": sanitized}


def _last_word(error: BaseException) -> dict[str, Any]:
    match ending_of(error):
        case Failed() as failed:
            text, _ = validation.clean_text(failed.error, 20_000)
            return {
                "ended": "failed",
                "error": text,
                "reason": failed.reason,
                "retry": failed.retry,
                "retry_after": failed.retry_after,
            }
        case Released() as released:
            return {"ended": "released", "delay_s": released.delay_s}
        case _:
            return {"ended": "suspended"}


def _answer(verb: str, answer: dict[str, Any]) -> Any:
    """The worker's answer as a value, or raised as what it was there."""
    if "suspend" in answer:
        raise Suspend
    if "child" in answer:
        raise ChildFailed(convert(answer["child"], Task))
    if "error" in answer:
        kind: type[DibsError] = getattr(dibs.errors, answer["error"], DibsError)
        raise kind(answer["message"], code=answer["code"], field=answer["field"])
    struct = _KINDS.get(verb)
    return answer["value"] if struct is None else convert(answer["value"], struct)


def _plain(arguments: dict[str, Any]) -> dict[str, Any]:
    """What crosses to the worker is JSON; a step's result and a checkpoint are cleaned as any output is."""
    for name in ("value", "data"):
        if name in arguments:
            kept, sanitized = validation.clean(arguments[name])
            return {**arguments, name: kept, "sanitized": sanitized}
    return arguments


def _find(module: str, name: str, main: str | None) -> Callable[..., Any]:
    """The handler's function. One from the worker's own script is found by running that script under another name."""
    if main is not None:
        if _MAIN not in sys.modules:
            space = runpy.run_path(main, run_name=_MAIN)
            found = type(sys)(_MAIN)
            found.__dict__.update(space)
            sys.modules[_MAIN] = found
        module = _MAIN
    function: Any = importlib.import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    if not callable(function):
        raise TypeError(f"{module}.{name} is not a function")
    return function  # type: ignore[no-any-return]
