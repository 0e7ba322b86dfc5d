"""How it has been going, by type, agent, model or day: one statement reads it all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules.metrics import Counts, measured
from dibs.stores.sqlite.statements import sql

if TYPE_CHECKING:
    from dibs.model.metrics import Metrics
    from dibs.stores.sqlite.engine import Transaction


def metrics(tx: Transaction, project: str, by: str, since: int) -> list[Metrics]:
    """The groups, as `rules.metrics` orders them."""
    rows = tx.connection.execute(sql("metrics"), (project, since, by, tx.now))
    return measured(by, [Counts(*row) for row in rows])
