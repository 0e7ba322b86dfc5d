"""The same verbs, blocking: what the shell uses, and scripts without an event loop.

Nothing here repeats a verb. A store opened with `blocking=True` has coroutines that never suspend, so one `send` runs a
verb from start to end; with an embedded store neither asyncio nor a thread is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from dibs.plan import DagPlan
from dibs.queue import Queue
from dibs.requests import is_remote, refuse_token, retention_s
from dibs.stores import chosen, open_store
from dibs.stores.following import following

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from dibs.model.event import Event
    from dibs.rules.retry import PoisonPolicy
    from dibs.stores.contract import Store

P = ParamSpec("P")
R = TypeVar("R")


def drive(coroutine: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    coroutine.close()
    raise RuntimeError("a blocking store suspended; this is a bug in the store")


def _blocking(
    verb: Callable[Concatenate[Queue, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[SyncQueue, P], R]:
    def call(self: SyncQueue, /, *args: P.args, **kwargs: P.kwargs) -> R:
        # By its name: the verbs of a queue on a server are others.
        bound: Callable[P, Coroutine[Any, Any, R]] = getattr(self.queue, name)
        return drive(bound(*args, **kwargs))

    name = verb.__name__
    call.__name__ = verb.__name__
    call.__doc__ = verb.__doc__
    return call


class SyncDagPlan(DagPlan):
    """A dag being written down in a `with` block."""

    def __enter__(self) -> SyncDagPlan:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            drive(self.submit())


class SyncQueue:
    """A queue whose verbs block until they are done. Made by `dibs.connect_sync`."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue

    add = _blocking(Queue.add)
    add_many = _blocking(Queue.add_many)
    add_dag = _blocking(Queue.add_dag)
    claim = _blocking(Queue.claim)
    start = _blocking(Queue.start)
    renew = _blocking(Queue.renew)
    renew_many = _blocking(Queue.renew_many)
    complete = _blocking(Queue.complete)
    complete_group = _blocking(Queue.complete_group)
    fail = _blocking(Queue.fail)
    fail_group = _blocking(Queue.fail_group)
    release = _blocking(Queue.release)
    release_group = _blocking(Queue.release_group)
    settle = _blocking(Queue.settle)
    settle_outcomes = _blocking(Queue.settle_outcomes)
    spawn = _blocking(Queue.spawn)
    spawn_below = _blocking(Queue.spawn_below)
    ask = _blocking(Queue.ask)
    ask_under = _blocking(Queue.ask_under)
    answer = _blocking(Queue.answer)
    get_question = _blocking(Queue.get_question)
    set_escalation = _blocking(Queue.set_escalation)
    clear_escalation = _blocking(Queue.clear_escalation)
    get_escalation = _blocking(Queue.get_escalation)
    escalations = _blocking(Queue.escalations)
    add_hook = _blocking(Queue.add_hook)
    set_hook = _blocking(Queue.set_hook)
    hooks = _blocking(Queue.hooks)
    get_hook = _blocking(Queue.get_hook)
    pause_hook = _blocking(Queue.pause_hook)
    resume_hook = _blocking(Queue.resume_hook)
    remove_hook = _blocking(Queue.remove_hook)
    rotate_hook = _blocking(Queue.rotate_hook)
    replay_hook = _blocking(Queue.replay_hook)
    test_hook = _blocking(Queue.test_hook)
    deliveries = _blocking(Queue.deliveries)
    hear = _blocking(Queue.hear)
    inbox = _blocking(Queue.inbox)
    questions_of = _blocking(Queue.questions_of)
    checkpoint = _blocking(Queue.checkpoint)
    log = _blocking(Queue.log)
    record = _blocking(Queue.record)
    journal = _blocking(Queue.journal)
    locks = _blocking(Queue.locks)
    budgets = _blocking(Queue.budgets)
    put_artifact = _blocking(Queue.put_artifact)
    open_artifact = _blocking(Queue.artifact_stream)
    artifacts = _blocking(Queue.artifacts)
    sweep_artifacts = _blocking(Queue.sweep_artifacts)
    look_at_artifacts = _blocking(Queue.look_at_artifacts)
    audit = _blocking(Queue.audit)
    verify_audit = _blocking(Queue.verify_audit)
    prune_audit = _blocking(Queue.prune_audit)
    record_act = _blocking(Queue.record_act)
    cancel = _blocking(Queue.cancel)
    cancel_found = _blocking(Queue.cancel_found)
    retry = _blocking(Queue.retry)
    retry_found = _blocking(Queue.retry_found)
    review = _blocking(Queue.review)
    review_many = _blocking(Queue.review_many)
    link = _blocking(Queue.link)
    raise_budget = _blocking(Queue.raise_budget)
    remove_budget = _blocking(Queue.remove_budget)
    remove_rate = _blocking(Queue.remove_rate)
    set_budget = _blocking(Queue.set_budget)
    reassign = _blocking(Queue.reassign)
    set_priority = _blocking(Queue.set_priority)
    set_priority_found = _blocking(Queue.set_priority_found)
    tag = _blocking(Queue.tag)
    tag_found = _blocking(Queue.tag_found)
    pause = _blocking(Queue.pause)
    resume = _blocking(Queue.resume)
    gates = _blocking(Queue.gates)
    breakers = _blocking(Queue.breakers)
    set_breaker = _blocking(Queue.set_breaker)
    open_breaker = _blocking(Queue.open_breaker)
    close_breaker = _blocking(Queue.close_breaker)
    reset_breaker = _blocking(Queue.reset_breaker)
    set_slots = _blocking(Queue.set_slots)
    type_slots = _blocking(Queue.type_slots)
    rates = _blocking(Queue.rates)
    set_rate = _blocking(Queue.set_rate)
    reports = _blocking(Queue.reports)
    set_report = _blocking(Queue.set_report)
    remove_report = _blocking(Queue.remove_report)
    add_schedule = _blocking(Queue.add_schedule)
    schedules = _blocking(Queue.schedules)
    get_schedule = _blocking(Queue.get_schedule)
    pause_schedule = _blocking(Queue.pause_schedule)
    resume_schedule = _blocking(Queue.resume_schedule)
    remove_schedule = _blocking(Queue.remove_schedule)
    next_runs = _blocking(Queue.next_runs)
    register_agent = _blocking(Queue.register_agent)
    agents = _blocking(Queue.agents)
    drain_agent = _blocking(Queue.drain_agent)
    add_trigger = _blocking(Queue.add_trigger)
    triggers = _blocking(Queue.triggers)
    get_trigger = _blocking(Queue.get_trigger)
    pause_trigger = _blocking(Queue.pause_trigger)
    resume_trigger = _blocking(Queue.resume_trigger)
    remove_trigger = _blocking(Queue.remove_trigger)
    preview_trigger = _blocking(Queue.preview_trigger)
    receive = _blocking(Queue.receive)
    unregister_agent = _blocking(Queue.unregister_agent)
    create_token = _blocking(Queue.create_token)
    tokens = _blocking(Queue.tokens)
    revoke_token = _blocking(Queue.revoke_token)
    rotate_token = _blocking(Queue.rotate_token)
    create_login = _blocking(Queue.create_login)
    lanes = _blocking(Queue.lanes)
    run_duties = _blocking(Queue.run_duties)
    prune = _blocking(Queue.prune)
    get = _blocking(Queue.get)
    get_dag = _blocking(Queue.get_dag)
    history = _blocking(Queue.history)
    judges_of = _blocking(Queue.judges_of)
    wait = _blocking(Queue.wait)
    find = _blocking(Queue.find)
    count = _blocking(Queue.count)
    suggest = _blocking(Queue.suggest)
    dead_letters = _blocking(Queue.dead_letters)
    dead_letter_ids = _blocking(Queue.dead_letter_ids)
    why = _blocking(Queue.why)
    stats = _blocking(Queue.stats)
    overview = _blocking(Queue.overview)
    costs = _blocking(Queue.costs)
    dags = _blocking(Queue.dags)
    dag_attempts = _blocking(Queue.dag_attempts)
    metrics = _blocking(Queue.metrics)
    read_events = _blocking(Queue.read_events)
    recent_events = _blocking(Queue.recent_events)
    close = _blocking(Queue.close)

    def dag(self, title: str, **options: Any) -> SyncDagPlan:
        """A graph to write down task by task; leaving the `with` block submits it in one commit."""
        return SyncDagPlan(self.queue, title, options)

    @property
    def url(self) -> str:
        """Where the tasks are kept."""
        return self.queue.url

    def events(self, after: int | None = None) -> Iterator[Event]:
        """Everything that happened after `after` (None: from the oldest kept), then live, for ever."""
        live = self.queue.events(after)
        while True:
            yield drive(live.__anext__())  # type: ignore[arg-type]

    def __enter__(self) -> SyncQueue:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect_sync(
    url: str | None = None,
    *,
    token: str | None = None,
    retention: Any = None,
    poison: PoisonPolicy | None = None,
    artifacts: str | None = None,
    clock: Callable[[], int] | None = None,
    project: str = "default",
) -> SyncQueue:
    """Open a queue for blocking use; takes what `dibs.connect` takes."""
    if is_remote(where := chosen(url)):
        from dibs.remote.opening import open_remote

        settings = {"retention": retention, "poison": poison, "artifacts": artifacts, "clock": clock}
        return SyncQueue(open_remote(where, token=token, blocking=True, **settings))
    refuse_token(token)
    kept_s = retention_s(retention)

    def reopen(there: str) -> Store:
        return open_store(there, clock=clock, blocking=True)

    store = following(open_store(url, clock=clock, blocking=True), reopen, blocking=True)
    drive(store.connect())
    queue = Queue(store, poison=poison, retention_s=kept_s, project=project, artifacts=artifacts, blocking=True)
    return SyncQueue(queue)
