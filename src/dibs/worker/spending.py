"""What an attempt says it has spent, added up. Tokens are priced call by call: an attempt may use many models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules.pricing import Tokens
from dibs.rules.usage import plus
from dibs.stores.values import Usage

if TYPE_CHECKING:
    from dibs.pricing import Prices


class Spending:
    """The totals of an attempt. Its cost is what the handler told; if it told none, what its tokens cost; if some of
    those have no price, unknown: a part of a cost would look like all of it.
    """

    __slots__ = ("_computed", "_model", "_prices", "_told", "_unpriced", "_versions", "usage")

    def __init__(self, prices: Prices, model: str | None) -> None:
        self._prices = prices
        self._model = model
        self._told: float | None = None
        self._computed: float | None = None
        self._versions: set[str] = set()
        self._unpriced = False
        self.usage = Usage()

    def add(
        self,
        usd: float | None = None,
        tokens_in: int | None = None,
        tokens_out: int | None = None,
        turns: int | None = None,
        model: str | None = None,
        tokens_cached: int | None = None,
        tokens_cache_written: int | None = None,
    ) -> Usage:
        """Add one call, or some; the totals. What was never named stays unknown, which is not zero."""
        before = self.usage
        self._model = model or self._model
        self._told = plus(self._told, usd)
        if self._told is None and (tokens_in or tokens_out):
            self._price(
                Tokens(
                    read=tokens_in or 0,
                    written=tokens_out or 0,
                    cached=tokens_cached or 0,
                    cache_written=tokens_cache_written or 0,
                )
            )
        computed = None if self._unpriced else self._computed
        self.usage = Usage(
            cost_usd=computed if self._told is None else self._told,
            tokens_in=plus(before.tokens_in, tokens_in),
            tokens_out=plus(before.tokens_out, tokens_out),
            turns=plus(before.turns, turns),
            model=model or before.model,
            price=None if computed is None or self._told is not None else " + ".join(sorted(self._versions)),
        )
        return self.usage

    def _price(self, tokens: Tokens) -> None:
        price = self._prices.price(self._model, tokens)
        if price is None:
            self._unpriced = True
        else:
            self._computed = plus(self._computed, price.usd)
            self._versions.add(price.version)
