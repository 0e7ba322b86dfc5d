"""Adding many standalone tasks that are ready at once: two COPYs. While the server takes in some rows, the next tasks
are drafted and their rows laid out.

No lock is held that anybody waits for: only the shared one of floors, which a claimer who raises them gives up on.
"""

from __future__ import annotations

from asyncio import create_task, sleep, wait
from typing import TYPE_CHECKING, Any

from dibs.errors import DibsError
from dibs.rules import priority
from dibs.stores.postgres.lanes import lane_keys
from dibs.stores.specs import specs_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence

    from dibs.model.task import Task
    from dibs.stores.postgres.engine import Engine
    from dibs.stores.postgres.lanes import Lanes
    from dibs.stores.postgres.pool import Connection
    from dibs.stores.values import Draft, LaneKey, LateDrafts

PORTION = 100
"""So many tasks are drafted at a time, and have consecutive numbers: the sequence of numbers has steps of this size."""

_BEGIN = "SELECT * FROM dibs.begin_copy($1, $2)"
_END = "SELECT dibs.end_copy($1, $2, $3, $4, $5, $6)"
_SPECS = (
    "n",
    "id",
    "spec",
    "created_at",
    "timeout_s",
    "max_attempts",
    "fallback_lane",
    "project",
    "type",
    "user",
    "on_deadline",
)
_WORK = (
    "n",
    "bytes",
    "rank",
    "priority",
    "boost",
    "updated_at",
    "ready_at",
    "lane",
    "weight",
    "solo",
    "timeout_s",
    "status",
)

# All rows go as text, of which the server puts 64 KiB at a time into the table. Of binary rows it puts a thousand, and
# finds what it noted down about each by walking past the others. The rows of `waiting` are so short that there would be
# as many of them: some white space, which means nothing in front of a number, makes them longer.
_NULL = "\\N"
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_PADDING = " " * 80


async def copy(
    engine: Engine, lanes: Lanes, drafts: LateDrafts, snapshots: Callable[[list[Draft], int], list[Task]]
) -> list[Task]:
    """Add them in one transaction; the tasks as they were added."""
    while True:
        filling = _Filling(engine, lanes, drafts, snapshots)
        tasks = await engine.together(filling.run)
        if tasks is not None:
            return tasks
        if filling.missing:
            await lanes.numbers(filling.missing)
        else:
            await lanes.refresh()


class _Frame:
    """The columns that tasks of one kind have in common, in the form they are sent in: the ends of their rows."""

    __slots__ = ("lane", "rank", "spec", "work")

    def __init__(self, draft: Draft, numbers: Mapping[LaneKey, int], now: int) -> None:
        task, boost = draft.task, draft.lane.boost
        self.lane = numbers[draft.lane]
        self.rank = priority.rank(task.priority, boost, now, draft.weight, steps=0)
        fallback = None if draft.fallback_lane is None else numbers[draft.fallback_lane]
        self.spec = _columns(
            *(now, task.timeout, task.max_attempts, fallback, task.project, task.type, task.user, task.on_deadline)
        )
        solo = task.max_attempts == 1
        self.work = _PADDING + _columns(
            *(self.rank, task.priority, boost, now, now, self.lane, draft.weight, solo, task.timeout, "ready")
        )


