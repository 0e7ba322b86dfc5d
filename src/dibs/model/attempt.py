"""One claim that ended, and how. Only one that was `submitted` changes once more: when its work has been judged."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from dibs.model.status import Outcome


class Attempt(Struct, kw_only=True, gc=False):
    """How one claim of a task ended. `number` counts from 1 the claims that used up an attempt; others have 0.

    `price` is the version of the prices that its cost was computed with; None: its agent told it, or it is unknown.
    """

    number: int
    fence: int
    agent: str
    outcome: Outcome
    model: str | None = None
    reason: str | None = None
    error: str | None = None
    fingerprint: str | None = None
    exit_code: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    cost_usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    turns: int | None = None
    price: str | None = None


class Limited(Struct, frozen=True, gc=False):
    """A rate limit turned an attempt away. `wait_s`: how long to wait, if that was said; `draw`: chance, in [0, 1)."""

    wait_s: float | None = None
    draw: float = 0.5
