"""When a budget is worth an alarm: nearly used up, and used up. Each is told once, until the budget is raised or begins
anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dibs.model.views import Budget

LOW = 0.8
"""The part of a limit from which on little is left."""
LEVELS = ("", "low", "exhausted")


def level_of(budget: Budget) -> str:
    """`low`, `exhausted` (also while tasks wait that do not fit), or neither. A limit of nothing is meant so."""
    if budget.limit <= 0:
        return ""
    if budget.spent >= budget.limit or budget.waiting:
        return "exhausted"
    return "low" if budget.spent >= budget.limit * LOW else ""


def alarms(budgets: Iterable[Budget], told: Mapping[str, str]) -> tuple[dict[str, str], list[tuple[str, Budget]]]:
    """What was told after this look, by budget, and which budgets are to be told of now, with their levels.

    `told` is what was told before. Whatever got better may be told again.
    """
    known: dict[str, str] = {}
    news: list[tuple[str, Budget]] = []
    for budget in budgets:
        level = level_of(budget)
        if not level:
            continue
        name = name_of(budget)
        known[name] = level
        if LEVELS.index(level) > LEVELS.index(told.get(name, "")):
            news.append((level, budget))
    return known, news


def name_of(budget: Budget) -> str:
    """A budget and its window: the next day is another one."""
    ends = "" if budget.ends_at is None else budget.ends_at.isoformat()
    return f"{budget.scope}|{budget.unit}|{ends}"


def event_data(budget: Budget) -> dict[str, Any]:
    """What the event says."""
    said = {
        "scope": budget.scope,
        "unit": budget.unit,
        "limit": budget.limit,
        "spent": budget.spent,
        "left": budget.left,
        "waiting": budget.waiting or None,
        "ends_at": None if budget.ends_at is None else budget.ends_at.isoformat(),
    }
    return {name: value for name, value in said.items() if value is not None}
