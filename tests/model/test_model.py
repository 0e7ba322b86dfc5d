"""One machine drives the memory store and every other store with the same commands, clock, ids and draws.

After each command their answers, the events, every field of every task and whatever else the command changed must be
equal; in the end all that they know: dags, histories, journals, questions, statistics, settings.
`DIBS_MODEL_EXAMPLES=2000` explores at random, with each seed so many, instead of the fixed examples of an ordinary run.
With `--store sqlite` the memory store and that one do.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from dibs import settling
from dibs.coalescing import with_groups
from dibs.duties.schedule import schedule
from dibs.errors import DibsError
from dibs.model.artifact import Artifact
from dibs.model.claim import Claim
from dibs.model.dag import Dag
from dibs.model.ids import dag_of
from dibs.model.status import FINAL, HELD, Status
from dibs.model.task import NewTask, Task
from dibs.rules import signatures
from dibs.rules.metrics import BY
from dibs.stores.values import Entry
from dibs.testing import FakeClock
from tests.model.exploring import EXAMPLES, explore
from tests.model.wishes import (
    AGENTS,
    AMOUNTS,
    ANSWERS,
    ARTIFACTS,
    ASKS,
    BREAKERS,
    CLAIMS,
    CONTRACTS,
    DEAD,
    DECISIONS,
    DEFAULTS,
    EDGES,
    ENTRIES,
    FAILURES,
    FILTERS,
    GRAPHS,
    LADDERS,
    LARGE,
    NUMBERS,
    PAUSED,
    PLANNED,
    REGISTRATIONS,
    RESUMED,
    SCOPES,
    SECONDS,
    SPECS,
    TOGETHER,
    TYPES,
    UNITS,
    USAGE,
    VERDICTS,
    WEEK,
    WINDOWS,
)
from tests.model.worlds import World, is_same, open_worlds, plain, rounded

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from dibs.queue import Queue
    from dibs.stores.values import Settlement
    from tests.model.worlds import Grounds

    Verb = Callable[[Queue, int], Coroutine[Any, Any, Any]]

SEEDS = range(8)
TURNS = 8
"""What a command has not changed is asked of every store once in so many commands."""

SECRET = "the secret of the model"
FAULTS_OF_DRAFTS = frozenset({("Conflict", "dag_closed"), ("KeyReused", "key_reused"), ("NotFound", "not_found")})


class Stores(RuleBasedStateMachine):
    """What exists in every world, by id, and the claims that were made (each world has its own copy)."""

    def __init__(self, grounds: Grounds) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.grounds = grounds
        self.places = ExitStack()
        self.worlds = open_worlds(grounds, self.clock, self.places)
        self.tasks: list[str] = []
        self.dags: list[str] = []
        self.claims: list[list[Claim]] = []
        self.known: dict[str, Any] = {}
        self.turn = 0

    def teardown(self) -> None:
        try:
            self._compare(everything=True)
            for world in self.worlds:
                assert world.read(world.store.check()) == [], world.name
            for by in BY:
                self.metrics(by, None)
        finally:
            for world in self.worlds:
                world.close()
            self.places.close()

    # Adding

    @initialize(graph=GRAPHS)
    def begin(self, graph: list[Any]) -> None:
        self.add_many(graph)

    @rule(spec=SPECS, edges=EDGES, dag=st.none() | NUMBERS)
    def add(self, spec: dict[str, Any], edges: list[Any], dag: int | None) -> None:
        options = {**spec, **self._edges(edges, [])}
        if dag is not None and (dags := self._rows()):
            options["dag"] = dags[dag % len(dags)]
        self._do(lambda queue, _: queue.add(**options))

    @rule(graph=GRAPHS)
    def add_many(self, graph: list[Any]) -> None:
        self._do(lambda queue, _: queue.add_many(self._graph(graph)), faults=FAULTS_OF_DRAFTS)

    @rule(wish=TOGETHER)
    def add_together(self, wish: tuple[dict[str, Any], list[float], str]) -> None:
        """Several of one group; a key of their own would make them one task."""
        spec, windows, key = wish
        common = {name: value for name, value in spec.items() if name not in ("key", "coalesce_key")}
        tasks = [NewTask(**common, coalesce_key=key, coalesce_window=window) for window in windows]
        self._do(lambda queue, _: queue.add_many(tasks), faults=FAULTS_OF_DRAFTS)

    @rule(
        graph=GRAPHS,
        policy=st.sampled_from(["fail_fast", "continue", "threshold:1", "threshold:50%"]),
        key=st.sampled_from([None, None, "d"]),
        budget=st.sampled_from([None, None, 0.25, 1]),
        ladder=st.none() | st.none() | LADDERS,
    )
    def add_dag(self, graph: list[Any], policy: str, key: str | None, budget: float | None, ladder: Any) -> None:
        options: dict[str, Any] = {"on_failure": policy, "key": key, "budget": budget, "escalation": ladder}
        self._do(
            lambda queue, _: queue.add_dag("Dag", self._graph(graph), **options),
            faults=FAULTS_OF_DRAFTS,
        )

    # Working

    @rule(request=CLAIMS)
    def claim(self, request: dict[str, Any]) -> None:
        self._do(lambda queue, _: queue.claim(**request))

    @rule(limit=st.sampled_from([1, 3]))
    def claim_anything(self, limit: int) -> None:
        request: dict[str, Any] = {"capabilities": ("code", "web"), "limit": limit}
        self._do(lambda queue, _: queue.claim("ada", **request))

    @rule(
        ends=st.lists(st.sampled_from(["complete", "complete", "complete", "fail", "give up"]), min_size=1, max_size=4)
    )
    def work(self, ends: list[str]) -> None:
        """An agent that can do everything takes what there is, and settles it."""
        for number, end in enumerate(ends):
            before = len(self.claims)
            self._do(lambda queue, _: queue.claim("ada", capabilities=("code", "web"), lease=3600))
            if len(self.claims) == before:
                return
            claims = self.claims[-1]
            if end == "complete":
                self._do(lambda queue, world, claims=claims, number=number: queue.complete(claims[world], number))  # type: ignore[misc]
            else:
                retry = end == "fail"
                self._do(lambda queue, world, claims=claims, retry=retry: queue.fail(claims[world], "no", retry=retry))  # type: ignore[misc]

    @rule(ends=st.lists(st.sampled_from(["done", None, None, 4, 40]), min_size=1, max_size=4))
    def ask_providers(self, ends: list[Any]) -> None:
        """An agent takes some and settles them together: done, or turned away, for so long or nobody says how long."""
        before = len(self.claims)
        self._do(lambda queue, _: queue.claim("ada", capabilities=("code", "web"), limit=len(ends), lease=3600))
        taken = list(zip(self.claims[before:], ends, strict=False))
        now = self.clock()

        def settlements(world: int) -> list[Settlement]:
            return [
                settling.completed(claims[world], "out")
                if end == "done"
                else settling.failed(claims[world], "429", draw=0.25, retry_after=end, now=now)
                for claims, end in taken
            ]

        if taken:
            self._do(lambda queue, world: queue.settle(settlements(world)))

    @precondition(lambda self: self._held())
    @rule(number=NUMBERS)
    def start(self, number: int) -> None:
        claims = self._pick(number)
        self._do(lambda queue, world: queue.start(claims[world]))

    @precondition(lambda self: self._held())
    @rule(
        number=NUMBERS,
        usage=USAGE,
        more=st.sampled_from([{}, {"progress": 0.5}, {"note": "on it", "lease": 20}]),
    )
    def renew(self, number: int, usage: dict[str, Any], more: dict[str, Any]) -> None:
        claims = self._pick(number)
        self._do(lambda queue, world: queue.renew(claims[world], **usage, **more))

    @precondition(lambda self: self._held())
    @rule(number=NUMBERS, output=st.sampled_from([None, "out", {"n": [1]}, LARGE]), usage=USAGE)
    def complete(self, number: int, output: Any, usage: dict[str, Any]) -> None:
        claims = self._pick(number)
        self._do(lambda queue, world: queue.complete(claims[world], output, **usage))

    @precondition(lambda self: self._held())
    @rule(number=NUMBERS, failure=FAILURES)
    def fail(self, number: int, failure: dict[str, Any]) -> None:
        claims = self._pick(number)
        self._do(lambda queue, world: queue.fail(claims[world], **failure))

    @rule(end=st.sampled_from(["complete", "complete by name", "fail", "give up", "release", "keep"]), usage=USAGE)
    def work_in_groups(self, end: str, usage: dict[str, Any]) -> None:
        """An agent that can do everything takes what there is, and settles all that it took with it."""
        before = len(self.claims)
        self._do(lambda queue, _: queue.claim("ada", capabilities=("code", "web"), limit=2, lease=3600))
        claims = next((claims for claims in self.claims[before:] if claims[0].group), None)
        if claims is None or end == "keep":
            return
        ends: dict[str, Verb] = {
            "complete": lambda queue, world: queue.complete_group(claims[world], 1, **usage),
            "complete by name": lambda queue, world: queue.complete_group(
                [(each.task.id, each.fence) for each in with_groups([claims[world]])], 1, **usage
            ),
            "fail": lambda queue, world: queue.fail_group(claims[world], "no", **usage),
            "give up": lambda queue, world: queue.fail_group(claims[world], "no", retry=False),
            "release": lambda queue, world: queue.release_group(claims[world]),
        }
        self._do(lambda queue, world: _codes(ends[end](queue, world)))

    @precondition(lambda self: self._held())
    @rule(number=NUMBERS, delay=st.sampled_from([0, 0, 3]))
    def release(self, number: int, delay: float) -> None:
        claims = self._pick(number)
        self._do(lambda queue, world: queue.release(claims[world], delay=delay))

    @precondition(lambda self: self._held())
    @rule(
        number=NUMBERS,
        graph=st.lists(st.tuples(SPECS, EDGES), min_size=1, max_size=2),
        wait=st.booleans(),
        name=st.sampled_from([None, "one"]),
    )
    def spawn(self, number: int, graph: list[Any], wait: bool, name: str | None) -> None:
        claims = self._pick(number)
        # Children that are waited for may not depend on live strangers.
        tasks = self._graph(graph, strangers=not wait or number % 4 == 0)
        self._do(lambda queue, world: queue.spawn_below(claims[world], tasks, wait=wait, name=name))

    @precondition(lambda self: self._held())
    @rule(number=NUMBERS, wish=ASKS, default=DEFAULTS)
    def ask(self, number: int, wish: dict[str, Any], default: str | None) -> None:
        claims = self._pick(number)
        options = {**wish, "default": default if "timeout" in wish else None}
        self._do(lambda queue, world: queue.ask_under(claims[world], **options))

    @rule(wish=ASKS, ends=st.sampled_from(["answer", "answer", "default", "lapse", "cancel", "wait"]))
    def work_and_ask(self, wish: dict[str, Any], ends: str) -> None:
        """An agent that can do everything takes one task and asks; somebody answers, or nobody."""
        before = len(self.claims)
        self._do(lambda queue, _: queue.claim("ada", capabilities=("code", "web"), lease=3600))
        if len(self.claims) == before:
            return
        claims = self.claims[-1]
        options = {**wish, "timeout": 5, "default": 7 if ends == "default" else None}
        self._do(lambda queue, world: queue.ask_under(claims[world], **options))
        task_id = claims[0].task.id
        waiting = [question for question in self.known[f"{task_id} questions"] if question["status"] == "open"]
        if ends == "answer" and waiting:
            self._do(lambda queue, _: queue.answer(waiting[0]["id"], 7))
        elif ends == "cancel":
            self._do(lambda queue, _: queue.cancel(task_id), unordered=True)
        elif ends != "wait":
            self.pass_time(6, 0.5)

    @precondition(lambda self: self._asked())
    @rule(number=NUMBERS, value=ANSWERS, by=st.sampled_from([None, "grace"]))
    def answer(self, number: int, value: Any, by: str | None) -> None:
        """Mostly what is open, and in the end whatever was ever asked."""
        waiting = [question for question in self._asked() if question["status"] == "open"]
        choices = waiting if waiting and number % 4 else self._asked()
        question_id = choices[number % len(choices)]["id"]
        self._do(lambda queue, _: queue.answer(question_id, value, by))

    @rule(
        contract=CONTRACTS,
        verdicts=st.lists(VERDICTS, min_size=1, max_size=3),
        output=st.sampled_from([None, "out"]),
        usage=USAGE,
        options=SPECS,
    )
    def hand_in(self, contract: Any, verdicts: list[Any], output: Any, usage: dict[str, Any], options: Any) -> None:
        """Work is handed in, if it is this task that an agent gets, and others judge it."""
        wish = {**options, "type": "a", "expects": contract, "priority": 0}
        self._do(lambda queue, _: queue.add(**wish))
        before = len(self.claims)
        self._do(lambda queue, _: queue.claim("ada", capabilities=("code", "web"), lease=3600))
        if len(self.claims) > before:
            claims = self.claims[-1]
            self._do(lambda queue, world: queue.complete(claims[world], output, **usage))
        for verdict in verdicts:
            self.judge("bob", verdict)

    @rule(agent=st.sampled_from(AGENTS), verdict=VERDICTS)
    def judge(self, agent: str, verdict: Any) -> None:
        """Somebody who is not the author gets the work to judge."""
        before = len(self.claims)
        self._do(lambda queue, _: queue.claim(agent, capabilities=("judge",), types=["judge"], lease=3600))
        if len(self.claims) == before:
            return
        claims = self.claims[-1]
        if verdict == "fail":
            self._do(lambda queue, world: queue.fail(claims[world], "no opinion", retry=False))
        elif verdict == "cancel":
            self._do(lambda queue, _: queue.cancel(claims[0].task.id), unordered=True)
        else:
            self._do(lambda queue, world: queue.complete(claims[world], verdict))

    @precondition(lambda self: self._held())
    @rule(number=NUMBERS, entry=ENTRIES)
    def record(self, number: int, entry: Entry) -> None:
        claims = self._pick(number)
        self._do(lambda queue, world: queue.record(claims[world], [entry]))

    @precondition(lambda self: self._held())
    @rule(number=NUMBERS, artifact=ARTIFACTS)
    def put_artifact(self, number: int, artifact: Artifact) -> None:
        task_id, fence = self._pick(number)[0].task.id, self._pick(number)[0].fence
        self._do(lambda queue, _: queue.store.put_artifact(task_id, fence, artifact))

    @precondition(lambda self: self._held())
    @rule(number=NUMBERS, artifacts=st.lists(ARTIFACTS, min_size=1, max_size=2, unique_by=lambda each: each.name))
    def complete_with_artifacts(self, number: int, artifacts: list[Artifact]) -> None:
        claims = self._pick(number)
        self._do(lambda queue, world: queue.settle([settling.completed(claims[world], 1, artifacts=artifacts)]))

    @precondition(lambda self: self.claims)
    @rule(
        number=NUMBERS,
        verb=st.sampled_from(["complete", "fail", "release", "renew", "start", "spawn", "ask", "record", "put"]),
    )
    def say_again(self, number: int, verb: str) -> None:
        """Whoever ever held a task says something, perhaps what was said before; by its fence alone."""
        claim = self.claims[number % len(self.claims)][0]
        fence = (claim.task.id, claim.fence)
        says: dict[str, Verb] = {
            "complete": lambda queue, _: queue.complete(fence, 0),
            "fail": lambda queue, _: queue.fail(fence, "no"),
            "release": lambda queue, _: queue.release(fence),
            "renew": lambda queue, _: queue.renew(fence),
            "start": lambda queue, _: queue.start(fence),
            "spawn": lambda queue, _: queue.spawn_below(fence, [NewTask("a")], name="one"),
            "ask": lambda queue, _: queue.ask_under(fence, "Which one?"),
            "record": lambda queue, _: queue.record(fence, [Entry(kind="log", value=b"1")]),
            "put": lambda queue, _: queue.store.put_artifact(*fence, Artifact(name="x", digest="sha256:1", size=1)),
        }
        self._do(says[verb])

    @precondition(lambda self: self.tasks)
    @rule(number=NUMBERS, fence=st.integers(0, 3))
    def renew_with_a_guessed_fence(self, number: int, fence: int) -> None:
        task_id = self.tasks[number % len(self.tasks)]
        self._do(lambda queue, _: queue.renew((task_id, fence)))

    # Steering

    @precondition(lambda self: self.tasks)
    @rule(number=NUMBERS, reason=st.sampled_from([None, "enough"]))
    def cancel(self, number: int, reason: str | None) -> None:
        task_id = self.tasks[number % len(self.tasks)]
        self._do(lambda queue, _: queue.cancel(task_id, reason), unordered=True)

    @precondition(lambda self: self._rows())
    @rule(number=NUMBERS)
    def cancel_dag(self, number: int) -> None:
        dags = self._rows()
        dag_id = dags[number % len(dags)]
        self._do(lambda queue, _: queue.cancel(dag_id), unordered=True)

    @precondition(lambda self: self.tasks)
    @rule(
        number=NUMBERS,
        payload=st.sampled_from([None, {"new": True}, LARGE]),
        delay=st.sampled_from([0, 0, 6]),
        keep_steps=st.booleans(),
    )
    def retry(self, number: int, payload: Any, delay: float, keep_steps: bool) -> None:
        ended = [task_id for task_id in self.tasks if self._status(task_id) in FINAL - {Status.COMPLETED}]
        choices = ended if ended and number % 8 else self.tasks
        task_id = choices[number % len(choices)]
        self._do(lambda queue, _: queue.retry(task_id, payload=payload, delay=delay, keep_steps=keep_steps))

    @precondition(lambda self: self.tasks)
    @rule(number=NUMBERS, decision=DECISIONS)
    def review(self, number: int, decision: dict[str, Any]) -> None:
        dead = [task_id for task_id in self.tasks if self._status(task_id) == Status.DEAD_LETTERED]
        choices = dead if dead and number % 8 else self.tasks
        task_id = choices[number % len(choices)]
        self._do(lambda queue, _: queue.review(task_id, by="grace", **decision))

    @rule(resolution=st.sampled_from(["retried", "retried", "dropped", "kept"]), question=DEAD)
    def review_many(self, resolution: str, question: dict[str, Any]) -> None:
        async def decide(queue: Queue, _: int) -> list[Any]:
            ids = await queue.dead_letter_ids(**question)
            answers = await queue.review_many(ids[::-1], resolution, by="grace")
            return [answer.code if isinstance(answer, DibsError) else answer for answer in answers]

        self._do(decide)

    @precondition(lambda self: self.tasks)
    @rule(number=NUMBERS, edges=EDGES)
    def link(self, number: int, edges: list[Any]) -> None:
        task_id = self.tasks[number % len(self.tasks)]
        options = self._edges(edges, [])
        self._do(lambda queue, _: queue.link(task_id, **options))

    @precondition(lambda self: self.tasks)
    @rule(number=NUMBERS, priority=st.sampled_from([0, 48, 100]))
    def set_priority(self, number: int, priority: float) -> None:
        task_id = self.tasks[number % len(self.tasks)]
        self._do(lambda queue, _: queue.set_priority(task_id, priority))

    @precondition(lambda self: self.tasks)
    @rule(number=NUMBERS, add=st.sampled_from([["new"], ["new", "ü"]]), remove=st.sampled_from([[], ["new"], ["a"]]))
    def tag(self, number: int, add: list[str], remove: list[str]) -> None:
        task_id = self.tasks[number % len(self.tasks)]
        self._do(lambda queue, _: queue.tag(task_id, add=add, remove=remove))

    @precondition(lambda self: self.tasks)
    @rule(number=NUMBERS, assignee=st.sampled_from([None, "ada", "bob", "coder"]))
    def reassign(self, number: int, assignee: str | None) -> None:
        task_id = self.tasks[number % len(self.tasks)]
        self._do(lambda queue, _: queue.reassign(task_id, assignee))

    @rule(what=PAUSED, until=st.sampled_from([None, 4, 6, 31]))
    def pause(self, what: dict[str, Any], until: float | None) -> None:
        self._do(lambda queue, _: queue.pause(**what, until=until))

    @rule(what=PAUSED | RESUMED)
    def resume(self, what: dict[str, Any]) -> None:
        self._do(lambda queue, _: queue.resume(**what))

    @rule(settings=BREAKERS)
    def set_breaker(self, settings: dict[str, Any]) -> None:
        self._do(lambda queue, _: queue.set_breaker(**settings))

    @rule(type=st.sampled_from(TYPES), verb=st.sampled_from(["open", "close", "reset"]))
    def steer_breaker(self, type: str, verb: str) -> None:
        self._do(lambda queue, _: getattr(queue, f"{verb}_breaker")(type))

    @rule(type=st.sampled_from([*TYPES, "*", None]), number=NUMBERS, ladder=LADDERS)
    def set_escalation(self, type: str | None, number: int, ladder: Any) -> None:
        whose = self._whose(type, number)
        self._do(lambda queue, _: queue.set_escalation(ladder, **whose))

    @rule(type=st.sampled_from([*TYPES, "*", None]), number=NUMBERS)
    def clear_escalation(self, type: str | None, number: int) -> None:
        whose = self._whose(type, number)
        self._do(lambda queue, _: queue.clear_escalation(**whose))

    @rule(ladder=LADDERS, failures=st.integers(1, 4), answer=ANSWERS)
    def keep_failing(self, ladder: Any, failures: int, answer: Any) -> None:
        """Whoever takes a task fails at it, whatever is done about that; a person who is asked may answer."""
        self._do(lambda queue, _: queue.set_escalation(ladder, type="*"))
        for number in range(failures):
            before = len(self.claims)
            self._do(lambda queue, _: queue.claim("ada", capabilities=("code", "web"), lease=3600))
            if len(self.claims) == before:
                break
            claims, error = self.claims[-1], "no " + "abcd"[number]
            self._do(lambda queue, world, claims=claims, error=error: queue.fail(claims[world], error))  # type: ignore[misc]
        for question in self._asked():
            if question["status"] == "open" and question["kind"] == "escalation":
                self._do(lambda queue, _, question=question: queue.answer(question["id"], answer))  # type: ignore[misc]
                break

    @rule(name=st.sampled_from(["l", "m"]), slots=st.sampled_from([1, 2]))
    def set_slots(self, name: str, slots: int) -> None:
        self._do(lambda queue, _: queue.set_slots(name, slots))

    @rule(type=st.sampled_from(TYPES), slots=st.sampled_from([None, 1, 1, 2]))
    def set_type_slots(self, type: str, slots: int | None) -> None:
        self._do(lambda queue, _: queue.set_slots(type=type, slots=slots))

    @rule(
        type=st.sampled_from(TYPES),
        rate=st.sampled_from([None, None, "1/4s", "3/min"]),
        burst=st.sampled_from([None, 2]),
    )
    def set_rate(self, type: str, rate: str | None, burst: int | None) -> None:
        self._do(lambda queue, _: queue.set_rate(type, rate, burst))

    @rule(
        name=st.sampled_from(["a", "b", "ä"]),
        body=st.sampled_from([None, b"", b"1", b"\x00\xff"]),
        later=st.sampled_from([None, None, 0, 0, -1, 1]),
    )
    def write_document(self, name: str, body: bytes | None, later: int | None) -> None:
        """With the version that it has, or so many later; None: whatever it has."""
        expected = None
        if later is not None:
            first = self.worlds[0]
            known = first.read(first.store.documents("default", "note", name=name))
            expected = max(0, later + (known[0].version if known else 0))
        self._do(lambda queue, _: queue.store.write_document("default", "note", name, body, expected))

    @rule(project=st.sampled_from(["default", "ä"]), reason=st.sampled_from([None, "gone"]))
    def tell(self, project: str, reason: str | None) -> None:
        self._do(lambda queue, _: queue.store.tell(project, "hook.disabled", reason=reason, data={"hook": "a", "n": 1}))

    @rule(after=st.sampled_from(["", "a", "b"]), limit=st.integers(1, 3))
    def documents(self, after: str, limit: int) -> None:
        found = [
            plain(world.read(world.store.documents("default", "note", after=after, limit=limit)))
            for world in self.worlds
        ]
        for world, documents in zip(self.worlds[1:], found[1:], strict=True):
            _same(world, f"documents after {after!r}", found[0], documents)

    @rule(
        name=PLANNED,
        type=st.sampled_from(TYPES),
        every=st.sampled_from([2, 90]),
        overlap=st.sampled_from(["allow", "skip", "cancel"]),
        missed=st.sampled_from(["skip", "one", "all"]),
        pair=st.booleans(),
    )
    def add_schedule(self, name: str, type: str, every: float, overlap: str, missed: str, pair: bool) -> None:
        task = {"type": type, "payload": "{{schedule.tick}}", "tags": ["made"]}
        both = {"title": "Both", "tasks": [{**task, "ref": "a"}, {**task, "after": ["a"]}], "on_failure": "continue"}
        made = {"dag": both} if pair else {"task": task}
        self._do(
            lambda queue, _: queue.add_schedule(
                name, every=every, overlap=overlap, missed=missed, max_missed=3, jitter=1, replace=True, **made
            )
        )

    @rule(name=PLANNED, verb=st.sampled_from(["pause_schedule", "resume_schedule", "remove_schedule", "get_schedule"]))
    def change_schedule(self, name: str, verb: str) -> None:
        self._do(lambda queue, _: getattr(queue, verb)(name))

    @rule(name=PLANNED, type=st.sampled_from(TYPES), rate=st.sampled_from(["60/min", "1/min"]))
    def add_trigger(self, name: str, type: str, rate: str) -> None:
        # Not on events: what happens in one commit is numbered in another order by each store.
        task = {"type": type, "payload": "{{event.data.n}}", "tags": ["made", "of-{{event.data.n}}"]}
        self._do(
            lambda queue, _: queue.add_trigger(
                name, "webhook", scheme="github", secret=SECRET, task=task, rate=rate, replace=True
            )
        )

    @rule(name=PLANNED, number=st.integers(1, 3))
    def receive(self, name: str, number: int) -> None:
        body = b'{"n": %d}' % number
        headers = signatures.sign("github", SECRET, body, id="", stamp=0)

        async def receive(queue: Queue, _: int) -> list[Any]:
            receipt = await queue.receive(name, headers, body)
            return [receipt.id, receipt.existing, receipt.reason]

        self._do(receive)

    @rule(name=PLANNED, verb=st.sampled_from(["pause_trigger", "resume_trigger", "remove_trigger", "get_trigger"]))
    def change_trigger(self, name: str, verb: str) -> None:
        self._do(lambda queue, _: getattr(queue, verb)(name))

    @rule()
    def make_what_is_due(self) -> None:
        async def make(queue: Queue, _: int) -> list[Any]:
            count = await schedule(queue._desk)
            tasks = (await queue.find(tag="made", limit=1000)).items
            return [count, *await queue.schedules(), *await queue.triggers(), *tasks]

        self._do(make)

    @rule(scope=SCOPES, unit=UNITS, limit=AMOUNTS, default=AMOUNTS, number=NUMBERS, window=WINDOWS)
    def set_budget(
        self, scope: str, unit: str, limit: float, default: float, number: int, window: dict[str, Any]
    ) -> None:
        whose = self._scope(scope, number)
        self._do(lambda queue, _: queue.set_budget(whose, limit, unit, default, **window))

    @rule(scope=SCOPES, unit=UNITS, amount=AMOUNTS, number=NUMBERS)
    def raise_budget(self, scope: str, unit: str, amount: float, number: int) -> None:
        whose, unit = self._budget(scope, unit, number)
        self._do(lambda queue, _: queue.raise_budget(whose, amount, unit))

    @rule(scope=SCOPES, unit=UNITS, number=NUMBERS)
    def remove_budget(self, scope: str, unit: str, number: int) -> None:
        whose, unit = self._budget(scope, unit, number)
        self._do(lambda queue, _: queue.remove_budget(whose, unit))

    # Agents

    @rule(registration=REGISTRATIONS)
    def register_agent(self, registration: dict[str, Any]) -> None:
        self._do(lambda queue, _: queue.register_agent(**registration))

    @rule(agent=st.sampled_from(AGENTS), verb=st.sampled_from(["drain", "unregister", "unregister"]))
    def drain_or_unregister_agent(self, agent: str, verb: str) -> None:
        if verb == "drain":
            self._do(lambda queue, _: queue.drain_agent(agent))
        else:
            self._do(lambda queue, _: queue.unregister_agent(agent, "enough"))

    # Time

    @rule(seconds=SECONDS, draw=st.sampled_from([0.0, 0.5, 0.99]))
    def pass_time(self, seconds: float, draw: float) -> None:
        self.clock.advance(seconds)
        for world in self.worlds:
            world.draw = draw
        self._do(lambda queue, _: queue.run_duties())
        if seconds >= WEEK:
            self._do(lambda queue, _: queue.prune())

    # Reading

    @rule(by=st.sampled_from(BY), since=st.sampled_from([1, 60, 3600]))
    def metrics(self, by: str, since: float | None) -> None:
        found = [plain(world.read(world.queue.metrics(by, since))) for world in self.worlds]
        for world, metrics in zip(self.worlds[1:], found[1:], strict=True):
            _same(world, f"metrics by {by}", found[0], metrics)

    @precondition(lambda self: self.dags)
    @rule(number=NUMBERS, names=st.sampled_from([(), ("x",)]))
    def artifacts(self, number: int, names: tuple[str, ...]) -> None:
        dag_id = self.dags[number % len(self.dags)]
        found = [plain(world.read(world.store.artifacts(dag_id, names))) for world in self.worlds]
        for world, artifacts in zip(self.worlds[1:], found[1:], strict=True):
            _same(world, f"artifacts of {dag_id}", found[0], artifacts)

    @rule(question=FILTERS)
    def find(self, question: dict[str, Any]) -> None:
        pages = [world.read(world.queue.find(**question)) for world in self.worlds]
        first = [task.id for task in pages[0].items]
        for world, page in zip(self.worlds[1:], pages[1:], strict=True):
            assert [task.id for task in page.items] == first, world.name
            assert (page.cursor is None) == (pages[0].cursor is None), world.name

    @rule(question=DEAD)
    def dead_letters(self, question: dict[str, Any]) -> None:
        for verb in ("dead_letters", "dead_letter_ids"):
            answers = [plain(world.read(getattr(world.queue, verb)(**question))) for world in self.worlds]
            for world, answer in zip(self.worlds[1:], answers[1:], strict=True):
                _same(world, verb, answers[0], answer)

    # How

    def _do(self, verb: Verb, *, unordered: bool = False, faults: frozenset[Any] = frozenset()) -> None:
        """Give every world the same command; then they must have answered alike and be alike. Of `faults` they may
        tell of different ones: several drafts of one call may be at fault."""
        outcomes = [world.call(verb, number) for number, world in enumerate(self.worlds)]
        answers = [answer for answer, _ in outcomes]
        values = [sorted(value) if unordered and isinstance(value, list) else value for _, value in outcomes]
        self._note(answers)
        stories = [world.new_events() for world in self.worlds]
        for number, world in enumerate(self.worlds[1:], 1):
            if not (_is_one_of(values[0], faults) and _is_one_of(values[number], faults)):
                _same(world, "answer", values[0], values[number])
            _same(world, "events", stories[0], stories[number])
        self._compare()
        for task_id in self.tasks:
            _sound(self.known[task_id])

    def _compare(self, *, everything: bool = False) -> None:
        """Do all worlds know the same? What has changed in the first is asked of the others; the rest when its turn
        comes, and in the end."""
        known = self.worlds[0].state(self.tasks, self.dags)
        self.turn += 1
        asked = {
            name
            for number, name in enumerate(known)
            if everything or number % TURNS == self.turn % TURNS or known[name] != self.known.get(name)
        }
        for world in self.worlds[1:]:
            found = world.state(self.tasks, self.dags, asked)
            for name in known:
                if name in asked or name in self.tasks:
                    _same(world, name, known[name], found[name])
        self.known = known

    def _note(self, answers: list[Any]) -> None:
        """Remember what came into being, so that later commands can name it."""
        first = answers[0]
        found: list[Any] = first if isinstance(first, list) else [first]
        if isinstance(first, Dag):
            self._note_dag(first.id)
            found = list(first.tasks)
        elif hasattr(first, "existing"):
            found = list(first.tasks)
        for number, item in enumerate(found):
            # What schedules and triggers made is first met when it is claimed.
            task = item.task if isinstance(item, Claim) else item
            if isinstance(task, Task) and task.id not in self.tasks:
                self.tasks.append(task.id)
                self._note_dag(task.dag_id)
                self._note_dag(dag_of(task.id))
            if isinstance(item, Claim) and all(isinstance(answer, list) and len(answer) > number for answer in answers):
                self.claims.append([answer[number] for answer in answers])
                groups = [answer[number].group for answer in answers]
                self.claims += [list(members) for members in zip(*groups, strict=False)]
        for judge in self.worlds[0].read(self.worlds[0].queue.find(type="judge", limit=100)).items:
            if judge.id not in self.tasks:
                self.tasks.append(judge.id)
                self._note_dag(judge.dag_id)

    def _note_dag(self, dag_id: str) -> None:
        if dag_id not in self.dags:
            self.dags.append(dag_id)

    def _status(self, task_id: str) -> str | None:
        task = self.known.get(task_id)
        return None if task is None else task["status"]

    def _held(self) -> list[list[Claim]]:
        """The claims that still hold their task."""
        return [
            claims
            for claims in self.claims
            if (task := self.known.get(claims[0].task.id)) is not None
            and task["status"] in HELD
            and task["fence"] == claims[0].fence
        ]

    def _pick(self, number: int) -> list[Claim]:
        held = self._held()
        return held[number % len(held)]

    def _asked(self) -> list[dict[str, Any]]:
        """The questions there are."""
        return [question for task_id in self.tasks for question in self.known.get(f"{task_id} questions", ())]

    def _whose(self, type: str | None, number: int) -> dict[str, Any]:
        """Whose ladder: a type's, or that of one of the dags."""
        dags = [] if type is not None else self.dags
        return {"dag": dags[number % len(dags)]} if dags else {"type": type or "a"}

    def _scope(self, scope: str, number: int) -> str:
        return scope if scope != "dag" else f"dag:{self.dags[number % len(self.dags)]}" if self.dags else "global"

    def _budget(self, scope: str, unit: str, number: int) -> tuple[str, str]:
        """One that exists, mostly."""
        budgets = self.known.get("budgets")
        if not budgets or number % 8 == 0:
            return self._scope(scope, number), unit
        chosen = budgets[number % len(budgets)]
        return chosen["scope"], chosen["unit"]

    def _rows(self) -> list[str]:
        """The dags that exist."""
        return [dag_id for dag_id in self.dags if self.known.get(dag_id) is not None]

    def _edges(self, edges: list[Any], siblings: list[str], *, strangers: bool = True) -> dict[str, Any]:
        """Edges to earlier siblings or to tasks that exist."""
        chosen: dict[str, str] = {}
        # Recent tasks are the ones that are still alive.
        choices = self.tasks[-6:] * strangers + siblings * 3
        for kind, number in edges:
            if choices:
                chosen[choices[number % len(choices)]] = kind
        return {
            wanted: [name for name, kind in chosen.items() if kind == wanted] for wanted in ("after", "after_ended")
        }

    def _graph(self, graph: list[Any], *, strangers: bool = True) -> list[NewTask]:
        tasks: list[NewTask] = []
        refs: list[str] = []
        for number, (spec, edges) in enumerate(graph):
            ref = f"r{number}"
            tasks.append(NewTask(ref=ref, **spec, **self._edges(edges, refs, strangers=strangers)))
            refs.append(ref)
        return tasks


