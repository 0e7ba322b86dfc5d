"""Servers that cannot be used, and servers that go away: one clear sentence, nothing half done, nothing done twice."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

import dibs
from dibs.stores.postgres import engine as engines
from dibs.stores.postgres import once, opening
from dibs.sync import drive
from tests.servers import certificates, small
from tests.servers.postgres import Server, private
from tests.servers.wire import Cut, Wire
from tests.worker.facts import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path

    from dibs.stores.postgres.engine import Engine


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Who connects over TCP needs a password: `postgres:secret`."""
    with private(authentication="scram-sha-256") as server:
        server.execute("ALTER ROLE postgres PASSWORD 'secret'", "SELECT 1")
        yield server


@pytest.fixture
def url(server: Server) -> Iterator[str]:
    """A database of the test's own."""
    name = f"db_{os.urandom(4).hex()}"
    server.execute(f"CREATE DATABASE {name}", "SELECT 1")
    yield server.url(name, user="postgres:secret")
    server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", "SELECT 1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return small.write(tmp_path_factory.mktemp("schema"))


def _database(url: str) -> str:
    return url.rpartition("/")[2].partition("?")[0]


def _told(url: str, folder: str = opening.HERE) -> str:
    """What opening this is answered with: Unavailable, one sentence, without the password."""
    engine = small.engine(url, folder, blocking=True)
    with pytest.raises(dibs.Unavailable) as caught:
        drive(engine.open())
    message = caught.value.message
    assert re.fullmatch(r"[^\n]+\.", message)
    assert "secret" not in message
    assert caught.value.exit_code == 6
    return message


@contextmanager
def _opened(url: str, folder: str, **options: Any) -> Iterator[Engine]:
    engine = small.engine(url, folder, blocking=True, **options)
    drive(engine.open())
    try:
        yield engine
    finally:
        drive(engine.close())


