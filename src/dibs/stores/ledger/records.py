"""What a memory store keeps of a task, and of what is around it. Instants are micros, JSON is bytes."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct, field

from dibs.model.artifact import Artifact
from dibs.model.attempt import Attempt
from dibs.model.claim import Settled
from dibs.model.status import FINAL, HELD, DagStatus, Outcome, Status
from dibs.model.task import Task
from dibs.rules import priority
from dibs.rules.locks import SLOTS
from dibs.rules.windows import Window
from dibs.stores.values import Entry, LaneKey, Usage


class Ending(Struct, eq=False):
    """An ended claim: its attempt, and the answer to whoever settles it again with the same digest."""

    attempt: Attempt
    digest: str = ""
    settled: Settled | None = None


class Edge(Struct, eq=False):
    """`child` waits for `parent` until the edge is resolved, which happens once."""

    parent: str
    child: str
    kind: str
    resolved: bool = False


class Inquiry(Struct, kw_only=True, eq=False):
    """A question to a person. Without a name no task finds it again."""

    id: str
    task_id: str
    kind: str
    name: str | None = None
    digest: str = ""
    question: str
    schema: bytes | None = None
    assignee: str | None = None
    default: bytes | None = None
    status: str = "open"
    asked_at: int
    expires_at: int | None = None
    answer: bytes | None = None
    answered_by: str | None = None
    answered_at: int | None = None


class Record(Struct, kw_only=True, eq=False):
    """One task. `spec` is what was asked for; what can change, or must not be shared, lies beside it."""

    number: int
    spec: Task
    payload: bytes
    expects: bytes = b"null"
    context: bytes = b"null"
    lane: LaneKey
    fallback_lane: LaneKey | None = None
    body_hash: str | None = None
    dag_id: str
    parent_id: str | None = None
    depth: int = 0
    depends_on: tuple[str, ...] = ()
    open_edges: int = 0
    journal: dict[tuple[str, str], Entry] = field(default_factory=dict)
    logged: int = 0
    inquiries: list[Inquiry] = field(default_factory=list)

    status: Status = Status.PENDING
    requested: bool = False
    cause: str | None = None
    cancel_reason: str | None = None
    resolution: str | None = None
    """What was last decided about this dead letter, and when."""
    reviewed_at: int | None = None
    overdue: bool = False

    priority: float = 50.0
    weight: int = 0
    deadline: int | None = None
    rank: float | None = None
    parked_on: str | None = None
    parked_since: int | None = None
    """When it was first parked since it is ready."""
    step_at: int | None = None
    run_after: int | None = None
    retry_at: int | None = None

    fence: int = 0
    agent: str | None = None
    model: str | None = None
    lease_s: float = 60.0
    lease_expires_at: int | None = None
    timeout_s: float | None = None
    timeout_at: int | None = None
    confirmed: bool = False
    suspect: bool = False
    unwritten: bool = False
    """Cancelled while held, and the attempt is not written yet."""
    renewed_at: int | None = None
    progress: float | None = None
    note: str | None = None
    usage: Usage = field(default_factory=Usage)
    endings: dict[int, Ending] = field(default_factory=dict)

    attempts: int = 0
    crashes: int = 0
    releases: int = 0
    output: bytes | None = None
    output_sanitized: bool = False
    decision: bytes | None = None
    artifacts: dict[str, tuple[int, Artifact]] = field(default_factory=dict)
    """By name; the number tells the order in which they were put."""
    error: str | None = None
    reason: str | None = None
    exit_code: int | None = None
    poison_pill: bool = False
    cost_usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    turns: int | None = None

    created_at: int
    ready_at: int | None = None
    claimed_at: int | None = None
    started_at: int | None = None
    completed_at: int | None = None
    cancelled_at: int | None = None
    dead_lettered_at: int | None = None
    updated_at: int

    @property
    def id(self) -> str:
        return self.spec.id

    @property
    def final(self) -> bool:
        return self.status in FINAL

    @property
    def held(self) -> bool:
        return self.status in HELD

    @property
    def solo(self) -> bool:
        """Handed out alone: it may have taken its worker down, or may be started only once."""
        return self.suspect or self.spec.max_attempts == 1

    @property
    def origin(self) -> str:
        """The task where the trouble that ended this one began."""
        return self.cause or self.id

    @property
    def ever_started(self) -> bool:
        return self.started_at is not None or any(
            ending.attempt.started_at is not None for ending in self.endings.values()
        )

    @property
    def ended_at(self) -> int | None:
        return self.completed_at or self.dead_lettered_at or self.cancelled_at

    def held_under(self, fence: int) -> bool:
        return self.held and self.fence == fence

    def handed_in_under(self, fence: int) -> bool:
        """Whether its work under this fence waits for a decision, and for nobody."""
        return self.status is Status.VALIDATING and self.fence == fence and not self.open_edges

    def over_timeout(self, now: int) -> bool:
        """Whether the attempt under way has had its time."""
        return self.timeout_at is not None and self.timeout_at <= now

    def cancelled_under(self, fence: int) -> bool:
        """Whether it was cancelled while this fence held it."""
        if self.status is not Status.CANCELLED or self.fence != fence:
            return False
        ending = self.endings.get(fence)
        return self.unwritten or (ending is not None and ending.attempt.outcome is Outcome.CANCELLED)


class LockRecord(Struct, eq=False):
    """A lock: who holds it, as (task number, fence), and who is parked on it."""

    slots: int = SLOTS
    holders: dict[tuple[int, int], None] = field(default_factory=dict)
    parked: dict[int, None] = field(default_factory=dict)
    reserved_for: int | None = None


class BudgetRecord(Struct, eq=False):
    """A budget, in parts: what claims have reserved, by (task number, fence), and who is parked on it. `earlier`: what
    they reserved in windows that are over. `saved_for` a task that was passed over, and how often that was `offered`
    it."""

    limit: int
    default_reserve: int = 0
    window: Window | None = None
    ends_at: int | None = None
    spent: int = 0
    unpriced: int = 0
    reserved: dict[tuple[int, int], int] = field(default_factory=dict)
    parked: dict[int, None] = field(default_factory=dict)
    earlier: dict[tuple[int, int], int] = field(default_factory=dict)
    saved_for: int | None = None
    offered: int = 0

    @property
    def taken(self) -> int:
        return self.spent + sum(self.reserved.values())


class DagRecord(Struct, kw_only=True, eq=False):
    """The row of a dag. `tally` counts its tasks by (status, requested)."""

    id: str
    project: str
    title: str | None = None
    key: str | None = None
    body_hash: str | None = None
    drafted: list[str] = field(default_factory=list)
    on_failure: str = "fail_fast"
    user: str | None = None
    created_by: str | None = None
    status: DagStatus = DagStatus.PENDING
    closed: bool = False
    """Its status was decided by a failure or a cancel, and no longer follows its tasks."""
    started: bool = False
    tally: Counter[tuple[Status, bool]] = field(default_factory=Counter)
    cause: str | None = None
    cancel_reason: str | None = None
    created_at: int
    started_at: int | None = None
    ended_at: int | None = None


class Census(Struct):
    """Tasks of a project: how many of each type in each status, which lanes have how many ready ones and since when,
    of which tiers those are that are not parked, and what all of them cost, as far as that is known."""

    types: dict[str, Counter[Status]] = field(default_factory=dict)
    ready: dict[LaneKey, tuple[int, int]] = field(default_factory=dict)
    cost_usd: float | None = None
    tiers: list[int] = field(default_factory=lambda: [0] * len(priority.TIERS))

    def count(self, type: str, status: Status, tasks: int) -> None:
        self.types.setdefault(type, Counter())[status] += tasks

    def wait(self, lane: LaneKey, since: int, tasks: int = 1) -> None:
        """So many more of a lane are ready, the first of them since then."""
        count, oldest = self.ready.get(lane, (0, since))
        self.ready[lane] = (count + tasks, min(oldest, since))


def time_over_at(record: Record) -> int | None:
    """When a held task's lease or its attempt's timeout is over, whichever is first."""
    ends = [at for at in (record.lease_expires_at, record.timeout_at) if at is not None]
    return min(ends, default=None)
