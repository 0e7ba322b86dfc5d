"""How sure a comparison is: the mean of pairs with its 95 % interval, by Student's t.

Two measurements of a pair are next to each other in time, so that what slows the machine slows both. Ratios are
averaged as logarithms: twice and half cancel out.
"""

from __future__ import annotations

import math
from statistics import fmean, stdev
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""Student's t for 95 %, by degrees of freedom from 1 on."""

LEAST_PAIRS = 2


class Interval(NamedTuple):
    """A mean, and between what it lies with 95 % certainty."""

    mean: float
    lower: float
    upper: float


def ratio(pairs: Sequence[tuple[float, float]]) -> Interval:
    """Of the first of each pair to the second."""
    logs = interval([math.log(one / other) for one, other in pairs])
    return Interval(*map(math.exp, logs))


def difference(pairs: Sequence[tuple[float, float]]) -> Interval:
    """The first of each pair minus the second."""
    return interval([one - other for one, other in pairs])


def interval(values: Sequence[float]) -> Interval:
    mean = fmean(values)
    half = student(len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


def student(freedom: int) -> float:
    """The 97.5 % quantile of Student's distribution; beyond 30 degrees of freedom by its expansion, to 0.001."""
    return _T[freedom - 1] if freedom <= len(_T) else 1.96 + 2.42 / freedom
