"""What the figures on PostgreSQL must show. Every ratio is of figures from one run on one server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.contest.bounds import DIBS, against_the_fastest, latency, share
from benchmarks.contest.standings import RAW
from benchmarks.findings import Floor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.contest.standings import Standings

NODE_RIVAL = "graphile-worker"


def floors(found: Standings) -> list[Floor]:
    """Those of which both sides were measured."""
    return [
        *_drain(found),
        *against_the_fastest(found, "add", 1.0, python_only=True),
        *against_the_fastest(found, "bulk", 1.5, python_only=False),
        *against_the_fastest(found, "bulk large", 1.5, python_only=False),
        *latency(found, 1.2, spread=3.0),
        *_backlog(found),
        *_held(found),
        *_producers(found),
    ]


def _drain(found: Standings) -> Iterator[Floor]:
    for quantity in ("drain 1", "drain 2"):
        yield from against_the_fastest(found, quantity, 1.5, python_only=True)
    yield from share(found, "drain 2 / raw limit", (DIBS, "drain 2"), (RAW, "claim and complete 100 rows"), 55)
    for quantity in ("drain 1", "drain 2"):
        ours, theirs = found.value(DIBS, quantity), found.value(NODE_RIVAL, quantity)
        if ours and theirs:
            yield Floor(f"{quantity} / {NODE_RIVAL}", ours / theirs, 1.0, goal=True)


def _backlog(found: Standings) -> Iterator[Floor]:
    for lanes in ("1 lane", "many lanes"):
        few, many = (f"drain, {lanes}, {backlog} waiting" for backlog in ("few", "many"))
        what = f"drain, {lanes}: many waiting / few waiting"
        yield from share(found, what, (DIBS, many), (DIBS, few), 90)
        few, many = (f"claim, {lanes}, {backlog} waiting" for backlog in ("few", "many"))
        # The other way round: a claim that takes half as long is twice as fast.
        what = f"speed of a claim, {lanes}: many waiting / few waiting"
        yield from share(found, what, (DIBS, few), (DIBS, many), 90)
    one, spread = (f"drain, {lanes}, many waiting" for lanes in ("1 lane", "many lanes"))
    yield from share(found, "drain, many waiting: many lanes / 1 lane", (DIBS, spread), (DIBS, one), 70)
    one, spread = (f"claim, {lanes}, many waiting" for lanes in ("1 lane", "many lanes"))
    yield from share(found, "speed of a claim, many waiting: many lanes / 1 lane", (DIBS, one), (DIBS, spread), 70)


def _held(found: Standings) -> Iterator[Floor]:
    before, after = (f"drain {when} a held transaction" for when in ("before", "at the end of"))
    yield from share(found, "drain at the end of / before a held transaction", (DIBS, after), (DIBS, before), 80)


def _producers(found: Standings) -> Iterator[Floor]:
    on, off = (f"adds of many producers, listening, notify={notify}" for notify in ("on", "off"))
    yield from share(found, "adds of many producers, notify=on / off", (DIBS, on), (DIBS, off), 80)
