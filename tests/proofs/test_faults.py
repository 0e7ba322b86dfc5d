"""A client that repeats a verb after Unavailable ends where it would have ended without, wherever the fault falls.

What can be repeated blindly: add and add_dag with a key, claim with a claim_id, start, renew, complete, fail, release,
checkpoint, steps, link, set_priority, tag, reassign, spawn, ask, answer, pause, resume, breakers, ladders, slots,
rates, set_budget, agents. Repeating `retry` and `review` is answered IllegalTransition, `spawn(wait=True)` LeaseLost,
`remove_budget` and `clear_escalation` NotFound when the first call took effect; repeating `cancel` names no ids: each
says that it happened. What cannot: add without a key, claim without a claim_id, log and notes, raise_budget, a decision
that leaves a dead letter one; the last test says what that costs.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.queue import Queue
from dibs.stores import open_store
from dibs.stores.values import Entry
from dibs.sync import SyncQueue, drive
from dibs.testing import FakeClock
from tests.model.worlds import scratch_folder
from tests.proofs.faulty import Faulty
from tests.proofs.verbs import CASES, READS
from tests.servers.quick import sqlite_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SILENT = 0
MOST_CALLS = 100


class Client:
    """Says every verb until it is answered. `expected` are the refusals that mean: it happened the first time."""

    def __init__(self, queue: SyncQueue, clock: FakeClock) -> None:
        self.queue = queue
        self.clock = clock
        self._takes = 0

    def say(self, verb: Callable[..., Any], *args: Any, expected: type[Exception] | None = None, **options: Any) -> Any:
        repeated = False
        while True:
            try:
                return verb(*args, **options)
            except dibs.Unavailable:
                repeated = True
            except (dibs.Conflict, dibs.NotFound) as refused:
                if not (repeated and expected and isinstance(refused, expected)):
                    raise
                return None

    def take(self, type: str, **options: Any) -> dibs.Claim:
        """The next task of a type. A duty whose election was lost runs a second later."""
        self._takes += 1
        claim_id = f"take-{self._takes}"
        for _ in range(4):
            claims = self.say(self.queue.claim, "agent", types=[type], claim_id=claim_id, lease=3_600, **options)
            if claims:
                [claim] = claims
                assert isinstance(claim, dibs.Claim)
                return claim
            self.clock.advance(1)
        raise AssertionError(f"no task of type {type} came")


def _plain(client: Client) -> None:
    queue, say, take = client.queue, client.say, client.take
    plain = say(queue.add, "plain", {"n": "plain"}, key="plain")
    say(queue.set_priority, plain.id, 10)
    say(queue.tag, plain.id, ["new"], ["old"])
    say(queue.reassign, plain.id, "agent")
    claim = take("plain", start=False)
    say(queue.start, claim)
    say(queue.renew, claim, lease=600, cost=0.25)
    step = Entry(kind="step", name="paid", digest="d", value=b'"receipt"')
    say(queue.record, claim, [step])
    say(queue.checkpoint, claim, {"at": 1})
    say(queue.complete, claim, {"done": True}, cost=0.5)


def _shaky(client: Client) -> None:
    queue, say, take, clock = client.queue, client.say, client.take, client.clock
    say(queue.add, "shaky", {"n": "shaky"}, key="shaky", retry="fixed:5s")
    say(queue.release, take("shaky"))
    clock.advance(60)
    say(queue.fail, take("shaky"), "first")
    clock.advance(60)
    say(queue.fail, (lambda c: (c.task.id, c.fence))(take("shaky")), "second")
    clock.advance(60)
    say(queue.complete, take("shaky"), "third time")


def _graph(client: Client) -> None:
    queue, say, take = client.queue, client.say, client.take
    dag = say(
        queue.add_dag,
        "graph",
        [
            dibs.NewTask("root", {"n": "root"}, ref="root"),
            dibs.NewTask("leaf", {"n": "leaf"}, ref="leaf", after=["root"]),
            dibs.NewTask("side", {"n": "side"}, ref="side"),
        ],
        key="graph",
        on_failure="continue",
    )
    root, leaf, side = (task.id for task in dag.tasks)
    say(queue.link, side, after=[leaf])
    say(queue.fail, take("root"), "no", retry=False)
    say(queue.retry, root, expected=dibs.IllegalTransition)
    say(queue.complete, take("root"), 1)
    say(queue.complete, take("leaf"), 2)
    say(queue.cancel, side, "not needed")


def _family(client: Client) -> None:
    queue, say, take, clock = client.queue, client.say, client.take, client.clock
    say(queue.add, "parent", {"n": "parent"}, key="parent")
    claim = take("parent")
    say(queue.spawn, claim, [dibs.NewTask("aside", {"n": "aside"})], wait=False)
    waited = [dibs.NewTask("child", {"n": f"child-{n}"}) for n in range(2)]
    say(queue.spawn, claim, waited, wait=True, expected=dibs.LeaseLost)
    for _ in range(2):
        say(queue.complete, take("child"), 3)
        clock.advance(1)
    say(queue.complete, take("parent"), "whole")
    say(queue.complete, take("aside"))


def _people(client: Client) -> None:
    queue, say, take, clock = client.queue, client.say, client.take, client.clock
    say(queue.add, "asker", {"n": "asker"}, key="asker", approval=True)
    [approval] = say(queue.inbox)
    say(queue.answer, approval.id, True, by="grace")
    question = say(queue.ask, take("asker"), "Which one?")
    say(queue.answer, question.id, "red")
    say(queue.complete, take("asker"), "asked")
    say(queue.add, "patient", {"n": "patient"}, key="patient")
    say(queue.ask, take("patient"), "Anybody?", timeout=30, default="nobody")
    clock.advance(60)
    say(queue.complete, take("patient"), "went on")
    say(queue.add, "refused", {"n": "refused"}, key="refused", approval=True)
    [approval] = say(queue.inbox)
    say(queue.answer, approval.id, False)


def _gates(client: Client) -> None:
    queue, say, take, clock = client.queue, client.say, client.take, client.clock
    say(queue.add, "still", {"n": "still"}, key="still")
    say(queue.pause, "still", reason="tea")
    assert say(queue.claim, "agent", types=["still"], claim_id="in-vain") == []
    say(queue.resume, "still")
    say(queue.complete, take("still"))
    say(queue.set_breaker, "frail", failure_threshold=1, half_open_after_s=30)
    for number in range(2):
        say(queue.add, "frail", {"n": f"frail-{number}"}, key=f"frail-{number}", max_attempts=1)
    say(queue.fail, take("frail"), "it broke")
    clock.advance(60)
    say(queue.complete, take("frail"), "it holds")
    say(queue.open_breaker, "frail", "by hand")
    say(queue.close_breaker, "frail")
    say(queue.reset_breaker, "frail")


def _locked(client: Client) -> None:
    queue, say, take = client.queue, client.say, client.take
    say(queue.set_slots, "repo", 2)
    for number in range(3):
        say(queue.add, "locked", {"n": f"locked-{number}"}, key=f"locked-{number}", locks=["repo"])
    one, two = take("locked"), take("locked")
    assert say(queue.claim, "agent", types=["locked"], claim_id="in-vain") == []
    say(queue.complete, one)
    say(queue.cancel, two.task.id)
    say(queue.release, take("locked"))
    say(queue.complete, take("locked"))


def _paid(client: Client) -> None:
    queue, say, take = client.queue, client.say, client.take
    say(queue.set_budget, "type:paid", 1.0, default_reserve=0.6)
    for number in range(3):
        say(queue.add, "paid", {"n": f"paid-{number}"}, key=f"paid-{number}")
    claim = take("paid")
    assert say(queue.claim, "agent", types=["paid"], claim_id="in-vain") == []
    say(queue.renew, claim, cost=0.2)
    say(queue.complete, claim, cost=0.3)
    say(queue.fail, take("paid"), "nobody knows what it cost", retry=False)
    say(queue.set_budget, "type:paid", 1.6, default_reserve=0.6)
    claim = take("paid")
    say(queue.remove_budget, "type:paid", expected=dibs.NotFound)
    say(queue.set_budget, "type:paid", 1.0, default_reserve=0.6)
    say(queue.complete, claim, cost=0.1)


def _agents(client: Client) -> None:
    queue, say, take, clock = client.queue, client.say, client.take, client.clock
    say(queue.register_agent, "agent", type="coder", max_concurrent=1)
    say(queue.register_agent, "spare")
    say(queue.add, "work", {"n": "work"}, key="work", assignee="coder")
    claim = take("work")
    say(queue.drain_agent, "agent")
    say(queue.complete, claim)
    say(queue.unregister_agent, "spare", "moved")
    clock.advance(200)
    for _ in range(2):
        # A duty whose election was lost runs a while later.
        say(queue.run_duties)
        clock.advance(60)
    say(queue.register_agent, "agent")


def _dead(client: Client) -> None:
    queue, say, take = client.queue, client.say, client.take
    for number in range(3):
        say(queue.add, "dead", {"n": f"dead-{number}"}, key=f"dead-{number}", retry="immediate")
        say(queue.fail, take("dead"), "no", retry=False)
    ids = say(queue.dead_letter_ids)
    say(queue.review, ids[0], "retried", by="grace", expected=dibs.IllegalTransition)
    say(queue.review_many, ids[1:], "dropped", by="grace", note="old")
    say(queue.complete, take("dead"))


def _judged(client: Client) -> None:
    queue, say, take = client.queue, client.say, client.take
    say(queue.add, "poem", {"n": "poem"}, key="poem", expects={"validation": "judge", "rubric": "It rhymes."})
    say(queue.complete, take("poem"), "a poem", cost=0.2)
    judging: dict[str, Any] = {"types": ["judge"], "capabilities": ["judge"], "claim_id": "judging", "lease": 3_600}
    [claim] = say(queue.claim, "judge-1", **judging)
    say(queue.complete, claim, {"verdict": "pass"})
    say(queue.add, "essay", {"n": "essay"}, key="essay", expects={"validation": "human"}, retry="immediate")
    for good in (False, True):
        say(queue.complete, take("essay"), "an essay")
        [question] = say(queue.inbox)
        say(queue.answer, question.id, {"approve": good, "reason": "so it is"}, by="grace")


def _climbing(client: Client) -> None:
    queue, say, take = client.queue, client.say, client.take
    say(queue.set_escalation, [{"after": 1, "do": "notify"}, {"after": 2, "do": "ask", "to": "oncall"}], type="steep")
    say(queue.set_escalation, [{"after": 1, "do": "notify"}], type="other")
    say(queue.add, "steep", {"n": "steep"}, key="steep", retry="immediate", max_attempts=5)
    for error in ("first", "second"):
        say(queue.fail, take("steep"), error)
    [question] = say(queue.inbox)
    say(queue.answer, question.id, "mind the gap", by="grace")
    say(queue.complete, take("steep"))
    say(queue.clear_escalation, type="other", expected=dibs.NotFound)


def _metered(client: Client) -> None:
    queue, say, take, clock = client.queue, client.say, client.take, client.clock
    say(queue.set_slots, type="few", slots=1)
    say(queue.set_rate, "few", "2/min")
    for number in range(2):
        say(queue.add, "few", {"n": f"few-{number}"}, key=f"few-{number}")
    claim = take("few")
    assert say(queue.claim, "agent", types=["few"], claim_id="in-vain") == []
    say(queue.complete, claim)
    say(queue.set_slots, type="few", slots=2)
    say(queue.fail, take("few"), "429 too many requests, retry-after: 30", reason="rate_limit")
    say(queue.resume, limit="few")
    clock.advance(60)
    say(queue.complete, take("few"))
    say(queue.set_rate, "few", "1/hour", 5)


def _rationed(client: Client) -> None:
    queue, say, take, clock = client.queue, client.say, client.take, client.clock
    say(queue.register_agent, "agent", budget=1.0)
    say(queue.set_budget, "type:daily", 1.0, default_reserve=1.0, window="day")
    for number in range(2):
        say(queue.add, "daily", {"n": f"daily-{number}"}, key=f"daily-{number}")
    say(queue.complete, take("daily"), cost=0.5)
    assert say(queue.claim, "agent", types=["daily"], claim_id="in-vain") == []
    clock.advance(86_400)
    for _ in range(2):
        # A duty whose election was lost runs a while later.
        say(queue.run_duties)
        clock.advance(60)
    say(queue.complete, take("daily"), cost=0.2)


STORIES = (
    *(_plain, _shaky, _graph, _family, _people, _gates, _locked, _paid, _agents, _dead),
    *(_judged, _climbing, _metered, _rationed),
)
"""Together every verb that can be repeated."""


def _facts(queue: SyncQueue) -> dict[str, Any]:
    """Everything about the tasks but ids and instants, by the name each has in its payload."""
    tasks = queue.find(limit=100).items
    names = {task.id: task.payload.get("n", task.type) for task in tasks}
    events: dict[str, Counter[tuple[str, str | None]]] = {name: Counter() for name in names.values()}
    dags: Counter[str] = Counter()
    seqs = []
    for event in queue.read_events(0, 1_000):
        seqs.append(event.seq)
        if event.task_id is None:
            # Dags, gates, breakers and agents.
            dags[event.type] += 1
        else:
            events[names[event.task_id]][event.type, event.reason] += 1
    assert seqs == list(range(1, len(seqs) + 1))
    return {
        "count": Counter(names.values()),
        "dags": dags,
        "gates": queue.gates(),
        "locks": [(lock.name, lock.slots, [names[each.task_id] for each in lock.holders]) for lock in queue.locks()],
        "budgets": queue.budgets(),
        "ladders": queue.escalations(),
        "rates": [(rate.type, rate.amount, rate.per_s, rate.burst) for rate in queue.rates()],
        "slots": queue.type_slots(),
        "breakers": [(breaker.type, breaker.state, breaker.failures) for breaker in queue.breakers()],
        "agents": [(agent.id, agent.status, agent.tasks) for agent in queue.agents()],
        "questions": Counter(question.kind for task in tasks for question in queue.questions_of(task.id)),
        "tasks": {
            names[task.id]: (
                task.status,
                task.attempts,
                task.fence,
                task.output,
                task.error,
                task.priority,
                task.cost_usd,
                names.get(task.parent_id or ""),
                sorted(names[id] for id in task.depends_on),
                [(a.number, a.fence, a.outcome, a.reason, a.cost_usd) for a in queue.history(task.id)],
                sorted((entry.kind, entry.value if entry.kind != "spawn" else b"") for entry in queue.journal(task.id)),
                events[names[task.id]],
            )
            for task in tasks
        },
    }


def _run(url: str, story: Callable[[Client], None], failing: int, when: str) -> tuple[dict[str, Any], list[str]]:
    """How a story ends whose n-th call fails; and the calls it made."""
    clock = FakeClock()
    store = open_store(url, clock=clock, blocking=True)
    drive(store.connect())
    faulty = Faulty(store, failing, when)
    queue = SyncQueue(Queue(faulty, draw=lambda: 0.5, blocking=True))
    story(Client(queue, clock))
    with SyncQueue(Queue(store, blocking=True)) as sound:
        sound.run_duties()
        assert drive(store.check()) == []
        assert drive(store.unpark(100)) == 0
        return _facts(sound), faulty.called


def _told(story: Callable[[Client], None]) -> str:
    return story.__name__.strip("_")


@pytest.mark.parametrize("story", STORIES, ids=_told)
@pytest.mark.parametrize(
    ("kind", "when"),
    [("memory", "before"), ("memory", "after"), ("sqlite", "before"), ("sqlite", "after"), ("postgres", "after")],
)
def test_repeating_what_was_not_answered_ends_where_it_would_have_ended(
    request: pytest.FixtureRequest, kind: str, story: Callable[[Client], None], when: str
) -> None:
    @contextmanager
    def url() -> Iterator[str]:
        if kind == "memory":
            yield "memory:"
        elif kind == "sqlite":
            with scratch_folder() as folder:
                yield f"sqlite:{sqlite_file(Path(folder) / 'dibs.db')}"
        else:
            with request.getfixturevalue("postgres_schemas").lend() as lent:
                yield lent

    with url() as place:
        expected, calls = _run(place, story, SILENT, when)
    assert 5 < len(calls) < MOST_CALLS
    assert expected["count"].total() == len(expected["count"])
    for point, name in enumerate(calls, 1):
        if kind == "postgres" and (name in READS or (name == "elect" and point % 4)):
            # A call that only reads is the same to every store, and so are elections that nobody wins.
            continue
        with url() as place:
            facts, _ = _run(place, story, point, when)
        assert facts == expected, f"call {point} of {len(calls)}, {name}, failed {when} it took effect"


def test_the_stories_say_every_verb_that_can_be_repeated() -> None:
    called: set[str] = set()
    for story in STORIES:
        called |= set(_run("memory:", story, SILENT, "before")[1])
    verbs = {case.verb for case in CASES if case.adds_up is None} - {
        "events": "said by whoever watches",
        "put_artifact": "said where artifacts are kept; under a digest of what is in them",
        "last_seq": "said by whoever watches",
        "postpone": "said after the machine slept",
        "prune": "said a week later",
        "rerank": "said by duties only; it has nothing to remember",
        "stand": "said by whoever moves everything to another store",
        "overdue": "said by duties only; it has nothing to remember",
        "write_document": "said for tokens, schedules and hooks; a version tells a repeat",
    }.keys()
    assert verbs <= called


def test_what_repeating_costs_where_nothing_tells_repeats_apart() -> None:
    clock = FakeClock()

    def twice(verb: str, *args: Any, **options: Any) -> Any:
        """Say a verb whose first answer is lost."""
        for _ in range(2):
            answer = getattr(queue, verb)(*args, **options)
        return answer

    with dibs.connect_sync("memory:", clock=clock) as queue:
        twice("add", "work")
        assert len(queue.find(type="work").items) == 2, "without a key these are two tasks"
        [claim] = twice("claim", "agent", lease=60)
        assert queue.stats().by_status == {"running": 2}, "without a claim_id the first claim is nobody's"
        twice("log", claim, "line")
        assert [entry.kind for entry in queue.journal(claim.task.id)] == ["log", "log"]
        twice("renew", claim, note="half")
        notes = [event for event in queue.read_events() if event.type == "task.progress"]
        assert len(notes) == 2
        queue.complete(claim)
        queue.set_budget("global", 1)
        assert twice("raise_budget", "global", 1).limit == 3, "what is added twice is twice as much"
        clock.advance(120)
        [again] = queue.claim("agent")
        assert (again.fence, again.task.attempts) == (2, 0), "the lost claim costs its lease, and no attempt"
