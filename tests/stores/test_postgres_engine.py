"""The way to the server when all is well: connections, cancellation, threads and loops, the clock, and news."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

import dibs
from dibs.stores.postgres import engine as engines
from dibs.stores.postgres import hints
from dibs.stores.postgres.pool import Pool
from dibs.sync import drive
from dibs.testing import FakeClock
from tests.servers import small
from tests.servers.postgres import execute, private, shared_url
from tests.stores.listening import settled_news
from tests.worker.facts import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from dibs.stores.postgres.engine import Engine


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return small.write(tmp_path_factory.mktemp("schema"))


@pytest.fixture
def url() -> Iterator[str]:
    """A schema of the test's own on the run's server."""
    schema = f"way_{os.urandom(5).hex()}"
    server = shared_url()
    yield f"{server}{'&' if '?' in server else '?'}schema={schema}"
    execute(server, f"DROP SCHEMA IF EXISTS {schema} CASCADE", "SELECT 1")


@asynccontextmanager
async def _opened(url: str, folder: str, **options: Any) -> AsyncIterator[Engine]:
    engine = small.engine(url, folder, **options)
    await engine.open()
    try:
        yield engine
    finally:
        await engine.close()


@contextmanager
def _blocking(url: str, folder: str, **options: Any) -> Iterator[Engine]:
    engine = small.engine(url, folder, blocking=True, **options)
    drive(engine.open())
    try:
        yield engine
    finally:
        drive(engine.close())


async def _sessions(engine: Engine, url: str) -> int:
    """How many sessions the server has for this URL's application name."""
    found: int = await engine.value(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", url.rpartition("application_name=")[2]
    )
    return found


class _Obstacle:
    """Something on the server that a statement waits for until it is cleared away."""

    def __init__(self, engine: Engine) -> None:
        self._key = int.from_bytes(os.urandom(4)) // 2
        self._schema = engine.schema
        self.wait = f"SELECT 'x' FROM pg_advisory_xact_lock({self._key}) /* {engine.schema} */"

    async def put(self) -> None:
        self._holder = await asyncpg.connect(shared_url())
        await self._holder.execute(f"SELECT pg_advisory_lock({self._key})")

    async def waited_for(self) -> None:
        """Until a statement waits for it."""
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND strpos(query, $1) > 0"
        await eventually(lambda: self._holder.fetchval(waiting, f"/* {self._schema} */"))

    async def clear(self) -> None:
        await self._holder.close()


@asynccontextmanager
async def _obstacle(engine: Engine) -> AsyncIterator[_Obstacle]:
    obstacle = _Obstacle(engine)
    await obstacle.put()
    try:
        yield obstacle
    finally:
        await obstacle.clear()


def _threads() -> int:
    return sum(thread.name == "dibs-postgres" for thread in threading.enumerate())


def _named(url: str) -> str:
    return f"{url}&application_name=test_{os.urandom(4).hex()}"


# Statements


def test_statements_speak_of_the_schema_that_the_url_names(url: str, folder: str) -> None:
    async def story() -> None:
        async with _opened(url, folder) as engine:
            await engine.once(small.ADD, "x")
            assert await engine.value(small.COUNT) == 1
            assert await engine.row("SELECT what FROM dibs.outbox WHERE id = 77") is None
            assert await engine.value("SELECT what FROM dibs.outbox WHERE id = 77") is None
            assert [tuple(row) for row in await engine.fetch("SELECT what FROM dibs.outbox")] == [("x",)]
        assert execute(shared_url(), f"SELECT count(*) FROM {engine.schema}.outbox")[0][0] == 1

    asyncio.run(story())


def test_a_wrong_statement_is_not_taken_for_a_lost_server(
    url: str, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "PATIENCE_S", 90.0)

    async def story() -> None:
        async with _opened(url, folder) as engine:
            started = time.monotonic()
            with pytest.raises(asyncpg.InterfaceError, match="expects 1 argument"):
                await engine.fetch("SELECT $1::integer")
            with pytest.raises(dibs.Unavailable, match="this is a defect in dibs"):
                await engine.fetch("SELECT $1::integer", "one")
            with pytest.raises(asyncpg.UniqueViolationError):
                await engine.once("INSERT INTO dibs.meta VALUES ('schema', 'x')")
            assert time.monotonic() - started < 60, "it was tried again and again"
            assert await engine.value("SELECT 1") == 1

    asyncio.run(story())


