"""What a worker says of each task, for whoever watches it: taken, completed, failed. Only called when somebody does,
but for dead letters: those wait for a person, so they are warnings, and in every log.

Titles and errors are other people's text: here each becomes part of one line; whoever shows it takes out what could
steer a terminal.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dibs.errors import DibsError
from dibs.model.status import Outcome, Status
from dibs.worker.work import Stop

if TYPE_CHECKING:
    from dibs.model.claim import Settled
    from dibs.stores.values import Settlement
    from dibs.worker.work import Work

log = logging.getLogger("dibs.worker")

TITLE_CHARS = 80
ERROR_CHARS = 200


def tell_taken(work: Work) -> None:
    """Its handler begins."""
    log.info("took %s", _called(work))


def tell_suspended(work: Work) -> None:
    """Its run has ended, until its children have."""
    log.info("suspended %s: it waits for what it spawned", _called(work))


def tell_settled(work: Work, settlement: Settlement, answer: Settled | DibsError) -> None:
    """Its outcome is on record. Nothing is said of work that never began, or that was refused (which is a warning)."""
    if work.began is None:
        return
    if isinstance(answer, DibsError):
        if work.stopped is Stop.CANCELLED:
            log.info("stopped %s: it was cancelled", _called(work))
        return
    took = f"{(work.ended or work.began) - work.began:.1f} s"
    # A server decides for itself.
    outcome = answer.outcome
    if outcome == Outcome.COMPLETED:
        log.info("completed %s in %s", _called(work), took)
    elif outcome == Outcome.SUBMITTED:
        log.info("handed in %s after %s; it is %s", _called(work), took, answer.status)
    elif outcome == Outcome.RELEASED:
        log.info("released %s after %s", _called(work), took)
    else:
        failed = "rejected" if outcome == Outcome.REJECTED else "failed"
        error = _headline(settlement.error or settlement.reason or "no error was given")
        level = logging.WARNING if answer.status == Status.DEAD_LETTERED else logging.INFO
        follows = _what_follows(settlement, answer)
        log.log(level, "%s %s after %s: %s; %s", failed, _called(work), took, error, follows)


def _headline(error: str) -> str:
    """Its first line; with a colon at its end what a program wrote follows, and the last line of that says most."""
    first, _, rest = error.strip().partition("\n")
    last = rest.rpartition("\n")[2] if first.endswith(":") else ""
    return _line(f"{first} {last}", ERROR_CHARS).removesuffix(".")


def _what_follows(settlement: Settlement, answer: Settled) -> str:
    if answer.status == Status.DEAD_LETTERED:
        return "dead letter"
    if answer.status in (Status.READY, Status.RETRYING):
        return f"will be retried in {settlement.delay_s:.0f} s" if settlement.delay_s >= 1 else "will be retried"
    return answer.status


def _called(work: Work) -> str:
    task = work.claim.task
    return f"{task.type} {_line(task.title, TITLE_CHARS)} ({task.id})" if task.title else f"{task.type} {task.id}"


def _line(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
