"""How a piece of work can end: what handlers raise to say so, and the small values the worker settles by.

Handlers raise `RetryLater`, `Fail` or `Release`. Whatever happened becomes one of `Completed`, `Failed`,
`Released`, `Suspended` and `Lost`; `settlements.settlement` is the one place that matches them.
"""

from __future__ import annotations

import time
import traceback
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dibs.errors import DibsError
from dibs.model.status import Outcome
from dibs.rules import limits, validation

if TYPE_CHECKING:
    from dibs.model.task import Task

TRACEBACK_FRAMES = 8
TRACEBACK_CHARS = 4_000
_HERE = __file__.rsplit("/", 1)[0] + "/"


class RetryLater(Exception):
    """Raised by a handler: this attempt failed; try again in `after` seconds (or "5m"), whatever the policy."""

    def __init__(self, after: float | str, why: str = "the handler asked to be retried later") -> None:
        super().__init__(why)
        self.after_s = validation.duration_s(after, "after")


class Fail(Exception):
    """Raised by a handler: this attempt failed for a named `reason`; with `retry=False` for good."""

    def __init__(self, why: str, reason: str = "error", retry: bool = True) -> None:
        super().__init__(why)
        self.reason = validation.text(reason, "reason")
        self.retry = retry


class Uncheckable(Fail):
    """Raised before a handler runs: what it would make could not be checked here."""


class Release(Exception):
    """Raised by a handler: give the task back unharmed, to be taken again after `delay` seconds (or "5m")."""

    def __init__(self, delay: float | str = 0) -> None:
        super().__init__("released by its handler")
        self.delay_s = validation.duration_s(delay, "delay")


class ChildFailed(DibsError):
    """A task that a handler spawned and waited for was dead-lettered or cancelled. `.task` is that child."""

    code = "child_failed"

    def __init__(self, task: Task) -> None:
        ended = task.error or task.cancel_reason or task.reason or "no error was recorded"
        super().__init__(f"child {task.id} ({task.type}) ended {task.status}: {ended}")
        self.task = task


class Suspend(BaseException):
    """Ends a run whose task now waits for its children. A handler's `except Exception` must not stop it."""


class Completed(Struct):
    """The handler returned. `judged`: its output was checked already, and `refusal` is what is against it."""

    output: Any = None
    exit_code: int | None = None
    sanitized: bool = False
    judged: bool = False
    refusal: str | None = None


class Failed(Struct):
    """The attempt failed. `crash`: its process was killed by a signal. `alone`: for a reason that is no concern of the
    others in its group, which nobody has begun to work on."""

    error: str
    reason: str = "error"
    retry: bool = True
    retry_after: float | None = None
    exit_code: int | None = None
    crash: bool = False
    outcome: Outcome = Outcome.FAILED
    alone: bool = False


class Released(Struct):
    """The task goes back unharmed."""

    delay_s: float = 0.0
    reason: str = "released"


class Suspended(Struct):
    """The claim has ended already: the task waits for its children."""


class Lost(Struct):
    """The lease is gone; there is nothing left to settle."""


Ending = Completed | Failed | Released | Suspended | Lost


def ending_of(error: BaseException) -> Ending:
    """What an exception that left a handler means."""
    match error:
        case RetryLater():
            return Failed(str(error), retry_after=error.after_s)
        case Fail():
            return Failed(str(error), reason=error.reason, retry=error.retry, alone=isinstance(error, Uncheckable))
        case Release():
            return Released(error.delay_s)
        case Suspend():
            return Suspended()
        case SystemExit():
            return Failed(f"the handler called sys.exit({error.code!r})")
        case _:
            limit = _limit_of(error)
            if limit is not None:
                return Failed(error_text(error), reason="rate_limit", retry_after=limit.retry_after)
            return Failed(error_text(error))


def _limit_of(error: BaseException) -> limits.Limit | None:
    """The rate limit that a client library for HTTP raised: those we know keep the response in `response`."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None) or getattr(response, "status", None)
    headers: Any = getattr(response, "headers", None)
    if not isinstance(status, int) or not hasattr(headers, "items"):
        return None
    return limits.of_response(status, headers, time.time_ns() // 1_000)


def error_text(error: BaseException) -> str:
    """The exception in one line, then the last frames of its traceback: enough to find the line at fault."""
    headline = "".join(traceback.format_exception_only(error)).strip()
    # The worker's own frames say nothing about the handler.
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(_HERE)]
    if not frames:
        return headline
    shown = "".join(traceback.format_list(frames[-TRACEBACK_FRAMES:])).rstrip()
    return f"{headline}\n{shown[-TRACEBACK_CHARS:]}"
