"""What was spent."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class Spent(Struct, kw_only=True):
    """What the attempts of one group that ended in one stretch of time (from `at` on) used: those that told a cost or
    tokens, or had a model. `cost_usd` is what is known; `unpriced` attempts come on top. `name`: type, agent, model or
    dag; None: no model was named, or the task stands alone."""

    at: datetime
    name: str | None = None
    attempts: int = 0
    cost_usd: float | None = None
    unpriced: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
