"""Attempts as spans, where this process uses OpenTelemetry; elsewhere nothing is imported and nothing is made."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dibs.worker.outcomes import Completed, Failed, Released, Suspended

if TYPE_CHECKING:
    from dibs.tracing.spans import AttemptSpans
    from dibs.worker.outcomes import Ending
    from dibs.worker.work import Work


def span_maker() -> AttemptSpans | None:
    """What makes spans; None if nobody in this process would see them."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    from dibs.tracing.spans import AttemptSpans

    return AttemptSpans()


def end_span(spans: AttemptSpans | None, work: Work, ending: Ending) -> None:
    """The attempt of this work is over."""
    assert spans is not None
    outcome, error, reason = _told(work, ending)
    spans.end(work.span, outcome, error, reason, work.usage)
    work.span = None


def _told(work: Work, ending: Ending) -> tuple[str, str | None, str | None]:
    """How it ended, in the words of attempts; with error and reason, if it failed."""
    if work.suspended or isinstance(ending, Suspended):
        return "suspended", None, None
    if work.stopped is not None:
        return "stopped", work.stopped.value, work.stopped.name.lower()
    match ending:
        case Completed(refusal=None):
            return "completed", None, None
        case Completed(refusal=refusal):
            return "rejected", refusal, "invalid_output"
        case Failed():
            return "failed", ending.error, ending.reason
        case Released():
            return "released", None, None
        case _:
            return "lost", "its lease is lost", "lease_lost"
