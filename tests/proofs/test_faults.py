"""A client that repeats a verb after Unavailable ends where it would have ended without, wherever the fault falls.

What can be repeated blindly: add and add_dag with a key, claim with a claim_id, start, renew, complete, fail, release,
checkpoint, steps, link, set_priority, spawn, ask, answer. Repeating `retry` is answered IllegalTransition and repeating
`spawn(wait=True)` LeaseLost when the first call took effect; repeating `cancel` names no ids: each says that it
happened. What cannot: add without a key, claim without a claim_id, log and notes; the last test says what that costs.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.queue import Queue
from dibs.stores import open_store
from dibs.stores.values import Entry
from dibs.sync import SyncQueue
from dibs.testing import FakeClock
from tests.proofs.faulty import Faulty

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SILENT = 0
MOST_CALLS = 200


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
            except dibs.Conflict as refused:
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


def _scenario(client: Client) -> None:
    """Every verb that can be repeated, in one story."""
    queue, say, take, clock = client.queue, client.say, client.take, client.clock

    plain = say(queue.add, "plain", {"n": "plain"}, key="plain")
    say(queue.set_priority, plain.id, 10)
    claim = take("plain", start=False)
    say(queue.start, claim)
    say(queue.renew, claim, lease=600, cost=0.25)
    step = Entry(kind="step", name="paid", digest="d", value=b'"receipt"')
    say(queue.record, claim, [step])
    say(queue.checkpoint, claim, {"at": 1})
    say(queue.complete, claim, {"done": True}, cost=0.5)

    say(queue.add, "shaky", {"n": "shaky"}, key="shaky", retry="fixed:5s")
    say(queue.release, take("shaky"))
    clock.advance(60)
    say(queue.fail, take("shaky"), "first")
    clock.advance(60)
    say(queue.fail, (lambda c: (c.task.id, c.fence))(take("shaky")), "second")
    clock.advance(60)
    say(queue.complete, take("shaky"), "third time")

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

    say(queue.add, "asker", {"n": "asker"}, key="asker", approval=True)
    [approval] = say(queue.inbox)
    say(queue.answer, approval.id, True, by="grace")
    question = say(queue.ask, take("asker"), "Which one?")
    say(queue.answer, question.id, "red")
    say(queue.complete, take("asker"), "asked")


def _facts(queue: SyncQueue) -> dict[str, Any]:
    """Everything about the tasks but ids and instants, by the name each has in its payload."""
    tasks = queue.find(limit=100).items
    names = {task.id: task.payload["n"] for task in tasks}
    events: dict[str, Counter[tuple[str, str | None]]] = {name: Counter() for name in names.values()}
    dags: Counter[str] = Counter()
    seqs = []
    for event in queue.read_events(0, 1_000):
        seqs.append(event.seq)
        if event.task_id is None:
            dags[event.type] += 1
        else:
            events[names[event.task_id]][event.type, event.reason] += 1
    assert seqs == list(range(1, len(seqs) + 1))
    return {
        "count": Counter(names.values()),
        "dags": dags,
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


def _run(url: str, failing: int, when: str) -> tuple[dict[str, Any], int]:
    clock = FakeClock()
    store = open_store(url, clock=clock, blocking=True)
    faulty = Faulty(store, failing, when)
    queue = SyncQueue(Queue(faulty, draw=lambda: 0.5, blocking=True))
    _scenario(Client(queue, clock))
    calls = faulty.calls
    with SyncQueue(Queue(store, blocking=True)) as sound:
        return _facts(sound), calls


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_repeating_what_was_not_answered_ends_where_it_would_have_ended(tmp_path: Path, kind: str, when: str) -> None:
    def url(point: int) -> str:
        return "memory:" if kind == "memory" else f"sqlite:{tmp_path / f'{point}.db'}"

    expected, calls = _run(url(0), SILENT, when)
    assert 50 < calls < MOST_CALLS
    assert expected["count"].total() == len(expected["count"]) == 10
    for point in range(1, calls + 1):
        facts, _ = _run(url(point), point, when)
        assert facts == expected, f"call {point} of {calls} failed {when} it took effect"


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
        clock.advance(120)
        [again] = queue.claim("agent")
        assert (again.fence, again.task.attempts) == (2, 0), "the lost claim costs its lease, and no attempt"