# Connections


def test_there_are_never_more_connections_than_the_url_allows_and_no_more_than_needed(url: str, folder: str) -> None:
    url = _named(f"{url}&pool=3")

    async def story() -> None:
        async with _opened(url, folder) as engine:
            for _ in range(20):
                await engine.value("SELECT 1")
            assert await _sessions(engine, url) == 1
            pids = await asyncio.gather(
                *(engine.value("SELECT pg_backend_pid() FROM pg_sleep(0.01)") for _ in range(30))
            )
            assert len(set(pids)) == 3
            assert await _sessions(engine, url) == 3

    asyncio.run(story())


def test_who_waits_for_a_connection_waits_in_line(url: str, folder: str) -> None:
    async def story() -> None:
        async with _opened(f"{url}&pool=1", folder) as engine:
            order: list[int] = []

            async def ask(number: int) -> None:
                await engine.value("SELECT 1")
                order.append(number)

            asking = [asyncio.create_task(ask(number)) for number in range(10)]
            await asyncio.sleep(0)
            asking[3].cancel()
            await asyncio.gather(*asking, return_exceptions=True)
            assert order == [0, 1, 2, 4, 5, 6, 7, 8, 9]

    asyncio.run(story())


class _Fake:
    """Stands for a connection."""

    def __init__(self) -> None:
        self.closed = False

    def is_closed(self) -> bool:
        return self.closed

    def is_in_transaction(self) -> bool:
        return False

    def terminate(self) -> None:
        self.closed = True

    async def close(self, timeout: float) -> None:
        self.closed = True


def test_the_place_of_a_connection_that_cannot_be_opened_goes_to_the_next_in_line() -> None:
    async def story() -> None:
        answers: list[Any] = [_Fake(), OSError("away"), _Fake()]

        async def connect() -> Any:
            await asyncio.sleep(0)
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        pool = Pool(connect, 1)

        async def use(connection: _Fake) -> None:
            await asyncio.sleep(0)
            connection.closed = len(answers) == 2  # the first one breaks

        first, second, third = await asyncio.gather(*(pool.run(use) for _ in range(3)), return_exceptions=True)
        assert first is None
        assert isinstance(second, OSError)
        assert third is None
        await pool.close(1)

    asyncio.run(story())


def test_a_connection_that_opens_after_the_pool_was_closed_is_closed_too() -> None:
    async def story() -> None:
        opened, may_open = _Fake(), asyncio.Event()

        async def connect() -> Any:
            await may_open.wait()
            return opened

        async def use(connection: _Fake) -> None:
            raise AssertionError("it was used")

        pool = Pool(connect, 1)
        late = asyncio.create_task(pool.run(use))
        await asyncio.sleep(0)
        await pool.close(1)
        may_open.set()
        with pytest.raises(ConnectionError):
            await late
        assert opened.closed

    asyncio.run(story())


def test_nothing_is_left_open_however_quickly_one_leaves(url: str, folder: str) -> None:
    url = _named(url)

    async def story() -> None:
        for turn in range(30):
            async with _opened(url, folder) as engine:
                waiting = asyncio.create_task(engine.wait_for_news(0, 10))
                for _ in range(turn % 4):
                    engine.changed()
                    await engine.fetch("SELECT 1")
            await asyncio.gather(waiting, return_exceptions=True)

        async def is_alone() -> bool:
            return await _sessions(engine, url) == 1

        async with _opened(url, folder) as engine:
            await eventually(is_alone)
        gc.collect()

    asyncio.run(story())


def test_the_last_used_connection_is_used_first(url: str, folder: str) -> None:
    async def story() -> None:
        async with _opened(url, folder) as engine:
            pids = await asyncio.gather(
                *(engine.value("SELECT pg_backend_pid() FROM pg_sleep(0.01)") for _ in range(5))
            )
            assert len(set(pids)) == 5
            assert len({await engine.value("SELECT pg_backend_pid()") for _ in range(5)}) == 1

    asyncio.run(story())


def test_a_server_that_vanishes_without_a_word_will_be_noticed(url: str, folder: str) -> None:
    async def story() -> None:
        async with _opened(url, folder) as engine:
            connection = await engine.connect()
            found = connection._transport.get_extra_info("socket")
            assert found.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            if hasattr(socket, "TCP_USER_TIMEOUT"):
                assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 30_000
            await connection.close()

    asyncio.run(story())


