"""The verbs of the contract, each as one step on a state, wherever that is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from dibs.rules.access import at_home
from dibs.rules.documents import check as check_document
from dibs.stores import refusals
from dibs.stores.ledger import (
    artifacts,
    asking,
    breakers,
    budgets,
    carrying,
    cascade,
    claiming,
    deadletters,
    documents,
    escalating,
    finding,
    inserting,
    journal,
    linking,
    loading,
    locks,
    metrics,
    overseeing,
    pausing,
    providers,
    rates,
    reading,
    registry,
    reviving,
    settling,
    timing,
    unloading,
    validating,
)
from dibs.stores.ledger import slots as type_slots
from dibs.stores.ledger.snapshots import attempts_of

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
    from dibs.stores.ledger.state import State
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

T = TypeVar("T")


class LedgerStore(ABC):
    """What a store says to each verb; how a step becomes atomic and lasting is its own. `stores.contract` says the
    rest."""

    late_drafts = False

    @abstractmethod
    async def _step(self, step: Callable[[State], T], tasks: Sequence[str] = ()) -> T:
        """Take a step, which begins with these tasks, and commit what it changed, all or nothing."""

    @abstractmethod
    async def _look(self, look: Callable[[State], T], tasks: Sequence[str] = ()) -> T:
        """What is seen at one moment, beginning with these tasks. It changes nothing."""

    @abstractmethod
    async def _anyway(self, step: Callable[[State], T]) -> T:
        """Take a step however the store stands; others go through `carrying.guarded`."""

    # Adding

    async def insert(self, insertion: Insertion, connection: Any = None) -> Inserted:
        if connection is not None:
            raise refusals.no_connections()
        return await self._step(lambda state: inserting.insert(state, insertion))

    # Working

    async def claim(self, request: ClaimRequest) -> Claimed:
        return await self._step(lambda state: claiming.claim(state, request))

    async def start(self, held: Sequence[tuple[str, int]]) -> list[DibsError | None]:
        return await self._step(
            lambda state: [settling.start(state, task_id, fence) for task_id, fence in held],
            [task_id for task_id, _ in held],
        )

    async def renew(self, renewals: Sequence[Renewal]) -> list[News | DibsError]:
        return await self._step(
            lambda state: settling.renew_all(state, renewals), [renewal.task_id for renewal in renewals]
        )

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | DibsError]:
        return await self._step(
            lambda state: settling.settle_all(state, settlements), [settlement.task_id for settlement in settlements]
        )

    async def await_verdict(self, task_id: str, fence: int, judge_id: str) -> bool:
        return await self._step(
            lambda state: validating.await_verdict(state, task_id, fence, judge_id), [task_id, judge_id]
        )

    async def handed_in(self, limit: int) -> list[str]:
        return await self._look(lambda state: validating.handed_in(state, limit))

    async def write_journal(self, task_id: str, fence: int, entries: Sequence[Entry]) -> list[Entry]:
        return await self._step(lambda state: journal.write_journal(state, task_id, fence, entries), [task_id])

    async def read_journal(self, task_id: str) -> list[Entry]:
        return await self._look(lambda state: journal.read_journal(state, task_id), [task_id])

    # Artifacts

    async def put_artifact(self, task_id: str, fence: int, artifact: Artifact) -> Artifact:
        return await self._step(lambda state: artifacts.put(state, task_id, fence, artifact), [task_id])

    async def artifacts(self, dag_id: str, names: Sequence[str] = ()) -> list[Artifact]:
        return await self._look(lambda state: artifacts.in_dag(state, dag_id, names))

    async def kept_digests(self, digests: Sequence[str], project: str | None = None) -> set[str]:
        return await self._look(lambda state: artifacts.kept_digests(state, digests, project))

    async def payload_digests(self) -> set[str]:
        return await self._look(lambda state: artifacts.payload_digests(state))

    # People

    async def ask(self, ask: Ask) -> Asked:
        return await self._step(lambda state: asking.ask(state, ask), [ask.task_id])

    async def answer(self, question_id: str, value: bytes, by: str | None) -> Question:
        return await self._step(lambda state: asking.answer(state, question_id, value, by))

    async def lapse(self, limit: int) -> int:
        return await self._step(lambda state: asking.lapse(state, limit))

    async def inbox(self, project: str, assignee: str | None, limit: int) -> list[Question]:
        return await self._look(lambda state: asking.inbox(state, project, assignee, limit))

    async def questions(self, *, id: str | None = None, task_id: str | None = None) -> list[Question]:
        return await self._look(lambda state: asking.find(state, id, task_id), [] if task_id is None else [task_id])

    # Steering

    async def cancel(self, target: str, reason: str | None) -> list[str]:
        return await self._step(lambda state: cascade.cancel(state, target, reason), [target])

    async def spread(self, limit: int = cascade.LIMIT, cause: str | None = None) -> list[str]:
        return await self._step(lambda state: cascade.spread(state, limit, cause))

    async def revive(
        self,
        task_id: str,
        *,
        payload: bytes | None = None,
        body_hash: str | None = None,
        delay_s: float = 0.0,
        keep_steps: bool = True,
    ) -> Task:
        return await self._step(
            lambda state: reviving.revive(state, task_id, payload, body_hash, delay_s, keep_steps), [task_id]
        )

    async def review(self, task_ids: Sequence[str], ruling: Ruling) -> list[Task | DibsError]:
        return await self._step(lambda state: deadletters.review(state, task_ids, ruling), task_ids)

    async def link(self, task_id: str, dependencies: Sequence[Dependency]) -> Task:
        return await self._step(lambda state: linking.link(state, task_id, dependencies), [task_id])

    async def reprioritise(self, task_id: str, priority: float) -> Task:
        return await self._step(lambda state: linking.reprioritise(state, task_id, priority), [task_id])

    async def reassign(self, task_id: str, assignee: str | None) -> Task:
        return await self._step(lambda state: linking.reassign(state, task_id, assignee), [task_id])

    async def retag(self, task_id: str, add: Sequence[str], remove: Sequence[str]) -> Task:
        return await self._step(lambda state: linking.retag(state, task_id, add, remove), [task_id])

    async def pause(self, project: str, pause: Pause) -> Pause:
        return await self._step(lambda state: pausing.pause(state, project, pause))

    async def resume(self, project: str, gate: str) -> bool:
        return await self._step(lambda state: pausing.resume(state, project, gate))

    async def set_breaker(self, project: str, type: str, override: Override) -> None:
        await self._step(lambda state: pausing.set_breaker(state, project, type, override))

    async def steer_breaker(self, project: str, type: str, to: str, reason: str | None) -> None:
        await self._step(lambda state: pausing.steer_breaker(state, project, type, to, reason))

    async def set_ladder(self, project: str, scope: str, ladder: str | None) -> bool:
        return await self._step(lambda state: escalating.set_ladder(state, project, scope, ladder))

    async def ladders(self, project: str) -> dict[str, str]:
        return await self._look(lambda state: escalating.ladders(state, project))

    # Agents

    async def register_agent(self, registration: Registration) -> Agent:
        return await self._step(lambda state: registry.register(state, registration))

    async def drain_agent(self, project: str, agent: str) -> Agent:
        return await self._step(lambda state: registry.drain(state, project, agent))

    async def unregister_agent(self, project: str, agent: str, reason: str | None) -> Agent:
        return await self._step(lambda state: registry.unregister(state, project, agent, reason))

    async def agents(self, project: str) -> list[Agent]:
        return await self._look(lambda state: registry.agents(state, project))

    async def watch_agents(self) -> int:
        return await self._step(lambda state: registry.watch(state))

    # Time

    async def elect(self, intervals_s: Mapping[str, float]) -> list[str]:
        return await self._step(lambda state: timing.elect(state, intervals_s))

    async def postpone(self, duty: str, delay_s: float) -> None:
        await self._step(lambda state: timing.postpone(state, duty, delay_s))

    async def promote(self, limit: int) -> int:
        return await self._step(lambda state: timing.promote(state, limit))

    async def expired(self, limit: int) -> list[Expired]:
        return await self._step(lambda state: timing.expired(state, limit))

    async def rerank(self, limit: int) -> int:
        return await self._step(lambda state: timing.rerank(state, limit))

    async def overdue(self, limit: int) -> list[str]:
        return await self._step(lambda state: timing.overdue(state, limit))

    async def prune(self, retention_s: float, limit: int) -> int:
        return await self._step(lambda state: timing.prune(state, retention_s, limit))

    async def unpark(self, limit: int) -> int:
        return await self._step(lambda state: locks.unpark(state, limit))

    # Locks

    async def set_slots(self, project: str, name: str, slots: int) -> Lock:
        return await self._step(lambda state: locks.set_slots(state, project, name, slots))

    async def locks(self, project: str) -> list[Lock]:
        return await self._look(lambda state: locks.all_locks(state, project))

    # Slots of types

    async def set_type_slots(self, project: str, type: str, slots: int | None) -> TypeSlots | None:
        return await self._step(lambda state: type_slots.set_type_slots(state, project, type, slots))

    async def type_slots(self, project: str) -> list[TypeSlots]:
        return await self._look(lambda state: type_slots.type_slots(state, project))

    # Rates of types

    async def set_rate(self, project: str, type: str, rate: Rate | None) -> TypeRate | None:
        return await self._step(lambda state: rates.set_rate(state, project, type, rate))

    async def rates(self, project: str) -> list[TypeRate]:
        return await self._look(lambda state: rates.rates(state, project))

    # Budgets

    async def set_budget(
        self, project: str, scope: str, unit: str, limit: int, default_reserve: int, window: Window | None = None
    ) -> Budget:
        return await self._step(lambda state: budgets.give(state, project, scope, unit, limit, default_reserve, window))

    async def raise_budget(self, project: str, scope: str, unit: str, amount: int) -> Budget:
        return await self._step(lambda state: budgets.raise_limit(state, project, scope, unit, amount))

    async def remove_budget(self, project: str, scope: str, unit: str) -> Budget:
        return await self._step(lambda state: budgets.remove(state, project, scope, unit))

    async def budgets(self, project: str) -> list[Budget]:
        return await self._look(lambda state: budgets.all_budgets(state, project))

    # Documents

    async def write_document(
        self, project: str, kind: str, name: str, body: bytes | None, expected: int | None = None
    ) -> int:
        check_document(kind, name, body, expected)
        return await self._step(lambda state: documents.write(state, project, kind, name, body, expected))

    async def documents(
        self, project: str, kind: str, *, name: str | None = None, after: str = "", limit: int = 1000
    ) -> list[Document]:
        return await self._look(lambda state: documents.documents(state, project, kind, name, after, limit))

    async def tell(
        self, project: str, type: str, *, reason: str | None = None, data: dict[str, Any] | None = None
    ) -> None:
        said = at_home(data or {}, project)
        await self._step(lambda state: state.emit(type, reason=reason, data=said))

    # Reading

    async def get(self, ids: Sequence[str], *, listed: bool = False) -> list[Task | None]:
        return await self._look(lambda state: reading.get(state, ids, listed=listed), ids)

    async def projects(self, ids: Sequence[str]) -> list[str | None]:
        return await self._look(lambda state: reading.projects(state, ids))

    async def find(self, filter: Filter, limit: int, cursor: str | None) -> Page:
        return await self._look(lambda state: finding.find(state, filter, limit, cursor))

    async def find_ids(self, filter: Filter, limit: int, cursor: str | None) -> Found:
        return await self._look(lambda state: finding.find_ids(state, filter, limit, cursor))

    async def dead_letters(self, wanted: DeadFilter) -> list[DeadGroup]:
        return await self._look(lambda state: deadletters.groups(state, wanted))

    async def dead_letter_ids(self, wanted: DeadFilter, limit: int | None, before: str | None) -> list[str]:
        return await self._look(lambda state: deadletters.ids(state, wanted, limit, before))

    async def dag(self, dag_id: str) -> Dag | None:
        return await self._look(lambda state: reading.dag(state, dag_id))

    async def history(self, task_id: str) -> list[Attempt]:
        return await self._look(lambda state: attempts_of(state.get(task_id)), [task_id])

    async def histories(self, task_ids: Sequence[str]) -> list[list[Attempt]]:
        return await self._look(
            lambda state: [attempts_of(state.tasks[id]) if id in state.tasks else [] for id in task_ids], task_ids
        )

    async def dags(self, wanted: DagFilter, limit: int, before: str | None) -> Dags:
        return await self._look(lambda state: overseeing.dags(state, wanted, limit, before))

    async def spending(self, project: str, by: str, since: int, until: int, step: int) -> list[Sum]:
        return await self._look(lambda state: overseeing.spending(state, project, by, since, until, step))

    async def ends(self, project: str, since: int, limit: int) -> Ends:
        return await self._look(lambda state: overseeing.ends(state, project, since, limit))

    async def stats(self, project: str) -> Stats:
        return await self._look(lambda state: reading.stats(state, project))

    async def ready(self, project: str) -> list[Lane]:
        return await self._look(lambda state: reading.ready(state, project))

    async def pauses(self, project: str) -> list[Pause]:
        return await self._look(lambda state: pausing.pauses(state, project))

    async def breakers(self, project: str) -> tuple[dict[str, Override], dict[str, Record]]:
        return await self._look(lambda state: breakers.breakers(state, project))

    async def backoffs(self, project: str) -> dict[str, Backoff]:
        return await self._look(lambda state: providers.backoffs(state, project))

    async def metrics(self, project: str, by: str, since: int) -> list[Metrics]:
        return await self._look(lambda state: metrics.metrics(state, project, by, since))

    async def events(self, after: int, limit: int) -> list[Event]:
        return await self._look(lambda state: reading.events(state, after, limit))

    async def last_seq(self) -> int:
        return await self._look(lambda state: state.last_seq)

    async def check(self) -> list[str]:
        return await self._look(lambda state: reading.check(state))

    # Moving elsewhere

    async def standing(self) -> Standing:
        return await self._look(lambda state: replace(state.standing))

    async def stand(self, standing: Standing, expected: str | None = None) -> None:
        await self._anyway(lambda state: carrying.stand(state, standing, expected))

    async def census(self) -> Census:
        return await self._look(carrying.census)

    async def carry_out(self, after: int, limit: int, *, live: bool = False) -> Cargo:
        return await self._look(lambda state: loading.carry_out(state, after, limit, live=live))

    async def carry_out_named(self, ids: Sequence[str]) -> Cargo:
        return await self._look(lambda state: loading.carry_out_named(state, ids))

    async def carry_settings(self) -> CarriedSettings:
        return await self._look(loading.settings)

    async def carry_in(self, cargo: Cargo, *, forget: Sequence[str] = (), standing: Standing | None = None) -> None:
        await self._anyway(lambda state: unloading.carry_in(state, cargo, forget, standing))

    async def carry_in_settings(self, settings: CarriedSettings) -> None:
        await self._anyway(lambda state: unloading.carry_in_settings(state, settings))
