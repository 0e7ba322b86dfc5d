"""Budgets: what may be used, what is reserved and what was spent. The deciding is done in functions/budgets.sql."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from dibs.rules import budgets as rules
from dibs.rules.windows import Window, ends_at
from dibs.stores.postgres import windows
from dibs.stores.values import Usage

if TYPE_CHECKING:
    from dibs.model.views import Budget
    from dibs.stores.postgres.engine import Engine


class _Budget(Struct, array_like=True):
    scope: str
    unit: str
    limit: int
    default_reserve: int
    reserved: int
    spent: int
    unpriced: int
    waiting: int
    per: str | None
    zone: str | None
    ends_at: int | None
    saved_for: str | None


class _Spending(Struct, array_like=True):
    """What a task may use, what its earlier attempts used, and what the one under way has told."""

    max_cost: float | None
    max_tokens: int | None
    max_turns: int | None
    cost_usd: float | None
    tokens_in: int | None
    tokens_out: int | None
    turns: int | None
    told: Usage


_decode = msgspec.json.Decoder(list[_Budget]).decode
_decode_spending = msgspec.json.Decoder(_Spending).decode


async def set_budget(
    engine: Engine,
    project: str,
    scope: str,
    unit: str,
    limit: int,
    default_reserve: int,
    window: Window | None = None,
) -> Budget:
    """Make a budget, or change it."""
    await windows.roll(engine)
    per, zone = window or (None, None)
    found = await engine.value(
        "SELECT dibs.set_budget($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        engine.at,
        project,
        scope,
        unit,
        limit,
        default_reserve,
        per,
        zone,
        None if window is None else ends_at(window, engine.now()),
    )
    return _the_one(engine, found, scope, unit)


async def raise_budget(engine: Engine, project: str, scope: str, unit: str, amount: int) -> Budget:
    """Add to its limit, once: it is not simply repeated when the connection is lost."""
    await windows.roll(engine)
    [[found]] = await engine.once(
        "SELECT dibs.raise_budget($1, $2, $3, $4, $5)", engine.at, project, scope, unit, amount
    )
    return _the_one(engine, found, scope, unit)


async def remove_budget(engine: Engine, project: str, scope: str, unit: str) -> Budget:
    """Forget it; whoever is parked on it may try again."""
    [[found]] = await engine.once("SELECT dibs.remove_budget($1, $2, $3, $4)", engine.at, project, scope, unit)
    return _the_one(engine, found, scope, unit)


async def budgets(engine: Engine, project: str) -> list[Budget]:
    """All of them, by scope and unit."""
    now = engine.now()
    return [_shown(budget, now) for budget in _decode(await engine.value("SELECT dibs.budgets_of($1, NULL)", project))]


def limits_of(spending: str) -> dict[str, Any]:
    """What a renewal is told: which limit of its own the task is over."""
    found = _decode_spending(spending)
    spent = rules.Usage(found.cost_usd, found.tokens_in, found.tokens_out, found.turns)
    allowance = rules.Allowance(found.max_cost, found.max_tokens, found.max_turns, spent=spent)
    told = found.told
    over = rules.exceeded(allowance, rules.Usage(told.cost_usd, told.tokens_in, told.tokens_out, told.turns))
    return {} if over is None else {"exceeded": over}


def _the_one(engine: Engine, found: str, scope: str, unit: str) -> Budget:
    budgets = _decode(found)
    if not budgets:
        raise rules.no_budget(scope, unit)
    engine.changed()
    return _shown(budgets[0], engine.now())


def _shown(budget: _Budget, now: int) -> Budget:
    return rules.shown(
        budget.scope,
        budget.unit,
        limit=budget.limit,
        default_reserve=budget.default_reserve,
        reserved=budget.reserved,
        spent=budget.spent,
        unpriced=budget.unpriced,
        waiting=budget.waiting,
        window=None if budget.per is None or budget.zone is None else Window(budget.per, budget.zone),
        ends_at=budget.ends_at,
        now=now,
        saved_for=budget.saved_for,
    )