# Cancelling


def test_a_statement_whose_caller_left_comes_to_its_end_before_its_connection_is_used_again(
    url: str, folder: str
) -> None:
    async def story() -> None:
        async with _opened(f"{url}&pool=1", folder) as engine, _obstacle(engine) as obstacle:
            await engine.fetch("SELECT 1")
            leaving = asyncio.create_task(engine.once(f"INSERT INTO dibs.outbox (what) {obstacle.wait}"))
            await obstacle.waited_for()
            leaving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leaving
            await obstacle.waited_for()  # who is cancelled leaves at once
            counting = asyncio.create_task(engine.value(small.COUNT))
            await obstacle.clear()
            assert await counting == 1

    asyncio.run(story())


def test_leaving_waits_for_what_still_runs(url: str, folder: str) -> None:
    async def story() -> None:
        async with _opened(url, folder) as engine, _obstacle(engine) as obstacle:
            leaving = asyncio.create_task(engine.fetch(f"INSERT INTO dibs.outbox (what) {obstacle.wait}"))
            await obstacle.waited_for()
            leaving.cancel()
            closing = asyncio.create_task(engine.close())
            await asyncio.sleep(0)
            await obstacle.clear()
            await closing
        async with _opened(url, folder) as engine:
            assert await engine.value(small.COUNT) == 1

    asyncio.run(story())


def test_whoever_is_cancelled_at_whatever_moment_harms_nobody_else(url: str, folder: str) -> None:
    url = _named(f"{url}&pool=3")

    async def story() -> None:
        draw = random.Random(7)
        async with _opened(url, folder) as engine:
            answered: list[str] = []

            async def add(name: str) -> None:
                await engine.once(small.ADD, name) if draw.random() < 0.5 else await engine.fetch(small.ADD, name)
                answered.append(name)

            async def add_and_perhaps_leave(number: int) -> None:
                task = asyncio.create_task(add(f"{number}"))
                await asyncio.sleep(draw.random() * 0.02)
                if draw.random() < 0.6:
                    task.cancel()
                await asyncio.wait({task})

            for _ in range(10):
                await asyncio.gather(*(add_and_perhaps_leave(number) for number in range(30)))

            async def are_three() -> bool:
                asking = (engine.value("SELECT pg_backend_pid() FROM pg_sleep(0.01)") for _ in range(9))
                return len(set(await asyncio.gather(*asking))) == 3

            async def are_all() -> bool:
                return await _sessions(engine, url) == 3

            # What was left behind comes to its end by itself; what was lost would not come back.
            await eventually(are_three)
            await eventually(are_all)
            assert await engine.value(small.COUNT) >= len(answered)
            unended = (
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND state LIKE '%in transaction%'"
            )
            assert await engine.value(unended, url.rpartition("=")[2]) == 0

    asyncio.run(story())


# Loops, threads, processes


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_another_event_loop_is_served_too(url: str, folder: str) -> None:
    engine = small.engine(url, folder)

    async def use() -> int:
        found: int = await engine.value("SELECT 1")
        number = await engine.news()
        engine.changed()
        assert await engine.wait_for_news(number, 5) != number
        return found

    async def story() -> None:
        await engine.open()
        assert await asyncio.to_thread(asyncio.run, use()) == 1, "while the first one runs"

    asyncio.run(story())
    # The connections of the first one could not be closed any more, which Python complains about.
    assert asyncio.run(use()) == 1, "after the first one has been closed"
    asyncio.run(engine.close())
    gc.collect()


def test_for_blocking_use_nothing_suspends_and_the_thread_ends(url: str, folder: str) -> None:
    before = _threads()
    with _blocking(url, folder) as engine:
        drive(engine.once(small.ADD, "x"))
        assert drive(engine.value(small.COUNT)) == 1
        assert drive(engine.wait_for_news(drive(engine.news()), 0.01)) >= 0
        assert _threads() == before + 1
        together = [threading.Thread(target=lambda: drive(engine.fetch(small.ADD, "y"))) for _ in range(8)]
        for thread in together:
            thread.start()
        for thread in together:
            thread.join()
        assert drive(engine.value(small.COUNT)) == 9
    assert _threads() == before
    drive(engine.close())
    with pytest.raises(dibs.Unavailable, match="has been closed: connect again"):
        drive(engine.fetch("SELECT 1"))


