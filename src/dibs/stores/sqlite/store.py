"""The SQLite store: each method of the contract, handed to the engine as one function. Those that read: `looking`."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from dibs.stores.sqlite.engine import Engine
from dibs.stores.sqlite.jobs import UNKNOWN
from dibs.stores.sqlite.lanes import Lanes
from dibs.stores.sqlite.looking import Looking
from dibs.stores.sqlite.opening import newest_version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dibs.errors import DibsError
    from dibs.model.artifact import Artifact
    from dibs.model.claim import News, Settled
    from dibs.model.question import Question
    from dibs.model.task import Task
    from dibs.model.views import Agent, Budget, Lock, TypeRate, TypeSlots
    from dibs.rules.breaker import Override
    from dibs.rules.closing import Pause
    from dibs.rules.rates import Rate
    from dibs.rules.review import Ruling
    from dibs.rules.windows import Window
    from dibs.stores.agents import Registration
    from dibs.stores.carrying import Cargo, CarriedSettings
    from dibs.stores.sqlite.claim import Claiming
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.standing import Standing
    from dibs.stores.values import (
        Ask,
        Asked,
        Claimed,
        ClaimRequest,
        Dependency,
        Entry,
        Expired,
        Inserted,
        Insertion,
        Renewal,
        Settlement,
    )


def _system_clock() -> int:
    return time.time_ns() // 1000


class SqliteStore(Looking):
    """Tasks in a SQLite file; `stores.contract` says what each method does.

    Operations are imported when they are first used: a shell command needs one or two of them.
    """

    late_drafts = False

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.url = f"sqlite:{engine.path}"
        self._lanes = Lanes()
        engine.undone = self._undone
        self._claiming: Claiming | None = None

    @classmethod
    def open(cls, path: str, *, clock: Callable[[], int] | None = None, blocking: bool = False) -> SqliteStore:
        """Open or create a database file. Raises Unavailable, with what to do."""
        return cls(Engine(os.path.abspath(path), clock or _system_clock, blocking))

    def _undone(self) -> None:
        """What a transaction read or wrote, and was undone, is read again."""
        self._lanes.forget()
        if self._claiming is not None:
            self._claiming.rules.forget()

    @property
    def schema_version(self) -> int:
        return newest_version()

    async def connect(self) -> None:
        """It is connected already."""

    # Adding

    async def insert(self, insertion: Insertion, connection: Any = None) -> Inserted:
        if connection is not None:
            from dibs.stores import refusals

            raise refusals.no_connections()
        from dibs.stores.plain import is_plain

        if is_plain(insertion):
            from dibs.stores.sqlite import bulk

            prepared = bulk.prepare(insertion)
            return await self._engine.write(
                lambda tx: bulk.insert_plain(tx, self._lanes, insertion, prepared), brief=len(insertion.drafts) == 1
            )
        from dibs.stores.sqlite import insert

        return await self._engine.write(lambda tx: insert.insert(tx, self._lanes, insertion))

    # Working

    async def claim(self, request: ClaimRequest) -> Claimed:
        from dibs.stores.sqlite import claim

        if self._claiming is None:
            self._claiming = claim.Claiming(self._lanes)
        claiming = self._claiming
        taken = await self._engine.write(
            lambda tx: claiming.claim(tx, request), glance=lambda tx: claiming.glance(tx, request)
        )
        return claim.claims_from(taken)

    async def start(self, held: Sequence[tuple[str, int]]) -> list[DibsError | None]:
        from dibs.stores.sqlite import holding

        return await self._engine.write(lambda tx: holding.start(tx, held))

    async def renew(self, renewals: Sequence[Renewal]) -> list[News | DibsError]:
        from dibs.stores.sqlite import holding

        return await self._engine.write(lambda tx: holding.renew(tx, self._lanes, renewals))

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | DibsError]:
        from dibs.stores.sqlite import settle

        return await self._engine.write(lambda tx: settle.settle(tx, self._lanes, settlements))

    async def write_journal(self, task_id: str, fence: int, entries: Sequence[Entry]) -> list[Entry]:
        from dibs.stores.sqlite import journal

        return await self._engine.write(lambda tx: journal.write_journal(tx, task_id, fence, entries))

    # Artifacts

    async def put_artifact(self, task_id: str, fence: int, artifact: Artifact) -> Artifact:
        from dibs.stores.sqlite import artifacts

        return await self._engine.write(lambda tx: artifacts.put(tx, task_id, fence, artifact))

    # People

    async def ask(self, ask: Ask) -> Asked:
        from dibs.stores.sqlite import asking

        return await self._engine.write(lambda tx: asking.ask(tx, ask))

    async def answer(self, question_id: str, value: bytes, by: str | None) -> Question:
        from dibs.stores.sqlite import asking

        return await self._engine.write(lambda tx: asking.answer(tx, self._lanes, question_id, value, by))

    async def await_verdict(self, task_id: str, fence: int, judge_id: str) -> bool:
        from dibs.stores.sqlite import validating

        return await self._engine.write(lambda tx: validating.await_verdict(tx, task_id, fence, judge_id))

    async def lapse(self, limit: int) -> int:
        from dibs.stores.sqlite import asking

        return await self._engine.write(lambda tx: asking.lapse(tx, limit), glance=asking.lapse_glance)

    # Steering

    async def cancel(self, target: str, reason: str | None) -> list[str]:
        from dibs.stores.sqlite import cascade

        return await self._engine.write(lambda tx: cascade.cancel(tx, target, reason))

    async def spread(self, limit: int = 500, cause: str | None = None) -> list[str]:
        from dibs.stores.sqlite import cascade

        return await self._engine.write(
            lambda tx: cascade.spread(tx, limit, cause),
            glance=lambda tx: UNKNOWN if cascade.anything_to_spread(tx) else [],
        )

    async def revive(
        self,
        task_id: str,
        *,
        payload: bytes | None = None,
        body_hash: str | None = None,
        delay_s: float = 0.0,
        keep_steps: bool = True,
    ) -> Task:
        from dibs.stores.sqlite import revive

        return await self._engine.write(
            lambda tx: revive.revive(tx, self._lanes, task_id, payload, body_hash, delay_s, keep_steps)
        )

    async def review(self, task_ids: Sequence[str], ruling: Ruling) -> list[Task | DibsError]:
        from dibs.stores.sqlite import deadletters

        return await self._engine.write(lambda tx: deadletters.review(tx, self._lanes, task_ids, ruling))

    async def link(self, task_id: str, dependencies: Sequence[Dependency]) -> Task:
        from dibs.stores.sqlite import links

        return await self._engine.write(lambda tx: links.link(tx, task_id, dependencies))

    async def reprioritise(self, task_id: str, priority: float) -> Task:
        from dibs.stores.sqlite import links

        return await self._engine.write(lambda tx: links.reprioritise(tx, task_id, priority))

    async def reassign(self, task_id: str, assignee: str | None) -> Task:
        from dibs.stores.sqlite import links

        return await self._engine.write(lambda tx: links.reassign(tx, self._lanes, task_id, assignee))

    async def retag(self, task_id: str, add: Sequence[str], remove: Sequence[str]) -> Task:
        from dibs.stores.sqlite import links

        return await self._engine.write(lambda tx: links.retag(tx, task_id, add, remove))

    async def pause(self, project: str, pause: Pause) -> Pause:
        from dibs.stores.sqlite import pausing

        return await self._engine.write(lambda tx: pausing.pause(tx, self._lanes, project, pause))

    async def resume(self, project: str, gate: str) -> bool:
        from dibs.stores.sqlite import pausing

        return await self._engine.write(lambda tx: pausing.resume(tx, self._lanes, project, gate))

    async def set_breaker(self, project: str, type: str, override: Override) -> None:
        from dibs.stores.sqlite import breakers, pausing

        def work(tx: Transaction) -> None:
            pausing.tend_if_due(tx, self._lanes)
            breakers.set_breaker(tx, self._lanes, project, type, override)

        await self._engine.write(work)

    async def steer_breaker(self, project: str, type: str, to: str, reason: str | None) -> None:
        from dibs.stores.sqlite import breakers, pausing

        def work(tx: Transaction) -> None:
            pausing.tend_if_due(tx, self._lanes)
            breakers.steer_breaker(tx, self._lanes, project, type, to, reason)

        await self._engine.write(work)

    async def set_ladder(self, project: str, scope: str, ladder: str | None) -> bool:
        from dibs.stores.sqlite import escalating

        return await self._engine.write(lambda tx: escalating.set_ladder(tx, project, scope, ladder))

    # Agents

    async def register_agent(self, registration: Registration) -> Agent:
        from dibs.stores.sqlite import registry

        name = (registration.project, registration.agent)
        return await self._of_agent(name, lambda tx: registry.register(tx, registration))

    async def drain_agent(self, project: str, agent: str) -> Agent:
        from dibs.stores.sqlite import registry

        return await self._of_agent((project, agent), lambda tx: registry.drain(tx, project, agent))

    async def unregister_agent(self, project: str, agent: str, reason: str | None) -> Agent:
        from dibs.stores.sqlite import registry

        return await self._of_agent((project, agent), lambda tx: registry.unregister(tx, project, agent, reason))

    async def _of_agent(self, name: tuple[str, str], work: Callable[[Transaction], Agent]) -> Agent:
        """Change what is known of an agent, and forget what its claims remember of it."""

        def change(tx: Transaction) -> Agent:
            if self._claiming is not None:
                self._claiming.forget_agent(name)
            return work(tx)

        return await self._engine.write(change)

    async def watch_agents(self) -> int:
        from dibs.stores.sqlite import registry

        return await self._engine.write(registry.watch, glance=registry.watch_glance)

    # Time

    def now(self) -> int:
        return self._engine.clock()

    @property
    def clock(self) -> Callable[[], int]:
        return self.now

    async def elect(self, intervals_s: Mapping[str, float]) -> list[str]:
        from dibs.stores.sqlite import timing

        return await self._engine.write(
            lambda tx: timing.elect(tx, intervals_s), glance=lambda tx: timing.elect_glance(tx, intervals_s)
        )

    async def postpone(self, duty: str, delay_s: float) -> None:
        from dibs.stores.sqlite import timing

        await self._engine.write(lambda tx: timing.postpone(tx, duty, delay_s))

    async def promote(self, limit: int) -> int:
        from dibs.stores.sqlite import timing

        return await self._engine.write(
            lambda tx: timing.promote(tx, self._lanes, limit), glance=lambda tx: timing.promote_glance(tx, limit)
        )

    async def expired(self, limit: int) -> list[Expired]:
        from dibs.stores.sqlite import timing

        return await self._engine.write(
            lambda tx: timing.expired(tx, limit), glance=lambda tx: timing.expired_glance(tx, limit)
        )

    async def rerank(self, limit: int) -> int:
        from dibs.stores.sqlite import timing

        return await self._engine.write(
            lambda tx: timing.rerank(tx, limit), glance=lambda tx: timing.rerank_glance(tx, limit)
        )

    async def overdue(self, limit: int) -> list[str]:
        from dibs.stores.sqlite import timing

        return await self._engine.write(
            lambda tx: timing.overdue(tx, limit), glance=lambda tx: timing.overdue_glance(tx, limit)
        )

    async def prune(self, retention_s: float, limit: int) -> int:
        from dibs.stores.sqlite import prune

        return await self._engine.write(lambda tx: prune.prune(tx, retention_s, limit))

    async def unpark(self, limit: int) -> int:
        from dibs.stores.sqlite import slots

        return await self._engine.write(lambda tx: slots.unpark(tx, limit), glance=slots.unpark_glance)

    # Locks

    async def set_slots(self, project: str, name: str, slots: int) -> Lock:
        from dibs.stores.sqlite.slots import set_slots

        return await self._engine.write(lambda tx: set_slots(tx, project, name, slots))

    # Slots of types

    async def set_type_slots(self, project: str, type: str, slots: int | None) -> TypeSlots | None:
        from dibs.stores.sqlite import typeslots

        return await self._engine.write(lambda tx: typeslots.set_type_slots(tx, self._lanes, project, type, slots))

    # Rates of types

    async def set_rate(self, project: str, type: str, rate: Rate | None) -> TypeRate | None:
        from dibs.stores.sqlite import rates

        return await self._engine.write(lambda tx: rates.set_rate(tx, self._lanes, project, type, rate))

    # Documents

    async def write_document(
        self, project: str, kind: str, name: str, body: bytes | None, expected: int | None = None
    ) -> int:
        from dibs.rules.documents import check
        from dibs.stores.sqlite.documents import write

        check(kind, name, body, expected)
        return await self._engine.write(lambda tx: write(tx, project, kind, name, body, expected))

    async def tell(
        self, project: str, type: str, *, reason: str | None = None, data: dict[str, Any] | None = None
    ) -> None:
        from dibs.rules.access import at_home

        said = at_home(data or {}, project)
        await self._engine.write(lambda tx: tx.outbox.one(type, tx.now, None, None, reason=reason, data=said))

    # Budgets

    async def set_budget(
        self, project: str, scope: str, unit: str, limit: int, default_reserve: int, window: Window | None = None
    ) -> Budget:
        from dibs.stores.sqlite import allotting

        return await self._engine.write(
            lambda tx: allotting.set_budget(tx, project, scope, unit, limit, default_reserve, window)
        )

    async def raise_budget(self, project: str, scope: str, unit: str, amount: int) -> Budget:
        from dibs.stores.sqlite import allotting

        return await self._engine.write(lambda tx: allotting.raise_budget(tx, project, scope, unit, amount))

    async def remove_budget(self, project: str, scope: str, unit: str) -> Budget:
        from dibs.stores.sqlite import allotting

        return await self._engine.write(lambda tx: allotting.remove_budget(tx, project, scope, unit))

    # Moving elsewhere

    async def stand(self, standing: Standing, expected: str | None = None) -> None:
        from dibs.stores.sqlite import carrying

        await self._engine.write(lambda tx: carrying.stand(tx, standing, expected))

    async def carry_in(self, cargo: Cargo, *, forget: Sequence[str] = (), standing: Standing | None = None) -> None:
        from dibs.stores.sqlite import unloading

        await self._engine.write(lambda tx: unloading.carry_in(tx, self._lanes, cargo, forget, standing))

    async def carry_in_settings(self, settings: CarriedSettings) -> None:
        from dibs.stores.sqlite import unloading

        await self._engine.write(lambda tx: unloading.carry_in_settings(tx, self._lanes, settings))

    # Waiting and living

    async def news(self) -> int:
        return self._engine.news()

    async def look_every(self, pause_s: float) -> None:
        """Look less often whether other processes committed: for a process that always waits for news."""
        self._engine.look_every(pause_s)

    async def wait_for_news(self, since: int, timeout_s: float) -> int:
        return await self._engine.wait_for_news(since, timeout_s)

    async def advise(self) -> list[str]:
        return []

    async def close(self) -> None:
        await self._engine.close()
