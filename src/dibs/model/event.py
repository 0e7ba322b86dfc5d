"""What happened, in the order it was committed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct, field


class Event(Struct, kw_only=True, omit_defaults=True, gc=False):
    """One thing that happened. `seq` grows by one without gaps; `type` is `task.added`, `dag.failed` and so on.

    Events that end an attempt carry `payload`, `output` and `error` in `data`, each replaced by
    `{"ref": …}` when it is large.
    """

    seq: int
    type: str
    at: datetime
    task_id: str | None = None
    dag_id: str | None = None
    agent: str | None = None
    reason: str | None = None
    data: dict[str, Any] = field(default_factory=dict)
