"""Rates of types: buckets, and when each will be full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules import rates as rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.model.views import TypeRate
    from dibs.rules.rates import Rate
    from dibs.stores.ledger.state import State


def left(state: State, project: str) -> dict[str, int]:
    """How many tokens each type that has a rate has left."""
    return {
        type: rules.tokens(rate, full_at, state.now)
        for (home, type), (rate, full_at) in state.rates.items()
        if home == project
    }


def take(state: State, project: str, types: Iterable[str]) -> None:
    """Tasks of these types were handed out."""
    for type in types:
        known = state.rates.get((project, type))
        if known is not None:
            state.rates[project, type] = (known[0], rules.taken(*known, state.now, 1))


def opens_at(state: State, project: str, types: Iterable[str]) -> list[int]:
    """When those of these types that have no token have one."""
    known = [state.rates[project, type] for type in dict.fromkeys(types) if (project, type) in state.rates]
    return [rules.opens_at(*each) for each in known if not rules.tokens(*each, state.now)]


def set_rate(state: State, project: str, type: str, rate: Rate | None) -> TypeRate | None:
    """How many may be handed out in a time; None: any number."""
    state.changed = True
    if rate is None:
        state.rates.pop((project, type), None)
        return None
    before = state.rates.get((project, type))
    full_at = state.now if before is None else rules.changed(rate, before[1], state.now)
    state.rates[project, type] = (rate, full_at)
    return rules.shown(type, rate, full_at, state.now)


def rates(state: State, project: str) -> list[TypeRate]:
    """The types that have a rate, by name."""
    return [
        rules.shown(type, *known, state.now) for (home, type), known in sorted(state.rates.items()) if home == project
    ]
