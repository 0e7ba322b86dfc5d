"""From tokens to USD, without asking anybody: the operator's own table first, then the prices in `genai-prices`.

Nothing is read or imported before the first tokens are told without a cost. A price list never refuses work: where the
model is unknown, nothing is installed or the table has a mistake in it, the cost stays unknown. With a mistake in the
table nothing at all is priced, because an amount is frozen once it is recorded.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

from dibs.errors import Invalid
from dibs.rules.pricing import Price, Table, Tokens, read_table

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = "dibs.toml"
INSTALL = "pip install 'dibs[cost]'"


class Source(Protocol):
    """Something that knows prices."""

    @property
    def version(self) -> str:
        """Which prices these are; recorded with every amount."""
        ...

    def price(self, model: str, tokens: Tokens) -> Price | None:
        """What this costs; None if the model is not known here."""
        ...


class Prices:
    """All sources of one process, found when they are first needed unless they are given.

    `trouble` says why nothing is priced, if something is wrong.
    """

    def __init__(self, *sources: Source) -> None:
        self._sources: tuple[Source, ...] | None = sources or None
        self.trouble: str | None = None

    @property
    def loaded(self) -> bool:
        """Whether asking for a price takes no time: reading the first time takes up to half a second."""
        return self._sources is not None

    @property
    def versions(self) -> list[str]:
        """Which prices there are, the first that knows a model wins."""
        return [source.version for source in self.load()]

    def load(self) -> tuple[Source, ...]:
        """Find the sources, unless that has been done."""
        if self._sources is None:
            try:
                self._sources = tuple(_found())
            except Invalid as error:
                self._trouble(error.message)
                self._sources = ()
        return self._sources

    def price(self, model: str | None, tokens: Tokens) -> Price | None:
        """What these tokens of a model cost; None if nobody knows."""
        if model is None:
            return None
        try:
            found = (source.price(model, tokens) for source in self.load())
            return next((price for price in found if price is not None), None)
        except Exception as error:
            # Somebody else's code, with somebody else's words: an outcome must not fail on it.
            self._trouble(f"the price of {model} cannot be computed: {error!r}")
            return None

    def _trouble(self, message: str) -> None:
        if self.trouble is None:
            import logging

            logging.getLogger("dibs.pricing").warning("costs stay unknown: %s", message)
        self.trouble = message


class Library:
    """The prices that come with `genai-prices`, as of its release. It is never asked to update them."""

    def __init__(self) -> None:
        import genai_prices

        self._library: Any = genai_prices
        self.version = f"genai-prices {genai_prices.__version__}"

    def price(self, model: str, tokens: Tokens) -> Price | None:
        usage = self._library.Usage(
            input_tokens=tokens.read,
            output_tokens=tokens.written,
            cache_read_tokens=tokens.cached or None,
            cache_write_tokens=tokens.cache_written or None,
        )
        for name, provider in _names(model):
            try:
                found = self._library.calc_price(usage, name, provider_id=provider)
            except LookupError:
                continue
            return Price(float(found.total_price), self.version)
        return None


def _names(model: str) -> Iterator[tuple[str, str | None]]:
    """How the library may know a model: as it is written, else after its provider (`anthropic/claude-sonnet-4`)."""
    yield model, None
    for mark in "/:":
        provider, found, name = model.partition(mark)
        if found and provider and name:
            yield name, provider


def _found() -> Iterator[Source]:
    """The sources there are, best first. Invalid: a table that cannot be used."""
    from importlib.util import find_spec

    table = _own_table()
    if table is not None:
        yield table
    if find_spec("genai_prices") is not None:
        yield Library()


def _own_table() -> Table | None:
    """The table `[prices]` of the file that `$DIBS_PRICES` names, else of the nearest `dibs.toml`, if there is one."""
    path = os.environ.get("DIBS_PRICES") or nearest_file()
    if path is None:
        return None
    import tomllib

    try:
        with open(path, "rb") as file:
            raw = tomllib.load(file)
    except OSError as error:
        raise Invalid(
            f"{path} cannot be read ({error.strerror}): name another with DIBS_PRICES.", field="prices"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"{path} is not TOML: {error}.", field="prices") from None
    if "prices" not in raw:
        return None
    try:
        return read_table(raw["prices"])
    except Invalid as error:
        raise Invalid(f"{path}: {error.message}", field=error.field) from None


def nearest_file() -> str | None:
    """`dibs.toml` in the working directory or the nearest folder above that has one."""
    folder = os.getcwd()
    while True:
        candidate = os.path.join(folder, FILE)
        if os.path.exists(candidate):
            return candidate
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
