"""What crosses the line between the verbs and a store: requests, decisions already made, and answers.

A store never decides; it receives the decision (`Settlement.next`, `delay_s` …) and applies it.
Errors that concern one item of a batch are returned in its place, not raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from dibs.model.artifact import Artifact
from dibs.model.attempt import Limited
from dibs.model.claim import Claim
from dibs.model.dag import Dag
from dibs.model.ended import Ended
from dibs.model.escalation import Rung
from dibs.model.question import Question
from dibs.model.status import Outcome, Status
from dibs.model.task import Task
from dibs.rules.query import Conditions
from dibs.rules.usage import newer_cost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BY_DUTY = "duty"
"""The digest of settlements that the expiry duty makes; no agent can repeat them."""


class LaneKey(Struct, frozen=True, gc=False):
    """Tasks with the same lane key are alike to every agent."""

    project: str
    type: str
    assignee: str | None = None
    requires: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    boost: float = 0.1
    provider: str | None = None


class Dependency(Struct, frozen=True, gc=False):
    """One edge into a task. Kinds: `after`, `after_ended`; the store itself makes `child` edges (spawn and wait)."""

    parent: str
    kind: str = "after"


class Draft(Struct, kw_only=True, gc=False):
    """One task to insert: checked, refs replaced by ids, parents before children in the call.

    `task` has its specification filled in and its state left at the defaults; `task.dag_id` is ""
    where the store shall choose (first parent's dag, else the task's own virtual one).
    `payload` is `task.payload` as JSON. `body_hash` is set when `task.key` is: equal hashes are the
    same request. `weight` is the critical path weight inside this call. Drafts with the same `kind` object are alike in
    everything but id, payload, title, ref, key, deadline, run_after, context, dag and dependencies.
    """

    task: Task
    payload: bytes
    lane: LaneKey
    fallback_lane: LaneKey | None = None
    dependencies: tuple[Dependency, ...] = ()
    weight: int = 0
    body_hash: str | None = None
    kind: object = None


class LateDrafts(list[Draft]):
    """Drafts of standalone tasks, made a portion at a time while the store adds those before them.

    `make(start, end)` drafts the tasks at these places, or raises. The list holds what was made so far.
    """

    def __init__(self, total: int, make: Callable[[int, int], list[Draft]]) -> None:
        super().__init__()
        self.total = total
        self._make = make

    def changed(self, change: Callable[[Draft], Draft]) -> LateDrafts:
        """The same, with each draft changed once it is made."""
        return LateDrafts(self.total, lambda start, end: [change(draft) for draft in self._make(start, end)])

    def portions(self, size: int) -> Iterator[list[Draft]]:
        """All of them, in order, so many at a time; what was made before is not made again."""
        for start in range(0, self.total, size):
            self.make(start + size)
            yield self[start : start + size]

    def make(self, end: int) -> None:
        """Make those before this place that are not made yet."""
        end = min(end, self.total)
        if len(self) < end:
            self.extend(self._make(len(self), end))

    def finish(self) -> None:
        """Make those that are left."""
        self.make(self.total)


class DagDraft(Struct, kw_only=True):
    """A dag to create with the tasks of the same call. `body_hash` is set when `key` is. `budget`: what all of it may
    cost, in parts of USD (`rules.budgets`). `ladder`: of its own, as `rules.escalation.as_json` has it."""

    id: str
    project: str = "default"
    title: str | None = None
    key: str | None = None
    body_hash: str | None = None
    on_failure: str = "fail_fast"
    user: str | None = None
    created_by: str | None = None
    ladder: str | None = None
    budget: int | None = None


class Usage(Struct, kw_only=True, omit_defaults=True, gc=False):
    """What an attempt has used so far, in total. None is unknown, which is not zero.

    `price` is the version of the prices that the cost was computed with; None: the agent told it.
    """

    cost_usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    turns: int | None = None
    model: str | None = None
    price: str | None = None

    def updated(self, told: Usage | None) -> Usage:
        """Usage is told as totals: what is told replaces what was known, field by field; cost as `newer_cost` says."""
        if told is None:
            return self
        tokens = told.tokens_in is not None or told.tokens_out is not None
        cost, price = newer_cost((self.cost_usd, self.price), (told.cost_usd, told.price), tokens=tokens)
        return Usage(
            cost_usd=cost,
            price=price,
            tokens_in=self.tokens_in if told.tokens_in is None else told.tokens_in,
            tokens_out=self.tokens_out if told.tokens_out is None else told.tokens_out,
            turns=self.turns if told.turns is None else told.turns,
            model=told.model or self.model,
        )


class Spawn(Struct, kw_only=True):
    """The claim below which tasks are inserted, and where its journal remembers them.

    With `wait` the spawner's claim ends as `suspended` and it is pending until all of them ended; the same spawn again
    under that fence is answered as before.
    """

    task_id: str
    fence: int
    name: str
    digest: str
    wait: bool = False
    max_children: int = 1000
    usage: Usage | None = None


class Insertion(Struct, kw_only=True):
    """Tasks to add in one atomic step."""

    drafts: list[Draft]
    dag: DagDraft | None = None
    spawn: Spawn | None = None


class Inserted(Struct, kw_only=True):
    """The tasks in the order of the drafts; `existing` says which were there before (same id or key).

    `suspended` is true when the spawner's claim has ended and it must stop; false when every
    child it waits for had ended already, so it may go on. `dag` is given only by an insertion on a caller's connection.
    """

    tasks: list[Task]
    existing: list[bool]
    dag_id: str | None = None
    suspended: bool = False
    dag: Dag | None = None


class Ask(Struct, kw_only=True):
    """A question of whoever holds a claim, and where its task remembers it. The claim ends as `suspended`.

    One of `kind` validation is about work that was handed in under the fence.

    `digest` tells what is asked, and of whom. `schema` and `default` are JSON; `id` is the question's, if it is new.
    """

    task_id: str
    fence: int
    id: str
    name: str
    digest: str
    question: str
    schema: bytes | None = None
    assignee: str | None = None
    timeout_s: float | None = None
    default: bytes | None = None
    usage: Usage | None = None
    kind: str = "question"


class Asked(Struct, kw_only=True):
    """A question as it is now. `suspended`: the claim has ended, whoever asked must stop; else it is answered."""

    question: Question
    suspended: bool


class ClaimRequest(Struct, kw_only=True, frozen=True):
    """What an agent offers and asks for. `types` None means any type. `agent_type` is filled in by the store."""

    agent: str
    agent_type: str | None = None
    project: str = "default"
    capabilities: tuple[str, ...] = ()
    types: tuple[str, ...] | None = None
    models: tuple[str, ...] = ()
    limit: int = 1
    lease_s: float = 60.0
    start: bool = True
    claim_id: str | None = None
    max_bytes: int = 8 * 1024 * 1024


class Offer(Struct, gc=False):
    """What an agent said it can do, as it is kept."""

    capabilities: tuple[str, ...] = ()
    types: tuple[str, ...] | None = None
    models: tuple[str, ...] = ()


class Claimed(Struct, kw_only=True):
    """What was claimed, best first. When nothing was: `next_due_in` seconds until time alone may change that.

    `reason` is why this agent got nothing whatever there is: `draining`, `max_concurrent` (it holds so many), or
    `budget` (its own is used up).
    `slow_down`: nothing was claimed, and a rate limit keeps something back that this agent could do: seconds to wait.
    """

    claims: list[Claim] = field(default_factory=list)
    next_due_in: float | None = None
    reason: str | None = None
    slow_down: float | None = None


class Renewal(Struct, kw_only=True, gc=False):
    """A lease to extend. `progress`, `note` and `usage` are kept when given."""

    task_id: str
    fence: int
    lease_s: float | None = None
    progress: float | None = None
    note: str | None = None
    usage: Usage | None = None


ENDS_ANY_TIME = frozenset({Outcome.TIMED_OUT, Outcome.EXPIRED})
"""The only ways in which an attempt that is over its timeout can end."""


class Settlement(Struct, kw_only=True, gc=False):
    """How a claim ended and what follows, decided by `rules` from the claim's snapshot.

    `next` is COMPLETED, DEAD_LETTERED, VALIDATING, RETRYING or READY; RETRYING holds for `delay_s`.
    A released task with a delay is RETRYING too, with outcome RELEASED. `counts_attempt` and
    `counts_crash` add to the counters; `releases` is the counter's new value. `suspect` marks a task to be
    handed out alone. `fallback` moves it to its fallback lane. `timeout_s` is what the next attempt gets.
    `digest` identifies the outcome: the same (task, fence, digest) again returns the recorded answer.
    `limited`: a rate limit turned it away, which closes the gate of its provider.
    `exit_code` is kept on the task for failures and completions alike.
    RELEASED with an `error` was stopped; error and reason are kept as those of a failure are.
    `output` and `decision` are JSON; `memory` goes into the event as its data.
    SUBMITTED leads to VALIDATING: the work is handed in. `concludes` is what was found about such work: COMPLETED or
    REJECTED, under the fence it was done under.
    `together`: it failed with another of its group, in one attempt at both; a breaker counts that one only.
    `used_up`: it is a dead letter only because no attempt is left; a ladder may give it another (`rules.escalation`).
    The store itself fills in `rungs`, with what this failure takes of the task's ladder, and changes `next` as they
    say, also to WAITING.
    `told` is what the agent said, where it is more than can be seen here; for a server, which decides for itself. No
    store reads it.
    """

    task_id: str
    fence: int
    outcome: Outcome
    next: Status
    digest: str
    used_up: bool = False
    rungs: tuple[Rung, ...] = ()
    delay_s: float = 0.0
    counts_attempt: bool = True
    counts_crash: bool = False
    releases: int = 0
    suspect: bool = False
    fallback: bool = False
    limited: Limited | None = None
    timeout_s: float | None = None
    poison_pill: bool = False
    reason: str | None = None
    error: str | None = None
    fingerprint: str | None = None
    exit_code: int | None = None
    output: bytes | None = None
    output_sanitized: bool = False
    decision: bytes | None = None
    artifacts: tuple[Artifact, ...] = ()
    usage: Usage | None = None
    memory: dict[str, Any] = field(default_factory=dict)
    concludes: bool = False
    together: bool = False
    told: Ended | None = None

    @property
    def is_simple(self) -> bool:
        """Whether the work completed, and there is nothing more to say about it than its output and decision."""
        return (
            self.next is Status.COMPLETED
            and self.outcome is Outcome.COMPLETED
            and not self.concludes
            and self.counts_attempt
            and not self.counts_crash
            and not self.releases
            and not self.suspect
            and not self.poison_pill
            and self.usage is None
            and self.timeout_s is None
            and not self.artifacts
            and not self.output_sanitized
            and self.reason is None
            and self.error is None
            and self.exit_code is None
            and self.fingerprint is None
        )

    @property
    def next_reason(self) -> str | None:
        """Why it is where it goes. Why one that was given back was stopped is told once, with `task.released`."""
        return self.outcome.value if self.outcome is Outcome.RELEASED and self.error is not None else self.reason

    @property
    def by_duty(self) -> bool:
        """Decided by a duty, not by the agent that holds the claim."""
        return self.outcome is Outcome.EXPIRED or (self.outcome is Outcome.TIMED_OUT and self.digest == BY_DUTY)


class Expired(Struct, kw_only=True):
    """A held task whose time is over. `timed_out`: the attempt's own timeout passed, not (only) its lease."""

    claim: Claim
    confirmed: bool
    timed_out: bool


class Entry(Struct, kw_only=True):
    """One line of a task's journal.

    Kinds: `step` (written once per name; a second write with the same digest returns the first value),
    `spawn` (written by insert), `checkpoint` and `made` (name "", replaced each time), `log` (name "", appended).
    `value` is JSON.
    """

    kind: str
    name: str = ""
    digest: str = ""
    value: bytes = b"null"


class Document(Struct, kw_only=True, frozen=True):
    """A small value that is kept beside the tasks. `version` counts its writes from 1; `updated_at` is in micros."""

    project: str
    kind: str
    name: str
    version: int
    body: bytes
    updated_at: int


class Filter(Conditions, kw_only=True, frozen=True):
    """What `find` looks for, and where. `dag` also takes the id of a virtual dag."""

    project: str = "default"


MAX_TEXT_BYTES = 64 << 20
"""So much is searched for texts in one go: 10,000 long payloads would take long, and a lot of memory."""


class Found(Struct, kw_only=True):
    """The ids of some tasks that fit; `cursor` continues, as that of a page does."""

    ids: list[str] = field(default_factory=list)
    cursor: str | None = None
