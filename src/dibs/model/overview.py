"""What somebody who keeps an eye on a queue wants to know first."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, field

from dibs.model.found import Count


class Pace(Struct, kw_only=True):
    """Money today (UTC). `spent_usd` is what is known; `unpriced` attempts come on top. `per_hour_usd`: what was spent
    in the last hour. The rest is about the budget in USD that is used up first at that pace: its scope, what it has
    left of its limit, and in how many seconds nothing is left (None: never at this pace)."""

    spent_usd: float | None = None
    unpriced: int = 0
    per_hour_usd: float | None = None
    scope: str | None = None
    limit_usd: float | None = None
    left_usd: float | None = None
    cap_in_s: float | None = None


class Overview(Struct, kw_only=True):
    """The strip: what waits for a person, what is wrong, what it costs.

    `questions`: how many are open, of any kind. `dead_letters`: how many nobody has decided about. `stalled`: the ids
    of held tasks whose lease is nearly, or already, over, at most 100: their agents have missed a renewal.
    `open_breakers`: types whose breaker is open or half-open. `paused`: what is paused. `tasks`: how many are
    `ready`, and how many are `held` (at most 1,000 are counted).
    """

    at: datetime
    questions: Count
    dead_letters: Count
    stalled: list[str] = field(default_factory=list)
    open_breakers: list[str] = field(default_factory=list)
    paused: list[str] = field(default_factory=list)
    pace: Pace = field(default_factory=Pace)
    oldest_ready_at: datetime | None = None
    tasks: dict[str, int] = field(default_factory=dict)
    agents: int = 0
    """Those that were heard of lately, and are not lost."""
