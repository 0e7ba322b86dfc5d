"""Bounds in the forms that every contest has: against the fastest of the others, and against a figure of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.findings import Floor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.contest.standings import Standings

DIBS = "dibs"


def against_the_fastest(
    found: Standings, quantity: str, bound: float, *, python_only: bool, goal: bool = False
) -> Iterator[Floor]:
    """Nothing where one side was not measured."""
    ours, rivals = found.value(DIBS, quantity), found.rivals(quantity, python_only=python_only)
    if ours and rivals:
        name, fastest = max(rivals, key=lambda rival: rival[1])
        whose = "fastest in Python" if python_only else "fastest"
        yield Floor(f"{quantity} / the {whose} ({name})", ours / fastest, bound, goal=goal)


def latency(
    found: Standings, bound: float, *, since: Sequence[str] = ("call", "return"), spread: float | None = None
) -> Iterator[Floor]:
    """The median against that of the fastest in Python and, if asked, the rare against the median."""
    for since_what in since:
        median, rare = (found.value(DIBS, f"latency p{share} from {since_what}") for share in (50, 99))
        rivals = found.rivals(f"latency p50 from {since_what}", python_only=True)
        if median and rivals:
            name, fastest = min(rivals, key=lambda rival: rival[1])
            what = f"latency p50 from {since_what} / the fastest in Python ({name})"
            yield Floor(what, median / fastest, bound, at_least=False)
        if median and rare and spread:
            yield Floor(f"latency from {since_what}, p99 / p50", rare / median, spread, at_least=False)


def share(found: Standings, what: str, part: tuple[str, str], whole: tuple[str, str], bound: float) -> Iterator[Floor]:
    """A figure as a part of another one, in percent."""
    ours, reference = found.value(*part), found.value(*whole)
    if ours and reference:
        yield Floor(found.sizes.worded(what), 100 * ours / reference, bound, unit="%")
