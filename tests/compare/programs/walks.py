"""Walks: verbs of the Python API drawn by a seed, under a clock that the walk moves, and all that is there at the end.

Every second one goes through the blocking queue. Instants are exact, since nobody else moves the clock.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from tests.compare.perform import plain
from tests.compare.program import Program

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable

    from tests.compare.program import Scene

STEPS = 30
START_US = 978_307_200_000_000
"""The beginning of 2001: instants of that year are compared, those of these days are masked."""
TYPES = ("code", "research", "deploy")
AGENTS = ("ada", "bob", "eve")
REASONS = ("error", "error", "timeout", "rate_limit", "auth_failure", "invalid_output")
OPTIONS: dict[str, tuple[Any, ...]] = {
    "title": ("A title",),
    "priority": (0, 10, 47, 90, 101),
    "boost": (0, 0.1, 5, 1000),
    "deadline": ("20s", "15m"),
    "on_deadline": ("keep", "cancel"),
    "run_after": ("5s", "2m"),
    "key": ("k1", "k2"),
    "requires": (["web"], ["web", "code"]),
    "assignee": ("ada", "bob"),
    "models": (["large"], ["small", "large"]),
    "fallback_models": (["tiny"],),
    "provider": ("acme", "openai"),
    "max_attempts": (1, 2, 5),
    "timeout": ("8s", "1m"),
    "max_cost": (0.25, 0.5),
    "max_tokens": (5, 500),
    "max_turns": (2,),
    "locks": (["l"], ["l", "m"]),
    "tags": (["t"], ["t", "u"]),
    "user": ("grace", "hal"),
    "expects": ({"validation": "regex", "pattern": "[1-9]"}, {"validation": "human"}),
    "approval": (True,),
    "coalesce_key": ("g",),
    "coalesce_window": (0, 5),
    "context": ({"goal": "g", "constraints": ["c"]},),
}


class Clock:
    """A store's clock that stands still until the walk moves it."""

    def __init__(self) -> None:
        self.now = START_US

    def __call__(self) -> int:
        return self.now


