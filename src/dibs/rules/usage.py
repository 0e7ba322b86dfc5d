"""Adding up what attempts used, and which of several told costs holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dibs.model.status import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

Number = TypeVar("Number", int, float)

SILENT = frozenset({Outcome.RELEASED, Outcome.SUSPENDED, Outcome.RATE_LIMITED})
"""Ways to end a claim after which nothing more is expected to have been used than was told."""


def plus(total: Number | None, used: Number | None) -> Number | None:
    """Both together. None is unknown, which is not zero: unknown and 3 are 3, unknown and unknown stay unknown."""
    if used is None:
        return total
    return used if total is None else total + used


def added_up(costs: Iterable[float | None]) -> float | None:
    """The sum of what is known; None if nothing is."""
    total: float | None = None
    for cost in costs:
        total = plus(total, cost)
    return total


def newer_cost(
    known: tuple[float | None, str | None], told: tuple[float | None, str | None], *, tokens: bool
) -> tuple[float | None, str | None]:
    """(cost, price) after a report. A cost with a price was computed from tokens; one without was told by the agent.

    What the agent told holds over what is computed. A computed cost does not outlive the tokens it was computed from:
    newer `tokens` that nobody could price make it unknown.
    """
    if told[0] is not None:
        return known if told[1] is not None and known[0] is not None and known[1] is None else told
    return (None, None) if tokens and known[1] is not None else known


def is_unpriced(
    outcome: str,
    cost_usd: float | None,
    *,
    model: str | None,
    tokens_in: int | None,
    tokens_out: int | None,
    turns: int | None,
) -> bool:
    """Whether an attempt probably cost something that nobody knows: it used tokens or turns, or had a model to use."""
    if cost_usd is not None:
        return False
    return bool(tokens_in or tokens_out or turns) or (model is not None and outcome not in SILENT)