def test_an_opening_that_fails_leaves_no_thread(folder: str) -> None:
    before = _threads()
    with pytest.raises(dibs.Unavailable):
        drive(small.engine("postgresql://postgres@127.0.0.1:1/x", folder, blocking=True).open())
    assert _threads() == before


def test_a_blocking_call_can_be_interrupted(url: str, folder: str) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    here, over = threading.get_ident(), threading.Event()

    def interrupt_once(begun: Callable[[], Any]) -> None:
        while not over.wait(0.01):
            if begun():
                signal.pthread_kill(here, signal.SIGUSR1)
                return

    with _blocking(url, folder) as engine:
        sleeping = f"FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND strpos(query, '{engine.schema}') > 0"
        previous = signal.signal(signal.SIGUSR1, interrupt)
        try:
            number = drive(settled_news(engine))
            statement = f"SELECT pg_sleep(100) /* {engine.schema} */"
            waits: list[tuple[Any, Callable[[], Any]]] = [
                (engine.fetch(statement), lambda: execute(shared_url(), f"SELECT pid {sleeping}")),
                (engine.wait_for_news(number, 100), lambda: engine._hints._waiters),
            ]
            for wait, begun in waits:
                interrupting = threading.Thread(target=interrupt_once, args=[begun], daemon=True)
                interrupting.start()
                started = time.monotonic()
                with pytest.raises(KeyboardInterrupt):
                    drive(wait)
                assert time.monotonic() - started < 60
        finally:
            over.set()
            interrupting.join()
            signal.signal(signal.SIGUSR1, previous)
        assert drive(engine.value("SELECT 1")) == 1
        # It goes on over there, and leaving would wait for it.
        assert len(execute(shared_url(), f"SELECT pg_terminate_backend(pid) {sleeping}")) == 1


def test_a_forked_process_is_told_to_connect_again(url: str, folder: str) -> None:
    with _blocking(url, folder) as engine:

        def child(result: Any) -> None:
            try:
                drive(engine.fetch("SELECT 1"))
            except dibs.Unavailable as error:
                result.put(error.message)

        context = multiprocessing.get_context("fork")
        result = context.Queue()
        process = context.Process(target=child, args=(result,))
        process.start()
        assert "opened before this process was forked: connect again" in result.get(timeout=60)
        process.join()
        assert drive(engine.value("SELECT 1")) == 1


# The clock


def test_the_clock_is_the_servers(url: str, folder: str) -> None:
    async def story() -> None:
        async with _opened(url, folder) as engine:
            before = engine.now()
            there = await engine.value("SELECT dibs.micros()")
            after = engine.now()
            assert before - 60_000_000 < there < after + 60_000_000
            assert engine.at is None
            # Whatever the clock of this machine says:
            engine.measured(there + 3_600_000_000, time.monotonic(), time.monotonic())
            assert abs(engine.now() - there - 3_600_000_000) < 60_000_000
            engine._measure_at = 0.0
            await engine.value("SELECT 1")
            await eventually(lambda: abs(engine.now() - there) < 60_000_000)

    asyncio.run(story())


def test_a_clock_for_tests_is_told_to_the_functions(url: str, folder: str) -> None:
    clock = FakeClock()
    with _blocking(url, folder, clock=clock) as engine:
        assert engine.at == engine.now() == clock()
        clock.advance(10)
        assert engine.at == engine.now() == clock()


# News


def test_a_hint_wakes_another_process_at_once(url: str, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "LISTENING_S", 60)

    async def story() -> None:
        async with _opened(url, folder) as one, _opened(url, folder) as other:
            number = await settled_news(other)
            for _ in range(3):
                waiting = asyncio.create_task(other.wait_for_news(number, 50))
                await asyncio.sleep(0.05)
                await one.fetch(small.ADD, "x")
                one.changed()
                number, before = await waiting, number
                assert number != before

    asyncio.run(story())


@pytest.mark.alone
def test_ones_own_commits_wake_at_once_and_ones_own_hints_do_not_wake_again(
    url: str, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hints, "LISTENING_S", 60)

    async def story() -> None:
        async with _opened(url, folder) as engine:
            number = await settled_news(engine)
            waiting = asyncio.create_task(engine.wait_for_news(number, 60))
            await asyncio.sleep(0.05)
            engine.changed()
            assert await waiting == number + 1
            assert await engine.wait_for_news(number + 1, 0.3) == number + 1

    asyncio.run(story())


