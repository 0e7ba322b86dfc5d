"""The verbs about rates: how many tasks of a type are handed out in a time. `Queue` has them; they are written here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules import validation

if TYPE_CHECKING:
    from dibs.model.views import TypeRate
    from dibs.stores.contract import Store


class Rates:
    """How fast a queue hands out what it has."""

    store: Store
    project: str

    async def rates(self) -> list[TypeRate]:
        """The types of which only so many tasks are handed out in a time, and how many may be now."""
        return await self.store.rates(self.project)

    async def set_rate(self, type: str, rate: str | None, burst: int | None = None) -> TypeRate | None:
        """Hand out so many tasks of a type in a time: `10/min`, `100/hour`, `3/30s`; None: any number.

        At most `burst` at once, as many as the rate says unless it is given; then one by one, evenly. A task that
        is given back, or tried again, counts each time it is handed out.
        """
        from dibs.rules import rates

        kind = validation.text(type, "type")
        wanted = None if rate is None else rates.parse(rate, burst)
        return await self.store.set_rate(self.project, kind, wanted)

    async def remove_rate(self, type: str) -> TypeRate:
        """Hand out any number of tasks of a type again; the rate as it was. Raises NotFound."""
        from dibs.rules.rates import no_rate

        kind = validation.text(type, "type")
        for rate in await self.store.rates(self.project):
            if rate.type == kind:
                await self.store.set_rate(self.project, kind, None)
                return rate
        raise no_rate(kind)
