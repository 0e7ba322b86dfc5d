"""What tokens cost by an operator's own table, and which told cost is believed.

A price is in USD per million tokens. Tokens that the model read from its cache, or wrote into it, are part of those it
read (`tokens_in`) and have prices of their own; without one they cost as much as the others.
A cost is frozen when it is recorded, with the version of the prices it came from: no later table changes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from msgspec import Struct
from msgspec.json import encode

from dibs.errors import Invalid

PER = 1_000_000
MAX_PRICE = 1_000_000.0
_NAMES = ("input", "output", "cached", "cache_write")


class Rate(Struct, frozen=True, gc=False):
    """The price of a million tokens of one model, in USD."""

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None


class Tokens(Struct, frozen=True, kw_only=True, gc=False):
    """What a model read and wrote. `cached` and `cache_written` are part of `read`."""

    read: int = 0
    written: int = 0
    cached: int = 0
    cache_written: int = 0


class Price(Struct, frozen=True, gc=False):
    """An amount, and the version of the prices it was computed with."""

    usd: float
    version: str


class Table:
    """Prices by model. A name that ends in `*` stands for every model that begins so; the longest fitting one wins."""

    def __init__(self, rates: Mapping[str, Rate]) -> None:
        self.rates = dict(rates)
        self.version = "prices " + blake2b(encode(self.rates, order="deterministic"), digest_size=4).hexdigest()

    def price(self, model: str, tokens: Tokens) -> Price | None:
        """What this costs; None if the table does not know the model."""
        rate = self._find(model.lower())
        return None if rate is None else Price(cost(rate, tokens), self.version)

    def _find(self, model: str) -> Rate | None:
        exact = self.rates.get(model)
        if exact is not None:
            return exact
        begun = [name for name in self.rates if name.endswith("*") and model.startswith(name[:-1])]
        return self.rates[max(begun, key=len)] if begun else None


def cost(rate: Rate, tokens: Tokens) -> float:
    """USD for these tokens."""
    plain = tokens.read - tokens.cached - tokens.cache_written
    cached = rate.input if rate.cached is None else rate.cached
    cache_write = rate.input if rate.cache_write is None else rate.cache_write
    million = plain * rate.input + tokens.written * rate.output
    return (million + tokens.cached * cached + tokens.cache_written * cache_write) / PER


def read_table(raw: Any) -> Table:
    """A table from what a file says: {model: {input, output[, cached][, cache_write]}}. Invalid names the field."""
    if not isinstance(raw, Mapping):
        raise Invalid("prices must be a table of models.", field="prices")
    return Table({str(model).lower(): _rate(model, prices) for model, prices in raw.items()})


def _rate(model: str, raw: Any) -> Rate:
    field = f"prices.{model}"
    if not isinstance(raw, Mapping):
        raise Invalid(f"{field} must be a table: input and output in USD per million tokens.", field=field)
    for name in raw:
        if name not in _NAMES:
            raise Invalid(f"{field} has no price {name!r}; there are {', '.join(_NAMES)}.", field=f"{field}.{name}")
    for name in ("input", "output"):
        if name not in raw:
            raise Invalid(f"{field} needs {name}: USD per million tokens; 0 is allowed.", field=f"{field}.{name}")
    return Rate(**{name: _usd(value, f"{field}.{name}") for name, value in raw.items()})


def _usd(value: Any, field: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= MAX_PRICE:
        raise Invalid(f"{field} must be USD per million tokens: a number from 0 to {MAX_PRICE:g}.", field=field)
    return float(value)


def check_tokens(tokens: Tokens) -> None:
    """Refuse more tokens of the cache than were read at all."""
    if tokens.cached + tokens.cache_written > tokens.read:
        raise Invalid(
            f"tokens_cached and tokens_cache_written are part of tokens_in, and cannot be more than"
            f" its {tokens.read:,}: add them to it.",
            field="tokens_cached" if tokens.cached else "tokens_cache_written",
        )
