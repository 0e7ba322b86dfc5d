"""Windows of budgets: which are over, and when the next ones end. `rules.windows` knows; SQL writes it down."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from dibs.rules.windows import Window, ends_at

if TYPE_CHECKING:
    from dibs.stores.postgres.engine import Engine

_OVER = """
SELECT n.now, b.project, b.name, b.per, b.zone, b.ends_at
FROM (SELECT coalesce($1::bigint, dibs.micros()) AS now) n JOIN dibs.budgets b ON b.ends_at <= n.now
ORDER BY b.project, b.name
"""
_ROLL = "SELECT dibs.roll_windows($1, $2, $3, $4, $5)"


async def roll(engine: Engine) -> int:
    """Let budgets whose window is over begin anew, and in who fits; how many. Several may do this at once."""
    over = await engine.fetch(_OVER, engine.at)
    begun = 0
    for project, found in groupby(over, key=lambda row: str(row["project"])):
        budgets = list(found)
        begun += await engine.value(
            _ROLL,
            engine.at,
            project,
            [row["name"] for row in budgets],
            [row["ends_at"] for row in budgets],
            [ends_at(Window(row["per"], row["zone"]), row["now"]) for row in budgets],
        )
    if begun:
        engine.changed()
    return begun
