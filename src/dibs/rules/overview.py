"""What stands out when somebody looks at everything: leases that nobody renews, and money at its present pace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.instants import to_micros
from dibs.model.overview import Pace
from dibs.rules.budgets import GLOBAL
from dibs.rules.usage import added_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.task import Task
    from dibs.model.views import Budget
    from dibs.rules.spending import Sum


def is_stalled(task: Task, now: int) -> bool:
    """Whether less than a third of a held task's lease is left: agents renew when a third of it is over, so that this
    one has missed a renewal."""
    heard_at = task.renewed_at or task.claimed_at
    if task.lease_expires_at is None or heard_at is None:
        return False
    ends, began = to_micros(task.lease_expires_at), to_micros(heard_at)
    return (ends - now) * 3 < ends - began


def pace(today: Sequence[Sum], last_hour: Sequence[Sum], budgets: Sequence[Budget], now: int) -> Pace:
    """What was spent today and in the last hour, by type, and the budget that is used up first at that pace: the one of
    everything, or of a type. One that begins anew before is not used up."""
    found = Pace(
        spent_usd=added_up(one.cost_usd for one in today),
        unpriced=sum(one.unpriced for one in today),
        per_hour_usd=added_up(one.cost_usd for one in last_hour),
    )
    per_hour = {GLOBAL: found.per_hour_usd, **{f"type:{one.name}": one.cost_usd for one in last_hour}}
    known = [budget for budget in budgets if budget.unit == "usd" and (budget.scope in per_hour)]
    lasting = [
        (_lasts_s(budget, per_hour[budget.scope], now), budget.scope != GLOBAL, budget.scope) for budget in known
    ]
    for lasts_s, _, scope in sorted(lasting, key=lambda one: (one[0] is None, one[0] or 0.0, *one[1:]))[:1]:
        first = next(budget for budget in known if budget.scope == scope)
        found.scope, found.limit_usd, found.left_usd = first.scope, first.limit, first.left
        found.cap_in_s = lasts_s
    return found


def _lasts_s(budget: Budget, per_hour: float | None, now: int) -> float | None:
    """How long what is left of a budget lasts at this pace; None if it is not used up."""
    if not per_hour:
        return None
    lasts_s = max(0.0, budget.left) / per_hour * 3600
    begins_anew = budget.ends_at is not None and lasts_s > (to_micros(budget.ends_at) - now) / 1_000_000
    return None if begins_anew else lasts_s
