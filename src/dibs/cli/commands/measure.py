"""`dibs stats --by …`: how it has been going, a line for each type, agent, model or day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli import wording
from dibs.cli.output import on_terminal, print_row
from dibs.cli.render import Column, hint, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.metrics import Metrics

COLUMNS = (
    Column("CREATED", right=True, spare=True),
    Column("DONE", right=True),
    Column("FAILED", right=True),
    Column("DEAD", right=True),
    Column("CANCELLED", right=True, spare=True),
    Column("ERRORS", right=True),
    Column("WAIT P50", right=True, spare=True),
    Column("P95", right=True, spare=True),
    Column("RUN P50", right=True),
    Column("P95", right=True, spare=True),
    Column("HELD", right=True, spare=True),
    Column("UNHEARD", right=True, spare=True),
    Column("TOKENS IN", right=True, spare=True),
    Column("OUT", right=True, spare=True),
    Column("COST", right=True),
)


def print_metrics(by: str, groups: Sequence[Metrics]) -> None:
    """A table for people; in a pipe the fields of `Metrics` between tabs, unknown ones empty."""
    if not on_terminal():
        for one in groups:
            print_row(getattr(one, field) for field in one.__struct_fields__)
    elif groups:
        print_table((Column(by.upper()), *COLUMNS), (_row(one) for one in groups))
    else:
        hint("Nothing has happened in that time.")


def _row(one: Metrics) -> tuple[str, ...]:
    return (
        one.name or "–",
        _count(one.created),
        _count(one.completed),
        _count(one.failed),
        _count(one.dead_lettered),
        _count(one.cancelled),
        wording.percent(one.error_rate),
        *(_span(seconds) for seconds in (one.wait_p50_s, one.wait_p95_s, one.run_p50_s, one.run_p95_s)),
        _count(one.held),
        _span(one.renewal_delay_s),
        _count(one.tokens_in),
        _count(one.tokens_out),
        wording.cost(one.cost_usd, one.unpriced),
    )


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _span(seconds: float | None) -> str:
    return "" if seconds is None else wording.span(seconds)
