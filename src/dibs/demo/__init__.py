"""`dibs demo`: a small fleet of agents builds a landing page, and survives what real fleets meet.

Everything is real but the agents' thinking: separate `dibs worker` processes share a SQLite file, one task fails twice,
one agent is killed with `kill -9`, one task grows a child. A count kept outside the store proves that each task
was finished exactly once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; 0 when every task was finished exactly once, 1 when not, 130 after Ctrl-C."""
    from dibs.demo.show import run

    return run(argv)
