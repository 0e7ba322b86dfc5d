"""The verbs about budgets, and what an attempt has used: priced, and held against the limits of its task.

`Queue` has them; they are written here. Where prices come from is in `pricing.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.errors import DibsError
from dibs.model.claim import Claim
from dibs.requests import tokens, usage
from dibs.rules import budgets, windows
from dibs.stores.values import Renewal

if TYPE_CHECKING:
    from dibs.model.views import Budget
    from dibs.pricing import Prices
    from dibs.requests import Held
    from dibs.stores.contract import Store
    from dibs.stores.values import Usage


class Budgets:
    """What the work of a queue may use, and what an attempt is said to have used."""

    store: Store
    project: str
    prices: Prices
    _blocking: bool

    async def budgets(self) -> list[Budget]:
        """All budgets: what may be used, what is reserved by attempts under way, and what was spent."""
        return await self.store.budgets(self.project)

    async def set_budget(
        self,
        scope: str,
        limit: float,
        unit: str = "usd",
        default_reserve: float = 0,
        *,
        window: str | None = None,
        timezone: str | None = None,
    ) -> Budget:
        """Let no more than `limit` of a unit be used within a scope: `global`, `type:NAME`, `user:NAME`, `dag:ID` or
        `agent:NAME`.

        Units: `usd`, `tokens`, `turns`, `seconds`. What runs already is counted; what was spent before is not. A task
        that names no limit of its own (`max_cost` …) reserves `default_reserve`. With `window="day"` it is for each
        day, which ends at midnight in `timezone` (`Europe/Berlin`; default UTC). Called again it changes all of this;
        below what is used it stops new attempts only.
        """
        measure = budgets.parse_unit(unit)
        return await self.store.set_budget(
            self.project,
            budgets.parse_scope(scope),
            measure,
            budgets.parse_amount(limit, "limit", measure),
            budgets.parse_amount(default_reserve, "default_reserve", measure),
            windows.parse(window, timezone),
        )

    async def raise_budget(self, scope: str, amount: float, unit: str = "usd") -> Budget:
        """Add to the limit of a budget, and let in who fits now, the most urgent first. Raises NotFound."""
        measure = budgets.parse_unit(unit)
        return await self.store.raise_budget(
            self.project, budgets.parse_scope(scope), measure, budgets.parse_amount(amount, "amount", measure)
        )

    async def remove_budget(self, scope: str, unit: str = "usd") -> Budget:
        """Limit this no longer; the budget as it was. Raises NotFound."""
        return await self.store.remove_budget(self.project, budgets.parse_scope(scope), budgets.parse_unit(unit))

    async def _budget_in_the_way(self, parked_on: str) -> Budget | None:
        if not parked_on.startswith(budgets.PREFIX):
            return None
        found = await self.budgets()
        return next((each for each in found if budgets.parked_on(each.scope, each.unit) == parked_on), None)

    async def _used(
        self,
        claim: Held,
        cost: float | None,
        tokens_in: int | None,
        tokens_out: int | None,
        turns: int | None,
        model: str | None,
        cached: int | None,
        cache_written: int | None,
    ) -> Usage | None:
        """What was told; with the price of the tokens, frozen from here on, where no cost was told."""
        used = usage(cost, tokens_in, tokens_out, turns, model)
        counted = tokens(tokens_in, tokens_out, cached, cache_written)
        if used is None or counted is None or used.cost_usd is not None:
            return used
        if not (self._blocking or self.prices.loaded):
            import asyncio

            await asyncio.to_thread(self.prices.load)
        price = self.prices.price(used.model or (claim.model if isinstance(claim, Claim) else None), counted)
        if price is not None:
            used.cost_usd, used.price = price.usd, price.version
        return used

    async def _over_limit(self, claim: Claim, told: Usage | None) -> str | None:
        """Which of its own limits the task is over with what was told before and now; asked only where it has some."""
        task = claim.task
        if task.max_cost is task.max_tokens is task.max_turns is None:
            return None
        over = await self._exceeded(claim, told)
        # Whoever is done needs no more of a budget that others share.
        return None if over is None or budgets.is_shared(over) else over

    async def _over_budget(self, claim: Claim, told: Usage | None = None) -> str | None:
        """The budget, shared with others, that a claim overdraws with what was told before and now."""
        # Where there are none, nobody pays for another commit.
        if not await self.store.budgets(self.project):
            return None
        over = await self._exceeded(claim, told)
        return over if over is not None and budgets.is_shared(over) else None

    async def _exceeded(self, claim: Claim, told: Usage | None) -> str | None:
        [news] = await self.store.renew([Renewal(task_id=claim.task.id, fence=claim.fence, usage=told)])
        # An error is for the settlement to meet.
        return None if isinstance(news, DibsError) else news.limits.get("exceeded")