@pytest.mark.parametrize("without", ["hints", "listening"])
def test_without_hints_or_without_listening_news_is_seen_by_looking(url: str, folder: str, without: str) -> None:
    async def story() -> None:
        silent = f"{url}&notify=off"
        deaf = f"{url}&pooler=transaction" if without == "listening" else url
        async with _opened(silent, folder) as one, _opened(deaf, folder) as other:
            number = await settled_news(other)
            waiting = asyncio.create_task(other.wait_for_news(number, 60))
            await asyncio.sleep(0.1)
            await one.fetch(small.ADD, "x")
            one.changed()
            assert await waiting != number

    asyncio.run(story())


def test_what_was_committed_before_one_waits_is_not_missed(url: str, folder: str) -> None:
    async def story() -> None:
        for options in ("", "&pooler=transaction"):
            async with _opened(f"{url}&notify=off", folder) as one, _opened(f"{url}{options}", folder) as other:
                number = await settled_news(other)
                await asyncio.sleep(0.6)
                await one.fetch(small.ADD, "x")
                assert await other.wait_for_news(number, 60) != number

    asyncio.run(story())


@pytest.mark.alone
def test_hints_are_few_however_many_commits_there_are(url: str, folder: str) -> None:
    async def story() -> None:
        heard: list[float] = []
        listener = await asyncpg.connect(shared_url())
        async with _opened(url, folder) as engine:
            await listener.add_listener(f"dibs:{engine.schema}", lambda *_: heard.append(time.monotonic()))
            started = time.monotonic()
            while (took := time.monotonic() - started) < 0.5 or len(heard) < 2:
                engine.changed()
                await asyncio.sleep(0)
            assert len(heard) <= took / hints.STREAM_GAP_S + 6
            await asyncio.sleep(0.1)
            heard.clear()
            engine.changed()
            await eventually(lambda: bool(heard))
        await listener.close()

    asyncio.run(story())


def test_who_leaves_right_after_a_commit_still_sends_its_hint(url: str, folder: str) -> None:
    async def story() -> None:
        heard = asyncio.Event()
        listener = await asyncpg.connect(shared_url())
        with_ = small.engine(url, folder)
        await listener.add_listener(f"dibs:{with_.schema}", lambda *_: heard.set())

        def commit_and_leave() -> None:
            with _blocking(url, folder) as engine:
                engine.changed()

        await asyncio.to_thread(commit_and_leave)
        await asyncio.wait_for(heard.wait(), 30)
        await listener.close()

    asyncio.run(story())


def test_a_listener_that_was_ended_comes_back_and_that_counts_as_news(
    url: str, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hints, "LISTENING_S", 60)
    url = _named(url)
    ending = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE application_name = $1 AND pid <> pg_backend_pid() AND (query LIKE 'LISTEN%' OR query LIKE '%newest()%')"
    )

    async def story() -> None:
        async with _opened(url, folder) as one, _opened(url, folder) as other:
            number = await settled_news(other)
            waiting = asyncio.create_task(other.wait_for_news(number, 60))
            await asyncio.sleep(0.05)
            assert await one.value(ending, url.rpartition("=")[2]) >= 1
            assert await asyncio.wait_for(waiting, 50) != number
            number = await settled_news(other)
            waiting = asyncio.create_task(other.wait_for_news(number, 60))
            await asyncio.sleep(0.05)
            one.changed()
            assert await asyncio.wait_for(waiting, 50) != number, "it listens again"

    asyncio.run(story())


def test_many_who_wait_share_one_listener_and_one_look(url: str, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "_REPLY_S", 60)
    url = _named(url)

    async def story() -> None:
        async with _opened(url, folder) as engine:
            number = await settled_news(engine)
            before = await engine.value("SELECT count(*) FROM dibs.outbox")
            waiting = [asyncio.create_task(engine.wait_for_news(number, 1.5)) for _ in range(50)]
            await asyncio.sleep(0.5)  # a look is taken once a second
            assert before == 0
            assert await _sessions(engine, url) == 2, "one for statements, one to listen"
            assert await asyncio.gather(*waiting) == [number] * 50

    asyncio.run(story())


