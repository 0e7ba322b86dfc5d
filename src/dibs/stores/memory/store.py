"""The memory store: each method of the contract, as one atomic step on the shared state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.errors import Unavailable
from dibs.stores import refusals
from dibs.stores.memory import (
    artifacts,
    asking,
    breakers,
    budgets,
    cascade,
    claiming,
    deadletters,
    escalating,
    inserting,
    journal,
    linking,
    locks,
    metrics,
    pausing,
    providers,
    rates,
    reading,
    registry,
    reviving,
    settling,
    timing,
    validating,
)
from dibs.stores.memory import slots as type_slots
from dibs.stores.memory.sharing import Shared, open_shared
from dibs.stores.memory.snapshots import attempts_of, task_of
from dibs.stores.memory.snapshots import listed as listed_of

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
    from dibs.model.views import Agent, Budget, Lock, Page, Stats, TypeRate, TypeSlots
    from dibs.rules.breaker import Override, Record
    from dibs.rules.closing import Pause
    from dibs.rules.providers import Backoff
    from dibs.rules.rates import Rate
    from dibs.rules.review import Ruling
    from dibs.rules.windows import Window
    from dibs.stores.agents import Registration
    from dibs.stores.deadletters import DeadFilter
    from dibs.stores.values import (
        Ask,
        Asked,
        Claimed,
        ClaimRequest,
        Dependency,
        Entry,
        Expired,
        Filter,
        Inserted,
        Insertion,
        Renewal,
        Settlement,
    )


class MemoryStore:
    """Tasks in this process; with a name, shared by all stores of that name. `stores.contract` says the rest."""

    late_drafts = False

    def __init__(
        self, name: str | None = None, *, clock: Callable[[], int] | None = None, blocking: bool = False
    ) -> None:
        self.url = f"memory:{name or ''}"
        self._blocking = blocking
        self._open: Shared | None = open_shared(name, clock)

    @property
    def schema_version(self) -> None:
        return None

    @property
    def _shared(self) -> Shared:
        if self._open is None:
            raise Unavailable("This memory store is closed: open it again.")
        return self._open

    async def connect(self) -> None:
        """It is connected already."""

    # Adding

    async def insert(self, insertion: Insertion, connection: Any = None) -> Inserted:
        if connection is not None:
            raise refusals.no_connections()
        with self._shared as state:
            return inserting.insert(state, insertion)

    # Working

    async def claim(self, request: ClaimRequest) -> Claimed:
        with self._shared as state:
            return claiming.claim(state, request)

    async def start(self, held: Sequence[tuple[str, int]]) -> list[DibsError | None]:
        with self._shared as state:
            return [settling.start(state, task_id, fence) for task_id, fence in held]

    async def renew(self, renewals: Sequence[Renewal]) -> list[News | DibsError]:
        with self._shared as state:
            return [settling.renew(state, renewal) for renewal in renewals]

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | DibsError]:
        with self._shared as state:
            answers = [settling.settle(state, settlement) for settlement in settlements]
            breakers.judge(state)
            providers.judge(state)
            return answers

    async def await_verdict(self, task_id: str, fence: int, judge_id: str) -> bool:
        with self._shared as state:
            return validating.await_verdict(state, task_id, fence, judge_id)

    async def handed_in(self, limit: int) -> list[str]:
        with self._shared as state:
            return validating.handed_in(state, limit)

    async def write_journal(self, task_id: str, fence: int, entries: Sequence[Entry]) -> list[Entry]:
        with self._shared as state:
            return journal.write_journal(state, task_id, fence, entries)

    async def read_journal(self, task_id: str) -> list[Entry]:
        with self._shared as state:
            return journal.read_journal(state, task_id)

    # Artifacts

    async def put_artifact(self, task_id: str, fence: int, artifact: Artifact) -> Artifact:
        with self._shared as state:
            return artifacts.put(state, task_id, fence, artifact)

    async def artifacts(self, dag_id: str, names: Sequence[str] = ()) -> list[Artifact]:
        with self._shared as state:
            return artifacts.in_dag(state, dag_id, names)

    async def kept_digests(self, digests: Sequence[str]) -> set[str]:
        with self._shared as state:
            return artifacts.kept_digests(state, digests)

    async def payload_digests(self) -> set[str]:
        with self._shared as state:
            return artifacts.payload_digests(state)

    # People

    async def ask(self, ask: Ask) -> Asked:
        with self._shared as state:
            return asking.ask(state, ask)

    async def answer(self, question_id: str, value: bytes, by: str | None) -> Question:
        with self._shared as state:
            return asking.answer(state, question_id, value, by)

    async def lapse(self, limit: int) -> int:
        with self._shared as state:
            return asking.lapse(state, limit)

    async def inbox(self, project: str, assignee: str | None, limit: int) -> list[Question]:
        with self._shared as state:
            return asking.inbox(state, project, assignee, limit)

    async def questions(self, *, id: str | None = None, task_id: str | None = None) -> list[Question]:
        with self._shared as state:
            return asking.find(state, id, task_id)

    # Steering

    async def cancel(self, target: str, reason: str | None) -> list[str]:
        with self._shared as state:
            return cascade.cancel(state, target, reason)

    async def spread(self, limit: int = cascade.LIMIT, cause: str | None = None) -> list[str]:
        with self._shared as state:
            return cascade.spread(state, limit, cause)

    async def revive(
        self,
        task_id: str,
        *,
        payload: bytes | None = None,
        body_hash: str | None = None,
        delay_s: float = 0.0,
        keep_steps: bool = True,
    ) -> Task:
        with self._shared as state:
            return reviving.revive(state, task_id, payload, body_hash, delay_s, keep_steps)

    async def review(self, task_ids: Sequence[str], ruling: Ruling) -> list[Task | DibsError]:
        with self._shared as state:
            return deadletters.review(state, task_ids, ruling)

    async def link(self, task_id: str, dependencies: Sequence[Dependency]) -> Task:
        with self._shared as state:
            return linking.link(state, task_id, dependencies)

    async def reprioritise(self, task_id: str, priority: float) -> Task:
        with self._shared as state:
            return linking.reprioritise(state, task_id, priority)

    async def pause(self, project: str, pause: Pause) -> Pause:
        with self._shared as state:
            return pausing.pause(state, project, pause)

    async def resume(self, project: str, gate: str) -> bool:
        with self._shared as state:
            return pausing.resume(state, project, gate)

    async def set_breaker(self, project: str, type: str, override: Override) -> None:
        with self._shared as state:
            pausing.tend_if_due(state)
            breakers.set_breaker(state, project, type, override)

    async def steer_breaker(self, project: str, type: str, to: str, reason: str | None) -> None:
        with self._shared as state:
            pausing.tend_if_due(state)
            breakers.steer_breaker(state, project, type, to, reason)

    async def set_ladder(self, project: str, scope: str, ladder: str | None) -> bool:
        with self._shared as state:
            return escalating.set_ladder(state, project, scope, ladder)

    async def ladders(self, project: str) -> dict[str, str]:
        with self._shared as state:
            return escalating.ladders(state, project)

    # Agents

    async def register_agent(self, registration: Registration) -> Agent:
        with self._shared as state:
            return registry.register(state, registration)

    async def drain_agent(self, project: str, agent: str) -> Agent:
        with self._shared as state:
            return registry.drain(state, project, agent)

    async def unregister_agent(self, project: str, agent: str, reason: str | None) -> Agent:
        with self._shared as state:
            return registry.unregister(state, project, agent, reason)

    async def agents(self, project: str) -> list[Agent]:
        with self._shared as state:
            return registry.agents(state, project)

    async def watch_agents(self) -> int:
        with self._shared as state:
            return registry.watch(state)

    # Time

    def now(self) -> int:
        return self._shared.now()

    @property
    def clock(self) -> Callable[[], int]:
        return self.now

    async def elect(self, intervals_s: Mapping[str, float]) -> list[str]:
        with self._shared as state:
            return timing.elect(state, intervals_s)

    async def postpone(self, duty: str, delay_s: float) -> None:
        with self._shared as state:
            timing.postpone(state, duty, delay_s)

    async def promote(self, limit: int) -> int:
        with self._shared as state:
            return timing.promote(state, limit)

    async def expired(self, limit: int) -> list[Expired]:
        with self._shared as state:
            return timing.expired(state, limit)

    async def rerank(self, limit: int) -> int:
        with self._shared as state:
            return timing.rerank(state, limit)

    async def overdue(self, limit: int) -> list[str]:
        with self._shared as state:
            return timing.overdue(state, limit)

    async def prune(self, retention_s: float, limit: int) -> int:
        with self._shared as state:
            return timing.prune(state, retention_s, limit)

    async def unpark(self, limit: int) -> int:
        with self._shared as state:
            return locks.unpark(state, limit)

    # Locks

    async def set_slots(self, project: str, name: str, slots: int) -> Lock:
        with self._shared as state:
            return locks.set_slots(state, project, name, slots)

    async def locks(self, project: str) -> list[Lock]:
        with self._shared as state:
            return locks.all_locks(state, project)

    # Slots of types

    async def set_type_slots(self, project: str, type: str, slots: int | None) -> TypeSlots | None:
        with self._shared as state:
            return type_slots.set_type_slots(state, project, type, slots)

    async def type_slots(self, project: str) -> list[TypeSlots]:
        with self._shared as state:
            return type_slots.type_slots(state, project)

    # Rates of types

    async def set_rate(self, project: str, type: str, rate: Rate | None) -> TypeRate | None:
        with self._shared as state:
            return rates.set_rate(state, project, type, rate)

    async def rates(self, project: str) -> list[TypeRate]:
        with self._shared as state:
            return rates.rates(state, project)

    # Budgets

    async def set_budget(
        self, project: str, scope: str, unit: str, limit: int, default_reserve: int, window: Window | None = None
    ) -> Budget:
        with self._shared as state:
            return budgets.give(state, project, scope, unit, limit, default_reserve, window)

    async def raise_budget(self, project: str, scope: str, unit: str, amount: int) -> Budget:
        with self._shared as state:
            return budgets.raise_limit(state, project, scope, unit, amount)

    async def remove_budget(self, project: str, scope: str, unit: str) -> Budget:
        with self._shared as state:
            return budgets.remove(state, project, scope, unit)

    async def budgets(self, project: str) -> list[Budget]:
        with self._shared as state:
            return budgets.all_budgets(state, project)

    # Reading

    async def get(self, ids: Sequence[str], *, listed: bool = False) -> list[Task | None]:
        with self._shared as state:
            records = [state.tasks.get(task_id) for task_id in ids]
            shown = listed_of if listed else task_of
            return [None if record is None else shown(state, record) for record in records]

    async def find(self, filter: Filter, limit: int, cursor: str | None) -> Page:
        with self._shared as state:
            return reading.find(state, filter, limit, cursor)

    async def dead_letters(self, wanted: DeadFilter) -> list[DeadGroup]:
        with self._shared as state:
            return deadletters.groups(state, wanted)

    async def dead_letter_ids(self, wanted: DeadFilter, limit: int | None, before: str | None) -> list[str]:
        with self._shared as state:
            return deadletters.ids(state, wanted, limit, before)

    async def dag(self, dag_id: str) -> Dag | None:
        with self._shared as state:
            return reading.dag(state, dag_id)

    async def history(self, task_id: str) -> list[Attempt]:
        with self._shared as state:
            return attempts_of(state.get(task_id))

    async def stats(self, project: str) -> Stats:
        with self._shared as state:
            return reading.stats(state, project)

    async def pauses(self, project: str) -> list[Pause]:
        with self._shared as state:
            return pausing.pauses(state, project)

    async def breakers(self, project: str) -> tuple[dict[str, Override], dict[str, Record]]:
        with self._shared as state:
            return breakers.breakers(state, project)

    async def backoffs(self, project: str) -> dict[str, Backoff]:
        with self._shared as state:
            return providers.backoffs(state, project)

    async def metrics(self, project: str, by: str, since: int) -> list[Metrics]:
        with self._shared as state:
            return metrics.metrics(state, project, by, since)

    async def events(self, after: int, limit: int) -> list[Event]:
        with self._shared as state:
            return reading.events(state, after, limit)

    async def last_seq(self) -> int:
        with self._shared as state:
            return state.last_seq

    # Waiting and living

    async def news(self) -> int:
        return self._shared.news

    async def wait_for_news(self, since: int, timeout_s: float) -> int:
        if self._blocking:
            return self._shared.block_until_news(since, timeout_s)
        return await self._shared.sleep_until_news(since, timeout_s)

    async def check(self) -> list[str]:
        with self._shared as state:
            return reading.check(state)

    async def advise(self) -> list[str]:
        return []

    async def close(self) -> None:
        self._open = None