def _run(url: str, folder: str, story: Callable[[Engine], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        engine = small.engine(url, folder)
        await engine.open()
        try:
            await story(engine)
        finally:
            await engine.close()

    asyncio.run(run())


# Who cannot be reached or does not let us in


def test_a_wrong_password_is_said(server: Server, url: str) -> None:
    message = _told(url.replace("secret", "wrong"))
    assert "refuses the password: correct it in the URL, or set PGPASSWORD" in message
    assert "wrong" not in message


def test_a_missing_password_is_said(url: str) -> None:
    assert "password" in _told(url.replace(":secret", ""))


def test_an_unknown_user_is_said(url: str) -> None:
    message = _told(url.replace("postgres:secret", "nobody:secret"))
    assert "refuses the password" in message or "does not let this user in" in message


def test_a_missing_database_is_said(url: str) -> None:
    message = _told(url.replace(_database(url), "nowhere"))
    assert "create it with `createdb nowhere`, or name another one in the URL" in message


def test_an_unknown_host_is_said() -> None:
    message = _told("postgresql://postgres:secret@no-such-host.invalid/x")
    assert "the host name no-such-host.invalid is unknown: correct it in the URL" in message


def test_a_port_where_nobody_listens_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "PATIENCE_S", 90.0)
    started = time.monotonic()
    for host in ("127.0.0.1", "localhost"):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            message = _told(f"postgresql://postgres:secret@{host}:{unused.getsockname()[1]}/x")
        assert "is not there: start it, or check host and port in the URL" in message
    assert "is not there" in _told("postgresql:///x?host=/nonexistent&user=postgres")
    assert time.monotonic() - started < 60


def test_a_server_that_says_nothing_is_not_waited_for_for_ever() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        started = time.monotonic()
        message = _told(f"postgresql://postgres:secret@127.0.0.1:{silent.getsockname()[1]}/x?connect_timeout=1")
    assert "did not answer within 1 s: check host and port in the URL, and firewalls" in message
    assert time.monotonic() - started < 60


def test_something_else_that_listens_is_told_from_a_server() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()

        def serve() -> None:
            while True:
                try:
                    connection, _ = other.accept()
                except OSError:
                    return
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                connection.close()

        threading.Thread(target=serve, daemon=True).start()
        message = _told(f"postgresql://postgres:secret@127.0.0.1:{other.getsockname()[1]}/x?sslmode=disable")
        other.shutdown(socket.SHUT_RDWR)
    assert "check" in message


def test_tls_where_there_is_none_is_said(url: str) -> None:
    message = _told(f"{url}?sslmode=require")
    assert "does not speak TLS: turn on ssl there, or write sslmode=disable in the URL" in message


def test_a_certificate_file_that_is_not_there_is_a_wrong_url(url: str) -> None:
    with pytest.raises(dibs.DibsError) as caught:
        drive(small.engine(f"{url}?sslmode=verify-full&sslrootcert=/nonexistent", opening.HERE, blocking=True).open())
    assert "nonexistent" in caught.value.message or "check" in caught.value.message


def test_a_server_that_takes_no_more_connections_is_said(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with private(max_connections="5", superuser_reserved_connections="0") as full:
        name = full.url()

        async def is_full() -> bool:
            try:
                probe = await asyncpg.connect(name)
            except asyncpg.TooManyConnectionsError:
                return True
            await probe.close()
            return False

        async def story(engine: Engine) -> None:
            hold = """
            DO $$ BEGIN
                WHILE (SELECT size FROM pg_stat_file('over', true)) IS NULL LOOP PERFORM pg_sleep(0.02); END LOOP;
            END $$
            """
            held = [asyncio.ensure_future(engine.fetch(hold)) for _ in range(5)]
            await eventually(is_full)
            # Not before: whoever looked may have been in the way of who holds.
            monkeypatch.setattr(engines, "PATIENCE_S", 0.5)
            message = await asyncio.to_thread(_told, name, folder)
            (full.data / "over").touch()
            assert "takes no more connections: raise its max_connections, or lower pool= in the URL" in message
            await asyncio.gather(*held)

        _run(name, folder, story)


def test_the_shell_says_it_in_one_line_and_exits_with_6(url: str) -> None:
    command = [sys.executable, "-m", "dibs", "stats", "--url", url.replace("secret", "hush")]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == 6
    assert "refuses the password" in told.stderr
    assert "hush" not in told.stderr
    assert len(told.stderr.strip().splitlines()) == 1
    command[-1] = "postgresql://localhost:x/db"
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == 2
    assert "a port is a number" in told.stderr


def test_without_the_driver_it_says_how_to_install_it() -> None:
    program = "import sys; sys.modules['asyncpg'] = None\nimport dibs; dibs.connect_sync('postgresql://localhost/x')"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (
        "Unavailable: PostgreSQL needs the driver asyncpg: install it with `pip install 'dibs[postgres]'`."
        in told.stderr
    )


# Servers and schemas that will not do


def test_a_server_that_is_too_old_is_said(url: str, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "OLDEST", 99)
    message = _told(url, folder)
    assert re.match(r"dibs needs PostgreSQL 99 or newer; the one at \S+ is \d+\.\d+: upgrade it", message)


def test_a_read_only_database_is_said_whether_the_schema_is_there_or_not(server: Server, url: str, folder: str) -> None:
    for _ in range(2):
        server.execute(f"ALTER DATABASE {_database(url)} SET default_transaction_read_only = on", "SELECT 1")
        assert "is read-only: set default_transaction_read_only to off" in _told(url, folder)
        server.execute(f"ALTER DATABASE {_database(url)} SET default_transaction_read_only = off", "SELECT 1")
        with _opened(url, folder) as engine:
            assert drive(engine.value("SELECT count(*) FROM dibs.meta")) == 2


def test_a_standby_is_said(folder: str) -> None:
    with private() as primary, private() as standby:
        with _opened(primary.url(), folder):
            pass
        standby.follow(primary)
        message = _told(standby.url(), folder)
        assert "is a standby, which cannot be written to: connect to the primary" in message
        assert "is a standby" in _told(standby.url(schema="other"), folder)
        both = primary.url().replace("@127", f"@127.0.0.1:{standby.port},127") + "?target_session_attrs=read-write"
        with _opened(both, folder) as engine:
            drive(engine.once(small.ADD, "x"))


def test_a_database_that_becomes_read_only_is_said(server: Server, url: str, folder: str) -> None:
    with _opened(url, folder) as engine:
        server.execute(
            f"ALTER DATABASE {_database(url)} SET default_transaction_read_only = on",
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dibs'",
        )
        for way in (engine.fetch, engine.once):
            with pytest.raises(dibs.Unavailable, match=r"is read-only: connect to the primary"):
                drive(way(small.ADD, "x"))


@pytest.fixture
def role(server: Server, url: str) -> Iterator[str]:
    """A user who may do nothing in particular; his URL."""
    name = f"role_{os.urandom(4).hex()}"
    server.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'secret'", "SELECT 1")
    yield url.replace("postgres:secret", f"{name}:secret")
    server.execute(f"DROP OWNED BY {name}; DROP ROLE {name}", "SELECT 1", database=_database(url))


def _name(url: str) -> str:
    return url.partition("//")[2].partition(":")[0]


def test_missing_rights_to_create_are_said_and_a_schema_of_his_own_will_do(
    server: Server, url: str, role: str, folder: str
) -> None:
    message = _told(role, folder)
    assert f"GRANT CREATE ON DATABASE {_database(url)} TO {_name(role)}" in message
    server.execute(f"CREATE SCHEMA dibs AUTHORIZATION {_name(role)}", "SELECT 1", database=_database(url))
    with _opened(role, folder) as engine:
        drive(engine.once(small.ADD, "x"))
    server.execute("DROP SCHEMA dibs CASCADE", "SELECT 1", database=_database(url))


def test_who_may_use_a_schema_that_is_up_to_date_needs_no_right_to_create(
    server: Server, url: str, role: str, folder: str
) -> None:
    with _opened(url, folder):
        pass
    assert f"denies {_name(role)} the schema dibs" in _told(role, folder)
    rights = (
        f"GRANT USAGE ON SCHEMA dibs TO {_name(role)}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA dibs TO {_name(role)}",
    )
    server.execute(*rights, "SELECT 1", database=_database(url))
    with _opened(role, folder) as engine:
        drive(engine.once(small.ADD, "x"))
        server.execute(f"REVOKE INSERT ON dibs.outbox FROM {_name(role)}", "SELECT 1", database=_database(url))
        with pytest.raises(dibs.Unavailable, match=r"denies a right that dibs needs: let the owner of the schema dibs"):
            drive(engine.fetch(small.ADD, "x"))


def test_who_may_not_bring_a_schema_up_to_date_is_told_so(
    server: Server, url: str, role: str, folder: str, tmp_path: Path
) -> None:
    with _opened(url, folder):
        pass
    rights = (f"GRANT USAGE ON SCHEMA dibs TO {_name(role)}", f"GRANT SELECT ON dibs.meta TO {_name(role)}")
    server.execute(*rights, "SELECT 1", database=_database(url))
    newer = small.write(tmp_path, "CREATE TABLE dibs.second (x integer);")
    assert "denies" in (message := _told(role, newer))
    assert "the right to bring the schema dibs up to date: connect once as its owner" in message


def test_a_schema_of_a_newer_dibs_is_left_alone(server: Server, url: str, folder: str) -> None:
    with _opened(url, folder) as engine:
        drive(engine.fetch("UPDATE dibs.meta SET value = '3' WHERE name = 'schema'"))
    message = _told(url, folder)
    assert "was written by a newer dibs (schema 3; this one knows 1): upgrade dibs." in message


def test_functions_of_a_later_release_stay_and_those_of_an_earlier_one_are_replaced(url: str, folder: str) -> None:
    functions = "SELECT value FROM dibs.meta WHERE name = 'functions'"
    change = "UPDATE dibs.meta SET value = $1 WHERE name = 'functions'"
    with _opened(url, folder) as engine:
        ours = drive(engine.value(functions))
        assert ours == opening.texts(folder).edition
        drive(engine.fetch(change, "99.0.0 later"))
    with _opened(url, folder) as engine:
        assert drive(engine.value(functions)) == "99.0.0 later"
        drive(engine.fetch(change, "0.0.1 earlier"))
    with _opened(url, folder) as engine:
        assert drive(engine.value(functions)) == ours


def test_a_schema_with_tables_of_somebody_else_is_left_alone(server: Server, url: str, folder: str) -> None:
    server.execute("CREATE SCHEMA dibs", "CREATE TABLE dibs.jobs (x integer)", "SELECT 1", database=_database(url))
    assert "holds tables that are not from dibs (jobs): name another schema in the URL" in _told(url, folder)
    with _opened(f"{url}?schema=dibs_tasks", folder) as engine:
        assert drive(engine.value(small.COUNT)) == 0


def test_a_migration_that_fails_leaves_nothing_behind(server: Server, url: str, tmp_path: Path, folder: str) -> None:
    broken = small.write(tmp_path, "CREATE TABLE dibs.second (x integer);", "SELECT 1 / 0;")
    assert "division by zero" in _told(url, broken)
    assert server.execute("SELECT to_regnamespace('dibs')", database=_database(url))[0][0] is None
    with _opened(url, folder):
        pass
    assert "division by zero" in _told(url, broken)
    assert server.execute("SELECT to_regclass('dibs.second')", database=_database(url))[0][0] is None
    (tmp_path / "migrations" / "0003_more.sql").write_text("CREATE TABLE dibs.third (x integer);")
    opening.read.cache_clear()
    with _opened(url, broken) as engine:
        assert drive(engine.value("SELECT value FROM dibs.meta WHERE name = 'schema'")) == "3"
        assert drive(engine.value("SELECT count(*) FROM dibs.third")) == 0


def test_many_processes_may_open_a_new_database_at_once(url: str, folder: str) -> None:
    program = (
        "import sys\nfrom dibs.sync import drive\nfrom tests.servers import small\n"
        "engine = small.engine(sys.argv[1], sys.argv[2], blocking=True)\ndrive(engine.open())\n"
        "drive(engine.once(small.ADD, 'x'))\ndrive(engine.close())\n"
    )
    command = [sys.executable, "-c", program, url, folder]
    crowd = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(6)]
    said = [process.communicate(timeout=60)[1] for process in crowd]
    assert [process.returncode for process in crowd] == [0] * 6, said
    with _opened(url, folder) as engine:
        assert drive(engine.value(small.COUNT)) == 6


# A server that goes away


def test_a_server_that_is_just_starting_is_waited_for(server: Server, folder: str) -> None:
    with private() as starting:
        with _opened(starting.url(), folder):
            pass
        starting.stop()
        wait = threading.Thread(target=starting.start, kwargs={"pre_auth_delay": "0"})
        wait.start()
        seen = set()
        for _ in range(1_000):  # refused while nobody listens; from the first connection on it only takes a moment
            try:
                with _opened(starting.url(), folder):
                    break
            except dibs.Unavailable as error:
                seen.add(error.message)
        wait.join()
        assert all("is not there" in message for message in seen)


@pytest.mark.parametrize("mode", ["fast", "immediate", "kill"])
def test_statements_wait_for_a_server_that_restarts(
    folder: str, mode: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # How long it takes to come back is up to the machine.
    monkeypatch.setattr(engines, "PATIENCE_S", 60.0)
    with private() as own, caplog.at_level(logging.INFO, "dibs.store"):

        async def story(engine: Engine) -> None:
            done: Counter[str] = Counter()
            over = asyncio.Event()

            async def keep_adding(name: str) -> None:
                while not over.is_set():
                    await engine.once(small.ADD, f"{name}-{done[name]}")
                    done[name] += 1

            async def keep_looking() -> None:
                while not over.is_set():
                    await engine.value(small.COUNT)

            adding = [asyncio.create_task(keep_adding(f"adder{n}")) for n in range(4)]
            looking = asyncio.create_task(keep_looking())
            await eventually(lambda: done.total() >= 20)
            if mode == "kill":
                own.kill()
            else:
                await asyncio.to_thread(own.stop, mode)
            await asyncio.to_thread(own.start)
            before = done.total()
            await eventually(lambda: done.total() >= before + 100)
            over.set()
            await asyncio.gather(*adding, looking)
            found = [row[0] for row in await engine.fetch("SELECT what FROM dibs.outbox")]
            assert len(found) == len(set(found)), "something was applied twice"
            assert len(found) == done.total(), "something was lost"

        _run(own.url(), folder, story)
        told = [record.getMessage() for record in caplog.records if record.name == "dibs.store"]
    # Once; or twice, if an answer from before was read long after another session was lost.
    assert len(told) in (2, 4), told
    for lost, back in zip(told[::2], told[1::2], strict=True):
        assert lost.startswith(f"lost PostgreSQL at 127.0.0.1:{own.port}/postgres, reconnecting: ")
        assert back == f"PostgreSQL at 127.0.0.1:{own.port}/postgres is back"


def test_a_server_that_stays_away_is_given_up_in_time(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "PATIENCE_S", 1.0)
    with private() as own, _opened(own.url(), folder) as engine:
        own.stop()
        for way in (engine.fetch, engine.once):
            started = time.monotonic()
            with pytest.raises(dibs.Unavailable) as caught:
                drive(way(small.ADD, "x"))
            assert f"PostgreSQL at 127.0.0.1:{own.port}/postgres does not answer: " in caught.value.message
            assert 0.4 < time.monotonic() - started < 40
        started = time.monotonic()
        with pytest.raises(dibs.Unavailable, match="does not answer"):
            drive(engine.news())
        drive(engine.wait_for_news(0, 0.3))
        assert time.monotonic() - started < 40
        own.start()
        monkeypatch.setattr(engines, "PATIENCE_S", 60.0)
        assert drive(engine.value(small.COUNT)) == 0


def test_a_connection_that_was_ended_over_there_is_replaced(server: Server, url: str, folder: str) -> None:
    ending = (
        f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{_database(url)}'"
        " AND backend_type = 'client backend'"
    )
    sleeping = (
        f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{_database(url)}' AND query LIKE 'SELECT 2 %'"
        " AND wait_event = 'PgSleep'"
    )

    async def story(engine: Engine) -> None:
        await asyncio.gather(*(engine.fetch("SELECT pg_sleep(0.01)") for _ in range(10)))
        ended = await asyncio.to_thread(server.execute, ending)
        assert ended[0][0] == 10
        assert await engine.value("SELECT 1") == 1
        # In the middle of a statement:
        await engine.fetch("CREATE SEQUENCE dibs.tries")
        once_long = "SELECT 2 FROM pg_sleep(CASE nextval('dibs.tries') WHEN 1 THEN 60 ELSE 0 END)"
        running = asyncio.create_task(engine.value(once_long))
        await eventually(lambda: server.execute(sleeping)[0][0])
        await asyncio.to_thread(server.execute, ending)
        assert await running == 2

    _run(url, folder, story)


# Commits whose answer is lost


@pytest.mark.parametrize("how", [Cut.BEFORE, Cut.AFTER, Cut.LATE])
def test_a_lost_commit_is_found_out_and_repeated_only_if_it_did_not_take_place(url: str, folder: str, how: Cut) -> None:
    with Wire(url) as wire, _opened(wire.url, folder) as engine:
        [[first]] = drive(engine.once(small.ADD, "first"))
        wire.cut_at(b"COMMIT", how)
        [[second]] = drive(engine.once(small.ADD, "second"))
        assert wire.cuts == 1
        rows = drive(engine.fetch("SELECT id, what FROM dibs.outbox ORDER BY id"))
        assert [tuple(row) for row in rows] == [(first, "first"), (second, "second")]
        # Taken back and tried again it has another number.
        assert (second == first + 1) == (how is not Cut.BEFORE)
        assert drive(engine.value("SELECT count(*) FROM dibs.commits")) == 1
    with _opened(url, folder) as engine:
        assert drive(engine.value("SELECT count(*) FROM dibs.commits")) == 0, "marks are taken along when leaving"


def test_a_lost_statement_inside_a_transaction_is_simply_repeated(url: str, folder: str) -> None:
    with Wire(url) as wire, _opened(wire.url, folder) as engine:
        drive(engine.once(small.ADD, "first"))
        wire.cut_at(b"second", Cut.AFTER)
        drive(engine.once(small.ADD, "second"))
        assert wire.cuts == 1
        assert drive(engine.value(small.COUNT)) == 2


def test_reading_leaves_no_mark(url: str, folder: str) -> None:
    with _opened(url, folder) as engine:
        assert drive(engine.once(small.COUNT))[0][0] == 0
        assert drive(engine.value("SELECT count(*) FROM dibs.commits")) == 0


def test_an_outcome_that_cannot_be_found_out_is_called_unknown(
    url: str, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "PATIENCE_S", 1.0)
    monkeypatch.setattr(once, "_WAIT_MS", 100)
    with Wire(url) as wire, _opened(wire.url, folder) as engine:
        drive(engine.once(small.ADD, "first"))
        wire.cut_at(b"COMMIT", Cut.NEVER)
        with pytest.raises(
            dibs.Unavailable, match="unknown whether this was done: look before doing it again"
        ) as caught:
            drive(engine.once(small.ADD, "second"))
        assert caught.value.code == "outcome_unknown"


def test_a_repeatable_statement_is_sent_again_when_its_answer_is_lost(url: str, folder: str) -> None:
    with Wire(url) as wire, _opened(wire.url, folder) as engine:
        wire.cut_at(b"marker", Cut.AFTER)
        drive(engine.fetch(small.ADD, "marker"))
        assert wire.cuts == 1
        assert drive(engine.value(small.COUNT)) == 2, "it is up to the statement to notice"


# Others in the way


def test_deadlocks_and_serialization_failures_are_repeated_and_not_shown(url: str, folder: str) -> None:
    lock = "SELECT pg_advisory_xact_lock($1), pg_sleep(0.1), pg_advisory_xact_lock($2)"
    fail = """
    DO $$ BEGIN
        INSERT INTO dibs.outbox (what) VALUES ('tried');
        IF nextval('dibs.tries') < 4 THEN RAISE EXCEPTION USING ERRCODE = '{code}'; END IF;
    END $$
    """

    async def story(engine: Engine) -> None:
        await engine.fetch("CREATE SEQUENCE dibs.tries")
        for way in (engine.fetch, engine.once):
            await asyncio.gather(way(lock, 1, 2), way(lock, 2, 1))
            for code in ("40001", "40P01", "55P03"):
                await engine.fetch("TRUNCATE dibs.outbox")
                await engine.fetch("ALTER SEQUENCE dibs.tries RESTART")
                await way(fail.format(code=code))
                assert await engine.value(small.COUNT) == 1

    _run(url, folder, story)


def test_conflicts_without_end_are_told(url: str, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "PATIENCE_S", 0.2)
    with (
        _opened(url, folder) as engine,
        pytest.raises(dibs.Unavailable, match="kept undoing this because of what others do: try again"),
    ):
        drive(engine.fetch("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$"))


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("53100", "its disk is full: free some space there and try again"),
        ("53200", "is out of memory"),
        ("57014", "raise its statement_timeout"),
        ("26000", "add pooler=transaction to the URL"),
        ("42P01", "connect again"),
        ("XX000", "this is a defect in dibs, please report it"),
    ],
)
def test_what_the_server_cannot_do_is_said_at_once(
    url: str, folder: str, code: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "PATIENCE_S", 90.0)
    with _opened(url, folder) as engine:
        for way in (engine.fetch, engine.once):
            started = time.monotonic()
            with pytest.raises(dibs.Unavailable) as caught:
                drive(way(f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{code}'; END $$"))
            assert advice in caught.value.message
            assert time.monotonic() - started < 60
            assert drive(engine.value("SELECT 1")) == 1


def test_refusals_come_in_the_words_of_every_store_and_undo_the_call(url: str, folder: str) -> None:
    refuse = "SELECT dibs.refuse($1, $2)"
    with _opened(url, folder) as engine:
        for way in (engine.fetch, engine.once):
            with pytest.raises(dibs.LeaseLost, match="Task t is not held under fence 3"):
                drive(way(refuse, "lease_lost", '["t", 3]'))
            for name, arguments in (("of_tomorrow", "[]"), ("lease_lost", "[]"), ("lease_lost", "no JSON")):
                with pytest.raises(dibs.Unavailable, match=r"for a reason unknown here .*upgrade dibs"):
                    drive(way(refuse, name, arguments))
        assert drive(engine.value(small.COUNT)) == 0


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for db.example, with its key in the file `key` beside it."""
    return certificates.certificate(tmp_path_factory.mktemp("tls"), "db.example")


@contextmanager
def _speaking_tls(certificate: Path | None) -> Iterator[int]:
    """Something that agrees to TLS as a server does, and then speaks it with this certificate, or speaks nonsense."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection, suppress(OSError):
                    connection.recv(8)
                    connection.sendall(b"S")
                    if certificate is None:
                        connection.recv(1000)
                        connection.sendall(b"nonsense" * 100)
                        continue
                    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                    context.load_cert_chain(certificate, certificate.with_name("key"))
                    with context.wrap_socket(connection, server_side=True) as secured:
                        secured.recv(1000)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_a_certificate_for_another_host_is_not_trusted(certificate: Path) -> None:
    with _speaking_tls(certificate) as port:
        options = f"sslmode=verify-full&sslrootcert={certificate}"
        message = _told(f"postgresql://postgres:secret@127.0.0.1:{port}/x?{options}")
    assert "has a certificate that is not trusted" in message
    assert "127.0.0.1" in message


def test_nonsense_instead_of_tls_is_said() -> None:
    with _speaking_tls(None) as port:
        message = _told(f"postgresql://postgres:secret@127.0.0.1:{port}/x?sslmode=require")
    assert "cannot be spoken to over TLS: check sslmode and the certificates in the URL" in message
