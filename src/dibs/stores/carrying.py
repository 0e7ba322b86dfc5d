"""What goes from one store to another, whole and the same for every kind of store.

The rule of these records: what a store is given it gives back, to the byte, whatever kind it is of. So a record has
only what every store knows, and nothing that means nothing in the state it is in: no lease of a task that nobody
holds, no number of a lane. Instants are micros. Tasks keep their numbers, which are the order of insertion.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct, field

from dibs.model.artifact import Artifact
from dibs.model.attempt import Attempt
from dibs.model.escalation import Escalation  # noqa: TC001 - msgspec reads annotations
from dibs.model.review import Review  # noqa: TC001
from dibs.model.status import Outcome
from dibs.model.task import Task
from dibs.rules.breaker import Override
from dibs.rules.breaker import Record as Breaker
from dibs.rules.providers import Backoff
from dibs.rules.rates import Rate
from dibs.stores.agents import Known
from dibs.stores.specs import Spec
from dibs.stores.values import Document, LaneKey, Usage


class CarriedEdge(Struct, array_like=True, frozen=True):
    """An edge into a task: from whom, and whether it was resolved."""

    number: int
    parent: str
    kind: str
    resolved: bool


class CarriedEnding(Struct, kw_only=True, omit_defaults=True):
    """An ended claim. `digest`, and with it `status` and `retry_at`: only where a repeated settlement is answered."""

    attempt: Attempt
    digest: str = ""
    status: str | None = None
    retry_at: int | None = None


class CarriedEntry(Struct, array_like=True):
    """One line of a journal; `value` is JSON."""

    kind: str
    name: str
    digest: str
    value: str


class CarriedQuestion(Struct, kw_only=True, omit_defaults=True):
    """A question to a person; `schema`, `default` and `answer` are JSON."""

    id: str
    kind: str
    name: str | None = None
    digest: str = ""
    question: str
    schema: str | None = None
    assignee: str | None = None
    default: str | None = None
    status: str = "open"
    asked_at: int
    expires_at: int | None = None
    answer: str | None = None
    answered_by: str | None = None
    answered_at: int | None = None


class CarriedTask(Struct, kw_only=True, omit_defaults=True):
    """Everything that is known of a task. `spec` is `spec_text`; `output` and `decision` are JSON."""

    number: int
    id: str
    spec: str
    lane: LaneKey
    fallback_lane: LaneKey | None = None
    body_hash: str | None = None
    dag_id: str
    parent_id: str | None = None
    edges: list[CarriedEdge] = field(default_factory=list)
    journal: list[CarriedEntry] = field(default_factory=list)
    questions: list[CarriedQuestion] = field(default_factory=list)
    endings: list[CarriedEnding] = field(default_factory=list)
    artifacts: list[tuple[int, Artifact]] = field(default_factory=list)

    status: str
    requested: bool = False
    cause: str | None = None
    cancel_reason: str | None = None
    resolution: str | None = None
    reviewed_at: int | None = None
    overdue: bool = False
    marked: bool = False

    priority: float
    weight: int = 0
    rank: float | None = None
    parked_on: str | None = None
    parked_since: int | None = None
    step_at: int | None = None
    run_after: int | None = None
    retry_at: int | None = None

    fence: int = 0
    agent: str | None = None
    model: str | None = None
    lease_s: float | None = None
    lease_expires_at: int | None = None
    timeout_s: float | None = None
    timeout_at: int | None = None
    confirmed: bool = False
    suspect: bool = False
    unwritten: bool = False
    renewed_at: int | None = None
    progress: float | None = None
    note: str | None = None
    usage: Usage | None = None

    attempts: int = 0
    crashes: int = 0
    releases: int = 0
    output: str | None = None
    output_sanitized: bool = False
    decision: str | None = None
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
    ended_at: int | None = None
    updated_at: int

    @property
    def held(self) -> bool:
        """Whether an agent has it."""
        return self.status in ("claimed", "running")

    @property
    def final(self) -> bool:
        """Whether it ended."""
        return self.status in ("completed", "dead_lettered", "cancelled")

    @property
    def holds(self) -> bool:
        """Whether what its claim took (locks, budgets) is not free yet."""
        return self.held or self.unwritten


class CarriedDag(Struct, kw_only=True, omit_defaults=True):
    """The row of a dag."""

    id: str
    project: str
    title: str | None = None
    key: str | None = None
    body_hash: str | None = None
    drafted: list[str] = field(default_factory=list)
    on_failure: str = "fail_fast"
    user: str | None = None
    created_by: str | None = None
    status: str = "pending"
    started: bool = False
    cause: str | None = None
    cancel_reason: str | None = None
    created_at: int
    started_at: int | None = None
    ended_at: int | None = None


class Cargo(Struct, kw_only=True):
    """Tasks, in the order of their numbers, and the rows of their dags. `dependents`: the ids of those that wait, or
    waited, for these."""

    tasks: list[CarriedTask] = field(default_factory=list)
    dags: list[CarriedDag] = field(default_factory=list)
    dependents: list[str] = field(default_factory=list)


class CarriedPause(Struct, kw_only=True, omit_defaults=True):
    """A pause; that of a lane says which."""

    project: str
    scope: str
    name: str = ""
    lane: LaneKey | None = None
    since: int = 0
    until: int | None = None
    reason: str | None = None
    by: str | None = None


class CarriedBudget(Struct, kw_only=True, omit_defaults=True):
    """A budget, in parts. `reserved`, and in windows that are over `earlier`: task number, fence, amount."""

    project: str
    scope: str
    unit: str
    limit: int
    default_reserve: int = 0
    per: str | None = None
    zone: str | None = None
    ends_at: int | None = None
    spent: int = 0
    unpriced: int = 0
    reserved: list[tuple[int, int, int]] = field(default_factory=list)
    earlier: list[tuple[int, int, int]] = field(default_factory=list)
    saved_for: int | None = None
    offered: int = 0


class CarriedSettings(Struct, kw_only=True, omit_defaults=True):
    """Everything that is known beside tasks, in the order of its names. `claims`: what is still held of what was handed
    out under a claim id, in groups; `marked` dags are those whose tasks are being cancelled."""

    pauses: list[CarriedPause] = field(default_factory=list)
    breakers: list[tuple[str, str, Breaker]] = field(default_factory=list)
    overrides: list[tuple[str, str, Override]] = field(default_factory=list)
    ladders: list[tuple[str, str, str]] = field(default_factory=list)
    backoffs: list[tuple[str, str, Backoff]] = field(default_factory=list)
    locks: list[tuple[str, str, int, int | None]] = field(default_factory=list)
    budgets: list[CarriedBudget] = field(default_factory=list)
    type_slots: list[tuple[str, str, int]] = field(default_factory=list)
    rates: list[tuple[str, str, Rate, int]] = field(default_factory=list)
    agents: list[tuple[str, str, Known]] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    claims: list[tuple[str, str, int, list[list[tuple[int, int]]]]] = field(default_factory=list)
    grown: list[str] = field(default_factory=list)
    closing: list[str] = field(default_factory=list)
    last_number: int = 0
    last_put: int = 0
    last_seq: int = 0


class Census(Struct, kw_only=True):
    """How many tasks there are, by status."""

    tasks: int = 0
    by_status: dict[str, int] = field(default_factory=dict)


def is_suspect(endings: list[CarriedEnding]) -> bool:
    """Whether the last attempt that says so ended before it began: such a task is handed out alone."""
    for ending in reversed(endings):
        if ending.attempt.outcome not in (Outcome.CANCELLED, Outcome.SUSPENDED):
            return ending.attempt.outcome is Outcome.EXPIRED and ending.attempt.number == 0
    return False


class _Spec(Spec, omit_defaults=True):
    """A specification with what was added to it since."""

    escalations: tuple[Escalation, ...] = ()
    reviews: tuple[Review, ...] = ()


class _Kept(_Spec):
    """As it is read: a payload is not looked into."""

    payload: Raw = Raw(b"null")


_decode_spec = msgspec.json.Decoder(_Kept).decode
_encode = msgspec.json.Encoder().encode
_decode_task = msgspec.json.Decoder(Task).decode
_NAMES = tuple(name for name in _Spec.__struct_fields__ if name != "payload")


def spec_text(kept: str | bytes) -> str:
    """A specification as it is carried: every name in one order, nothing that is at its default; a payload is as it was
    kept, to the byte."""
    spec = _decode_spec(kept)
    return _spec_text(spec, bytes(spec.payload))


def spec_of(task: Task, payload: bytes) -> str:
    """The same, of a task with its own values in place."""
    return _spec_text(task, payload)


def _spec_text(kept: _Kept | Task, payload: bytes) -> str:
    values = {name: getattr(kept, name) for name in _NAMES}
    return _encode(_Spec(payload=None if payload == b"null" else Raw(payload), **values)).decode()


def task_of(spec: str) -> tuple[Task, bytes]:
    """A task with its specification only, and its payload as it was kept."""
    return _decode_task(spec), bytes(_decode_spec(spec).payload)