# Behind a pooler


@contextmanager
def _pgbouncer(port: int, database: str) -> Iterator[int]:
    """A real pooler in transaction mode in front of a server, with so few connections that sessions are mixed up."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        own = found.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="dibs-bouncer-"))
    folder.chmod(0o755)
    (folder / "users").write_text('"postgres" ""\n')
    (folder / "ini").write_text(
        f"[databases]\n{database} = host=127.0.0.1 port={port} dbname={database} user=postgres\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {own}\nauth_type = trust\nauth_file = {folder}/users\n"
        "pool_mode = transaction\ndefault_pool_size = 3\nmax_client_conn = 100\nunix_socket_dir =\n"
    )
    user = ["-u", "nobody"] if os.getuid() == 0 else []
    process = subprocess.Popen(
        [program, *user, str(folder / "ini")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + 30
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", own)) == 0:
                    break
            assert time.monotonic() < end
            time.sleep(0.02)
        yield own
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(folder)


def test_everything_works_through_a_pooler_that_mixes_up_sessions(folder: str) -> None:
    async def story(url: str) -> None:
        async with _opened(url, folder) as engine, _opened(url, folder) as other:
            await asyncio.gather(*(engine.once(small.ADD, f"{n}") for n in range(20)))
            await asyncio.gather(*(way.fetch(small.ADD, f"{n}") for n in range(200) for way in (engine, other)))
            assert await engine.value("SELECT count(*) FROM dibs.outbox WHERE what <> $1", "none") == 420
            with pytest.raises(dibs.LeaseLost):
                await engine.fetch("SELECT dibs.refuse($1, $2)", "lease_lost", '["t", 3]')
            number = await settled_news(other)
            waiting = asyncio.create_task(other.wait_for_news(number, 20))
            await asyncio.sleep(0.05)
            await engine.fetch(small.ADD, "news")
            engine.changed()
            assert await waiting != number
            pids = await asyncio.gather(*(engine.value("SELECT pg_backend_pid()") for _ in range(50)))
            assert len(set(pids)) <= 3
        assert other._hints._listener is None

    with private() as server, _pgbouncer(server.port, "postgres") as port:
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        asyncio.run(story(f"{url}?pooler=transaction"))
        server.restart()
        asyncio.run(story(f"{url}?pooler=transaction&schema=again"))


def test_who_forgets_to_say_that_there_is_a_pooler_is_told(folder: str) -> None:
    async def story(url: str) -> None:
        async with _opened(url, folder) as engine:
            for _ in range(50):
                asking = (engine.value(f"SELECT {n % 7} FROM pg_sleep(0.001)") for n in range(10))
                await asyncio.gather(*asking)

    with (
        private() as server,
        _pgbouncer(server.port, "postgres") as port,
        pytest.raises(dibs.Unavailable, match="add pooler=transaction to the URL"),
    ):
        asyncio.run(story(f"postgresql://postgres@127.0.0.1:{port}/postgres"))


def test_many_tasks_are_added_all_or_none_while_they_are_drafted(postgres_url: str) -> None:
    async def story() -> None:
        async with dibs.connect(postgres_url) as queue:
            tasks = [dibs.NewTask(f"type-{i % 7}", {"i": i}, priority=i % 100) for i in range(2_000)]
            added = await queue.add_many(tasks)
            assert [task.payload["i"] for task in added] == list(range(2_000))
            claims = await queue.claim("agent", limit=1_000)
            assert [claim.task.priority for claim in claims] == sorted(claim.task.priority for claim in claims)
            tasks[1_500] = dibs.NewTask("job", {"i": object()})
            with pytest.raises(dibs.Invalid, match="task 1501 of 2000") as refused:
                await queue.add_many(tasks)
            assert refused.value.field == "payload"
            assert sum((await queue.stats()).by_status.values()) == 2_000

    asyncio.run(story())


def test_adding_many_at_once_needs_no_second_connection(postgres_url: str) -> None:
    async def story() -> None:
        async with dibs.connect(f"{postgres_url}&pool=1") as queue, asyncio.timeout(60):
            calls = [queue.add_many([dibs.NewTask(f"new-{call}")] * 500) for call in range(4)]
            assert [len(tasks) for tasks in await asyncio.gather(*calls)] == [500] * 4

    asyncio.run(story())
