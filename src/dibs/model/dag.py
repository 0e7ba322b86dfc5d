"""A dag: tasks joined by edges, and how they end together."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, field

from dibs.model.escalation import Rung
from dibs.model.status import DagStatus
from dibs.model.task import Task


class Edge(Struct, frozen=True):
    """`child` waits for `parent`.

    Kinds: `after` (success), `after_ended` (any end), `child` (spawned and waited for; any end).
    """

    parent: str
    child: str
    kind: str = "after"


class Dag(Struct, kw_only=True):
    """A dag as dibs knows it at one moment, with its tasks and the edges into them.

    `cost_usd` is what its tasks cost; `judging_usd` what it cost to judge them, by tasks that are no part of it.
    `escalation` is its own ladder, if it has one.
    """

    id: str
    project: str = "default"
    title: str | None = None
    key: str | None = None
    status: DagStatus = DagStatus.PENDING
    on_failure: str = "fail_fast"
    user: str | None = None
    created_by: str | None = None
    virtual: bool = False
    created_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    counts: dict[str, int] = field(default_factory=dict)
    tasks: list[Task] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)
    leaves: list[str] = field(default_factory=list)
    critical_path: list[str] = field(default_factory=list)
    cost_usd: float | None = None
    judging_usd: float | None = None
    escalation: tuple[Rung, ...] = ()
