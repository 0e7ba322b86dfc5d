"""Connections, the one writer of this process, and group commit.

Everything written goes through one connection, under one mutex. In an asyncio program a thread takes whatever is
queued, runs it in one transaction with a savepoint each, commits once, and answers everybody at once; brief work is
committed in the event loop's own thread while nobody else writes and the disk is quick, which saves the hand-over. A
blocking program runs the same code in the calling thread. Reads have a connection (and a thread) of their own.

Each step of SQLite lets go of the interpreter and has to get it back, which may take milliseconds while another
thread is busy. So what is queued here should make few calls with large parameters.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock
from typing import TYPE_CHECKING, Any, TypeVar

import apsw
from msgspec import MsgspecError

from dibs.errors import Unavailable
from dibs.stores.sqlite import opening
from dibs.stores.sqlite.jobs import LARGEST, UNKNOWN, Job, Unknown, take, take_more, tell
from dibs.stores.sqlite.news import News
from dibs.stores.sqlite.outbox import Outbox
from dibs.stores.sqlite.turns import Turns

if TYPE_CHECKING:
    import asyncio
    from _queue import SimpleQueue
    from collections.abc import Callable

T = TypeVar("T")

_LONGEST_S = 0.2  # A group is cut here, so that no transaction keeps others waiting for long.
_BRIEF_S = 0.005  # A commit that takes longer is none to make in the event loop's own thread,
_SHY_S = 0.2  # and for so long none is.


class Transaction:
    """What an operation gets to work with: the connection, the instant, and where its events go."""

    __slots__ = ("connection", "now", "outbox")

    def __init__(self, connection: apsw.Connection, now: int, outbox: Outbox) -> None:
        self.connection = connection
        self.now = now
        self.outbox = outbox

    def row(self, sql: str, parameters: tuple[Any, ...] | dict[str, Any] = ()) -> Any:
        """The first row of a query, or None."""
        return self.connection.execute(sql, parameters).fetchone()

    def run(self, sql: str, parameters: tuple[Any, ...] | dict[str, Any] = ()) -> None:
        """A statement without an answer."""
        self.connection.execute(sql, parameters)


class Engine:
    """One database file as one process uses it."""

    def __init__(self, path: str, clock: Callable[[], int], blocking: bool) -> None:
        self.path = path
        self.clock = clock
        self.blocking = blocking
        self._pid = os.getpid()
        self._closed = False
        self._mutex = allocate_lock()
        self._door = allocate_lock()
        self.undone: Callable[[], None] = _nothing
        """Called when a transaction is undone: what was remembered from inside it may not be so."""
        self._news = News(path, self._check_usable)
        self._reader: apsw.Connection | None = None
        self._writes: SimpleQueue[Job[Any] | None] | None = None
        self._reads: SimpleQueue[Job[Any] | None] | None = None
        self._threads: list[Any] = []
        self._shy_until = 0.0
        self._went_ahead = False
        self._log_pages = 0
        opening.prepare_folder(path)
        try:
            self._turns = Turns(path)
            try:
                self._writer = self._open_writer()
            except BaseException:
                self._turns.close()
                raise
            self._file = opening.identity(path)
        except (apsw.Error, OSError) as error:
            raise opening.unavailable(error, path) from error

    def _open_writer(self) -> apsw.Connection:
        connection = opening.connect(self.path)
        try:
            opening.migrate(connection, self._turns, self.path)
            opening.tune(connection)
            connection.set_wal_hook(self._note_log)
        except BaseException:
            connection.close()
            raise
        return connection

    # Writing

    async def write(
        self,
        work: Callable[[Transaction], T],
        glance: Callable[[Transaction], T | Unknown] | None = None,
        *,
        brief: bool = False,
    ) -> T:
        """Run `work` in a transaction, possibly together with others, and return its answer once it is committed.

        `glance` is a cheap read that may answer without a transaction; it returns UNKNOWN if it cannot. `brief` work
        may be done right here, in the event loop's thread, while that is quicker than handing it over.
        """
        self._check_usable()
        if self.blocking:
            job = Job(work, glance)
            with self._mutex:
                self._serve([job])
            return self._answer(job)
        if self._writes is None:
            self._start()
        assert self._writes is not None
        if brief and self._may_go_ahead():
            return await self._go_ahead(work)
        return await self._hand_over(self._writes, work, glance)

    def _may_go_ahead(self) -> bool:
        """Whether nobody else writes and the disk is quick: then a transaction is begun, and true is returned.

        Only one in each turn of the event loop may: others that come in the same turn are committed together.
        """
        assert self._writes is not None
        if self._went_ahead or time.monotonic() < self._shy_until or not self._writes.empty():
            return False
        if self._log_pages >= opening.CHECKPOINT_PAGES or not self._mutex.acquire(blocking=False):
            return False
        if opening.identity(self.path) != self._file:
            self._mutex.release()
            return False
        begun = False
        try:
            if self._turns.try_take():
                begun = opening.begin_at_once(self._writer)
                if not begun:
                    self._turns.give()
        except OSError:
            # The writer's thread will meet it too, and tell whoever waits.
            pass
        finally:
            if not begun:
                self._mutex.release()
        return begun

    async def _go_ahead(self, work: Callable[[Transaction], T]) -> T:
        """Commit one job here and now."""
        import asyncio

        job = Job(work, None)
        started = time.monotonic()
        try:
            self._commit([job], begun=True)
        finally:
            self._mutex.release()
        if time.monotonic() - started > _BRIEF_S:
            self._shy_until = time.monotonic() + _SHY_S
        self._deliver([], wake=True)
        self._went_ahead = True
        try:
            await asyncio.sleep(0)
        finally:
            self._went_ahead = False
        return self._answer(job)

    def _serve(self, jobs: list[Job[Any]]) -> None:
        """Answer what needs no transaction, commit the rest, in as many transactions as the time limit asks for.

        What is handed over while others have their turn is taken along, and added to `jobs`.
        """
        left = [job for job in jobs if not self._glanced(job)]
        while left:
            left = self._commit(left, joined=jobs)
        if self._log_pages >= opening.CHECKPOINT_PAGES:
            self._checkpoint()

    def _note_log(self, connection: apsw.Connection, name: str, pages: int) -> int:
        """SQLite tells after each commit how long its log is. Who sets this does the checkpoints himself."""
        self._log_pages = pages
        return apsw.SQLITE_OK

    def _checkpoint(self) -> None:
        """Move what is in the log to its place, as far as no reader still needs it."""
        try:
            self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.Error:
            # The commits stand; the next one tries again.
            pass
        self._log_pages = 0

    def _glanced(self, job: Job[Any]) -> bool:
        if job.glance is None:
            return False
        try:
            answer = job.glance(Transaction(self._writer, self.clock(), Outbox()))
        except Exception as error:
            job.fail(self._failure(error))
            return True
        if answer is UNKNOWN:
            return False
        job.result = answer
        return True

    def _commit(
        self, jobs: list[Job[Any]], *, begun: bool = False, joined: list[Job[Any]] | None = None
    ) -> list[Job[Any]]:
        """One transaction for as many of the jobs as fit; the rest is returned. `joined` hears of those taken along."""
        connection = self._writer
        done = 0
        try:
            if not begun and opening.identity(self.path) != self._file:
                raise opening.moved(self.path)
            # Ctrl-C may come after any call: so whatever is taken or begun is inside.
            try:
                if not begun:
                    self._turns.take()
                    connection.execute("BEGIN IMMEDIATE")
                if joined is not None and self._writes is not None:
                    late = take_more(self._writes, LARGEST - len(jobs))
                    jobs = jobs + late
                    joined += late
                started = time.monotonic()
                outbox = Outbox()
                alone = len(jobs) == 1
                for job in jobs:
                    done += 1
                    if alone:
                        job.result = job.work(Transaction(connection, self.clock(), outbox))
                    else:
                        self._run_guarded(job, outbox)
                        if time.monotonic() - started > _LONGEST_S:
                            break
                outbox.write(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                self.undone()
                raise
            finally:
                self._turns.give()
        except Exception as error:
            failure = self._failure(error)
            if done == 0:
                # No transaction could be begun; the others would only wait as long for the same answer.
                done = len(jobs)
            for job in jobs[:done]:
                job.fail(failure)
        return jobs[done:]

    def _run_guarded(self, job: Job[Any], outbox: Outbox) -> None:
        """Run one of several: if it fails, only what it did is undone."""
        connection = self._writer
        mark = outbox.mark()
        connection.execute("SAVEPOINT job")
        try:
            job.result = job.work(Transaction(connection, self.clock(), outbox))
        except Exception as error:
            # After some errors (a full disk) SQLite has given up the whole transaction: nothing is left to save.
            if not connection.in_transaction:
                raise
            connection.execute("ROLLBACK TO job; RELEASE job")
            self.undone()
            outbox.back_to(mark)
            job.fail(self._failure(error))
        else:
            connection.execute("RELEASE job")

    def _failure(self, error: Exception) -> Exception:
        """What whoever waits is told: troubles of the database as Unavailable, with what to do; the rest as it is."""
        if isinstance(error, MsgspecError | UnicodeDecodeError):
            # What dibs wrote it can read; so this is no longer what it wrote.
            failure = Unavailable(
                f"The database {self.path} is damaged ({error}): restore it from a backup; `dibs doctor` tells more."
            )
        elif isinstance(error, apsw.ConstraintError) and self._stands_otherwise(error):
            from dibs.stores.sqlite.left import standing
            from dibs.stores.standing import refusal

            return refusal(standing(self._writer)) or error
        elif isinstance(error, apsw.Error | OSError):
            failure = opening.unavailable(error, self.path)
        else:
            return error
        failure.__cause__ = error
        return failure

    @staticmethod
    def _stands_otherwise(error: apsw.ConstraintError) -> bool:
        """Whether a trigger refused this, because the file is being filled or left."""
        from dibs.stores.sqlite.left import REFUSED

        return REFUSED in str(error)

    # Reading

    async def read(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` on one snapshot of the database."""
        self._check_usable()
        if self.blocking:
            job = Job(work, None)
            with self._mutex:
                self._look(job, self._writer)
            return self._answer(job)
        if self._reads is None:
            self._start()
        assert self._reads is not None
        return await self._hand_over(self._reads, work, None)

    def _look(self, job: Job[Any], connection: apsw.Connection) -> None:
        try:
            try:
                connection.execute("BEGIN")
                job.result = job.work(Transaction(connection, self.clock(), Outbox()))
                connection.execute("COMMIT")
            finally:
                # Else nobody could read here any more. Ctrl-C may come after any call, too.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        except Exception as error:
            job.fail(self._failure(error))

    # News

    def news(self) -> int:
        """A number that changes with every commit of any process."""
        return self._news.number()

    def look_every(self, pause_s: float) -> None:
        """Whoever waits for news hears of other processes' commits only so often."""
        self._news.shortest_s = pause_s

    async def wait_for_news(self, since: int, timeout_s: float) -> int:
        """Return when `news()` differs from `since`, at the latest after `timeout_s`."""
        if self.blocking:
            return self._news.block_until_news(since, timeout_s)
        return await self._news.sleep_until_news(since, timeout_s)

    # Threads

    def _start(self) -> None:
        """Start the writer and the reader, once, whoever needs them first."""
        import threading
        from queue import SimpleQueue

        with self._door:
            self._check_usable()
            if self._writes is not None:
                return
            try:
                self._reader = opening.connect(self.path)
                opening.tune(self._reader)
            except apsw.Error as error:
                raise opening.unavailable(error, self.path) from error
            writes: SimpleQueue[Job[Any] | None] = SimpleQueue()
            reads: SimpleQueue[Job[Any] | None] = SimpleQueue()
            for name, work, queue in (
                ("dibs-writer", self._write_loop, writes),
                ("dibs-reader", self._read_loop, reads),
            ):
                thread = threading.Thread(target=work, args=(queue,), name=name, daemon=True)
                thread.start()
                self._threads.append(thread)
            self._reads = reads
            self._writes = writes

    async def _hand_over(
        self,
        queue: SimpleQueue[Job[Any] | None],
        work: Callable[[Transaction], T],
        glance: Callable[[Transaction], T | Unknown] | None,
    ) -> T:
        import asyncio

        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._door:
            # After the end was put into the queue nobody would answer.
            self._check_usable()
            queue.put(Job(work, glance, loop, future))
        return await future

    def _write_loop(self, queue: SimpleQueue[Job[Any] | None]) -> None:
        while True:
            jobs, more = take(queue)
            if jobs:
                with self._mutex:
                    self._serve(jobs)
                self._deliver(jobs, wake=True)
            if not more:
                return

    def _read_loop(self, queue: SimpleQueue[Job[Any] | None]) -> None:
        assert self._reader is not None
        while True:
            jobs, more = take(queue)
            for job in jobs:
                self._look(job, self._reader)
            self._deliver(jobs, wake=False)
            if not more:
                return

    def _deliver(self, jobs: list[Job[Any]], *, wake: bool) -> None:
        """Hand the answers to the loops that wait for them: one call for each loop."""
        loops: dict[Any, list[Job[Any]]] = {}
        for job in jobs:
            loops.setdefault(job.loop, []).append(job)
        if wake:
            for loop in self._news.loops():
                loops.setdefault(loop, [])
        for loop, mine in loops.items():
            try:
                loop.call_soon_threadsafe(tell, mine, self._news.waiters(loop) if wake else ())
            except RuntimeError:
                # The loop has been closed: nobody waits any more. What was committed stays.
                self._news.forget(loop)

    # Living

    def _check_usable(self) -> None:
        if self._closed:
            raise Unavailable(f"The store {self.path} has been closed: connect again.")
        if os.getpid() != self._pid:
            raise Unavailable(
                f"The store {self.path} was opened before this process was forked: connect again in the new process."
            )

    @staticmethod
    def _answer(job: Job[T]) -> T:
        if job.failed:
            raise job.result
        answer: T = job.result
        return answer

    async def close(self) -> None:
        """Finish what was handed over, then let go of the files."""
        if self._closed or os.getpid() != self._pid:
            self._closed = True
            return
        with self._door:
            self._closed = True
            for queue in (self._writes, self._reads):
                if queue is not None:
                    queue.put(None)
        if not self._threads:
            self._let_go()
            return
        import asyncio

        # Shielded: who stops waiting for this must not leave the files open.
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, self._let_go))

    def _let_go(self) -> None:
        for thread in self._threads:
            thread.join()
        self._news.close()
        with self._mutex:
            for connection in (self._reader, self._writer):
                if connection is not None:
                    connection.close()
            self._turns.close()


def _nothing() -> None:
    """Until somebody wants to know."""
