"""Adding tasks with edges, dags, keys or a spawner: one call, in which `functions/insert.sql` looks, locks and decides.

What needs no database is prepared here: places instead of ids wherever drafts name each other, specifications as they
are kept. What anybody can tell from the drafts is not read back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec
from asyncpg import UniqueViolationError

from dibs.errors import Invalid
from dibs.model.ids import dag_of
from dibs.model.instants import from_micros, to_micros
from dibs.model.status import Status
from dibs.rules import priority
from dibs.rules.large import size_of
from dibs.rules.lifecycle import first_status
from dibs.stores.postgres import reading
from dibs.stores.postgres.joined import Joined
from dibs.stores.postgres.lanes import lane_keys
from dibs.stores.postgres.rows import tasks_from
from dibs.stores.specs import spec_of
from dibs.stores.values import Inserted

if TYPE_CHECKING:
    from datetime import datetime

    from dibs.model.task import Task
    from dibs.stores.postgres.engine import Engine
    from dibs.stores.postgres.lanes import Lanes
    from dibs.stores.values import Draft, Insertion, LaneKey

# Types are said, because psycopg guesses them from the values. In the order of the function's parameters:
_TYPES = [
    *("bigint", "bigint", "boolean"),
    *("text[]", "text[]", "integer[]", "integer[]", "text[]", "text[]", "text[]", "integer[]"),
    *("text[]", "text[]", "integer[]", "integer[]", "float8[]", "float8[]", "integer[]", "integer[]", "float8[]"),
    *("text[]", "bigint[]", "text[]", "bigint[]", "text[]", "boolean[]", "text[]", "text[]", "bigint[]"),
    *("text[]", "integer[]", "integer[]", "text[]", "text", "text"),
]
_INSERT = "SELECT at, known, dag_id, suspended, whole FROM dibs.insert({})".format(  # noqa: S608
    ", ".join(f"${place}::{type}" for place, type in enumerate(_TYPES, 1))
)
_TRIES = 20
"""How often to do it again when somebody was faster."""

_encode = msgspec.json.Encoder().encode


async def insert(engine: Engine, lanes: Lanes, insertion: Insertion, connection: Any = None) -> Inserted:
    """Add tasks, their edges and possibly a dag. With `connection`, as part of the transaction under way there."""
    prepared = _Prepared(insertion)
    if connection is None:
        answer = await _run(engine, lanes, prepared)
        engine.changed()
        return _answer(prepared, answer)
    if insertion.spawn is not None:
        raise Invalid("A spawn ends with its own commit: it takes no connection.", field="connection")
    joined = Joined(engine, connection)
    await joined.begin()
    inserted = _answer(prepared, await _run_joined(joined, lanes, prepared))
    if inserted.dag_id is not None:
        # Nobody else can read it yet.
        inserted.dag = await reading.dag(cast("Engine", joined), inserted.dag_id)
    return inserted


async def _run(engine: Engine, lanes: Lanes, prepared: _Prepared) -> Any:
    tries = _TRIES
    while True:
        numbers = await lanes.numbers(lane_keys(prepared.drafts))
        try:
            answer = await engine.row(_INSERT, engine.at, lanes.version, False, *prepared.arguments(numbers))
        except UniqueViolationError:
            # Somebody adds a task of this id at this very moment; then it is there next time.
            tries -= 1
            if not tries:
                raise
            continue
        assert answer is not None
        if answer["at"] is not None:
            return answer
        await lanes.refresh()


async def _run_joined(joined: Joined, lanes: Lanes, prepared: _Prepared) -> Any:
    tries = _TRIES
    while True:
        if joined.snapshot_is_old:
            # It would compare with a version of long ago. But no lane is retired any more, so what is read now holds.
            await lanes.refresh()
        numbers = await lanes.numbers(lane_keys(prepared.drafts))
        version = None if joined.snapshot_is_old else lanes.version
        try:
            async with joined.savepoint():
                answer = await joined.row(_INSERT, joined.at, version, True, *prepared.arguments(numbers))
        except Exception as error:
            # Somebody else just added a task of this id, or changed what was looked at.
            tries -= 1
            if getattr(error, "sqlstate", None) not in ("23505", "40001") or joined.snapshot_is_old or not tries:
                raise
            continue
        if answer["at"] is not None:
            return answer
        await lanes.refresh()


def _answer(prepared: _Prepared, answer: Any) -> Inserted:
    known = answer["known"]
    if answer["whole"] is not None:
        tasks = tasks_from(answer["whole"], answer["at"])
    else:
        tasks = prepared.snapshots(answer["at"])
    existing = list(known) if known is not None else [False] * len(tasks)
    if prepared.repeated and len(tasks) == len(prepared.drafts):
        tasks = [tasks[place] for place in prepared.repeated]
        existing = [
            existing[place] or place in prepared.repeated[:turn] for turn, place in enumerate(prepared.repeated)
        ]
    return Inserted(tasks=tasks, existing=existing, dag_id=answer["dag_id"], suspended=answer["suspended"])


class _Prepared:
    """An insertion as the function takes it. Places count from 1."""

    def __init__(self, insertion: Insertion) -> None:
        self._insertion = insertion
        self.repeated: list[int] = []
        """Where an id was given twice: for each draft, which of `drafts` (from 0) stands for it."""
        self.drafts = self._once(insertion.drafts)
        self.places = {draft.task.id: place for place, draft in enumerate(self.drafts, 1)}
        self._parents: dict[str, int] = {}
        self._children: list[int] = []
        self._edges: list[int] = []
        self._kinds: list[str] = []
        self._sources: list[int] = []
        self._named: list[str | None] = []
        self._specs: list[str] = []
        self._frames: dict[tuple[Any, ...], int] = {}
        self._framed: list[Draft] = []
        self._frame_of: list[int] = []
        for place, draft in enumerate(self.drafts, 1):
            self._take(place, draft)

    def _once(self, drafts: list[Draft]) -> list[Draft]:
        first: dict[str, int] = {}
        for draft in drafts:
            first.setdefault(draft.task.id, len(first))
        if len(first) == len(drafts):
            return drafts
        self.repeated = [first[draft.task.id] for draft in drafts]
        once: dict[str, Draft] = {}
        for draft in drafts:
            once.setdefault(draft.task.id, draft)
        return list(once.values())

    def _take(self, place: int, draft: Draft) -> None:
        insertion, task = self._insertion, draft.task
        source, keyed = 0, False
        for dependency in dict.fromkeys(draft.dependencies):
            parent = self.places.get(dependency.parent, 0)
            if not 0 < parent < place:
                parent = -self._parents.setdefault(dependency.parent, len(self._parents) + 1)
            elif self.drafts[parent - 1].task.key is not None:
                keyed = True
            source = source or parent
            self._children.append(place)
            self._edges.append(parent)
            self._kinds.append(dependency.kind)
        self._sources.append(source)
        drafted = None if insertion.dag is None else insertion.dag.id
        self._named.append(task.dag_id or drafted)
        task.depends_on = () if keyed else tuple(dict.fromkeys(edge.parent for edge in draft.dependencies))
        if insertion.spawn is not None:
            task.depth = 0
        self._specs.append(spec_of(task, draft.payload))
        alike = (
            id(draft.kind) if draft.kind is not None else task.id,
            draft.weight,
            task.deadline,
            task.run_after,
            task.parent_id,
        )
        frame = self._frames.get(alike)
        if frame is None:
            self._framed.append(draft)
            frame = self._frames[alike] = len(self._framed)
        self._frame_of.append(frame)

    def arguments(self, numbers: dict[LaneKey, int]) -> list[Any]:
        """All but the first three."""
        insertion, drafts = self._insertion, self.drafts
        drafted = None if insertion.dag is None else insertion.dag.id
        names_others = insertion.spawn is None and any(name != drafted for name in self._named if name is not None)
        keys = [draft.task.key for draft in drafts]
        has_keys = any(key is not None for key in keys)
        framed = self._framed
        tasks = [draft.task for draft in framed]
        fallbacks = [draft.fallback_lane for draft in framed]
        return [
            [draft.task.id for draft in drafts],
            self._specs,
            [size_of(draft.payload) for draft in drafts],
            self._frame_of,
            keys if has_keys else None,
            [draft.body_hash for draft in drafts] if has_keys else None,
            self._named if names_others else None,
            self._sources,
            [task.project for task in tasks],
            [task.type for task in tasks],
            [numbers[draft.lane] for draft in framed],
            [None if fallback is None else numbers[fallback] for fallback in fallbacks],
            [float(task.priority) for task in tasks],
            [draft.lane.boost for draft in framed],
            [draft.weight for draft in framed],
            [task.max_attempts for task in tasks],
            [task.timeout for task in tasks],
            [task.user for task in tasks],
            [_micros(task.deadline) for task in tasks],
            [task.on_deadline for task in tasks],
            [_micros(task.run_after) for task in tasks],
            [task.parent_id for task in tasks],
            [task.approval for task in tasks],
            [_encode(task.locks).decode() if task.locks else None for task in tasks]
            if any(task.locks for task in tasks)
            else None,
            *_coalescing(tasks),
            list(self._parents),
            self._children,
            self._edges,
            self._kinds,
            None if insertion.dag is None else _encode(insertion.dag).decode(),
            None if insertion.spawn is None else _encode(insertion.spawn).decode(),
        ]

    def snapshots(self, now: int) -> list[Task]:
        """The drafts' tasks in the state they were added in: all are new, and depend only on each other."""
        instant = from_micros(now)
        dags: list[str] = []
        for draft, source, name in zip(self.drafts, self._sources, self._named, strict=True):
            dags.append(name or (dags[source - 1] if source else dag_of(draft.task.id)))
        tasks = []
        for draft, dag_id in zip(self.drafts, dags, strict=True):
            task = draft.task
            if draft.dependencies:
                task.depends_on = tuple(dict.fromkeys(edge.parent for edge in draft.dependencies))
            task.blocked_by = task.depends_on
            task.dag_id = dag_id
            task.created_at = task.updated_at = instant
            task.status = first_status(open_edges=len(task.depends_on), run_after=_micros(task.run_after), now=now)
            if task.status is Status.READY:
                task.ready_at = instant
                steps = priority.steps(_micros(task.deadline), now)
                boost = draft.lane.boost
                rank = priority.rank(task.priority, boost, now, draft.weight, steps)
                task.effective_priority = priority.effective(rank, boost, now)
            tasks.append(task)
        return tasks


def _coalescing(tasks: list[Task]) -> tuple[list[str | None] | None, list[int | None] | None]:
    """The coalesce keys of frames, and when their windows end; None: none has one."""
    if all(task.coalesce_key is None for task in tasks):
        return None, None
    return [task.coalesce_key for task in tasks], [_micros(task.gathers_until) for task in tasks]


def _micros(instant: datetime | None) -> int | None:
    return None if instant is None else to_micros(instant)
