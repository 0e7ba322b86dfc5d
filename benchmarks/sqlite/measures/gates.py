"""Gates, for those who do not stand at them: `benchmarks.gates` on SQLite."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import dibs
from benchmarks import gates
from benchmarks.sqlite import noop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.bench import Bench
    from benchmarks.findings import Findings
    from benchmarks.sqlite.sizes import Sizes


def run(bench: Bench[Sizes]) -> Findings:
    @contextmanager
    def pair() -> Iterator[tuple[gates.Place, gates.Place]]:
        with ExitStack() as stack:
            plain, gated = (
                stack.enter_context(dibs.connect_sync(noop.url(bench.fresh_folder(name))))
                for name in ("plain", "gated")
            )
            yield _place(plain), _place(gated)

    sizes = bench.sizes
    wanted = gates.Sizes(
        stopped=sizes.backlog,
        waiting=sizes.short_backlog,
        behind=1_000,
        claims=sizes.single_claims,
        drained=sizes.drain_dibs // 5,
        runs=bench.runs,
    )
    return gates.run(pair, wanted, bench.say)


def _place(queue: dibs.SyncQueue) -> gates.Place:
    store: Any = queue.queue.store
    return gates.Place(queue, lambda: int(store._engine._writer.total_changes()))
