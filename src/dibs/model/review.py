"""What people decide about dead letters."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import Struct


class Resolution(StrEnum):
    """What was decided about a dead letter."""

    RETRIED = "retried"
    RETRIED_MODIFIED = "retried_modified"
    DROPPED = "dropped"
    ESCALATED = "escalated"
    KEPT = "kept"


class Review(Struct, kw_only=True, omit_defaults=True, gc=False):
    """One decision about a task that was a dead letter after the claim `fence`.

    `to`: whom it was escalated to; `question`: the id of what they were asked.
    """

    resolution: Resolution
    by: str
    at: datetime
    fence: int
    note: str | None = None
    to: str | None = None
    question: str | None = None