class _Filling:
    """One attempt to fill both tables."""

    def __init__(
        self, engine: Engine, lanes: Lanes, drafts: LateDrafts, snapshots: Callable[[list[Draft], int], list[Task]]
    ) -> None:
        self._engine = engine
        self._lanes = lanes
        self._drafts = drafts
        self._snapshots = snapshots
        self._refused: Exception | None = None
        self.missing: list[LaneKey] = []
        """Lanes that have to be there first. They cannot be added meanwhile: that takes a second connection, and if all
        who have a first one waited for a second, they would wait for ever."""

    async def run(self, connection: Connection) -> list[Task] | None:
        """In a transaction of its own; None if lanes changed meanwhile, or some are missing. What drafting refuses
        undoes it all."""
        self._frames: dict[int, _Frame] = {}
        self._rows: list[str] = []
        self._tasks: list[Task] = []
        self._refused = None
        engine = self._engine
        try:
            async with connection.transaction():
                [(now, firsts)] = await self._meanwhile(
                    connection.fetch(engine.text(_BEGIN), engine.at, -(-self._drafts.total // PORTION))
                )
                # Lanes that are missing are better found out before the server is told of rows: it would log an error.
                self._frames_of(self._drafts, now)
                await self._copy(connection, "specs", _SPECS, self._specs(firsts, now))
                await self._copy(connection, "waiting", _WORK, self._work(now))
                frames = list(self._frames.values())
                [[current]] = await connection.fetch(
                    engine.text(_END),
                    self._lanes.version,
                    now,
                    [frame.lane for frame in frames],
                    [frame.rank for frame in frames],
                    len(self._drafts),
                    '"' + '","'.join(draft.task.id for draft in self._drafts) + '"',
                )
                if not current:
                    raise _Outdated
        except Exception as error:
            cause = self._cause_of(error)
            if isinstance(cause, _Outdated):
                return None
            raise cause from None
        return self._tasks

    async def _meanwhile(self, asking: Coroutine[Any, Any, list[Any]]) -> list[Any]:
        """Draft the first tasks while something is being asked."""
        answer = create_task(asking)
        await sleep(0)
        try:
            self._drafts.make(PORTION)
        finally:
            await wait([answer])
        return answer.result()

    def _cause_of(self, error: Exception) -> Exception:
        """The driver may wrap what was raised while rows were made for it."""
        return error if self._refused is None else self._refused

    async def _copy(
        self, connection: Connection, table: str, columns: Sequence[str], source: AsyncIterator[bytes]
    ) -> None:
        await connection.copy_to_table(
            table, schema_name=self._engine.schema, columns=columns, source=source, format="text"
        )

    async def _specs(self, firsts: Sequence[int], now: int) -> AsyncIterator[bytes]:
        try:
            for first, portion in zip(firsts, self._drafts.portions(PORTION), strict=True):
                frames = self._frames_of(portion, now)
                rows: list[str] = []
                # Of control characters JSON has none.
                specs = (spec.replace("\\", "\\\\") for spec in specs_of(portion))
                for number, (draft, spec, frame) in enumerate(zip(portion, specs, frames, strict=True), first):
                    rows.append(f"{number}\t{draft.task.id}\t{spec}\t{frame.spec}")
                    # Until the server has taken in the specifications there is time for the rows that come then.
                    self._rows.append(f"{number}\t{len(draft.payload)}\t{frame.work}")
                yield "".join(rows).encode()
                # Now it leaves, and while the server is busy with it the next portion is made.
                await sleep(0)
        except (DibsError, _Outdated) as error:
            self._refused = error
            raise

    async def _work(self, now: int) -> AsyncIterator[bytes]:
        yield "".join(self._rows).encode()
        await sleep(0)
        # The server has enough to do.
        self._tasks = self._snapshots(self._drafts, now)

    def _frames_of(self, portion: list[Draft], now: int) -> list[_Frame]:
        """The frame of each draft. Drafts of one kind share it; their kinds live as long as the drafts."""
        frames = self._frames
        fresh = {id(draft.kind): draft for draft in portion if id(draft.kind) not in frames}
        if fresh:
            keys = lane_keys(list(fresh.values()))
            numbers = self._lanes.known(keys)
            if numbers is None:
                self.missing = keys
                raise _Outdated
            for kind, draft in fresh.items():
                frames[kind] = _Frame(draft, numbers, now)
        return [frames[id(draft.kind)] for draft in portion]


class _Outdated(Exception):
    """The lanes are not those that are known here."""


def _columns(*values: str | float | None) -> str:
    """The last columns of a line, and its end."""
    return "\t".join(_NULL if value is None else str(value).translate(_ESCAPES) for value in values) + "\n"
