"""What gates cost those who do not stand at them: the same claims in a store with gates and in one without, in turns.

- A type with a million ready tasks is paused, then its breaker is opened: claims of another type; and what pausing and
  opening themselves take and write.
- A thousand tasks wait for one lock, in the very lane that is claimed from; a thousand are parked on a budget.
- Pauses, breakers, locks and budgets of other types by the dozen: draining a type that has none.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import dibs
from benchmarks.findings import Figure, Findings, Floor
from benchmarks.waiting import CHUNK, Backlog, take_turns
from dibs import settling

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

OTHER, STOPPED, PAID = "other", "stopped", "paid"
BOUND = 1.2
"""How much longer a claim may take beside gates."""
ELSEWHERE = 50
"""How many gates of each kind other types have."""
BATCH = 100
LEASE_S = 24 * 3_600


class Sizes(NamedTuple):
    """How much there is of everything."""

    stopped: int
    waiting: int
    behind: int
    claims: int
    drained: int
    runs: int


class Place(NamedTuple):
    """A store. `rows_written` counts all that were ever written in it."""

    queue: dibs.SyncQueue
    rows_written: Callable[[], int]


if TYPE_CHECKING:
    Pair = Callable[[], AbstractContextManager[tuple[Place, Place]]]
    Say = Callable[[str], None]


def run(pair: Pair, sizes: Sizes, say: Say) -> Findings:
    """All of it. `pair` opens two empty stores."""
    found = Findings()
    for measure in (_locks, _budgets, _stopped, _elsewhere):
        here = measure(pair, sizes, say)
        found.figures += here.figures
        found.floors += here.floors
    return found


def _locks(pair: Pair, sizes: Sizes, say: Say) -> Findings:
    with pair() as (plain, gated):
        gated.queue.add_many([dibs.NewTask(OTHER, priority=0, locks=["repo"]) for _ in range(sizes.behind)])
        [_] = gated.queue.claim("holder", lease=LEASE_S)
        _nothing(gated)
        return _claims(plain, gated, f"{sizes.behind:,} behind one lock", sizes, say)


def _budgets(pair: Pair, sizes: Sizes, say: Say) -> Findings:
    with pair() as (plain, gated):
        gated.queue.set_budget(f"type:{PAID}", 0)
        gated.queue.add_many([dibs.NewTask(PAID, priority=0, max_cost=0.1) for _ in range(sizes.behind)])
        _nothing(gated)
        return _claims(plain, gated, f"{sizes.behind:,} parked on a budget", sizes, say)


def _stopped(pair: Pair, sizes: Sizes, say: Say) -> Findings:
    found = Findings()
    with pair() as (plain, gated):
        say(f"gates: loading {sizes.stopped:,}")
        for first in range(0, sizes.stopped, CHUNK):
            count = min(CHUNK, sizes.stopped - first)
            gated.queue.add_many([dibs.NewTask(STOPPED, {"number": number}) for number in range(count)])
        for words, stop, go in (
            ("paused", lambda: gated.queue.pause(STOPPED), lambda: gated.queue.resume(STOPPED)),
            (
                "stopped by their breaker",
                lambda: gated.queue.open_breaker(STOPPED),
                lambda: gated.queue.close_breaker(STOPPED),
            ),
        ):
            written, started = gated.rows_written(), time.perf_counter()
            stop()
            took_ms = 1_000 * (time.perf_counter() - started)
            written = gated.rows_written() - written
            what = f"{sizes.stopped:,} {words}"
            found.figures += [
                Figure(f"stopping, {what}", "ms", (took_ms,)),
                Figure(f"rows written by stopping, {what}", "rows", (float(written),)),
            ]
            found.floors.append(Floor(f"rows written by stopping, {what}", written, 10, at_least=False, unit="rows"))
            here = _claims(plain, gated, what, sizes, say)
            found.figures += here.figures
            found.floors += here.floors
            go()
    return found


def _elsewhere(pair: Pair, sizes: Sizes, say: Say) -> Findings:
    found = Findings()
    with pair() as (plain, gated):
        for number in range(ELSEWHERE):
            type = f"elsewhere-{number}"
            gated.queue.add_many([dibs.NewTask(type, locks=[f"lock-{number}"], max_cost=0.1) for _ in range(2)])
            gated.queue.claim("holder", types=[type], lease=LEASE_S, limit=2)
            gated.queue.pause(type)
            gated.queue.set_breaker(type, failure_threshold=3)
        _drained(plain, gated, "gates of other types", sizes, found, say)
        for number in range(ELSEWHERE):
            gated.queue.set_budget(f"type:elsewhere-{number}", 1.0)
        _drained(plain, gated, "gates and budgets of other types", sizes, found, say)
    return found


def _claims(plain: Place, gated: Place, words: str, sizes: Sizes, say: Say) -> Findings:
    """Claims of one in both, in turns."""
    without = Backlog(plain.queue, _other, 0 if plain.queue.find(type=OTHER).items else sizes.waiting)
    beside = Backlog(
        gated.queue, _other, 0 if gated.queue.find(type=OTHER, status="completed").items else sizes.waiting
    )
    samples: tuple[list[float], list[float]] = ([], [])
    for number in range(sizes.runs):
        pair = take_turns(without, beside, 1, sizes.claims)
        for values, sample in zip(samples, pair, strict=True):
            values.append(sample)
        say(f"gates, {words}, run {number + 1}/{sizes.runs}: {pair[0]:.3f} ms without, {pair[1]:.3f} ms beside them")
    before, after = (tuple(values) for values in samples)
    figures = [Figure(f"claim, without {words}", "ms", before), Figure(f"claim, beside {words}", "ms", after)]
    ratio = figures[1].value / figures[0].value
    return Findings(figures, [Floor(f"claim, beside / without {words}", ratio, BOUND, at_least=False)])


def _drained(plain: Place, gated: Place, words: str, sizes: Sizes, found: Findings, say: Say) -> None:
    """Batches claimed and completed in both, in turns."""
    samples: tuple[list[float], list[float]] = ([], [])
    for number in range(sizes.runs):
        spent = [0.0, 0.0]
        for place in (plain, gated):
            for first in range(0, sizes.drained, CHUNK):
                place.queue.add_many([_other(n) for n in range(min(CHUNK, sizes.drained - first))])
        for _ in range(sizes.drained // BATCH):
            for which, place in enumerate((plain, gated)):
                started = time.perf_counter()
                claims = place.queue.claim("bench", limit=BATCH)
                place.queue.settle([settling.completed(claim) for claim in claims])
                spent[which] += time.perf_counter() - started
        rates = [sizes.drained / seconds for seconds in spent]
        for values, rate in zip(samples, rates, strict=True):
            values.append(rate)
        say(
            f"gates, drain, {words}, run {number + 1}/{sizes.runs}: {rates[0]:,.0f}/s without, {rates[1]:,.0f}/s beside"
        )
    before, after = (tuple(values) for values in samples)
    figures = [Figure(f"drain, without {words}", "/s", before), Figure(f"drain, beside {words}", "/s", after)]
    found.figures += figures
    found.floors.append(Floor(f"drain, beside / without {words}", figures[1].value / figures[0].value, 1 / BOUND))


def _other(number: int) -> dibs.NewTask:
    return dibs.NewTask(OTHER, {"number": number})


def _nothing(place: Place) -> None:
    """Whoever looks for work parks what cannot be had."""
    if place.queue.claim("bench"):
        raise RuntimeError("there was something to claim, although everything had to wait")
