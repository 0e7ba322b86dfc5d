"""Adding many standalone tasks that are ready at once. Their specifications go by COPY: while the server takes in some,
the next tasks are drafted. From these the server itself makes what waits: each says where its specification lies, and
those that will be claimed one after the other lie side by side.

No lock is held that anybody waits for: only the shared one of floors, which a claimer who raises them gives up on.
"""

from __future__ import annotations

from asyncio import create_task, sleep, wait
from typing import TYPE_CHECKING, Any, TypeVar

from dibs.errors import DibsError
from dibs.rules import priority
from dibs.stores.postgres import arrays
from dibs.stores.postgres.lanes import lane_keys
from dibs.stores.specs import specs_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence

    from dibs.model.task import Task
    from dibs.stores.postgres.engine import Engine
    from dibs.stores.postgres.lanes import Lanes
    from dibs.stores.postgres.pool import Connection
    from dibs.stores.values import Draft, LaneKey, LateDrafts

S = TypeVar("S")
T = TypeVar("T")

PORTION = 100
"""So many tasks are drafted at a time, and have consecutive numbers: the sequence of numbers has steps of this size."""

_BEGIN = "SELECT * FROM dibs.begin_copy($1, $2)"
_END = "SELECT dibs.end_copy($1, $2, $3, $4::text::integer[], $5::text::integer[], $6, $7, $8, $9, $10, $11, $12, $13)"
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

# Rows go as text, of which the server puts 64 KiB at a time into the table. Of binary rows it puts a thousand, and
# finds what it noted down about each by walking past the others.
_NULL = "\\N"
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


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
    """What tasks of one kind have in common: the end of their rows, and what of them waits."""

    __slots__ = ("spec", "waiting")

    def __init__(self, draft: Draft, numbers: Mapping[LaneKey, int], now: int) -> None:
        task, boost = draft.task, draft.lane.boost
        fallback = None if draft.fallback_lane is None else numbers[draft.fallback_lane]
        self.spec = _columns(
            *(now, task.timeout, task.max_attempts, fallback, task.project, task.type, task.user, task.on_deadline)
        )
        rank = priority.rank(task.priority, boost, now, draft.weight, steps=0)
        solo = task.max_attempts == 1
        self.waiting = (numbers[draft.lane], rank, task.priority, boost, draft.weight, solo, task.timeout)
        """As `end_copy` takes it."""


class _Filling:
    """One attempt to add them."""

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
        self._refused = None
        engine = self._engine
        try:
            async with connection.transaction():
                asking = connection.fetch(engine.text(_BEGIN), engine.at, -(-self._drafts.total // PORTION))
                [(now, firsts)], _ = await _meanwhile(asking, lambda: self._drafts.make(PORTION))
                # Lanes that are missing are better found out before the server is told of rows: it would log an error.
                self._frames_of(self._drafts, now)
                await connection.copy_to_table(
                    "specs",
                    schema_name=engine.schema,
                    columns=_SPECS,
                    source=self._specs(firsts, now),
                    format="text",
                )
                asking = connection.fetch(engine.text(_END), self._lanes.version, now, firsts, *self._waiting())
                [[current]], tasks = await _meanwhile(asking, lambda: self._snapshots(self._drafts, now))
                if not current:
                    raise _Outdated
        except Exception as error:
            cause = self._cause_of(error)
            if isinstance(cause, _Outdated):
                return None
            raise cause from None
        return tasks

    def _cause_of(self, error: Exception) -> Exception:
        """The driver may wrap what was raised while rows were made for it."""
        return error if self._refused is None else self._refused

    async def _specs(self, firsts: Sequence[int], now: int) -> AsyncIterator[bytes]:
        try:
            for first, portion in zip(firsts, self._drafts.portions(PORTION), strict=True):
                frames = self._frames_of(portion, now)
                rows: list[str] = []
                # Of control characters JSON has none.
                specs = (spec.replace("\\", "\\\\") for spec in specs_of(portion))
                for number, (draft, spec, frame) in enumerate(zip(portion, specs, frames, strict=True), first):
                    rows.append(f"{number}\t{draft.task.id}\t{spec}\t{frame.spec}")
                yield "".join(rows).encode()
                # Now it leaves, and while the server is busy with it the next portion is made.
                await sleep(0)
        except (DibsError, _Outdated) as error:
            self._refused = error
            raise

    def _waiting(self) -> tuple[Any, ...]:
        """What the server needs to know of those that wait, beside their specifications. Frames go by lane and rank, as
        their tasks will be claimed."""
        drafts = self._drafts
        frames = sorted(self._frames.items(), key=lambda item: item[1].waiting[:2])
        places = {kind: place for place, (kind, _) in enumerate(frames, 1)}
        sizes = arrays.of_numbers([len(draft.payload) for draft in drafts])
        which = None if len(frames) == 1 else arrays.of_numbers([places[id(draft.kind)] for draft in drafts])
        columns = [list(column) for column in zip(*(frame.waiting for _, frame in frames), strict=True)]
        return sizes, which, *columns, '"' + '","'.join(draft.task.id for draft in drafts) + '"'

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


async def _meanwhile(asking: Coroutine[Any, Any, T], do: Callable[[], S]) -> tuple[T, S]:
    """Do something while something is being asked; the answer, and what that came to."""
    answer = create_task(asking)
    await sleep(0)
    try:
        done = do()
    finally:
        await wait([answer])
    return answer.result(), done


class _Outdated(Exception):
    """The lanes are not those that are known here."""


def _columns(*values: str | float | None) -> str:
    """The last columns of a line, and its end."""
    return "\t".join(_NULL if value is None else str(value).translate(_ESCAPES) for value in values) + "\n"
