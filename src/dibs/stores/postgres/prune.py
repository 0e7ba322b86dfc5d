"""Forgetting what ended long ago, in many short transactions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dibs.stores.postgres.engine import Engine

_IDLE_LANE_S = 86_400.0
_ROWS_AT_ONCE = 5_000
_LONGEST_S = 1.0
"""Events and claim ids are deleted for so long at a time, because a busy store makes many."""

_TASKS = "SELECT dibs.prune_tasks($1, $2, $3)"
_LOG = "SELECT dibs.prune_log($1, $2, $3)"
_AGENTS = "SELECT dibs.prune_agents($1, $2, $3)"
_RETIRE = "SELECT dibs.retire_lanes($1, $2)"


async def prune(engine: Engine, retention_s: float, limit: int) -> int:
    """Delete what ended before now − retention, old events and claim ids. How many tasks."""
    pruned = int(await engine.value(_TASKS, engine.at, retention_s, limit))
    end = time.monotonic() + _LONGEST_S
    while await engine.value(_LOG, engine.at, retention_s, _ROWS_AT_ONCE) and time.monotonic() < end:
        pass
    idle = await engine.value(_AGENTS, engine.at, retention_s, _IDLE_LANE_S)
    if idle:
        await engine.value(_RETIRE, engine.at, idle)
    if pruned:
        engine.changed()
    return pruned
