"""What the figures on PostgreSQL must show. Every ratio is of figures from one run on one server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.findings import Floor
from benchmarks.postgres.standings import RAW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.postgres.standings import Standings

DIBS = "dibs"
NODE_RIVAL = "graphile-worker"


def floors(found: Standings) -> list[Floor]:
    """Those of which both sides were measured."""
    return [
        *_drain(found),
        *_against_the_fastest(found, "add", 1.0, python_only=True),
        *_against_the_fastest(found, "bulk", 1.5, python_only=False),
        *_against_the_fastest(found, "bulk large", 1.5, python_only=False),
        *_latency(found),
        *_backlog(found),
        *_held(found),
        *_producers(found),
    ]


def _drain(found: Standings) -> Iterator[Floor]:
    for quantity in ("drain 1", "drain 2"):
        yield from _against_the_fastest(found, quantity, 1.5, python_only=True)
    yield from _share(found, "drain 2 / raw limit", (DIBS, "drain 2"), (RAW, "claim and complete 100 rows"), 55)
    for quantity in ("drain 1", "drain 2"):
        ours, theirs = found.value(DIBS, quantity), found.value(NODE_RIVAL, quantity)
        if ours and theirs:
            yield Floor(f"{quantity} / {NODE_RIVAL}", ours / theirs, 1.0, goal=True)


def _against_the_fastest(found: Standings, quantity: str, bound: float, *, python_only: bool) -> Iterator[Floor]:
    ours, rivals = found.value(DIBS, quantity), found.rivals(quantity, python_only=python_only)
    if ours and rivals:
        name, fastest = max(rivals, key=lambda rival: rival[1])
        whose = "fastest in Python" if python_only else "fastest"
        yield Floor(f"{quantity} / the {whose} ({name})", ours / fastest, bound)


def _latency(found: Standings) -> Iterator[Floor]:
    for since in ("call", "return"):
        median, rare = (found.value(DIBS, f"latency p{share} from {since}") for share in (50, 99))
        rivals = found.rivals(f"latency p50 from {since}", python_only=True)
        if median and rivals:
            name, fastest = min(rivals, key=lambda rival: rival[1])
            what = f"latency p50 from {since} / the fastest in Python ({name})"
            yield Floor(what, median / fastest, 1.2, at_least=False)
        if median and rare:
            yield Floor(f"latency from {since}, p99 / p50", rare / median, 3.0, at_least=False)


def _backlog(found: Standings) -> Iterator[Floor]:
    for lanes in ("1 lane", "many lanes"):
        few, many = (f"drain, {lanes}, {backlog} waiting" for backlog in ("few", "many"))
        what = f"drain, {lanes}: many waiting / few waiting"
        yield from _share(found, what, (DIBS, many), (DIBS, few), 90)
        few, many = (f"claim, {lanes}, {backlog} waiting" for backlog in ("few", "many"))
        # The other way round: a claim that takes half as long is twice as fast.
        what = f"speed of a claim, {lanes}: many waiting / few waiting"
        yield from _share(found, what, (DIBS, few), (DIBS, many), 90)
    one, spread = (f"drain, {lanes}, many waiting" for lanes in ("1 lane", "many lanes"))
    yield from _share(found, "drain, many waiting: many lanes / 1 lane", (DIBS, spread), (DIBS, one), 70)
    one, spread = (f"claim, {lanes}, many waiting" for lanes in ("1 lane", "many lanes"))
    yield from _share(found, "speed of a claim, many waiting: many lanes / 1 lane", (DIBS, one), (DIBS, spread), 70)


def _held(found: Standings) -> Iterator[Floor]:
    before, after = (f"drain {when} a held transaction" for when in ("before", "at the end of"))
    yield from _share(found, "drain at the end of / before a held transaction", (DIBS, after), (DIBS, before), 80)


def _producers(found: Standings) -> Iterator[Floor]:
    on, off = (f"adds of many producers, listening, notify={notify}" for notify in ("on", "off"))
    yield from _share(found, "adds of many producers, notify=on / off", (DIBS, on), (DIBS, off), 80)


def _share(found: Standings, what: str, part: tuple[str, str], whole: tuple[str, str], bound: float) -> Iterator[Floor]:
    ours, reference = found.value(*part), found.value(*whole)
    if ours and reference:
        yield Floor(found.sizes.worded(what), 100 * ours / reference, bound, unit="%")
