"""A store as one caller sees it: its own project, and of that what its rights allow. Everything else does not exist.

The rule: whoever names something of another project is answered as if nobody had ever heard of it, in the same words.
Where a task is at home is remembered (`homes`).

Denied by default: a verb that is not written down here cannot be called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from dibs.errors import Denied
from dibs.rules import access
from dibs.rules.artifacts import not_kept
from dibs.stores import refusals

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from dibs.errors import DibsError
    from dibs.model.artifact import Artifact
    from dibs.model.attempt import Attempt
    from dibs.model.claim import News, Settled
    from dibs.model.dag import Dag
    from dibs.model.deadgroup import DeadGroup
    from dibs.model.event import Event
    from dibs.model.question import Question
    from dibs.model.task import Task
    from dibs.model.views import Agent, Page
    from dibs.rules.access import Rights
    from dibs.rules.review import Ruling
    from dibs.stores.agents import Registration
    from dibs.stores.contract import Store
    from dibs.stores.deadletters import DeadFilter
    from dibs.stores.homes import Homes
    from dibs.stores.overseen import DagFilter, Dags
    from dibs.stores.values import (
        Ask,
        Asked,
        Claimed,
        ClaimRequest,
        Dependency,
        Document,
        Draft,
        Entry,
        Filter,
        Found,
        Inserted,
        Insertion,
        Renewal,
        Settlement,
    )

NOBODY = "nobody"
"""No task and no dag has this id."""
EVENTS_AT_ONCE = 500


def _in_project(name: str) -> Callable[..., Awaitable[Any]]:
    """A verb about a project: the caller's own."""

    async def call(self: Confined, project: str, *args: Any, **kwargs: Any) -> Any:
        self._check_project(project)
        return await getattr(self._within, name)(project, *args, **kwargs)

    return call


def _for_operators(name: str) -> Callable[..., Awaitable[Any]]:
    """A verb about the whole store."""

    async def call(self: Confined, *args: Any, **kwargs: Any) -> Any:
        self._check_operators()
        return await getattr(self._within, name)(*args, **kwargs)

    return call


def _for_nobody(name: str) -> Callable[..., Awaitable[Any]]:
    """A verb of duties and of moving elsewhere."""

    async def call(self: Confined, *args: Any, **kwargs: Any) -> Any:
        raise Denied(f"{name} is for the keeper of the store, not for callers.", field="role")

    return call


