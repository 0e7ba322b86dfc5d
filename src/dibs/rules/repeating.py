"""When a request to a server is made again by whoever got no answer.

A request that reached nobody may always be made again. One that may have been heard is made again only if saying it
twice is answered like saying it once: reads, whatever is fenced or keyed, whatever sets a value. The rest adds up, or
is answered otherwise the second time: there, not knowing is told.

A server that never answered is not waited for: its address is probably wrong. One that did is, for a while.
"""

from __future__ import annotations

PATIENCE_S = 15.0
"""How long a server that has answered before is waited for."""

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0


def is_made_again(*, heard: bool, safe: bool, known: bool, waited_s: float, patience_s: float = PATIENCE_S) -> bool:
    """Whether to make a request again that was not answered.

    `heard`: the server may have got it; `safe`: saying it twice does no harm; `known`: it has answered before.
    """
    if heard:
        return safe and waited_s < patience_s
    return known and waited_s < patience_s


def pause_s(tries: int, draw: float, asked_s: float | None = None) -> float:
    """How long to wait before a request is made for the `tries`-th time again: each time twice as long, give or take
    half (`draw`, 0 to 1), so that clients that lost the same server do not come back at once. A server that `asked`
    for more gets it."""
    base = min(FIRST_PAUSE_S * 2.0 ** min(tries, 16), LONGEST_PAUSE_S)
    return max(base * (0.5 + draw), asked_s or 0.0)
