"""A store in the middle of everything: locks held and waited for, budgets used, breakers, pauses, people being asked.

Two scenes of one kind of store are alike in everything, ids and instants included. So what a verb does to one of them
can be compared with what it does to another.
"""

from __future__ import annotations

import itertools
import pickle
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from dibs.model.task import NewTask
from dibs.queue import Queue
from dibs.stores.values import Filter
from dibs.sync import SyncQueue, drive
from dibs.testing import FakeClock
from tests.model.worlds import World, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from dibs.model.claim import Claim
    from dibs.model.dag import Dag
    from dibs.model.task import Task
    from dibs.stores.contract import Store

    Call = Callable[[Store], Coroutine[Any, Any, Any]]

LONG_S = 7_200.0
SOON_S = 30.0
"""When leases, questions and deadlines of the scene are over that are to end."""


class Furniture(NamedTuple):
    """What is in a scene, by name; so that a store that is a copy of it need not be furnished again."""

    claims: dict[str, Claim]
    tasks: dict[str, Task]
    questions: dict[str, str]
    dag: Dag
    ids: int
    now: Any


class Scene:
    """A furnished store. `claims`, `tasks` and `questions` have what is in it by name."""

    def __init__(self, name: str, open: Callable[[FakeClock], Store], furniture: Furniture | None = None) -> None:
        self.clock = FakeClock() if furniture is None else FakeClock(furniture.now)
        self.store = open(self.clock)
        self.world = World(name, self.store)
        self.queue = SyncQueue(self.world.queue)
        self.claims: dict[str, Claim] = {}
        self.tasks: dict[str, Task] = {}
        self.questions: dict[str, str] = {}
        if furniture is None:
            self._furnish()
        else:
            # As if they had come out of this store; a tenth of what deepcopy takes.
            self.claims, self.tasks, self.questions, self.dag, ids, _ = pickle.loads(_pickled(furniture))
            self.world._numbers = itertools.count(ids)

    def furniture(self) -> Furniture:
        """To be asked for last."""
        ids = next(self.world._numbers)
        return Furniture(self.claims, self.tasks, self.questions, self.dag, ids, self.clock.now)

    def _furnish(self) -> None:
        self._lock_something()
        self._spend_something()
        self._break_something()
        self._ask_somebody()
        self._grow_something()
        self._leave_something_to_time()
        self.queue.pause("stopped", reason="maintenance")
        self.queue.add("stopped")
        self.queue.register_agent("spare", type="coder", max_concurrent=3)

    # Furnishing

    def add(self, name: str, *args: Any, **options: Any) -> Task:
        task: Task = self.queue.add(*args, **options)
        self.tasks[name] = task
        return task

    def take(self, name: str, type: str, *, agent: str = "ada", lease: float = LONG_S, **options: Any) -> Claim:
        [claim] = self.queue.claim(agent, types=[type], lease=lease, **options)
        self.claims[name] = claim
        return claim

    def find_nothing(self, type: str) -> None:
        """Who looks for something parks what cannot be had."""
        assert self.queue.claim("ada", types=[type]) == []

    def _lock_something(self) -> None:
        self.add("locked", "locked", locks=["db", "repo"])
        for number in range(3):
            self.add(f"parked-{number}", "locked", locks=["repo"], priority=60 + number)
        self.add("parked-twice", "locked", locks=["db", "repo"], priority=90)
        self.take("locked", "locked")
        self.find_nothing("locked")

    def _spend_something(self) -> None:
        self.queue.set_budget("type:paid", 1.0, default_reserve=0.4)
        self.queue.set_budget("global", 100_000, "tokens", default_reserve=100)
        for number in range(4):
            self.add(f"paid-{number}", "paid", locks=["till"] if number == 2 else [], max_attempts=2)
        self.take("paid-0", "paid")
        self.take("paid-1", "paid", start=False)
        self.find_nothing("paid")

    def _break_something(self) -> None:
        for type in ("broken", "probed", "frail"):
            self.queue.set_breaker(type, failure_threshold=1, half_open_after_s=5)
            for number in range(3):
                self.add(f"{type}-{number}", type, max_attempts=1)
        for type in ("broken", "probed"):
            self.queue.fail(self.take(type, type), "it broke")
        self.clock.advance(6)
        self.queue.open_breaker("broken", "still away")
        self.take("probe", "probed")
        self.take("frail", "frail")

    def _ask_somebody(self) -> None:
        self.add("approval", "approved", approval=True, max_cost=0.1)
        for name, timeout, default in (("choice", None, None), ("patient", SOON_S, "red")):
            self.add(name, name)
            claim = self.take(name, name)
            self.questions[name] = self.queue.ask(claim, "Which one?", timeout=timeout, default=default).id
        self.add("unanswered", "unanswered")
        self.add("stranded", "plain", after=[self.tasks["unanswered"]])
        self.queue.ask(self.take("unanswered", "unanswered"), "Anybody?", timeout=SOON_S)
        self.add("asking", "asking", locks=["ear"])
        self.take("asking", "asking")
        [self.questions["approval"]] = [each.id for each in self.queue.inbox() if each.kind == "approval"]

    def _grow_something(self) -> None:
        drafts = [
            NewTask("root", ref="root"),
            NewTask("leaf", ref="leaf", after=["root"], locks=["repo"]),
            NewTask("side", ref="side"),
        ]
        self.dag = self.queue.add_dag("graph", drafts, budget=5.0, on_failure="continue")
        self.tasks |= {task.ref: task for task in self.dag.tasks if task.ref is not None}
        self.take("root", "root")
        self.add("parent", "parent", locks=["nest"])
        self.take("parent", "parent")
        for number in range(3):
            self.add(f"dead-{number}", "dead", key=f"dead-{number}")
            self.add(f"bereaved-{number}", "plain", after=[self.tasks[f"dead-{number}"]])
            self.queue.fail(self.take(f"dead-{number}", "dead"), "no", retry=False)

    def _leave_something_to_time(self) -> None:
        self.add("scheduled", "timed", run_after=SOON_S, locks=["repo"])
        self.add("urgent", "timed", deadline=SOON_S, on_deadline="cancel")
        self.add("nearing", "timed", deadline=1_200)
        self.add("done", "done")
        self.queue.complete(self.take("done", "done"), {"some": "output"})
        self.add("expiring", "expiring", locks=["short"])
        self.take("expiring", "expiring", agent="mortal", lease=SOON_S)
        self.queue.renew(self.claims["expiring"])
        self.add("next", "expiring", locks=["short"])
        self.find_nothing("expiring")
        self.add("recalled", "recalled", locks=["held"])
        self.take("recalled", "recalled", agent="mortal", lease=SOON_S)
        self.queue.cancel(self.tasks["recalled"].id)

    # Looking

    def said(self, verb: str, say: Callable[[Queue], Coroutine[Any, Any, Any]]) -> Call:
        """What a verb of the queue asks of the store, to be asked again and again; now it is not."""
        heard: list[tuple[Any, Any]] = []
        store = self.store

        class Listening:
            def __getattr__(self, name: str) -> Any:
                if name != verb:
                    return getattr(store, name)

                async def call(*args: Any, **options: Any) -> Any:
                    heard.append((args, options))
                    raise _HeardError

                return call

        listening: Any = Listening()
        with suppress(_HeardError):
            drive(say(Queue(listening, draw=lambda: 0.5, new_id=self.world.queue.new_id, blocking=True)))
        [(args, options)] = heard
        return lambda store: getattr(store, verb)(*args, **options)

    def facts(self, *, looking_at_gates: bool = True) -> dict[str, Any]:
        """All that the store knows, after making sure that it is sound and nobody is parked in vain."""
        read = self.world.read
        assert read(self.store.check()) == []
        if looking_at_gates:
            assert read(self.store.unpark(500)) == 0, "somebody was parked although all that was needed was free"
        tasks = read(self.store.find(Filter(), 500, None)).items
        known = self.world.state(sorted(task.id for task in tasks), sorted({task.dag_id for task in tasks}))
        known["agents"] = plain(read(self.store.agents("default")))
        told: dict[str, list[Any]] = {}
        events = read(self.store.events(0, 1_000))
        for place, event in enumerate(events, events[0].seq):
            assert event.seq == place, "events are numbered without gaps"
            values = plain(event)
            del values["seq"]
            told.setdefault(event.task_id or event.dag_id or event.agent or "", []).append(values)
        known["events"] = told
        return known

    def close(self) -> None:
        self.world.close()


def _pickled(furniture: Furniture) -> bytes:
    if id(furniture) not in _PICKLED:
        _PICKLED[id(furniture)] = furniture, pickle.dumps(furniture)
    return _PICKLED[id(furniture)][1]


_PICKLED: dict[int, tuple[Furniture, bytes]] = {}


class _HeardError(Exception):
    """Raised in place of an answer."""
