"""Budgets: looked at, and changed by people who may say what they have seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.errors import NotFound
from dibs.rules import budgets
from dibs.server.handling import router_of
from dibs.server.versions import edited, looked_at

if TYPE_CHECKING:
    from dibs.model.views import Budget
    from dibs.server.desk import Asking


async def _budget(asking: Asking, given: dict[str, Any]) -> Budget:
    scope, unit = budgets.parse_scope(given["scope"]), budgets.parse_unit(given.get("unit", "usd"))
    for budget in await asking.queue.budgets():
        if (budget.scope, budget.unit) == (scope, unit):
            return budget
    raise NotFound(f"There is no budget of {unit} for {scope}.", field="scope")


router = router_of(
    "budgets",
    {
        "get_budget": looked_at(_budget),
        "set_budget": edited(_budget),
        "raise_budget": edited(_budget),
        "remove_budget": edited(_budget),
    },
)
