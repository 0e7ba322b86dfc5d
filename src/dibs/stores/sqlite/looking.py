"""The half of the SQLite store that looks and changes nothing: each method of the contract, handed to the reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.stores.sqlite.lanes import Lanes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.artifact import Artifact
    from dibs.model.attempt import Attempt
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
    from dibs.rules.spending import Sum
    from dibs.stores.carrying import Cargo, CarriedSettings, Census
    from dibs.stores.deadletters import DeadFilter
    from dibs.stores.overseen import DagFilter, Dags, Ends
    from dibs.stores.sqlite.engine import Engine
    from dibs.stores.standing import Standing
    from dibs.stores.values import (
        Document,
        Entry,
        Filter,
        Found,
    )


class Looking:
    """What reads a SQLite file, in a thread and on a connection of its own.

    Operations are imported when they are first used: a shell command needs one or two of them.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._seen_lanes = Lanes()
        """The reader's own: whoever writes has others."""

    # Tasks and dags

    async def get(self, ids: Sequence[str], *, listed: bool = False) -> list[Task | None]:
        from dibs.stores.sqlite import reading

        get = reading.get_listed if listed else reading.get
        return await self._engine.read(lambda tx: get(tx, ids))

    async def projects(self, ids: Sequence[str]) -> list[str | None]:
        from dibs.stores.sqlite.homes import projects

        return await self._engine.read(lambda tx: projects(tx, ids))

    async def find(self, filter: Filter, limit: int, cursor: str | None) -> Page:
        from dibs.stores.sqlite import finding

        return await self._engine.read(lambda tx: finding.find(tx, filter, limit, cursor))

    async def find_ids(self, filter: Filter, limit: int, cursor: str | None) -> Found:
        from dibs.stores.sqlite import finding

        return await self._engine.read(lambda tx: finding.find_ids(tx, filter, limit, cursor))

    async def dag(self, dag_id: str) -> Dag | None:
        from dibs.stores.sqlite import reading

        return await self._engine.read(lambda tx: reading.dag(tx, dag_id))

    async def dags(self, wanted: DagFilter, limit: int, before: str | None) -> Dags:
        from dibs.stores.sqlite import overseeing

        return await self._engine.read(lambda tx: overseeing.dags(tx, wanted, limit, before))

    async def history(self, task_id: str) -> list[Attempt]:
        from dibs.stores.sqlite import reading

        return await self._engine.read(lambda tx: reading.history(tx, task_id))

    async def histories(self, task_ids: Sequence[str]) -> list[list[Attempt]]:
        from dibs.stores.sqlite import overseeing

        return await self._engine.read(lambda tx: overseeing.histories(tx, task_ids))

    async def dead_letters(self, wanted: DeadFilter) -> list[DeadGroup]:
        from dibs.stores.sqlite import deadletters

        return await self._engine.read(lambda tx: deadletters.groups(tx, wanted))

    async def dead_letter_ids(self, wanted: DeadFilter, limit: int | None, before: str | None) -> list[str]:
        from dibs.stores.sqlite import deadletters

        return await self._engine.read(lambda tx: deadletters.ids(tx, wanted, limit, before))

    async def handed_in(self, limit: int) -> list[str]:
        from dibs.stores.sqlite import validating

        return await self._engine.read(lambda tx: validating.handed_in(tx, limit))

    # What they leave behind

    async def read_journal(self, task_id: str) -> list[Entry]:
        from dibs.stores.sqlite import journal

        return await self._engine.read(lambda tx: journal.read_journal(tx, task_id))

    async def artifacts(self, dag_id: str, names: Sequence[str] = ()) -> list[Artifact]:
        from dibs.stores.sqlite import artifacts

        return await self._engine.read(lambda tx: artifacts.in_dag(tx, dag_id, names))

    async def kept_digests(self, digests: Sequence[str], project: str | None = None) -> set[str]:
        from dibs.stores.sqlite import artifacts

        return await self._engine.read(lambda tx: artifacts.kept_digests(tx, digests, project))

    async def payload_digests(self) -> set[str]:
        from dibs.stores.sqlite import artifacts

        return await self._engine.read(artifacts.payload_digests)

    # People and agents

    async def inbox(self, project: str, assignee: str | None, limit: int) -> list[Question]:
        from dibs.stores.sqlite import asking

        return await self._engine.read(lambda tx: asking.inbox(tx, project, assignee, limit))

    async def questions(self, *, id: str | None = None, task_id: str | None = None) -> list[Question]:
        from dibs.stores.sqlite import asking

        return await self._engine.read(lambda tx: asking.find(tx, id, task_id))

    async def agents(self, project: str) -> list[Agent]:
        from dibs.stores.sqlite import registry

        return await self._engine.read(lambda tx: registry.agents(tx, project))

    # From above

    async def stats(self, project: str) -> Stats:
        from dibs.stores.sqlite import stats

        return await self._engine.read(lambda tx: stats.stats(tx, self._seen_lanes, project))

    async def ready(self, project: str) -> list[Lane]:
        from dibs.stores.sqlite import stats

        return await self._engine.read(lambda tx: stats.ready(tx, self._seen_lanes, project))

    async def metrics(self, project: str, by: str, since: int) -> list[Metrics]:
        from dibs.stores.sqlite import metrics

        return await self._engine.read(lambda tx: metrics.metrics(tx, project, by, since))

    async def spending(self, project: str, by: str, since: int, until: int, step: int) -> list[Sum]:
        from dibs.stores.sqlite import overseeing

        return await self._engine.read(lambda tx: overseeing.spending(tx, project, by, since, until, step))

    async def ends(self, project: str, since: int, limit: int) -> Ends:
        from dibs.stores.sqlite import overseeing

        return await self._engine.read(lambda tx: overseeing.ends(tx, project, since, limit))

    async def events(self, after: int, limit: int) -> list[Event]:
        from dibs.stores.sqlite import outbox

        return await self._engine.read(lambda tx: outbox.read_after(tx.connection, after, limit, tx.now))

    async def last_seq(self) -> int:
        from dibs.stores.sqlite import outbox

        return await self._engine.read(lambda tx: outbox.newest(tx.connection))

    # What is set, and what is closed

    async def pauses(self, project: str) -> list[Pause]:
        from dibs.stores.sqlite import pausing

        return await self._engine.read(lambda tx: pausing.pauses(tx, project))

    async def breakers(self, project: str) -> tuple[dict[str, Override], dict[str, Record]]:
        from dibs.stores.sqlite import breakers

        return await self._engine.read(lambda tx: breakers.breakers(tx, project))

    async def backoffs(self, project: str) -> dict[str, Backoff]:
        from dibs.stores.sqlite import providers

        return await self._engine.read(lambda tx: providers.backoffs(tx, project))

    async def ladders(self, project: str) -> dict[str, str]:
        from dibs.stores.sqlite import escalating

        return await self._engine.read(lambda tx: escalating.ladders(tx, project))

    async def locks(self, project: str) -> list[Lock]:
        from dibs.stores.sqlite.slots import all_locks

        return await self._engine.read(lambda tx: all_locks(tx, project))

    async def type_slots(self, project: str) -> list[TypeSlots]:
        from dibs.stores.sqlite.typeslots import type_slots

        return await self._engine.read(lambda tx: type_slots(tx, project))

    async def rates(self, project: str) -> list[TypeRate]:
        from dibs.stores.sqlite import rates

        return await self._engine.read(lambda tx: rates.rates(tx, project))

    async def budgets(self, project: str) -> list[Budget]:
        from dibs.stores.sqlite import allotting

        return await self._engine.read(lambda tx: allotting.all_budgets(tx, project))

    async def documents(
        self, project: str, kind: str, *, name: str | None = None, after: str = "", limit: int = 1000
    ) -> list[Document]:
        from dibs.stores.sqlite.documents import documents

        return await self._engine.read(lambda tx: documents(tx, project, kind, name, after, limit))

    # Moving elsewhere

    async def standing(self) -> Standing:
        from dibs.stores.sqlite import left

        return await self._engine.read(lambda tx: left.standing(tx.connection))

    async def census(self) -> Census:
        from dibs.stores.sqlite import carrying

        return await self._engine.read(carrying.census)

    async def carry_out(self, after: int, limit: int, *, live: bool = False) -> Cargo:
        from dibs.stores.sqlite import loading

        return await self._engine.read(lambda tx: loading.carry_out(tx, after, limit, live=live))

    async def carry_out_named(self, ids: Sequence[str]) -> Cargo:
        from dibs.stores.sqlite import loading

        return await self._engine.read(lambda tx: loading.carry_out_named(tx, ids))

    async def carry_settings(self) -> CarriedSettings:
        from dibs.stores.sqlite import loading

        return await self._engine.read(loading.settings)

    async def check(self) -> list[str]:
        from dibs.stores.sqlite import check

        return await self._engine.read(check.check)
