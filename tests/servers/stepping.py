"""Two clients of one PostgreSQL database, stepped through every order in which their transactions can happen.

Each statement of a verb is a transaction, and takes two steps: the call, and the commit. Whoever waits for a lock of
the other cannot be stepped; that is found out by asking the server. All orders are tried, one run after the other.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import asyncpg

from dibs.errors import DibsError
from dibs.queue import Queue
from dibs.stores.postgres import PostgresStore, trouble

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dibs.stores.postgres.engine import Engine

_BLOCKED = "SELECT pg_blocking_pids($1) && $2::int[]"
_STUCK_S = 60.0
_TRIES = 10


class Session:
    """Stands in for a store's engine: every statement runs in a transaction on one connection, step by step."""

    def __init__(self, engine: Engine, connection: Any) -> None:
        self._engine = engine
        self._connection = connection
        self._go: asyncio.Event | None = None
        self.pid: int = connection.get_server_pid()
        self.at = None
        self.blocking = False
        self.schema = engine.schema

    @property
    def is_parked(self) -> bool:
        """Whether it waits for its next step."""
        return self._go is not None

    def step(self) -> None:
        """Let it go on to its next stop."""
        assert self._go is not None
        self._go.set()
        self._go = None

    async def _park(self) -> None:
        self._go = go = asyncio.Event()
        await go.wait()

    def now(self) -> int:
        return self._engine.now()

    def text(self, sql: str) -> str:
        return self._engine.text(sql)

    def hint(self) -> None:
        """Nobody waits here."""

    def changed(self, hinted: bool = False, took_s: float | None = None) -> None:
        """Nobody waits here."""

    async def fetch(self, sql: str, *args: Any) -> list[Any]:
        for _ in range(_TRIES):
            await self._park()
            await self._connection.execute("BEGIN")
            try:
                rows: list[Any] = await self._connection.fetch(self.text(sql), *args)
            except Exception as error:
                await self._connection.execute("ROLLBACK")
                if trouble.is_conflict(error) and not isinstance(error, asyncpg.DeadlockDetectedError):
                    continue
                raise trouble.told(error, self._engine.address) from error
            await self._park()
            await self._connection.execute("COMMIT")
            return rows
        raise AssertionError(f"in conflict with others {_TRIES} times")

    once = fetch

    async def row(self, sql: str, *args: Any) -> Any:
        rows = await self.fetch(sql, *args)
        return rows[0] if rows else None

    async def value(self, sql: str, *args: Any) -> Any:
        rows = await self.fetch(sql, *args)
        return rows[0][0] if rows else None


