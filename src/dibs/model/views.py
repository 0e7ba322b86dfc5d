"""Answers to people's questions: pages, `why`, `stats`, lanes and agents as they are shown."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, field

from dibs.model.agent import AgentStatus
from dibs.model.attempt import Attempt
from dibs.model.dag import Dag
from dibs.model.event import Event
from dibs.model.task import Task


class Page(Struct, kw_only=True):
    """Some of what was found. `cursor` continues (None on the last page); a page may be short and still have one."""

    items: list[Task] = field(default_factory=list)
    cursor: str | None = None


class Blocker(Struct, kw_only=True, omit_defaults=True):
    """One thing that keeps a task from running, and what would help."""

    kind: str
    detail: str
    ids: list[str] = field(default_factory=list)
    until: datetime | None = None
    help: str | None = None


class Why(Struct, kw_only=True):
    """Why a task is where it is: one sentence, and each blocker."""

    task_id: str
    status: str
    explanation: str
    blockers: list[Blocker] = field(default_factory=list)


class Agent(Struct, kw_only=True):
    """Who claims, as last heard of.

    `capabilities`, `types` and `models` are what it offered last. `tasks` are those it holds; `utilisation` is how many
    they are for each one it may hold (`max_concurrent`) or says it does at once (`concurrency`). `reason` is why it was
    unregistered.
    """

    id: str
    type: str | None = None
    capabilities: tuple[str, ...] = ()
    types: tuple[str, ...] | None = None
    models: tuple[str, ...] = ()
    heard_at: datetime | None = None
    max_concurrent: int | None = None
    concurrency: int | None = None
    version: str | None = None
    host: str | None = None
    pid: int | None = None
    poll_s: float | None = None
    started_at: datetime | None = None
    status: AgentStatus = AgentStatus.ACTIVE
    reason: str | None = None
    tasks: list[str] = field(default_factory=list)
    utilisation: float | None = None


class Lane(Struct, kw_only=True):
    """Tasks that every agent treats alike, counted. `agents` are the live ones that can serve it, if that was asked."""

    id: int
    type: str
    assignee: str | None = None
    requires: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    boost: float = 0.1
    ready: int = 0
    oldest_ready_at: datetime | None = None
    agents: list[str] | None = None
    provider: str | None = None
    slots: int | None = None
    """How many tasks of its type may be held at once, and how many are; None: any number."""
    held: int | None = None
    wait_p50_s: float | None = None
    wait_p95_s: float | None = None
    """How long those that were completed lately had waited for their first claim."""
    per_minute: list[int | None] | None = None
    """How many were completed in each minute, up to this one; None: that was not looked at."""


class DagPage(Struct, kw_only=True):
    """Some dags, without tasks and edges. `cursor` continues (None on the last page)."""

    items: list[Dag] = field(default_factory=list)
    cursor: str | None = None


class EventPage(Struct, kw_only=True):
    """Some events, the last one first. `before` continues (None: there are no older ones)."""

    items: list[Event] = field(default_factory=list)
    before: int | None = None


class TaskAttempts(Struct, kw_only=True):
    """A task, and every claim of it that ended, oldest first."""

    task_id: str
    attempts: list[Attempt] = field(default_factory=list)


class TypeSlots(Struct, kw_only=True):
    """How many tasks of a type may be held at once, and how many are."""

    type: str
    slots: int
    held: int = 0


class TypeRate(Struct, kw_only=True):
    """How many tasks of a type are handed out in a time (`amount` in `per_s` seconds, at most `burst` at once), and how
    many may be now (`left`); `opens_at`: when the next one may, if none may now."""

    type: str
    amount: int
    per_s: float
    burst: int
    left: int = 0
    opens_at: datetime | None = None


class Report(Struct, kw_only=True):
    """In which fields the decision reports of a type (`*`: of every type without its own) must say something."""

    type: str
    fields: tuple[str, ...]


class LockHolder(Struct, kw_only=True):
    """Whoever has a slot of a lock."""

    task_id: str
    fence: int
    agent: str | None = None
    since: datetime | None = None


class Lock(Struct, kw_only=True):
    """A named thing that only so many tasks may use at once: who uses it, and how many wait for it.

    `reserved_for`: the task that nobody may pass over any more.
    """

    name: str
    slots: int = 1
    holders: list[LockHolder] = field(default_factory=list)
    waiting: int = 0
    reserved_for: str | None = None


class Budget(Struct, kw_only=True):
    """What may be used of a unit within a scope, and what was: `spent` by attempts that ended, `reserved` by others.

    `unpriced` of those that ended did not say what they cost; they count as much as they had reserved. `waiting` tasks
    do not fit. What is left may be saved for one that was passed over (`saved_for`). With a `window` (`day`) it begins
    anew at `ends_at`, midnight in `timezone`; the rest is of this window.
    """

    scope: str
    unit: str = "usd"
    limit: float = 0.0
    default_reserve: float = 0.0
    reserved: float = 0.0
    spent: float = 0.0
    left: float = 0.0
    unpriced: int = 0
    waiting: int = 0
    window: str | None = None
    timezone: str | None = None
    ends_at: datetime | None = None
    saved_for: str | None = None


class Stats(Struct, kw_only=True):
    """The queue at a glance. `by_tier`: what is ready and not parked, by the tier of its effective priority now."""

    by_status: dict[str, int] = field(default_factory=dict)
    by_type: dict[str, dict[str, int]] = field(default_factory=dict)
    lanes: list[Lane] = field(default_factory=list)
    agents: list[Agent] = field(default_factory=list)
    oldest_ready_at: datetime | None = None
    next_due_at: datetime | None = None
    cost_usd: float | None = None
    by_tier: dict[str, int] = field(default_factory=dict)
