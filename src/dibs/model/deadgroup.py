"""Dead letters seen in groups."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, field


class DeadGroup(Struct, kw_only=True):
    """Dead letters of one type that failed alike. `reason` and `error` are those of the newest.

    `cost_usd` is the sum of what is known (None: nothing is), `unpriced` how many have no known cost; `unreviewed` how
    many nobody has decided about; `task_ids` the newest few, newest first.
    """

    type: str
    fingerprint: str
    first_at: datetime
    last_at: datetime
    reason: str | None = None
    error: str | None = None
    count: int = 0
    unreviewed: int = 0
    poison_pills: int = 0
    cost_usd: float | None = None
    unpriced: int = 0
    task_ids: list[str] = field(default_factory=list)