def _sound(task: dict[str, Any] | None) -> None:
    """What must be true of a task whatever happened."""
    if task is None or task["status"] in FINAL:
        return
    if task["status"] not in (Status.VALIDATING, Status.WAITING):
        assert (task["status"] == Status.PENDING) == bool(task["blocked_by"]), task
    assert (task["status"] in HELD) == (task["lease_expires_at"] is not None), task
    assert (task["status"] == Status.RETRYING) == (task["retry_at"] is not None), task
    # A ladder may give a task more attempts than its own; but what may be started once is.
    given = sum(each["do"] in ("reassign", "ask") for each in task["escalations"]) if task["max_attempts"] > 1 else 0
    assert task["attempts"] < task["max_attempts"] + given, task
    assert task["crashes"] <= task["attempts"] <= task["fence"], task


async def _codes(settling: Coroutine[Any, Any, list[Any]]) -> list[Any]:
    """What was answered to each of several; of a refusal, its code."""
    return [answer.code if isinstance(answer, DibsError) else answer for answer in await settling]


def _is_one_of(value: Any, faults: frozenset[Any]) -> bool:
    return isinstance(value, tuple) and value in faults


def _same(world: World, what: str, wanted: Any, found: Any) -> None:
    """Fail with the differences only: whole states are too long to read."""
    if not is_same(wanted, found):
        lines = "\n".join(_differences("", rounded(wanted), rounded(found)))
        raise AssertionError(f"{what} differs between memory and {world.name}:\n{lines}")


def _differences(where: str, wanted: Any, found: Any) -> Iterator[str]:
    if wanted == found:
        return
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in {**wanted, **found}:
            yield from _differences(f"{where}.{key}", wanted.get(key), found.get(key))
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for number, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from _differences(f"{where}[{number}]", one, other)
    else:
        yield f"  {where or 'it'}: {wanted!r:.300} is not {found!r:.300}"


# Reducing a failure to its shortest form takes minutes, and is worth them.
@pytest.mark.timeout(0 if EXAMPLES else 1800)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_store_does_what_the_memory_store_does(grounds: Grounds, seed: int) -> None:
    explore(lambda: Stores(grounds), seed, examples=10)
