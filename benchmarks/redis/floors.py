"""What the figures on Redis must show. Every ratio is of figures from one run on one server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.contest.bounds import DIBS, against_the_fastest, latency
from benchmarks.findings import Floor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.contest.standings import Standings

OF_PYTHON = {"drain 1": 4.0, "drain 2": 2.5, "add": 0.8, "bulk": 3.0}
CLAIMS = ("claim 1, 1 lane", "claim 100, 1 lane", "claim 1, many lanes", "claim 100, many lanes")


def floors(found: Standings) -> list[Floor]:
    """Those of which both sides were measured. What is asked against Python is wished for against everybody."""
    return [
        *(floor for name, bound in OF_PYTHON.items() for floor in _against_python(found, name, bound)),
        # From the return it may be negative: a handler can have started before the answer was read.
        *latency(found, 1.5, since=["call"]),
        *_backlog(found),
        *(floor for name in OF_PYTHON for floor in _against_everybody(found, name)),
    ]


def _against_python(found: Standings, quantity: str, bound: float) -> Iterator[Floor]:
    yield from against_the_fastest(found, quantity, bound, python_only=True)


def _against_everybody(found: Standings, quantity: str) -> Iterator[Floor]:
    yield from against_the_fastest(found, quantity, 1.0, python_only=False, goal=True)


def _backlog(found: Standings) -> Iterator[Floor]:
    for claim in CLAIMS:
        few, many = (found.value(DIBS, f"{claim}, {backlog} waiting") for backlog in ("few", "many"))
        if few and many:
            what = found.sizes.worded(f"{claim}: many waiting / few waiting")
            yield Floor(what, many / few, 1.2, at_least=False)
