"""What was measured."""

from __future__ import annotations

from msgspec import Struct


class Rate(Struct):
    """How many tasks in which time."""

    name: str
    tasks: int
    seconds: float
    per_second: float


class Latency(Struct):
    """From the call of `add` to the start of the handler of a worker that had nothing to do, in milliseconds."""

    name: str
    tasks: int
    p50_ms: float
    p99_ms: float


class Figures(Struct, kw_only=True):
    """One run: where, on what machine, and what was found. `load`: of the machine before it began."""

    url: str
    version: str
    python: str
    cores: int
    load: float | None
    rates: list[Rate]
    latency: Latency


def rate(name: str, tasks: int, seconds: float) -> Rate:
    return Rate(name, tasks, round(seconds, 4), round(tasks / seconds, 1) if seconds > 0 else 0.0)


def latency(name: str, samples_s: list[float]) -> Latency:
    """The median, and what 99 of 100 stay within: the nearest that was measured."""
    ordered = sorted(samples_s)

    def at(share: float) -> float:
        place = max(0, -int(-share * len(ordered) // 1) - 1)
        return round(ordered[place] * 1000, 3)

    return Latency(name, len(ordered), at(0.5), at(0.99))
