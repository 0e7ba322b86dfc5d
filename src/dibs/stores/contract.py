"""The store contract: what every place that keeps tasks must do. These docstrings are the specification.

Rules that hold for every method:

- **Atomic.** A method happens wholly or not at all, and its events commit with it. Batches answer per item:
  an item that is refused is answered with its error and does not harm its neighbours. Methods that
  take one thing raise.
- **The store's clock** (`now()`, microseconds) judges leases, due times and retention. Callers send durations.
- **The fence.** `claim` raises a task's fence; nothing else touches it. A write by an agent names (task, fence).
  It *holds* when the task's fence equals it and the task is claimed or running. Otherwise:
  no such task → NotFound; the task is cancelled under this very fence → see each method; anything else → LeaseLost.
  LeaseLost has field `fence`.
- **The timeout.** An attempt whose timeout is over is still held, but can only end as timed out, by its agent or by the
  expiry duty: `renew`, `write_journal`, `put_artifact` and any other settlement by its agent are answered LeaseLost.
- **Edges resolve once.** An edge is open until its parent ends in a way that satisfies its kind (`after`: completed;
  `after_ended`, `child`: any final status). Resolving is recorded on the edge, and only that lowers the
  child's count of open edges — also when the child is not pending at that moment. A pending task whose last edge
  resolves becomes ready, or scheduled while its run_after is in the future.
- **First readiness.** `ready_at` is when a task first became ready; rank ages from there (`rules.priority.rank`) and
  keeps it over retry, release and suspension. Boost, weight and deadline steps are components of rank.
- **Ended badly.** When a task is dead-lettered or cancelled, the consequences *spread*: (1) its open
  `after_ended`/`child` edges resolve; (2) dependents over open `after` edges that are not final are cancelled with
  reason `dependency_failed`; (3) if it was cancelled, its non-final children (`parent_id`) are cancelled with reason
  `parent_cancelled`; (4) if it was dead-lettered and `rules.graph.fails_now` says so for its dag, the dag becomes
  failed and closing, and every non-final task in it is cancelled with reason `dag_failed`, except the *spared*: those
  with no open `after` edge that have an `after_ended` or `child` edge, open or not. The tasks cancelled this way have
  `cause` = the task where it began (its own `cause` if it has one), inherit `requested` (whether the beginning was a
  cancel by request), and their own consequences spread in turn. A store applies at most ~500 tasks per transaction: a
  task whose consequences are not applied yet is marked, and `spread` goes on with marked tasks until none is left.
- **Dags.** A task's `dag_id` is never empty. A standalone task has a virtual dag (`model.ids.dag_of`), without a
  row. The row appears when the first edge or child joins it (policy `rules.graph.IMPLICIT`), or when a dag is
  inserted. A dag's status follows
  `rules.graph.dag_status` whenever one of its tasks starts, ends or is added, with events `dag.started`,
  `dag.completed`, `dag.failed`, `dag.cancelled`. A failing dag (closing) is failed at once and stays so. Inserting
  into a dag that is failed or cancelled is refused (Conflict, code `dag_closed`); into a completed one reopens it.
- **Handed in.** A claim that ends as `submitted` leaves its task validating: nobody holds it, no lease runs, and what
  it made stays on the task, with its agent, until its work is judged. Such a task waits for the ends of the tasks that
  judge it, over edges of kind `judge` (`await_verdict`); those are no dependencies of it, no edges of its dag, hand
  nothing to its claims, do not spare it when its dag fails, and are not brought back with it. Or it is waiting for a
  person: a question of kind validation leads from validating to waiting and back. Validating without open edges is the
  mark that something is to be decided (`handed_in`). `settle` with `concludes` decides: the attempt becomes what was
  found, and nothing else of it but its number, reason, error and fingerprint changes; rejected work is no longer on
  the task. Whatever else ends the task leaves the attempt `submitted`.
- **Closed lanes.** Pauses (`pause`) and circuit breakers (`rules.breaker`) close lanes as a whole to an agent, as
  `rules.closing.ways` says. No task is written for it, and one that is held stays held. Once `pause` has returned, no
  later claim hands out what it closed. A pause with `until` is over at that instant and an open breaker half-open at
  its `due_at`, for every claim from then on; the claim or `promote` that comes next notes it and emits `gate.opened`
  (reason `until`) or `breaker.half_open`. A task handed out by a half-open breaker is its probe and is handed out
  alone, as a solo task is. What a settled claim says about its type (`rules.breaker.verdict`) counts in the same
  commit, at its end, in the order of the batch. A probe whose claim ended otherwise (cancelled, suspended) is freed by
  `promote`.
- **Rate limits** close lanes too: those behind the gate of a provider (`rules.providers`). The gate of an attempt is
  `gate_of` the provider of its task's lane, the model it was claimed with and its type. A settlement that is `limited`
  closes it (`turned_away`), one that completed lets it forget (`succeeded`), in the same commit, at its end, after what
  counts for breakers, in the order of the batch. A lane is closed to an agent as `opens_at` says; open, it is served
  with one of its `open_models`. `gate.closed` has reason `rate_limit`; that its time is over is noted as for a pause,
  or with what closes it again. A renewal of a task whose gate is closed, and a claim that finds nothing while such a
  gate keeps something back from its agent (the first of them to open), are told to `slow_down` (`slow_down_s`).
- **Slots of types** (`set_type_slots`) cap what lanes contribute to a claim: of a type that has slots, no more tasks
  are handed out than `rules.slots.rooms` says, counting what is held of it, what was cancelled while held and is not
  written yet, and what this claim has taken. Tasks beyond that are not looked at, whatever they need: none is written
  or parked for it, and worse ones of other types are handed out. However many claims race, no more than its slots are
  held, unless fewer were set than were taken.
- **Rates of types** (`set_rate`) cap it as well: no more tasks of a type are handed out than its bucket has tokens
  (`rules.rates.tokens`), each of which takes one (`taken`) in the same commit. Nothing gives one back but time. A
  claim that finds nothing is told when a type that it may serve and that has no token has one (`next_due_in`).
- **Events** (`model.event.Event`) are emitted for every change of status: `task.added` then the status's own event
  for a new task; `task.ready`, `task.scheduled`, `task.claimed`, `task.started`, `task.progress` (renewals that carry
  progress or a note), `task.released` (reason), `task.retrying`, `task.completed`, `task.dead_lettered`,
  `task.cancelled`, `task.expired` (before the event of what follows), `task.overdue`. A claim with start emits both
  claimed and started. A task whose work was handed in emits `task.validating`. A task suspended on its
  children emits `task.released` with reason `suspended`. A decision about a dead letter emits `task.reviewed`, after
  what it did to the task. A rung that is taken emits `task.escalated`. `task.waiting` and
  `task.answered` have the kind of the question as their reason and name it in their data (`question`; `by`: who
  answered). Events of agents (`agent.…`) name the agent and neither task nor dag; their data, and that of events of
  gates and breakers, is `rules.access.at_home`. `seq` is dense in commit order.
- **Escalation.** A failure (`rules.escalation.is_failure`) takes rungs of the ladder of its task: the first that is set
  of `rules.escalation.scopes_for`. Which, and where they move it, says `rules.escalation.step`, in the commit that
  settles the claim, whoever does. Each is added to the task's `escalations` and told: `task.escalated`, reason its
  action, data `rules.escalation.event_data`, after `task.expired` and before the event of where the task goes.
  `reassign` makes an agent the task's `assignee`, or a model its only one of `models` (`fallback_models` and
  `provider` none), and moves it to that lane, after the fallback that the settlement may ask for. `ask` opens a
  question of kind `escalation` (`question_id`, `question_name`, `question_text`); `task.waiting` has the data of the
  event in whose place it is. A dead letter with `fail_dag` among its `escalations` fails its dag whatever its policy
  says. Reviving a task empties `escalations`. Nobody else pays for ladders.
- **Questions.** A waiting task has exactly one open question, and no other task has one — but a dead letter whose last
  decision is `escalated` has one of kind `decision`, which the next decision about it, or its revival, closes. Edges
  into a waiting task resolve as ever; it stays waiting. Whatever ends it closes its question. A task with `approval`
  that is inserted, or revived, is waiting for an approval opened with it (`rules.questions.approval_id`, the next one
  of the task), unless it is cancelled in the same moment.
- **Locks.** A task names the locks it needs (`task.locks`). A lock has one slot unless `set_slots` gave it more.
  A claim takes a hold on each of its task's locks under the new fence, all or none; the holds end with the claim,
  however it ends (of a task cancelled while held: when its attempt is written). A lock *admits* a task as
  `rules.locks.admits` says. While `claim` looks at tasks, best first, one that a lock does not admit — holds taken
  earlier in this claim count — is *parked* on the first such lock by name: it stays ready, with `parked_on`, and no
  claim looks at it again until it is *unparked*. A lock is looked at in the commit in which a hold on it or a
  reservation of it ends, its slots grow, or a ready task that needs it is parked on another lock, gets another rank, or
  ceases to be ready without being claimed: of each lane the tasks parked on it, best first (rank, then insertion), at
  most `rules.locks.LOOKED_AT`, are unparked until as many are on their way as it has slots free; better tasks of that
  lane that need it, are ready and not parked count. One that another lock does not admit is parked there instead, and
  does not count. What was parked `rules.locks.PASSED_OVER_S` ago, and was not claimed since, reserves its locks by name
  (see `unpark`); a reservation ends when its task is claimed or ceases to be ready. Parking is not a change of the
  task: no event, and `updated_at` stays. Nobody pays for locks but the tasks that name some.
- **Budgets.** A budget is named by project, scope and unit; amounts are whole parts (`rules.budgets.PARTS`). Those of a
  task are the ones of `rules.budgets.scopes_of` that exist. A claim reserves `rules.budgets.reserve` in each of them
  under the new fence, all or none, together with its locks: a task that all its locks admit and one of its budgets does
  not (`fits`; what was reserved earlier in this claim counts) is parked on the first such budget by
  `rules.budgets.parked_on`, and keeps no locks for itself. When the claim ends, wherever locks are let go, what it
  reserved goes and `spent` grows by `rules.budgets.charge`: told is the attempt's usage (of seconds: the time since it
  was started), `sure` unless a duty settled it or its reason is `crash`, `given_back` if its outcome is one of
  `GIVEN_BACK` or it was never started. A budget is looked at in the commit in which a reservation in it ends or it is
  changed, after the locks: of each lane the tasks parked on it, best first, at most `rules.budgets.LOOKED_AT`, are
  unparked while they fit beside what is taken and those that are on their way: the better ones of that lane that use
  it, are ready and not parked (as many are looked at). One that another budget or a lock does not admit is parked there
  instead. A budget can be *saved for* one task (see `unpark`): while that is ready, what it would reserve counts as
  taken for everybody else but the better ones of its lane; and it does not wait for those of them that have been on
  their way for `rules.budgets.PASSED_OVER_S`, where agents have budgets of their own. Nobody pays for budgets in
  projects that have none.
- **Budgets of agents** (scope `agent:ID`) are those of whoever claims. A claim whose agent has one that is used up
  (`rules.budgets.is_used_up`) is answered with reason `budget`, if nothing else keeps it from work, and with when that
  ends (`next_due_in`), if all such have windows. Else what it claims
  reserves there, too, and what it has no room for is *passed over*: not looked at for anything else, not parked, ready
  for others as before. After `rules.budgets.PASSED_OVER` of these a claim ends with what it has. A new one counts what
  its agent holds. Nothing is ever parked on one, none is saved for anybody, and agents without pay nothing for those
  that have some.
- **Windows of budgets.** A budget with a window (`rules.windows`) begins anew when that is over: nothing is reserved
  and nothing spent in it, and it is looked at; for whom it was saved it is still. What was reserved before ends with
  its claim and is not charged any more: it was in the window in which the claim was made. From that instant on this
  holds for every claim; the claim, `promote`, or change of budgets that comes next notes it. Nothing is emitted.
- **Groups.** The others of a task with a `coalesce_key` are those of its lane with the same key that are ready and not
  parked nor solo, best first, and after them those that gather (`rules.coalescing.gathers`): first those that were
  never ready, in insertion order. A claim that takes such a task looks at the first `rules.coalescing.LOOKED_AT` of
  those that it has not taken yet, and takes them with it, each with a fence and a lease of its own, except: those that
  a lock or budget does not admit, or the agent cannot pay for (they are left as they are, not parked nor passed over;
  holds taken before in this claim count); those from the first on with which the payloads would exceed `max_bytes`;
  more than `rules.coalescing.room_for_members`, or than their type has slots or tokens left. A
  solo task or a probe is handed out alone as ever. What gathers becomes ready (`task.ready`) and is claimed in the same
  commit. They do not count for the `limit`, but for `max_concurrent`; they are in the `group` of the claim with which
  they were taken. A repeated `claim_id` gives the groups as they were, without what is no longer held: the first that
  is left has the others in its group. Nobody pays for groups but the tasks that name a key.
- **Limits of a task.** `renew` answers `limits={"exceeded": …}` where what the attempt has told so far, with what
  earlier ones used, is over a limit of the task itself (`rules.budgets.exceeded`). Else, where it has used more than it
  reserved in a budget of this window (of seconds: since it was started), the name of the first such budget that is
  `overdrawn`: of those who hold a claim counts what they have told, if that is more than they reserved. All renewals of
  a batch are heard before one is answered.
- **Large values.** A payload or output above `rules.large.LARGE_BYTES` is kept out of line, and read only for the task
  that was asked for or claimed, and those that depend on it. Lists (`find`, `dag`) have `rules.large.named` in its
  place. The size of a payload is `rules.large.size_of`, wherever its bytes lie.
- **Text** arrives clean: validation and sanitising happened before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dibs.errors import DibsError
    from dibs.model.artifact import Artifact
    from dibs.model.attempt import Attempt
    from dibs.model.claim import News, Settled
    from dibs.model.dag import Dag
    from dibs.model.deadgroup import DeadGroup
    from dibs.model.event import Event
    from dibs.model.metrics import Metrics
    from dibs.model.question import Question
    from dibs.model.task import Task
    from dibs.model.views import Agent, Budget, Lane, Lock, Page, Stats, TypeRate, TypeSlots
    from dibs.rules.breaker import Override, Record
    from dibs.rules.closing import Pause
    from dibs.rules.providers import Backoff
    from dibs.rules.rates import Rate
    from dibs.rules.review import Ruling
    from dibs.rules.spending import Sum
    from dibs.rules.windows import Window
    from dibs.stores.agents import Registration
    from dibs.stores.carrying import Cargo, CarriedSettings, Census
    from dibs.stores.deadletters import DeadFilter
    from dibs.stores.overseen import DagFilter, Dags, Ends
    from dibs.stores.standing import Standing
    from dibs.stores.values import (
        Ask,
        Asked,
        Claimed,
        ClaimRequest,
        Dependency,
        Document,
        Entry,
        Expired,
        Filter,
        Found,
        Inserted,
        Insertion,
        Renewal,
        Settlement,
    )


class Store(Protocol):
    """Where tasks are kept. Everything is a coroutine; embedded stores' coroutines may complete without
    suspending."""

    url: str

    late_drafts: bool
    """Whether `insert` takes `LateDrafts`: it sends tasks off while others are being drafted."""

    @property
    def schema_version(self) -> int | None:
        """The version of the schema it uses; None where there is none."""
        ...

    async def connect(self) -> None:
        """Reach the store and bring its schema up to date; called once, before anything else. Embedded stores are open
        already. Unavailable or Invalid, with what to do."""
        ...

    # Adding

    async def insert(self, insertion: Insertion, connection: Any = None) -> Inserted:
        """Add tasks, their edges and possibly a dag: all or nothing.

        In order: a spawn whose journal has an entry of its name returns those children as they are now (`existing`
        all true; another digest: Conflict, code `journal_mismatch`). The fence must be held; with `wait`, if any of
        those children is not final (it was retried), its `child` edge is opened again and the spawner is suspended
        again. Not held, but `wait` and this fence's attempt ended as `suspended`: the reply may have been lost, so
        the children again, `suspended` true, and nothing changes. Not held otherwise: LeaseLost, journaled or not.
        An attempt over its timeout spawns nothing more (LeaseLost). Nothing journaled: the spawner must have at most
        `max_children` children with these (Invalid, field `children`). A dag draft whose key exists (in the project,
        dag not cancelled or failed): the existing dag and tasks with an equal hash, else KeyReused. A draft whose id
        exists is answered with that task. A draft whose key belongs to a task that is not cancelled or dead-lettered:
        that task if the body hash is equal, else KeyReused and nothing is added. Two drafts of one call with the same
        key: one task. Unknown parent: NotFound, field `after` or `after_ended` as it was named. A dag named by
        `task.dag_id` that does not exist: NotFound, field `dag`; that is failed, cancelled or closing: Conflict
        `dag_closed`. Where several drafts are at fault, one of them is told of.

        A dependency on a task that ended is decided here: satisfied ones resolve; an `after` on a task
        that ended badly makes the new task cancelled (`dependency_failed`, cause and requested as in spreading).
        Children of a spawn get `parent_id` = spawner, its dag, and `depth` one more. Children that are waited for may
        depend only on drafts of this call or on ended tasks (Invalid, field `after`). With `wait` the spawner gains a
        `child` edge from each child; if any is open its claim ends: outcome `suspended`, no attempt counted, status
        pending; else it keeps its claim (`suspended` false). `created_at` is now. Status by
        `rules.lifecycle.first_status`; waiting, if it is to be approved.

        With `connection`, the caller's own to this very database, all of it is part of the transaction that is under
        way there, and of its fate; a refusal leaves that transaction as it was. It may last, so nothing is touched
        that others work on: a dependency on a task that has not ended, unless that was added in the same transaction,
        is Invalid, field `after`; joining such a dag likewise, field `dag`; a spawn, field `connection`. `dag` of the
        answer is the dag that was inserted, which nobody else can read yet. A store that cannot do this, or a
        connection of another kind: Invalid, field `connection`.
        """
        ...

    # Working

    async def claim(self, request: ClaimRequest) -> Claimed:
        """Hand out up to `limit` ready tasks from the lanes this agent may serve (`rules.matching.may_serve`), best
        first.

        Best is lowest `rules.priority.effective(rank, boost, now)`, ties by insertion order. Exact: no better task
        was free when this claim ran. Stops before the payloads exceed `max_bytes` (always at least one). A *solo*
        task (a suspect, or max_attempts 1) is handed out alone: the batch ends before it, or consists of it, and its
        start counts as confirmed. Each task gets fence + 1, the agent, `claimed_at`, lease_expires_at = now + lease;
        status running with `started_at` if `start`, else claimed. A running attempt also ends at its timeout
        (`timeout_s` of the task at this time). Progress, note, and the usage of the last attempt are cleared. The
        claims carry inputs and children (`rules.handover.by_name`, in the order of the edges), the task's context, the
        last checkpoint, `answers` to its questions by their ids, previous attempts (the last ten, oldest first),
        `model` (`rules.matching.choose_model`), `timeout_s`. The agent is remembered as heard of (at most every few
        seconds). Repeating a `claim_id` returns what it claimed, leaving out what is no longer held under that fence by
        the agent that asks: another agent gets nothing with it.

        Registered agents: what the request does not offer (capabilities, models) it has from the registration, and its
        type is an assignee too (`stores.agents.as_registered`). With `max_concurrent` at most so many tasks are held by
        it at any time, however many of its claims race: a claim is cut to what is left, and answered with reason
        `max_concurrent` if that is nothing. A cancelled task no longer counts. A draining agent is answered with
        reason `draining`. A repeated `claim_id` is answered as above all the same.
        """
        ...

    async def start(self, held: Sequence[tuple[str, int]]) -> list[DibsError | None]:
        """Mark (task, fence) as running with a confirmed start; running already: only confirm, also over its timeout.
        Cancelled under this fence: IllegalTransition. Else as for renew."""
        ...

    async def renew(self, renewals: Sequence[Renewal]) -> list[News | DibsError]:
        """Extend leases: lease_expires_at = now + lease_s (None: the lease it was claimed with). Confirms the start
        of a running task.

        A task cancelled under this fence answers `News(cancel=True)`. An expired lease that nobody has taken away yet
        is renewed; an attempt over its timeout is not (LeaseLost). Sets `renewed_at`; keeps progress, note, usage
        (`values.Usage.updated`). The agents of the leases that were renewed are remembered as heard of (at most every
        few seconds).
        """
        ...

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | DibsError]:
        """End claims as decided, write their attempts, release or cancel what depended on them.

        Held: apply. An EXPIRED or TIMED_OUT-by-duty settlement is applied only while the lease or timeout is still
        over (else it is answered LeaseLost) — both are marked by outcome EXPIRED, or TIMED_OUT with digest `duty`.
        Any outcome but TIMED_OUT by its agent while the attempt is over its timeout: LeaseLost.
        Not held, but this fence was settled before by its agent: with an equal digest the recorded answer; with
        another one LeaseLost if the task has been claimed again since, else IllegalTransition.
        A task cancelled under this fence: a settlement by its agent is answered IllegalTransition, and the attempt is
        recorded once as `cancelled` with its usage. Anything else: LeaseLost.

        Attempt rows are written for every outcome; `number` is the attempts counter if the claim counted, else 0.
        attempts, crashes, usage totals (None + x = x) are added up. COMPLETED, DEAD_LETTERED: final, timestamps set,
        edges and consequences as in the module's rules. RETRYING: `retry_at` = now + delay_s. READY: ready at once.
        error, reason, exit_code show the last failure, or RELEASED with an error, which was stopped (what follows it is
        emitted with reason `released` then: `task.released` has told why); completion clears error and reason and sets
        exit_code.
        VALIDATING: see *Handed in*; with `concludes`, what is not handed in, or waits for somebody, is LeaseLost. What
        was settled as submitted is answered by what became of it.
        """
        ...

    async def await_verdict(self, task_id: str, fence: int, judge_id: str) -> bool:
        """Let work handed in under this fence wait for the end of the task `judge_id`, again if that
        was given a new life, but not if it has ended; whether it waits. Not validating under this fence: LeaseLost.
        Unknown: NotFound."""
        ...

    async def handed_in(self, limit: int) -> list[str]:
        """Tasks that are validating and wait for nobody, in the order they were added."""
        ...

    async def write_journal(self, task_id: str, fence: int, entries: Sequence[Entry]) -> list[Entry]:
        """Write entries under a held fence within its timeout (else LeaseLost); answer what is now recorded for each.

        A `step` that exists with another digest: Conflict, code `journal_mismatch`. Confirms the start. Logs keep the
        last 1,000 lines.
        """
        ...

    async def read_journal(self, task_id: str) -> list[Entry]:
        """All entries of a task, in the order they were first written (a checkpoint once, its newest value)."""
        ...

    # Artifacts

    async def put_artifact(self, task_id: str, fence: int, artifact: Artifact) -> Artifact:
        """Remember an artifact under a held fence within its timeout (else LeaseLost); as it is kept now: with its task
        and when it was put.

        It takes the place of the task's artifact of that name. More than `rules.artifacts.MAX_PER_TASK`: Invalid, field
        `name`. Confirms the start. No event. Artifacts stay whatever becomes of the task, until it is pruned. What a
        settlement names (`Settlement.artifacts`) is kept in the same way, in its commit.
        """
        ...

    async def artifacts(self, dag_id: str, names: Sequence[str] = ()) -> list[Artifact]:
        """Those of the tasks of a dag, also a virtual one, in the order in which they were put; if names are given, of
        these names only. Unknown dag: none."""
        ...

    async def kept_digests(self, digests: Sequence[str], project: str | None = None) -> set[str]:
        """Those of these digests that some artifact has, in any project, or in this one."""
        ...

    async def payload_digests(self) -> set[str]:
        """The digests of all payloads whose bytes lie elsewhere (`rules.large.mark`), in any project. Looks at every
        task: for a sweep."""
        ...

    # People

    async def ask(self, ask: Ask) -> Asked:
        """Ask a person under a held fence: the claim ends (outcome `suspended`, no attempt counted), status waiting. Of
        kind validation: under the fence of work that was handed in and waits for nobody, else LeaseLost.

        A question of this task with the same name is that question: with another digest Conflict, code
        `journal_mismatch`; answered, it is the answer, and the claim goes on (`suspended` false); closed (the task has
        a new life), it is opened again, its time counting from now. Over its timeout, or not held: LeaseLost — but not
        held and this fence's attempt ended as `suspended`: the reply may have been lost, so the question as it is now,
        `suspended` true, and nothing changes. `task.waiting` has the agent.
        """
        ...

    async def answer(self, question_id: str, value: bytes, by: str | None) -> Question:
        """Answer an open question (`value` is JSON with sorted keys): `task.answered`, then the task goes where
        `rules.questions.after_answer` says. Cancelled: by request, with `rules.questions.refusal` as its
        `cancel_reason`, and spread; the caller goes on with `spread(cause=task_id)`.

        Of kind `decision`: `task.answered`, then as `review` with `rules.review.answered` of the value and who answered
        (else the assignee); what that refuses is refused, and nothing changes.

        Answered before with an equal value: the question as it is. With another, or closed: IllegalTransition.
        Unknown: NotFound, field `question_id`.
        """
        ...

    async def lapse(self, limit: int) -> int:
        """End open questions whose time is over, longest over first; how many. With a default that is the answer, by
        `rules.questions.BY_TIMEOUT`. Without, the question is closed and its task dead-lettered: reason
        `rules.questions.LAPSED`, error `rules.questions.lapse`, no attempt; the event names the question. Its
        consequences are left to `spread`."""
        ...

    async def inbox(self, project: str, assignee: str | None, limit: int) -> list[Question]:
        """Open questions, oldest first (then by id); for an `assignee` only those meant for them or for nobody."""
        ...

    async def questions(self, *, id: str | None = None, task_id: str | None = None) -> list[Question]:
        """This question, or all questions of this task, oldest first; unknown ones are left out."""
        ...

    # Steering

    async def cancel(self, target: str, reason: str | None) -> list[str]:
        """Cancel a task or a dag by request, and spread. The ids that this call ended, in order; empty if it was
        final already.

        A task: status cancelled whatever it did, reason `cancelled`, `cancel_reason` the text; its attempt, if it was
        held, is not written until its agent settles or its lease ends. A dag: its status becomes cancelled, every
        non-final task of it likewise. A virtual dag is its task. Applies at most ~500; the caller goes on with
        `spread(cause=target)`. Unknown: NotFound.
        """
        ...

    async def spread(self, limit: int = 500, cause: str | None = None) -> list[str]:
        """Apply the consequences of marked tasks and closing dags (see the module's rules); the ids ended by this
        call. Empty: nothing left."""
        ...

    async def revive(
        self,
        task_id: str,
        *,
        payload: bytes | None = None,
        body_hash: str | None = None,
        delay_s: float = 0.0,
        keep_steps: bool = True,
    ) -> Task:
        """Give a dead-lettered or cancelled task a new life, and in the same commit what was cancelled because of it.

        attempts, crashes, releases 0; error, reason, poison_pill, output cleared; history and fence kept; steps,
        spawns and questions (their names, so that they are asked anew and no claim has the answers) dropped if not
        keep_steps. Status: pending if edges are open, scheduled (run_after = now + delay) with
        a delay, else ready. Tasks with `cause` = task_id that are cancelled come back likewise, except those with an
        open `after` edge from a parent that ended badly and does not come back: they stay cancelled and their cause
        becomes that parent's (its own cause, else itself). A dag that was failed, cancelled or closing through it
        reopens (running). An `after` parent of task_id itself that ended badly: IllegalTransition naming it. A key
        meanwhile taken by another task: KeyReused. Live or completed: IllegalTransition.

        `payload` replaces the task's; with it comes `body_hash` where the task has a key, and replaces that too. A key
        made of the content (equal to the old hash) becomes the new hash; if that belongs to another task that is not
        cancelled or dead-lettered: KeyReused. Whatever is refused changes nothing.
        """
        ...

    async def review(self, task_ids: Sequence[str], ruling: Ruling) -> list[Task | DibsError]:
        """Record one decision about each of these dead letters and carry it out; the task as it is then, or an error,
        each. The caller sends about a hundred at a time, with a payload only one.

        `retried` and `retried_modified`: as `revive`. `dropped`: cancelled by request, reason `dropped`,
        `cancel_reason` the note, `cancelled_at` now, `dead_lettered_at` cleared; error, counts and poison_pill stay.
        Nothing spreads, that has happened; a dag that has ended stays as it ended. `escalated`, `kept`: it stays a dead
        letter. Then the decision is added to the task's `reviews` (`rules.review.with_review`), with now and the fence
        of the claim that died, and told: `task.reviewed`, reason the resolution, data `by`, `note`, `to` as given.
        `escalated` also opens a question of kind `decision` to `to`: `rules.questions.decision_id` (the next one of the
        task), name `decision:NUMBER`, `DECISION_SCHEMA`, the ruling's `question` or `decision_text`; its id is in the
        decision and in the event's data (`question`). Any decision closes the question that was open.
        From then on, until it is dead-lettered anew, it counts as reviewed. Not a dead letter: IllegalTransition.
        """
        ...

    async def link(self, task_id: str, dependencies: Sequence[Dependency]) -> Task:
        """Add edges into an existing task that nobody holds (pending, scheduled, ready, retrying, waiting; else
        IllegalTransition). Unknown parent: as for insert.

        Duplicates of existing edges are ignored. A cycle anywhere: CycleDetected naming it; nothing changes. A
        satisfied dependency adds a resolved edge; an `after` on one that ended badly is refused (IllegalTransition).
        With an open edge the task becomes pending; a waiting one stays so. `depends_on` grows.
        """
        ...

    async def pause(self, project: str, pause: Pause) -> Pause:
        """Close a type, a lane, an agent or everything, from now on; how it is closed now. Emits `gate.closed`.

        What is closed already keeps `since`; the same again changes nothing. A lane that does not exist: NotFound,
        field `lane`; `lane` of the answer says which tasks it is for.
        """
        ...

    async def resume(self, project: str, gate: str) -> bool:
        """Open what was paused (`Pause.gate`), or closed by a rate limit (`rules.providers.gate_of`), of which then
        nothing is remembered; emit `gate.opened`, reason `resumed`. False if it was not closed."""
        ...

    async def set_breaker(self, project: str, type: str, override: Override) -> None:
        """Set what holds for the breaker of a type (`*`: of every type without settings of its own); fields that are
        None stay as they are set (`rules.breaker.merged`). Where it is switched off, the breaker is closed; else an
        open one is half-open when the new settings say."""
        ...

    async def steer_breaker(self, project: str, type: str, to: str, reason: str | None) -> None:
        """`open` the breaker of a type from now on, `close` it, or `reset` it: closed, and nothing remembered or set.
        Emits `breaker.opened` or `breaker.closed` if its state changes."""
        ...

    async def set_ladder(self, project: str, scope: str, ladder: str | None) -> bool:
        """Keep a ladder (as `rules.escalation.as_json` has it) for `type:NAME` or `dag:ID`, or forget it (None);
        whether there was one. An unknown dag (virtual ones are known): NotFound, field `dag`. It holds for every
        failure that is settled from then on. Those of a dag are forgotten when it is pruned."""
        ...

    async def ladders(self, project: str) -> dict[str, str]:
        """Every ladder, by its scope."""
        ...

    async def reprioritise(self, task_id: str, priority: float) -> Task:
        """Change the priority of a task that is not final (else IllegalTransition); its rank follows."""
        ...

    async def reassign(self, task_id: str, assignee: str | None) -> Task:
        """Say whom a task is for, as `assignee` does when it is added; None: for anybody. It moves to that lane, with
        its rank, and `task.reassigned` is emitted (data: `assignee`), unless it was for them already. A task that is
        held, judged or final: IllegalTransition; so is one that is for anybody but its author, and stays so."""
        ...

    async def retag(self, task_id: str, add: Sequence[str], remove: Sequence[str]) -> Task:
        """Change the tags of a task, wherever it is in its life, as `rules.tagging.retagged` says. No event; where
        nothing changes, `updated_at` stays."""
        ...

    # Agents
    #
    # `stores.agents` says what each of these does to what is known of an agent. What claims go by (`Rule`) holds for
    # every claim that begins after it was committed, by any process. Agents are forgotten by `prune`.

    async def register_agent(self, registration: Registration) -> Agent:
        """Write down what an agent is registered with; it is active and heard of now, and done with draining.

        Events: `agent.registered` where nobody knew it, `agent.returned` where it was lost, offline or draining. An
        agent that was not registered is by its first claim (`agent.registered` once); one that was lost or
        offline is active again when it is heard of by a claim or a renewal (`agent.returned`).
        """
        ...

    async def drain_agent(self, project: str, agent: str) -> Agent:
        """Hand nothing new to an agent, until it is registered again or unregistered. Told before: no change.

        `agent.drained` follows once: at once if it holds nothing, else when `watch_agents` first finds that it
        holds nothing more. Unknown: NotFound, field `agent`.
        """
        ...

    async def unregister_agent(self, project: str, agent: str, reason: str | None) -> Agent:
        """It is gone: offline, event `agent.unregistered` with the reason. Offline before: no change. What it holds
        stays its own until it settles or the lease ends; what it was registered with holds when it comes back.
        Unknown: NotFound, field `agent`."""
        ...

    async def agents(self, project: str) -> list[Agent]:
        """All that are known, by id, with the tasks each holds, in the order those were added."""
        ...

    async def watch_agents(self) -> int:
        """Mark agents that have not been heard of for 90 s as lost (`agent.lost`, once), and draining ones that hold
        nothing more as drained. In every project. How many events that made."""
        ...

    # Time

    def now(self) -> int:
        """The store's clock, microseconds since the epoch."""
        ...

    @property
    def clock(self) -> Callable[[], int] | None:
        """What another handle of this store is to be opened with, so that both have one clock; None: nothing."""
        ...

    async def elect(self, intervals_s: Mapping[str, float]) -> list[str]:
        """The duties that are due and now this caller's: each is due again its interval later. Reads only when none
        is due."""
        ...

    async def postpone(self, duty: str, delay_s: float) -> None:
        """Nobody shall run this duty before now + delay_s."""
        ...

    async def promote(self, limit: int) -> int:
        """Make due scheduled and retrying tasks ready (oldest due first), and note what time opened. How many."""
        ...

    async def expired(self, limit: int) -> list[Expired]:
        """Held tasks whose lease or timeout is over, longest over first. Changes nothing but this: a task cancelled
        while held whose lease is over gets its `cancelled` attempt written."""
        ...

    async def rerank(self, limit: int) -> int:
        """Refresh rank where time or growth changed it: ready tasks whose deadline step passed, tasks of dags that
        grew. How many."""
        ...

    async def overdue(self, limit: int) -> list[str]:
        """Mark non-final tasks whose deadline passed (once each, `task.overdue`); those with on_deadline `cancel` are
        cancelled, reason `deadline`, `cancel_reason` "its deadline passed", not by request, and spread."""
        ...

    async def prune(self, retention_s: float, limit: int) -> int:
        """Delete what ended before now − retention: completed and cancelled tasks with their attempts, edges, journal
        and questions — a dag only as a whole, never while a live task depends on any of it, or the agent of one has not
        stopped since it was cancelled — and old events, claim ids and agents. Dead letters stay until they are reviewed
        and the last decision lets go of them (`rules.review.lets_go`); for those, retention counts from that decision.
        How many tasks."""
        ...

    async def unpark(self, limit: int) -> int:
        """Let tasks that were first parked long ago and are still ready, parked or not, longest first, at most `limit`,
        reserve their locks: in the order of the names, up to the first that is reserved for another. Then look at every
        lock and every budget with parked tasks as in the module's rules. How many were parked although their locks
        admitted them and nothing had said so, or a budget with room was not looked at to its end.

        Before that, budgets: one is no longer saved for a task that is not ready, could not fit any more
        (`rules.budgets.could_fit`), is parked elsewhere, or was found unparked `OFFERED` times before
        (`rules.budgets.is_kept`). One that is saved for nobody is for the best task of a lane that is parked on it and
        could fit (as many are looked at as when it is opened), if that has been ready for `rules.budgets.PASSED_OVER_S`
        and no better one of that lane is ready and not parked, but, where agents have budgets of their own, for such as
        have been ready for as long: those may be what no agent can pay for. Of several the one that has been ready
        longest, then the one inserted first.
        """
        ...

    # Locks

    async def set_slots(self, project: str, name: str, slots: int) -> Lock:
        """How many tasks may hold this lock at once. What is held beyond that stays held."""
        ...

    async def locks(self, project: str) -> list[Lock]:
        """Those that are held, waited for, reserved, or have another number of slots than 1; by name."""
        ...

    # Slots of types

    async def set_type_slots(self, project: str, type: str, slots: int | None) -> TypeSlots | None:
        """How many tasks of a type may be held at once, from now on, and how many are; None: any number. What is held
        beyond that stays held."""
        ...

    async def type_slots(self, project: str) -> list[TypeSlots]:
        """The types that have slots, by name, and how many of each are taken."""
        ...

    # Rates of types

    async def set_rate(self, project: str, type: str, rate: Rate | None) -> TypeRate | None:
        """How many tasks of a type may be handed out in a time, from now on; None: any number. A new bucket is full;
        one that was there goes on as it was, empty at worst (`rules.rates.changed`)."""
        ...

    async def rates(self, project: str) -> list[TypeRate]:
        """The types that have a rate, by name, and what may be handed out now."""
        ...

    # Budgets

    async def set_budget(
        self, project: str, scope: str, unit: str, limit: int, default_reserve: int, window: Window | None = None
    ) -> Budget:
        """Make a budget, or change its limit, default and window. A new one has spent nothing; what is held in its
        scope, also by agents that have not stopped since it was cancelled, has reserved what a claim would reserve
        now. Changing the window changes when it ends, and nothing else."""
        ...

    async def raise_budget(self, project: str, scope: str, unit: str, amount: int) -> Budget:
        """Add to its limit. Unknown: NotFound, field `scope`."""
        ...

    async def remove_budget(self, project: str, scope: str, unit: str) -> Budget:
        """Forget it, unpark all that is parked on it; as it was. Unknown: NotFound, field `scope`."""
        ...

    async def budgets(self, project: str) -> list[Budget]:
        """All of them, by scope and unit. Those of a dag are forgotten when it is pruned."""
        ...

    # Documents
    #
    # Small values beside the tasks, by project ("": of the whole store), kind and name: tokens, schedules, hooks. They
    # stay until they are removed, and nothing is emitted for them.

    async def write_document(
        self, project: str, kind: str, name: str, body: bytes | None, expected: int | None = None
    ) -> int:
        """Keep a document in the place of the one of that name, or remove it (None: nothing there to remove is no
        mistake); its new version: one more than it had, the time in micros where there was none, 0 where it was
        removed. So a document that comes back is a later one to whoever still knows the one that was removed.

        `expected` is the version that it must have now (0: it must not be there), else Conflict, code
        `version_conflict`, and nothing changes; however many writers race, one of those that expect the same version
        gets through. What `rules.documents.check` refuses is Invalid, with the field.
        """
        ...

    async def documents(
        self, project: str, kind: str, *, name: str | None = None, after: str = "", limit: int = 1000
    ) -> list[Document]:
        """The documents of a kind in a project, in the order of their names (by code points): those after a name, at
        most `limit`; or the one of this name, if there is one."""
        ...

    async def tell(
        self, project: str, type: str, *, reason: str | None = None, data: dict[str, Any] | None = None
    ) -> None:
        """Emit an event about neither task, dag nor agent, for something that is kept in documents. Its data say in
        which project, as `rules.access.at_home` has it. Said twice, it is told twice."""
        ...

    # Reading

    async def get(self, ids: Sequence[str], *, listed: bool = False) -> list[Task | None]:
        """Full snapshots, with outputs, artifacts, `depends_on`, `blocked_by` (open edges' parents) and effective
        priority as of now; or as lists have them."""
        ...

    async def projects(self, ids: Sequence[str]) -> list[str | None]:
        """The project that each of these tasks, dags (also virtual ones) or questions is in; None: nobody knows it."""
        ...

    async def find(self, filter: Filter, limit: int, cursor: str | None) -> Page:
        """Newest first, as lists have them (see the module's rules). Texts are not looked for in large payloads. A
        store may look at 10,000 tasks, for texts also at `MAX_TEXT_BYTES`, and then answer what it found, with a
        cursor. Bad cursor: Invalid, field `cursor`. Tasks are numbered as they are added: those that by their numbers
        were added five minutes before or after what `created` asks for need not be looked at."""
        ...

    async def find_ids(self, filter: Filter, limit: int, cursor: str | None) -> Found:
        """As `find`, but only the ids."""
        ...

    async def dead_letters(self, wanted: DeadFilter) -> list[DeadGroup]:
        """Dead letters that fit, in groups of one type and `rules.review.mark_of` their last attempt (the one under
        their fence); groups as `rules.review.in_order`. The newest of a group is the one dead-lettered last, of equal
        ones the one added last. One aggregate, however many there are."""
        ...

    async def dead_letter_ids(self, wanted: DeadFilter, limit: int | None, before: str | None) -> list[str]:
        """Their ids, the task added last first; those added before the task `before`, at most `limit`. Unknown
        `before`: NotFound, field `before`."""
        ...

    async def dag(self, dag_id: str) -> Dag | None:
        """The dag with its tasks (insertion order, as lists have them), edges, and counts; also virtual ones. None if
        there is none."""
        ...

    async def dags(self, wanted: DagFilter, limit: int, before: str | None) -> Dags:
        """Dags that have a row, without tasks and edges, but with counts and costs: by id, the greatest first, those
        below `before`. A store may look at 10,000 of the project and then answer what it found, with the `rest`, which
        is the id of one of them: none of another project is ever named."""
        ...

    async def history(self, task_id: str) -> list[Attempt]:
        """Every ended claim of a task, oldest first."""
        ...

    async def histories(self, task_ids: Sequence[str]) -> list[list[Attempt]]:
        """The same of many, in the order of the ids; of those that there are not, nothing."""
        ...

    async def stats(self, project: str) -> Stats:
        """Counts by status and type, lanes with something ready, agents (as `agents`) heard of in the last day; what is
        ready and not parked by `rules.priority.tier` of its effective priority, as ranks say it."""
        ...

    async def ready(self, project: str) -> list[Lane]:
        """Lanes with something ready, as in `stats`; nothing else is counted for it."""
        ...

    async def pauses(self, project: str) -> list[Pause]:
        """What is paused now, in the order of their gates."""
        ...

    async def breakers(self, project: str) -> tuple[dict[str, Override], dict[str, Record]]:
        """What was set for breakers, and what they remember, by type; as of now."""
        ...

    async def backoffs(self, project: str) -> dict[str, Backoff]:
        """The gates of providers that are closed now, in their order."""
        ...

    async def metrics(self, project: str, by: str, since: int) -> list[Metrics]:
        """The groups `by` type, agent, model or day (`model.metrics.Metrics` says what is counted) of everything that
        is kept: tasks created or cancelled, and claims that ended, at `since` or later; by day, each on the day (UTC)
        of that moment. What is held now is counted whatever `since` says. A claim's model is the one its agent named,
        else the one chosen when it was claimed. Order: `rules.metrics.measured`. Exact, as of one moment."""
        ...

    async def spending(self, project: str, by: str, since: int, until: int, step: int) -> list[Sum]:
        """Attempts that ended from `since` until before `until` and used something (a cost, tokens or turns were told,
        or they had a model), added up `by` type, agent, model or dag, for each `step` of time since `since`. Those of
        tasks that stand alone have the dag ""."""
        ...

    async def ends(self, project: str, since: int, limit: int) -> Ends:
        """Tasks that were completed at `since` or later, the last one first, at most `limit`."""
        ...

    async def events(self, after: int, limit: int) -> list[Event]:
        """Events with seq > after, in order. If some of those were pruned, the first is `gap` with the seq of the
        last one lost."""
        ...

    async def last_seq(self) -> int:
        """The seq of the newest event; 0 if there is none."""
        ...

    # Moving elsewhere
    #
    # What `stores.carrying` says of records holds here. How a store stands (`Standing`) is kept in it, for every
    # process: unless it is open, every verb that would change anything is refused (`stores.standing.refusal`) and
    # changes nothing; those that only read go on. A claim that finds nothing is refused as well. Nobody pays for this
    # while it is open.

    async def standing(self) -> Standing:
        """How it stands."""
        ...

    async def stand(self, standing: Standing, expected: str | None = None) -> None:
        """Stand so from now on, if its state is the one expected (else Conflict, code `stands_otherwise`).

        Once this has returned, whatever was under way has been committed or will be refused. Where it opens, every
        claim that has not ended has a whole lease from now on: nobody could renew meanwhile."""
        ...

    async def census(self) -> Census:
        """How many tasks there are, in all projects."""
        ...

    async def carry_out(self, after: int, limit: int, *, live: bool = False) -> Cargo:
        """Tasks whose number is above `after`, by number, at most `limit`; all of one moment. With `live` only those
        that are not final, or whose end is not all told: an attempt to be written, consequences to be spread. With
        `after` 0 also the rows of dags that no task is in."""
        ...

    async def carry_out_named(self, ids: Sequence[str]) -> Cargo:
        """The tasks and the dags of these ids; unknown ones are left out."""
        ...

    async def carry_settings(self) -> CarriedSettings:
        """Everything else that is known."""
        ...

    async def carry_in(self, cargo: Cargo, *, forget: Sequence[str] = (), standing: Standing | None = None) -> None:
        """Write tasks and dags down as they are, in the place of those of the same id, and forget others, with their
        dag if nobody is left in it; how it stands changes in the same commit. The same again changes nothing. No
        event, and nothing follows: whatever follows has happened where they come from. The other ends of their edges
        may come later. Refused unless it is filling, or has moved and may be moved back."""
        ...

    async def carry_in_settings(self, settings: CarriedSettings) -> None:
        """Let these, and no others, hold. The next task, artifact and event have numbers above those told here. Comes
        after the tasks: what they hold and wait for is put together now. Refused as `carry_in` is."""
        ...

    # Waiting and living

    async def news(self) -> int:
        """A number that changes whenever anything was committed, by any process."""
        ...

    async def wait_for_news(self, since: int, timeout_s: float) -> int:
        """Return as soon as `news()` differs from `since`, at the latest after timeout_s. Hints only: may return
        early. A store may offer to claim at that moment, too (`stores.chances`)."""
        ...

    async def check(self) -> list[str]:
        """What is wrong with this store, a sentence each; empty if it is sound."""
        ...

    async def advise(self) -> list[str]:
        """What is not wrong with this store, but could hurt: settings, what others do to it. A sentence each that says
        what to do."""
        ...

    async def close(self) -> None:
        """Finish what was accepted and let go of everything. Idempotent."""
        ...