class Stage:
    """A schema, and two clients that work on it in turns."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.store = PostgresStore(url)
        self.queue = Queue(self.store)

    async def __aenter__(self) -> Stage:
        await self.store.connect()
        self._watch = await self.store._engine.connect()
        self._connections = [await self.store._engine.connect() for _ in range(2)]
        return self

    async def __aexit__(self, *_: object) -> None:
        for connection in (self._watch, *self._connections):
            connection.terminate()
        await self.store.close()

    async def every_order(
        self,
        prepare: Callable[[Queue], Awaitable[Any]],
        verbs: Callable[[Any], tuple[Callable[[Queue], Awaitable[Any]], Callable[[Queue], Awaitable[Any]]]],
        check: Callable[[Queue, Any, list[Any]], Awaitable[None]],
    ) -> int:
        """Prepare tasks, let two clients do their verbs, check what became of it: for every order of their steps.

        An error of ours is a verb's answer. After each run consequences have spread and the store is sound. How many
        orders there were.
        """
        order: list[int] = []
        runs = 0
        while True:
            prepared = await prepare(self.queue)
            # A duty that happened to run may have told everybody to read the lanes again: one more step, now and then.
            await self.store._lanes.refresh()
            await self.store._claiming.rules.refresh(self.store._engine, self.store._lanes.version)
            taken, answers = await self._run(verbs(prepared), order)
            runs += 1
            try:
                while await self.store.spread():
                    pass
                await check(self.queue, prepared, answers)
                assert await self.store.check() == []
                assert await self._loose_ends() == []
            except BaseException as error:
                error.add_note(f"in the order {[choice for choice, _ in taken]}")
                raise
            while taken and taken[-1][0] + 1 == taken[-1][1]:
                taken.pop()
            if not taken:
                return runs
            order = [choice for choice, _ in taken]
            order[-1] += 1

    async def _run(self, verbs: Any, order: list[int]) -> tuple[list[tuple[int, int]], list[Any]]:
        """One run: `order` says which of the clients that can be stepped is; after its end the first."""
        sessions = [Session(self.store._engine, connection) for connection in self._connections]
        tasks = [
            asyncio.create_task(_answer(verb, self._queue_on(session)))
            for verb, session in zip(verbs, sessions, strict=True)
        ]
        taken: list[tuple[int, int]] = []
        try:
            while choices := await self._who_can_go(sessions, tasks):
                choice = order[len(taken)] if len(taken) < len(order) else 0
                taken.append((choice, len(choices)))
                choices[choice].step()
            return taken, [await task for task in tasks]
        finally:
            for task in tasks:
                task.cancel()

    def _queue_on(self, session: Session) -> Queue:
        store = PostgresStore(self._url)
        engine: Any = session
        store._engine = store._lanes._engine = store._claiming._engine = engine
        # It has been around for a while: it knows the lanes there are.
        known = self.store._lanes
        store._lanes.version, store._lanes.keys, store._lanes._ids = known.version, known.keys, known._ids
        store._lanes._shut, store._lanes.changes_at = known._shut, known.changes_at
        rules = self.store._claiming.rules
        store._claiming.rules.version, store._claiming.rules._rules = rules.version, rules._rules
        return Queue(store)

    async def _who_can_go(self, sessions: list[Session], tasks: list[asyncio.Task[Any]]) -> list[Session]:
        """Those that stand at a step, once nobody moves any more."""
        async with asyncio.timeout(_STUCK_S):
            while True:
                await asyncio.sleep(0)
                moving = [
                    session
                    for session, task in zip(sessions, tasks, strict=True)
                    if not task.done() and not session.is_parked
                ]
                parked = [session for session in sessions if session.is_parked]
                if not moving or (parked and all([await self._is_blocked(session, parked) for session in moving])):
                    return parked
                await asyncio.sleep(0.001)

    async def _is_blocked(self, session: Session, parked: list[Session]) -> bool:
        """Whether it waits for one that is parked. A stranger, such as a vacuum, is in its way for a moment only: who
        waits for that is still moving, or the same order would have other choices in another run."""
        blocked = await self._watch.fetchval(_BLOCKED, session.pid, [other.pid for other in parked])
        return bool(blocked) and not session.is_parked

    async def _loose_ends(self) -> list[str]:
        """What `check` does not look at, and what lets a task's own end find who depends on it."""
        found = await self.store._engine.fetch(
            """
            SELECT 'untied ' || p.id FROM dibs.edges x JOIN dibs.work w ON w.n = x.parent JOIN dibs.specs p ON p.n = w.n
            WHERE w.ties & 1 = 0
            UNION ALL
            SELECT 'ties of ' || s.id FROM dibs.specs s
            JOIN (SELECT n, ties FROM dibs.work UNION ALL SELECT n, ties FROM dibs.ended) t ON t.n = s.n
            WHERE (t.ties & 2 > 0) <> (s.dag IS NOT NULL)
            UNION ALL
            SELECT 'unresolved ' || x.id FROM dibs.edges x JOIN dibs.ended e ON e.n = x.parent
            WHERE x.resolved_at IS NULL AND x.kind <> 'after'
            UNION ALL
            SELECT 'status of ' || d.id FROM dibs.dags d
            WHERE d.status NOT IN ('failed', 'cancelled') AND d.status <> dibs.dag_status(d.id, d.started)
            UNION ALL
            SELECT 'closing ' || d.id FROM dibs.dags d WHERE d.closing
            UNION ALL
            SELECT 'key of ' || s.id FROM dibs.keys k JOIN dibs.ended e ON e.n = k.n JOIN dibs.specs s ON s.n = k.n
            WHERE e.status <> 'completed'
            UNION ALL
            SELECT 'no key for ' || s.id FROM dibs.specs s JOIN dibs.work w ON w.n = s.n
            WHERE s.key IS NOT NULL AND NOT EXISTS (SELECT 1 FROM dibs.keys k WHERE k.n = s.n AND k.key = s.key)
            """
        )
        return [row[0] for row in found]


async def _answer(verb: Callable[[Queue], Awaitable[Any]], queue: Queue) -> Any:
    try:
        return await verb(queue)
    except DibsError as error:
        return error
