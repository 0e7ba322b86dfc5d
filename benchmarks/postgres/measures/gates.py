"""Gates, for those who do not stand at them: `benchmarks.gates` on PostgreSQL. Only dibs has such gates."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import dibs
from benchmarks import gates
from benchmarks.contest.stage import Unable
from benchmarks.postgres.server import connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.contest.stage import Contest, Contestant, Stage
    from benchmarks.findings import Findings

_WRITTEN = "SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) FROM pg_stat_user_tables"
_REPORTED = "SELECT pg_sleep(11)"
"""A session that has nothing more to do tells of what it wrote ten seconds later."""


def compared(contest: Contest, contestant: Contestant) -> Findings:
    """Figures and bounds, of runs that share what was loaded."""
    if not contestant.is_dibs:
        raise Unable("has no such gates")

    @contextmanager
    def pair() -> Iterator[tuple[gates.Place, gates.Place]]:
        with ExitStack() as stack:
            places = []
            for name in ("_plain", "_gated"):
                stage = stack.enter_context(contest.stage(contestant, suffix=name))
                stack.callback(contest.server.drop, name)
                places.append(_place(stage, stack.enter_context(dibs.connect_sync(stage.url))))
            yield places[0], places[1]

    sizes = contest.sizes
    wanted = gates.Sizes(
        stopped=sizes.backlog,
        waiting=min(1_000, sizes.short_backlog),
        behind=1_000,
        claims=sizes.claims,
        drained=max(1_000, sizes.short_backlog // 2),
        runs=contest.bench.runs,
    )
    return gates.run(pair, wanted, contest.bench.say)


def _place(stage: Stage, queue: dibs.SyncQueue) -> gates.Place:
    def rows_written() -> int:
        with connect(stage.url) as connection:
            connection.execute(_REPORTED)
            [count] = connection.execute(_WRITTEN).fetchone() or (0,)
            return int(count)  # type: ignore[call-overload, no-any-return]

    return gates.Place(queue, rows_written)