class Walk:
    """A queue, what is known of it so far, and the verbs to draw from."""

    def __init__(self, scene: Scene, queue: Any, clock: Clock) -> None:
        self.scene, self.queue, self.clock = scene, queue, clock
        self.draw: random.Random = scene.random
        self.number = 0
        self.tasks: list[str] = ["task_00000000000000000000000000"]
        self.dags: list[str] = []
        self.questions: list[str] = []
        self.claims: list[tuple[str, int]] = []

    async def ask(self, verb: str, *args: Any, **options: Any) -> Any:
        """Call a verb, note what it answered or how it refused, and return the answer."""
        self.number += 1
        step = f"{self.number} {verb}"
        call = getattr(self.queue, verb, None)
        if call is None:
            self.scene.absent(step)
            return None
        shown = [*map(repr, args), *(f"{name}={value!r}" for name, value in options.items())]
        try:
            answer = call(*args, **options)
            if inspect.isawaitable(answer):
                answer = await answer
        except Exception as error:
            refused = {"code": getattr(error, "code", None), "field": getattr(error, "field", None)}
            seen: Any = {"raised": type(error).__name__, **refused, "message": str(error)}
            answer = None
        else:
            seen = plain(answer)
        self.scene.note(step, {"call": f"{verb}({', '.join(shown)})", "answer": seen})
        return answer

    async def walk(self) -> None:
        """Take the steps; tell at the end what there is."""
        doings: list[Callable[[], Awaitable[object]]] = []
        for doing, often in self._doings():
            doings += [doing] * often
        for _ in range(STEPS):
            await self.draw.choice(doings)()
        await self._tell()

    def _doings(self) -> tuple[tuple[Callable[[], Awaitable[object]], int], ...]:
        return (
            (self.add, 8), (self.add_many, 2), (self.add_dag, 3), (self.claim, 12), (self.complete, 8), (self.fail, 6),
            (self.renew, 3), (self.release, 2), (self.spawn, 3), (self.ask_somebody, 2), (self.answer, 2),
            (self.cancel, 2), (self.retry, 3), (self.steer, 3), (self.link, 1), (self.pass_time, 6), (self.gates, 4),
            (self.budgets, 2), (self.breakers, 1), (self.agents, 2), (self.schedules, 1), (self.look, 4),
            (self.journal, 2), (self.review, 2), (self.triggers, 1), (self.by_query, 1),
        )  # fmt: skip

    def _one(self, known: list[Any]) -> Any:
        return self.draw.choice(known) if known else self.tasks[0]

    def _held(self) -> tuple[str, int]:
        if not self.claims or self.draw.random() < 0.05:
            return self._one(self.tasks), self.draw.choice((0, 1, 7))
        return self.draw.choice(self.claims[-4:])

    def _options(self, most: int = 3) -> dict[str, Any]:
        names = self.draw.sample(sorted(OPTIONS), self.draw.randint(0, most))
        return {"retry": self._retry(), **{name: self.draw.choice(OPTIONS[name]) for name in names}}

    def _retry(self) -> Any:
        """How a task is tried again: after a time that nobody draws."""
        import dibs

        strategy = self.draw.choice(("exponential", "fixed", "linear", "immediate"))
        return dibs.Retry(strategy=strategy, delay=self.draw.choice((2, 10)), jitter=0)

    def _new(self, **options: Any) -> Any:
        import dibs

        given = {**self._options(2), **options}
        given.pop("key", None)
        return dibs.NewTask(self.draw.choice(TYPES), {"n": self.number}, **given)

    def _known(self, tasks: Any) -> None:
        self.tasks += [task.id for task in tasks or ()]

    async def add(self) -> None:
        options = self._options()
        if len(self.tasks) > 1 and self.draw.random() < 0.3:
            options[self.draw.choice(("after", "after_ended"))] = [self._one(self.tasks)]
        task = await self.ask("add", self.draw.choice(TYPES), {"n": self.number}, **options)
        self._known([task] if task else [])

    async def add_many(self) -> None:
        tasks = [
            self._new(ref=f"r{n}", after=[f"r{n - 1}"] if n and self.draw.random() < 0.4 else []) for n in range(3)
        ]
        self._known(await self.ask("add_many", tasks))

    async def add_dag(self) -> None:
        tasks = [self._new(ref="a"), self._new(ref="b", after=["a"]), self._new(ref="c", after_ended=["a"])]
        failure = self.draw.choice(("fail_fast", "continue", "threshold:2", "threshold:40%"))
        budget = self.draw.choice((None, None, 1.0))
        dag = await self.ask("add_dag", f"Dag {self.number}", tasks, on_failure=failure, budget=budget)
        if dag is not None:
            self.dags.append(dag.id)
            self._known(dag.tasks)

    async def claim(self) -> None:
        options: dict[str, Any] = {"limit": self.draw.choice((1, 1, 1, 3)), "lease": self.draw.choice((30, 60))}
        options["capabilities"] = self.draw.choice(((), ("web",), ("web", "code")))
        if self.draw.random() < 0.3:
            options["models"] = self.draw.choice((("large",), ("tiny", "small")))
        if self.draw.random() < 0.3:
            options["types"] = self.draw.choice((("code",), ("research", "deploy")))
        if self.draw.random() < 0.1:
            options["start"] = False
        found = await self.ask("claim", self.draw.choice(AGENTS), **options)
        self.claims += [(claim.task.id, claim.fence) for claim in found or ()]

    def _used(self) -> dict[str, Any]:
        return self.draw.choice(
            ({}, {}, {"cost": 0.2}, {"tokens_in": 3, "tokens_out": 4, "turns": 1, "model": "large"}, {"cost": 0.4})
        )

    async def complete(self) -> None:
        output = self.draw.choice((0, 7, {"answer": "yes"}, None, "text"))
        await self.ask("complete", self._held(), output, **self._used())

    async def fail(self) -> None:
        reason, error = self.draw.choice(REASONS), self.draw.choice(("boom", "429 Too Many Requests", ""))
        options: dict[str, Any] = {"reason": reason, **self._used()}
        if self.draw.random() < 0.2:
            options["retry"] = False
        # How long a rate limit lasts is drawn where nobody says so, and would be another time in each version.
        if reason == "rate_limit" or "429" in error or self.draw.random() < 0.2:
            options["retry_after"] = self.draw.choice((3, 20))
        await self.ask("fail", self._held(), error, **options)

    async def renew(self) -> None:
        await self.ask("renew", self._held(), progress=self.draw.choice((0.5, 2)), note="half", **self._used())

    async def release(self) -> None:
        await self.ask("release", self._held(), delay=self.draw.choice((0, 4)))

    async def spawn(self) -> None:
        tasks = [self._new() for _ in range(self.draw.randint(1, 2))]
        self._known(await self.ask("spawn", self._held(), tasks, self.draw.random() < 0.4))

    async def ask_somebody(self) -> None:
        options = self.draw.choice(({}, {"assignee": "grace"}, {"timeout": "30s", "default": "no"}))
        question = await self.ask("ask", self._held(), "Which?", **options)
        if question is not None:
            self.questions.append(question.id)

    async def answer(self) -> None:
        for question in await self.ask("inbox") or ():
            self.questions.append(question.id)
        value = self.draw.choice(("this", True, {"decision": "approve"}, "approve", "reject"))
        await self.ask("answer", self._one(self.questions), value, "grace")

    async def cancel(self) -> None:
        await self.ask("cancel", self._one([*self.tasks, *self.dags]), self.draw.choice((None, "no need")))

    async def retry(self) -> None:
        await self.ask("retry", self._one(self.tasks), delay=self.draw.choice((0, 10)))

    async def steer(self) -> None:
        verb, options = self.draw.choice(
            (
                ("set_priority", {"priority": self.draw.choice((0, 33, 300))}),
                ("tag", {"add": ["x"], "remove": ["t"]}),
                ("reassign", {"assignee": self.draw.choice((None, "eve"))}),
            )
        )
        await self.ask(verb, self._one(self.tasks), **options)

    async def link(self) -> None:
        await self.ask("link", self._one(self.tasks), [self._one(self.tasks)])

    async def pass_time(self) -> None:
        self.clock.now += self.draw.choice((1, 6, 31, 61, 400)) * 1_000_000
        await self.ask("run_duties")

    async def gates(self) -> None:
        type = self.draw.choice(TYPES)
        verb, args, options = self.draw.choice(
            (
                ("pause", (), {"type": type, "reason": "look", "until": "1m", "by": "human:grace"}),
                ("pause", (), {"agent": "ada"}),
                ("resume", (), {"type": type}),
                ("resume", (), {"agent": "ada"}),
                ("set_slots", ("l", self.draw.choice((1, 2))), {}),
                ("set_slots", (None, self.draw.choice((1, None))), {"type": type}),
                ("set_rate", (type, self.draw.choice(("2/min", "10/hour", None))), {}),
                ("gates", (), {}),
                ("locks", (), {}),
            )
        )
        await self.ask(verb, *args, **options)

    async def budgets(self) -> None:
        scope = self.draw.choice(("global", "type:code", "user:grace", "agent:ada", "nothing"))
        verb, args = self.draw.choice(
            (("set_budget", (scope, self.draw.choice((0.3, 2)))), ("raise_budget", (scope, 0.5)), ("budgets", ()))
        )
        await self.ask(verb, *args)

    async def breakers(self) -> None:
        verb, args, options = self.draw.choice(
            (
                ("set_breaker", ("code",), {"failure_threshold": 2, "cooldown_s": 30}),
                ("open_breaker", ("research", "look"), {}),
                ("close_breaker", ("research",), {}),
                ("breakers", (), {}),
            )
        )
        await self.ask(verb, *args, **options)

    async def agents(self) -> None:
        agent = self.draw.choice(AGENTS)
        verb, options = self.draw.choice(
            (
                ("register_agent", {"capabilities": ["web"], "max_concurrent": 2, "keep": True}),
                ("drain_agent", {}),
                ("unregister_agent", {"reason": "done"}),
            )
        )
        await self.ask(verb, agent, **options)

    async def schedules(self) -> None:
        task = {"type": "research", "payload": {"of": "schedule"}, "retry": "immediate"}
        await self.ask("add_schedule", "often", every="1m", task=task, replace=True)
        await self.ask("next_runs", "often", 3)

    async def triggers(self) -> None:
        task = {"type": "deploy", "payload": {"of": "trigger"}, "retry": "immediate"}
        await self.ask("add_trigger", "after-code", "task.completed", task=task, where={"type": "code"})
        await self.ask("triggers")

    async def journal(self) -> None:
        verb, value = self.draw.choice((("checkpoint", {"page": 7}), ("log", "found it"), ("start", None)))
        held = self._held()
        await (self.ask(verb, held) if value is None else self.ask(verb, held, value))
        await self.ask("journal", held[0])

    async def review(self) -> None:
        dead = await self.ask("dead_letter_ids")
        resolution = self.draw.choice(("kept", "dropped", "retried", "reassigned"))
        await self.ask("review", self._one(dead or []), resolution, by="grace", note="known")

    async def by_query(self) -> None:
        verb, args = self.draw.choice(
            (("tag_found", (["q"],)), ("set_priority_found", (20,)), ("cancel_found", ()), ("retry_found", ()))
        )
        await self.ask(verb, f"type:{self.draw.choice(TYPES)}", *args)

    async def look(self) -> None:
        verb, args, options = self.draw.choice(
            (
                ("why", (self._one(self.tasks),), {}),
                ("get", (self._one(self.tasks),), {}),
                ("history", (self._one(self.tasks),), {}),
                ("find", (), {"status": "ready", "limit": 3}),
                ("find", (), {"query": "tag:t or status:running"}),
                ("count", ("type:code",), {}),
                ("stats", (), {}),
                ("lanes", (), {}),
                ("overview", (), {}),
                ("costs", ("type",), {}),
                ("metrics", (), {}),
                ("dead_letters", (), {}),
                ("wait", (self._one(self.tasks),), {"timeout": 0}),
            )
        )
        await self.ask(verb, *args, **options)

    async def _tell(self) -> None:
        for task in self.tasks:
            await self.ask("get", task)
            await self.ask("why", task)
            await self.ask("history", task)
        for dag in self.dags:
            await self.ask("get_dag", dag)
        for verb in ("agents", "gates", "budgets", "breakers", "rates", "locks", "type_slots", "schedules", "triggers"):
            await self.ask(verb)
        for verb in ("stats", "lanes", "overview", "inbox", "dead_letters", "costs", "metrics"):
            await self.ask(verb)
        after = 0
        while events := await self.ask("read_events", after):
            after = events[-1].seq


def _run(scene: Scene) -> None:
    import dibs

    clock = Clock()
    if scene.seed % 2 == 0:
        asyncio.run(_walk(scene, clock))
        return
    with dibs.connect_sync(scene.url, clock=clock) as queue:
        walking = Walk(scene, queue, clock).walk()
        try:
            # Its verbs block, so the walk never suspends.
            walking.send(None)
        except StopIteration:
            pass
        asyncio.run(_check(scene, clock))


async def _walk(scene: Scene, clock: Clock) -> None:
    import dibs

    async with dibs.connect(scene.url, clock=clock) as queue:
        await Walk(scene, queue, clock).walk()
        await _check(scene, clock)


async def _check(scene: Scene, clock: Clock) -> None:
    import dibs

    async with dibs.connect(scene.url, clock=clock) as queue:
        scene.note("check()", await queue.store.check())


def of_seeds(seeds: range) -> tuple[Program, ...]:
    """A walk for each seed."""
    return tuple(Program("python", f"walk {seed}", _run, seed) for seed in seeds)