class Confined:
    """What a caller with these rights can reach of a store. `stores.contract` says the rest."""

    def __init__(self, store: Store, rights: Rights, homes: Homes) -> None:
        self._within = store
        self._rights = rights
        self._homes = homes

    @property
    def url(self) -> str:
        return self._within.url

    @property
    def late_drafts(self) -> bool:
        """What an agent drafts late could not be looked at before."""
        return self._within.late_drafts and self._rights.agent is None

    @property
    def schema_version(self) -> int | None:
        return self._within.schema_version

    def now(self) -> int:
        return self._within.now()

    @property
    def clock(self) -> Callable[[], int] | None:
        return self._within.clock

    async def connect(self) -> None:
        """It is connected already."""

    async def close(self) -> None:
        """Others use it, too."""

    async def news(self) -> int:
        return await self._within.news()

    async def wait_for_news(self, since: int, timeout_s: float) -> int:
        return await self._within.wait_for_news(since, timeout_s)

    # What is whose

    def _check_project(self, project: str) -> None:
        if project != self._rights.project:
            raise Denied(f"This token is for the project {self._rights.project}.", field="project")

    def _check_operators(self) -> None:
        self._homes.check_operators(self._rights.project)

    async def _is_home(self, id: str) -> bool:
        return (await self._homes.of([id]))[id] == self._rights.project

    async def _strangers(self, ids: Iterable[str]) -> set[str]:
        """Those of these ids that are not in the project."""
        return {id for id, project in (await self._homes.of(ids)).items() if project != self._rights.project}

    async def _check_task(self, task_id: str, field: str | None = None) -> None:
        if not await self._is_home(task_id):
            raise refusals.no_task(task_id, field)

    async def _check_held(self, task_id: str, fence: int) -> None:
        """The task is in the project, and whoever got this claim is the caller."""
        refused = await self._refusal(task_id, fence)
        if refused is not None:
            raise refused

    async def _refusal(self, task_id: str, fence: int) -> DibsError | None:
        if not await self._is_home(task_id):
            return refusals.no_task(task_id)
        if self._rights.agent is None:
            return None
        holder = await self._homes.holder(task_id, fence)
        # A claim that never was is not for us to answer.
        return None if holder is None or access.acts_as(self._rights, holder) else access.not_held(task_id)

    async def _sorted_out(self, held: Sequence[tuple[str, int]]) -> dict[int, DibsError]:
        """By place: those of these claims that are not the caller's."""
        if all(self._homes.is_known(self._rights, *claim) for claim in held):
            return {}
        await self._homes.of(task_id for task_id, _ in held)
        found = {place: await self._refusal(*claim) for place, claim in enumerate(held)}
        return {place: refused for place, refused in found.items() if refused is not None}

    # Adding

    async def insert(self, insertion: Insertion, connection: Any = None) -> Inserted:
        drafts = insertion.drafts
        for draft in drafts:
            self._check_project(draft.task.project)
        if insertion.spawn is None:
            if self._rights.agent is not None:
                raise access.only_below("add tasks")
        else:
            insertion = await self._spawning(insertion)
        await self._check_parents(drafts, None if insertion.dag is None else insertion.dag.id)
        inserted = await self._within.insert(insertion, connection)
        for task in inserted.tasks:
            self._homes.learn(task.id, task.project)
        return inserted

    async def _spawning(self, insertion: Insertion) -> Insertion:
        spawn = insertion.spawn
        assert spawn is not None
        await self._check_held(spawn.task_id, spawn.fence)
        tasks = [draft.task for draft in insertion.drafts]
        access.check_spawn(
            self._rights,
            (task.type for task in tasks),
            [task.max_cost for task in tasks],
            max((task.depth for task in tasks), default=0),
        )
        return replace(insertion, spawn=replace(spawn, max_children=min(spawn.max_children, self._rights.children)))

    async def _check_parents(self, drafts: Sequence[Draft], new_dag: str | None) -> None:
        """What they wait for, and the dags they join, are in the project."""
        own = {draft.task.id for draft in drafts}
        named = {edge.parent: edge.kind for draft in drafts for edge in draft.dependencies if edge.parent not in own}
        dags = {draft.task.dag_id for draft in drafts} - {"", new_dag}
        strangers = await self._strangers([*named, *dags]) if named or dags else set()
        for id in strangers:
            raise refusals.no_parent(id, named[id]) if id in named else refusals.no_dag(id)

    # Working

    async def claim(self, request: ClaimRequest) -> Claimed:
        self._check_project(request.project)
        agent = access.named(self._rights, request.agent)
        types = access.claimable(self._rights, request.types)
        if (agent, types) != (request.agent, request.types):
            request = replace(request, agent=agent, types=types)
        claimed = await self._within.claim(request)
        self._homes.learn_claims(claimed.claims)
        return claimed

    async def start(self, held: Sequence[tuple[str, int]]) -> list[DibsError | None]:
        refused = await self._sorted_out(held)
        return await _apart(held, refused, self._within.start)

    async def renew(self, renewals: Sequence[Renewal]) -> list[News | DibsError]:
        refused = await self._sorted_out([(renewal.task_id, renewal.fence) for renewal in renewals])
        return await _apart(renewals, refused, self._within.renew)

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | DibsError]:
        refused = await self._sorted_out([(settlement.task_id, settlement.fence) for settlement in settlements])
        for place, settlement in enumerate(settlements):
            strange = await self._strange_bytes(settlement.artifacts) if settlement.artifacts else None
            if strange is not None:
                refused.setdefault(place, strange)
        return await _apart(settlements, refused, self._within.settle)

    async def write_journal(self, task_id: str, fence: int, entries: Sequence[Entry]) -> list[Entry]:
        await self._check_held(task_id, fence)
        return await self._within.write_journal(task_id, fence, entries)

    async def read_journal(self, task_id: str) -> list[Entry]:
        await self._check_task(task_id)
        return await self._within.read_journal(task_id)

    # Artifacts

    async def put_artifact(self, task_id: str, fence: int, artifact: Artifact) -> Artifact:
        await self._check_held(task_id, fence)
        refused = await self._strange_bytes([artifact])
        if refused is not None:
            raise refused
        return await self._within.put_artifact(task_id, fence, artifact)

    async def artifacts(self, dag_id: str, names: Sequence[str] = ()) -> list[Artifact]:
        found = await self._within.artifacts(dag_id, names) if await self._is_home(dag_id) else []
        self._homes.learn_bytes(self._rights.project, (artifact.digest for artifact in found))
        return found

    async def _strange_bytes(self, artifacts: Sequence[Artifact]) -> DibsError | None:
        """Whoever knows a digest does not have the bytes yet: somebody of the project must have brought them."""
        own = await self._homes.bytes_in(self._rights.project, [artifact.digest for artifact in artifacts])
        return next((not_kept(artifact.name) for artifact in artifacts if artifact.digest not in own), None)

    async def kept_digests(self, digests: Sequence[str], project: str | None = None) -> set[str]:
        if project is None:
            self._check_operators()
        else:
            self._check_project(project)
        return await self._within.kept_digests(digests, project)

    payload_digests = _for_operators("payload_digests")

    # People

    async def ask(self, ask: Ask) -> Asked:
        await self._check_held(ask.task_id, ask.fence)
        return await self._within.ask(ask)

    async def answer(self, question_id: str, value: bytes, by: str | None) -> Question:
        if not await self._is_home(question_id):
            raise refusals.no_question(question_id)
        return await self._within.answer(question_id, value, by)

    inbox = _in_project("inbox")

    async def questions(self, *, id: str | None = None, task_id: str | None = None) -> list[Question]:
        named = [each for each in (id, task_id) if each is not None]
        if await self._strangers(named):
            return []
        return await self._within.questions(id=id, task_id=task_id)

    # Steering

    async def cancel(self, target: str, reason: str | None) -> list[str]:
        if not await self._is_home(target):
            raise refusals.no_task_or_dag(target)
        return await self._within.cancel(target, reason)

    async def spread(self, limit: int = 500, cause: str | None = None) -> list[str]:
        return await self._within.spread(limit, cause)

    async def revive(
        self,
        task_id: str,
        *,
        payload: bytes | None = None,
        body_hash: str | None = None,
        delay_s: float = 0.0,
        keep_steps: bool = True,
    ) -> Task:
        await self._check_task(task_id)
        return await self._within.revive(
            task_id, payload=payload, body_hash=body_hash, delay_s=delay_s, keep_steps=keep_steps
        )

    async def review(self, task_ids: Sequence[str], ruling: Ruling) -> list[Task | DibsError]:
        strangers = await self._strangers(task_ids)
        refused: dict[int, DibsError] = {
            place: refusals.no_task(task_id) for place, task_id in enumerate(task_ids) if task_id in strangers
        }
        return await _apart(task_ids, refused, lambda own: self._within.review(own, ruling))

    async def link(self, task_id: str, dependencies: Sequence[Dependency]) -> Task:
        await self._check_task(task_id)
        strangers = await self._strangers(edge.parent for edge in dependencies)
        for edge in dependencies:
            if edge.parent in strangers:
                raise refusals.no_parent(edge.parent, edge.kind)
        return await self._within.link(task_id, dependencies)

    async def reprioritise(self, task_id: str, priority: float) -> Task:
        await self._check_task(task_id)
        return await self._within.reprioritise(task_id, priority)

    async def reassign(self, task_id: str, assignee: str | None) -> Task:
        await self._check_task(task_id)
        return await self._within.reassign(task_id, assignee)

    async def retag(self, task_id: str, add: Sequence[str], remove: Sequence[str]) -> Task:
        await self._check_task(task_id)
        return await self._within.retag(task_id, add, remove)

    async def set_ladder(self, project: str, scope: str, ladder: str | None) -> bool:
        self._check_project(project)
        kind, _, name = scope.partition(":")
        if kind == "dag" and not await self._is_home(name):
            raise refusals.no_dag(name)
        return await self._within.set_ladder(project, scope, ladder)

    ladders = _in_project("ladders")
    pause = _in_project("pause")
    resume = _in_project("resume")
    set_breaker = _in_project("set_breaker")
    steer_breaker = _in_project("steer_breaker")

    # Agents

    async def register_agent(self, registration: Registration) -> Agent:
        self._check_project(registration.project)
        agent = access.named(self._rights, registration.agent)
        return await self._within.register_agent(replace(registration, agent=agent))

    async def drain_agent(self, project: str, agent: str) -> Agent:
        self._check_project(project)
        return await self._within.drain_agent(project, access.named(self._rights, agent))

    async def unregister_agent(self, project: str, agent: str, reason: str | None) -> Agent:
        self._check_project(project)
        return await self._within.unregister_agent(project, access.named(self._rights, agent), reason)

    agents = _in_project("agents")

    # Gates and budgets

    set_slots = _in_project("set_slots")
    locks = _in_project("locks")
    set_type_slots = _in_project("set_type_slots")
    type_slots = _in_project("type_slots")
    set_rate = _in_project("set_rate")
    rates = _in_project("rates")
    set_budget = _in_project("set_budget")
    raise_budget = _in_project("raise_budget")
    remove_budget = _in_project("remove_budget")
    budgets = _in_project("budgets")
    pauses = _in_project("pauses")
    breakers = _in_project("breakers")
    backoffs = _in_project("backoffs")
    ready = _in_project("ready")
    stats = _in_project("stats")
    metrics = _in_project("metrics")
    spending = _in_project("spending")
    ends = _in_project("ends")

    # Documents: those of the project, and of the whole store. Whose those are, the verbs about them know.

    async def write_document(
        self, project: str, kind: str, name: str, body: bytes | None, expected: int | None = None
    ) -> int:
        if project:
            self._check_project(project)
        return await self._within.write_document(project, kind, name, body, expected)

    async def documents(
        self, project: str, kind: str, *, name: str | None = None, after: str = "", limit: int = 1000
    ) -> list[Document]:
        if project:
            self._check_project(project)
        return await self._within.documents(project, kind, name=name, after=after, limit=limit)

    # Reading

    async def get(self, ids: Sequence[str], *, listed: bool = False) -> list[Task | None]:
        found = await self._within.get(ids, listed=listed)
        own = [task if task is not None and task.project == self._rights.project else None for task in found]
        for task in own:
            if task is not None and task.artifacts:
                self._homes.learn_bytes(task.project, (artifact.digest for artifact in task.artifacts))
        return own

    async def projects(self, ids: Sequence[str]) -> list[str | None]:
        found = await self._homes.of(ids)
        return [found[id] if found[id] == self._rights.project else None for id in ids]

    async def find(self, filter: Filter, limit: int, cursor: str | None) -> Page:
        return await self._within.find(await self._own_filter(filter), limit, cursor)

    async def find_ids(self, filter: Filter, limit: int, cursor: str | None) -> Found:
        return await self._within.find_ids(await self._own_filter(filter), limit, cursor)

    async def _own_filter(self, filter: Filter) -> Filter:
        """A dag or a task of others has no tasks, not even so many that a page of them ends with a cursor."""
        self._check_project(filter.project)
        named = {name: id for name in ("dag", "parent") if (id := getattr(filter, name)) is not None}
        strangers = await self._strangers(named.values()) if named else set()
        return replace(filter, **{name: NOBODY for name, id in named.items() if id in strangers})

    async def dead_letters(self, wanted: DeadFilter) -> list[DeadGroup]:
        self._check_project(wanted.project)
        return await self._within.dead_letters(wanted)

    async def dead_letter_ids(self, wanted: DeadFilter, limit: int | None, before: str | None) -> list[str]:
        self._check_project(wanted.project)
        if before is not None:
            await self._check_task(before, "before")
        return await self._within.dead_letter_ids(wanted, limit, before)

    async def dag(self, dag_id: str) -> Dag | None:
        if not await self._is_home(dag_id):
            return None
        dag = await self._within.dag(dag_id)
        if dag is None or all(task.project == self._rights.project for task in dag.tasks):
            return dag
        own = {task.id for task in dag.tasks if task.project == self._rights.project}
        dag.tasks = [task for task in dag.tasks if task.id in own]
        dag.edges = [edge for edge in dag.edges if edge.child in own and edge.parent in own]
        return dag

    async def dags(self, wanted: DagFilter, limit: int, before: str | None) -> Dags:
        self._check_project(wanted.project)
        return await self._within.dags(wanted, limit, before)

    async def histories(self, task_ids: Sequence[str]) -> list[list[Attempt]]:
        strangers = await self._strangers(task_ids)
        found = await self._within.histories([id for id in task_ids if id not in strangers])
        known = iter(found)
        return [[] if id in strangers else next(known) for id in task_ids]

    async def history(self, task_id: str) -> list[Attempt]:
        return await self._within.history(task_id) if await self._is_home(task_id) else []

    async def events(self, after: int, limit: int) -> list[Event]:
        """Those of the project. What lies between them is read once, not again by everybody who waits for the next."""
        silent = self._homes.silent(self._rights.project)
        start = silent.past(after)
        while batch := await self._within.events(start, max(limit, EVENTS_AT_ONCE)):
            own = await self._own(batch)
            silent.add(after, own[0].seq - 1 if own else batch[-1].seq)
            if own:
                return own[:limit]
            start = silent.past(batch[-1].seq)
        if start > after and await self._within.last_seq() < start:
            # The store lost its last writes, and counts anew from before.
            silent.forget()
        return []

    async def _own(self, events: list[Event]) -> list[Event]:
        about = [event.task_id or event.dag_id for event in events]
        homes = await self._homes.of(id for id in about if id is not None)
        return [
            event
            for event, id in zip(events, about, strict=True)
            if event.type == "gap"
            or (homes[id] if id is not None else event.data.get("project", "default")) == self._rights.project
        ]

    async def last_seq(self) -> int:
        return await self._within.last_seq()

    # The store as a whole

    standing = _for_operators("standing")
    census = _for_operators("census")
    check = _for_operators("check")
    advise = _for_operators("advise")

    async def promote(self, limit: int) -> int:
        """Whoever claims may find out that something is due."""
        return await self._within.promote(limit)

    tell = _for_nobody("tell")
    await_verdict = _for_nobody("await_verdict")
    handed_in = _for_nobody("handed_in")
    lapse = _for_nobody("lapse")
    watch_agents = _for_nobody("watch_agents")
    elect = _for_nobody("elect")
    postpone = _for_nobody("postpone")
    expired = _for_nobody("expired")
    rerank = _for_nobody("rerank")
    overdue = _for_nobody("overdue")
    prune = _for_nobody("prune")
    unpark = _for_nobody("unpark")
    stand = _for_nobody("stand")
    carry_out = _for_nobody("carry_out")
    carry_out_named = _for_nobody("carry_out_named")
    carry_settings = _for_nobody("carry_settings")
    carry_in = _for_nobody("carry_in")
    carry_in_settings = _for_nobody("carry_in_settings")


async def _apart(
    items: Sequence[Any], refused: dict[int, DibsError], verb: Callable[[list[Any]], Awaitable[list[Any]]]
) -> list[Any]:
    """Do it for those that are not refused; an answer or an error for each, in their order."""
    if not refused:
        return await verb(list(items))
    own = [item for place, item in enumerate(items) if place not in refused]
    answers = iter(await verb(own) if own else [])
    return [refused[place] if place in refused else next(answers) for place in range(len(items))]
