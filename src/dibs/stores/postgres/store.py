"""The PostgreSQL store: each method of the contract is one call of a function in the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.rules.documents import check as check_document
from dibs.stores.plain import is_plain
from dibs.stores.postgres import (
    adding,
    artifacts,
    asking,
    breakers,
    budgets,
    carrying,
    cascade,
    check,
    claiming,
    counting,
    deadletters,
    documents,
    escalating,
    holding,
    homes,
    inserting,
    journal,
    linking,
    loading,
    locks,
    metrics,
    overseeing,
    pausing,
    providers,
    prune,
    rates,
    reading,
    registry,
    reviving,
    settling,
    timing,
    typeslots,
    unloading,
    validating,
)
from dibs.stores.postgres.address import Address
from dibs.stores.postgres.engine import Engine
from dibs.stores.postgres.lanes import Lanes
from dibs.stores.postgres.opening import newest_version
from dibs.stores.values import LateDrafts

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


class PostgresStore:
    """Tasks in a schema of a PostgreSQL database; `stores.contract` says what each method does."""

    late_drafts = True

    def __init__(self, url: str, *, clock: Callable[[], int] | None = None, blocking: bool = False) -> None:
        self.url = url
        self._engine = Engine(Address.parse(url), clock=clock, blocking=blocking)
        self._lanes = Lanes(self._engine)
        self._claiming = claiming.Claiming(self._engine, self._lanes)
        self._duties = timing.Duties(self._engine)
        self._promoted = timing.Swept(self._engine)
        self._expired = timing.Swept(self._engine)

    @property
    def schema_version(self) -> int:
        return newest_version()

    async def connect(self) -> None:
        await self._engine.open()

    # Adding

    async def insert(self, insertion: Insertion, connection: Any = None) -> Inserted:
        if isinstance(insertion.drafts, LateDrafts):
            return await adding.add_late(self._engine, self._lanes, insertion.drafts)
        if connection is None and is_plain(insertion):
            return await adding.add(self._engine, self._lanes, insertion)
        return await inserting.insert(self._engine, self._lanes, insertion, connection)

    # Working

    async def claim(self, request: ClaimRequest) -> Claimed:
        return await self._claiming.claim(request)

    async def start(self, held: Sequence[tuple[str, int]]) -> list[DibsError | None]:
        return await holding.start(self._engine, held)

    async def renew(self, renewals: Sequence[Renewal]) -> list[News | DibsError]:
        return await holding.renew(self._engine, renewals)

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | DibsError]:
        return await settling.settle(self._engine, self._claiming.numbers, settlements)

    async def write_journal(self, task_id: str, fence: int, entries: Sequence[Entry]) -> list[Entry]:
        return await journal.write_journal(self._engine, task_id, fence, entries)

    async def read_journal(self, task_id: str) -> list[Entry]:
        return await journal.read_journal(self._engine, task_id)

    # Artifacts

    async def put_artifact(self, task_id: str, fence: int, artifact: Artifact) -> Artifact:
        return await artifacts.put(self._engine, task_id, fence, artifact)

    async def artifacts(self, dag_id: str, names: Sequence[str] = ()) -> list[Artifact]:
        return await artifacts.in_dag(self._engine, dag_id, names)

    async def kept_digests(self, digests: Sequence[str], project: str | None = None) -> set[str]:
        return await artifacts.kept_digests(self._engine, digests, project)

    async def payload_digests(self) -> set[str]:
        return await artifacts.payload_digests(self._engine)

    # People

    async def ask(self, ask: Ask) -> Asked:
        return await asking.ask(self._engine, ask)

    async def answer(self, question_id: str, value: bytes, by: str | None) -> Question:
        return await asking.answer(self._engine, question_id, value, by)

    async def await_verdict(self, task_id: str, fence: int, judge_id: str) -> bool:
        return await validating.await_verdict(self._engine, task_id, fence, judge_id)

    async def handed_in(self, limit: int) -> list[str]:
        return await validating.handed_in(self._engine, limit)

    async def lapse(self, limit: int) -> int:
        return await asking.lapse(self._engine, limit)

    async def inbox(self, project: str, assignee: str | None, limit: int) -> list[Question]:
        return await asking.inbox(self._engine, project, assignee, limit)

    async def questions(self, *, id: str | None = None, task_id: str | None = None) -> list[Question]:
        return await asking.find(self._engine, id, task_id)

    # Steering

    async def cancel(self, target: str, reason: str | None) -> list[str]:
        return await cascade.cancel(self._engine, target, reason)

    async def spread(self, limit: int = 500, cause: str | None = None) -> list[str]:
        return await cascade.spread(self._engine, limit, cause)

    async def revive(
        self,
        task_id: str,
        *,
        payload: bytes | None = None,
        body_hash: str | None = None,
        delay_s: float = 0.0,
        keep_steps: bool = True,
    ) -> Task:
        return await reviving.revive(self._engine, task_id, payload, body_hash, delay_s, keep_steps)

    async def review(self, task_ids: Sequence[str], ruling: Ruling) -> list[Task | DibsError]:
        return await deadletters.review(self._engine, task_ids, ruling)

    async def link(self, task_id: str, dependencies: Sequence[Dependency]) -> Task:
        return await linking.link(self._engine, task_id, dependencies)

    async def reassign(self, task_id: str, assignee: str | None) -> Task:
        return await linking.reassign(self._engine, task_id, assignee)

    async def retag(self, task_id: str, add: Sequence[str], remove: Sequence[str]) -> Task:
        return await linking.retag(self._engine, task_id, add, remove)

    async def reprioritise(self, task_id: str, priority: float) -> Task:
        return await linking.reprioritise(self._engine, task_id, priority)

    async def pause(self, project: str, pause: Pause) -> Pause:
        return await pausing.pause(self._engine, project, pause)

    async def resume(self, project: str, gate: str) -> bool:
        return await pausing.resume(self._engine, project, gate)

    async def set_breaker(self, project: str, type: str, override: Override) -> None:
        await breakers.set_breaker(self._engine, project, type, override)

    async def steer_breaker(self, project: str, type: str, to: str, reason: str | None) -> None:
        await breakers.steer_breaker(self._engine, project, type, to, reason)

    async def set_ladder(self, project: str, scope: str, ladder: str | None) -> bool:
        return await escalating.set_ladder(self._engine, project, scope, ladder)

    async def ladders(self, project: str) -> dict[str, str]:
        return await escalating.ladders(self._engine, project)

    # Agents

    async def register_agent(self, registration: Registration) -> Agent:
        registered = await registry.register(self._engine, registration)
        self._claiming.forget_agent(registration.project, registration.agent)
        return registered

    async def drain_agent(self, project: str, agent: str) -> Agent:
        return await registry.drain(self._engine, project, agent)

    async def unregister_agent(self, project: str, agent: str, reason: str | None) -> Agent:
        gone = await registry.unregister(self._engine, project, agent, reason)
        self._claiming.forget_agent(project, agent)
        return gone

    async def agents(self, project: str) -> list[Agent]:
        return await registry.agents(self._engine, project)

    async def watch_agents(self) -> int:
        return await registry.watch(self._engine)

    # Time

    def now(self) -> int:
        return self._engine.now()

    @property
    def clock(self) -> Callable[[], int] | None:
        return self._engine.clock

    async def elect(self, intervals_s: Mapping[str, float]) -> list[str]:
        return await self._duties.elect(intervals_s)

    async def postpone(self, duty: str, delay_s: float) -> None:
        await timing.postpone(self._engine, duty, delay_s)

    async def promote(self, limit: int) -> int:
        return await timing.promote(self._engine, self._promoted, limit)

    async def expired(self, limit: int) -> list[Expired]:
        return await timing.expired(self._engine, self._expired, limit)

    async def rerank(self, limit: int) -> int:
        return await timing.rerank(self._engine, limit)

    async def overdue(self, limit: int) -> list[str]:
        return await timing.overdue(self._engine, limit)

    async def prune(self, retention_s: float, limit: int) -> int:
        return await prune.prune(self._engine, retention_s, limit)

    async def unpark(self, limit: int) -> int:
        return await locks.unpark(self._engine, limit)

    # Locks

    async def set_slots(self, project: str, name: str, slots: int) -> Lock:
        return await locks.set_slots(self._engine, project, name, slots)

    async def locks(self, project: str) -> list[Lock]:
        return await locks.locks(self._engine, project)

    # Slots of types

    async def set_type_slots(self, project: str, type: str, slots: int | None) -> TypeSlots | None:
        return await typeslots.set_type_slots(self._engine, project, type, slots)

    async def type_slots(self, project: str) -> list[TypeSlots]:
        return await typeslots.type_slots(self._engine, project)

    # Rates of types

    async def set_rate(self, project: str, type: str, rate: Rate | None) -> TypeRate | None:
        return await rates.set_rate(self._engine, project, type, rate)

    async def rates(self, project: str) -> list[TypeRate]:
        return await rates.rates(self._engine, project)

    # Documents

    async def write_document(
        self, project: str, kind: str, name: str, body: bytes | None, expected: int | None = None
    ) -> int:
        check_document(kind, name, body, expected)
        return await documents.write(self._engine, project, kind, name, body, expected)

    async def documents(
        self, project: str, kind: str, *, name: str | None = None, after: str = "", limit: int = 1000
    ) -> list[Document]:
        return await documents.documents(self._engine, project, kind, name, after, limit)

    async def tell(
        self, project: str, type: str, *, reason: str | None = None, data: dict[str, Any] | None = None
    ) -> None:
        await documents.tell(self._engine, project, type, reason, data)

    # Budgets

    async def set_budget(
        self, project: str, scope: str, unit: str, limit: int, default_reserve: int, window: Window | None = None
    ) -> Budget:
        return await budgets.set_budget(self._engine, project, scope, unit, limit, default_reserve, window)

    async def raise_budget(self, project: str, scope: str, unit: str, amount: int) -> Budget:
        return await budgets.raise_budget(self._engine, project, scope, unit, amount)

    async def remove_budget(self, project: str, scope: str, unit: str) -> Budget:
        return await budgets.remove_budget(self._engine, project, scope, unit)

    async def budgets(self, project: str) -> list[Budget]:
        return await budgets.budgets(self._engine, project)

    # Reading

    async def get(self, ids: Sequence[str], *, listed: bool = False) -> list[Task | None]:
        return await reading.get(self._engine, ids, listed=listed)

    async def projects(self, ids: Sequence[str]) -> list[str | None]:
        return await homes.projects(self._engine, ids)

    async def find(self, filter: Filter, limit: int, cursor: str | None) -> Page:
        return await reading.find(self._engine, filter, limit, cursor)

    async def find_ids(self, filter: Filter, limit: int, cursor: str | None) -> Found:
        return await reading.find_ids(self._engine, filter, limit, cursor)

    async def dead_letters(self, wanted: DeadFilter) -> list[DeadGroup]:
        return await deadletters.groups(self._engine, wanted)

    async def dead_letter_ids(self, wanted: DeadFilter, limit: int | None, before: str | None) -> list[str]:
        return await deadletters.ids(self._engine, wanted, limit, before)

    async def dag(self, dag_id: str) -> Dag | None:
        return await reading.dag(self._engine, dag_id)

    async def dags(self, wanted: DagFilter, limit: int, before: str | None) -> Dags:
        return await overseeing.dags(self._engine, wanted, limit, before)

    async def histories(self, task_ids: Sequence[str]) -> list[list[Attempt]]:
        return await overseeing.histories(self._engine, task_ids)

    async def spending(self, project: str, by: str, since: int, until: int, step: int) -> list[Sum]:
        return await overseeing.spending(self._engine, project, by, since, until, step)

    async def ends(self, project: str, since: int, limit: int) -> Ends:
        return await overseeing.ends(self._engine, project, since, limit)

    async def history(self, task_id: str) -> list[Attempt]:
        return await reading.history(self._engine, task_id)

    async def stats(self, project: str) -> Stats:
        return await reading.stats(self._engine, project)

    async def ready(self, project: str) -> list[Lane]:
        return await counting.ready(self._engine, project)

    async def pauses(self, project: str) -> list[Pause]:
        return await pausing.pauses(self._engine, project)

    async def breakers(self, project: str) -> tuple[dict[str, Override], dict[str, Record]]:
        return await breakers.breakers(self._engine, project)

    async def backoffs(self, project: str) -> dict[str, Backoff]:
        return await providers.backoffs(self._engine, project)

    async def metrics(self, project: str, by: str, since: int) -> list[Metrics]:
        return await metrics.metrics(self._engine, project, by, since)

    async def events(self, after: int, limit: int) -> list[Event]:
        return await reading.events(self._engine, after, limit)

    async def last_seq(self) -> int:
        return await reading.last_seq(self._engine)

    # Moving elsewhere

    async def standing(self) -> Standing:
        return await carrying.standing(self._engine)

    async def stand(self, standing: Standing, expected: str | None = None) -> None:
        await carrying.stand(self._engine, standing, expected)

    async def census(self) -> Census:
        return await carrying.census(self._engine)

    async def carry_out(self, after: int, limit: int, *, live: bool = False) -> Cargo:
        return await loading.carry_out(self._engine, after, limit, live=live)

    async def carry_out_named(self, ids: Sequence[str]) -> Cargo:
        return await loading.carry_out_named(self._engine, ids)

    async def carry_settings(self) -> CarriedSettings:
        return await loading.settings(self._engine)

    async def carry_in(self, cargo: Cargo, *, forget: Sequence[str] = (), standing: Standing | None = None) -> None:
        await unloading.carry_in(self._engine, cargo, forget, standing)

    async def carry_in_settings(self, settings: CarriedSettings) -> None:
        await unloading.carry_in_settings(self._engine, settings)

    # Waiting and living

    async def news(self) -> int:
        return await self._engine.news()

    async def wait_for_news(self, since: int, timeout_s: float) -> int:
        return await self._engine.wait_for_news(since, timeout_s)

    async def check(self) -> list[str]:
        return await check.check(self._engine)

    async def advise(self) -> list[str]:
        """What endangers or slows down this store, and what to do about it; a sound store may have some."""
        return await check.advise(self._engine)

    async def close(self) -> None:
        await self._engine.close()
