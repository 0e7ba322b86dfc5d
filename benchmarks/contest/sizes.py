"""How much work the measures of a contest do. What depends on a peer's speed is in the peer's own sizes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """`share` of each peer's own sizes, and what is the same for all."""

    share: float = 1.0
    raw_claims: int = 800_000
    raw_copies: int = 1_000_000
    pings: int = 300
    backlog: int = 1_000_000
    short_backlog: int = 20_000
    lanes: int = 50
    claims: int = 200
    held_s: float = 180.0
    unheld_s: float = 45.0
    window_s: float = 30.0
    """Over which the rates before and at the end of the held transaction are taken."""
    fed: int = 20_000
    """Waiting tasks that the feeder keeps in the queue meanwhile."""
    graphs: int = 1_000
    producers: int = 32
    producing_s: float = 5.0

    def worded(self, quantity: str) -> str:
        """A quantity's name with the numbers of this size: `few waiting` becomes `20,000 waiting`."""
        for word, number in (
            ("few waiting", self.short_backlog),
            ("many waiting", self.backlog),
            ("many lanes", self.lanes),
            ("many producers", self.producers),
        ):
            quantity = quantity.replace(word, f"{number:,} {word.split()[1]}")
        return quantity

    def of(self, count: int) -> int:
        """That many tasks at this size: whole hundreds."""
        return max(200, 100 * round(count * self.share / 100))


SIZES = {
    "full": Sizes(),
    "small": Sizes(
        share=0.2,
        raw_claims=200_000,
        raw_copies=200_000,
        pings=150,
        backlog=100_000,
        short_backlog=10_000,
        claims=50,
        held_s=15.0,
        unheld_s=8.0,
        window_s=5.0,
        graphs=200,
        producing_s=2.0,
    ),
    "tiny": Sizes(
        share=0.02,
        raw_claims=20_000,
        raw_copies=20_000,
        pings=50,
        backlog=10_000,
        short_backlog=2_000,
        lanes=5,
        claims=10,
        held_s=3.0,
        unheld_s=3.0,
        window_s=1.0,
        fed=2_000,
        graphs=20,
        producers=4,
        producing_s=0.5,
    ),
}
