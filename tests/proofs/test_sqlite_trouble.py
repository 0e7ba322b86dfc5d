"""Trouble below and beside the SQLite store: full disks, foreign locks, stopped processes, lost and damaged files.

Whatever happens, nothing is half written, nobody waits for ever, and the error says what to do.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import apsw
import pytest

import dibs
from dibs.artifacts.overflow import beneath
from dibs.stores.following import Follower
from dibs.stores.sqlite import SqliteStore, opening, turns
from dibs.sync import drive
from dibs.testing import FakeClock
from tests.proofs.holder import holding

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "dibs.db")


@pytest.fixture
def queue(path: str) -> Iterator[dibs.SyncQueue]:
    with dibs.connect_sync(f"sqlite:{path}") as queue:
        yield queue


def _is_sound(queue: dibs.SyncQueue, tasks: int) -> bool:
    """Whether there are so many tasks, each with its events, numbered without a gap."""
    assert drive(queue.queue.store.check()) == []
    assert sum(queue.stats().by_status.values()) == tasks
    events = queue.read_events(0, 10_000)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    return sum(event.type == "task.added" for event in events) == tasks


# A full disk


def _writer(queue: Any) -> apsw.Connection:
    store: Any = beneath(queue.store if isinstance(queue, dibs.Queue) else queue.queue.store)
    if isinstance(store, Follower):
        store = store._store
    assert isinstance(store, SqliteStore)
    return store._engine._writer


def test_a_full_disk_is_said_clearly_and_loses_nothing_that_was_answered(path: str) -> None:
    async def story() -> None:
        async with dibs.connect(f"sqlite:{path}") as queue:
            await queue.add("work")
            _writer(queue).execute("PRAGMA max_page_count = 120")
            added, refused = 1, 0
            while refused < 50:
                adds = (queue.add("work", {"pad": "x" * 2_000}) for _ in range(10))
                for answer in await asyncio.gather(*adds, return_exceptions=True):
                    if isinstance(answer, dibs.Task):
                        added += 1
                        continue
                    assert isinstance(answer, dibs.Unavailable)
                    assert "disk is full: free some space" in answer.message
                    refused += 1
            assert (await queue.stats()).by_status == {"ready": added}
            _writer(queue).execute("PRAGMA max_page_count = 100000")
            [claim] = await queue.claim("agent")
            await queue.complete(claim)
        with dibs.connect_sync(f"sqlite:{path}") as again:
            assert _is_sound(again, added)

    asyncio.run(story())


def test_the_shell_says_unavailable_when_the_file_cannot_grow(path: str, queue: dibs.SyncQueue) -> None:
    size = max(os.path.getsize(path), os.path.getsize(path + "-wal"))
    queue.add("work")
    queue.close()

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    payload = '{"pad": "' + "x" * 500_000 + '"}'
    command = [sys.executable, "-m", "dibs", "add", "work", "--payload", "-", "--url", f"sqlite:{path}"]
    told = subprocess.run(
        command, input=payload, capture_output=True, text=True, preexec_fn=limit, timeout=60, check=False
    )
    assert told.returncode == 6
    assert told.stdout == ""
    assert "check the disk" in told.stderr or "disk is full" in told.stderr
    again = subprocess.run(command, input=payload, capture_output=True, text=True, timeout=60, check=False)
    assert again.returncode == 0
    with dibs.connect_sync(f"sqlite:{path}") as reopened:
        assert _is_sound(reopened, 2)


def test_a_type_whose_first_commit_failed_is_not_mixed_up_with_another(path: str) -> None:
    url = f"sqlite:{path}"

    async def story() -> None:
        async with dibs.connect(url) as queue:
            await queue.add("known")
            _writer(queue).set_commit_hook(lambda: True)  # every commit fails
            with _foreign_transaction(path):  # so that the adds are committed together
                adds = [asyncio.ensure_future(queue.add("lost", {"n": n})) for n in range(2)]
                await asyncio.sleep(0.05)
            for answer in await asyncio.gather(*adds, return_exceptions=True):
                assert isinstance(answer, dibs.Unavailable)
            _writer(queue).set_commit_hook(None)
            with dibs.connect_sync(url) as other:
                other.add("another")
            await queue.add("lost")

    asyncio.run(story())
    with dibs.connect_sync(url) as queue:
        assert [claim.task.type for claim in queue.claim("agent", types=["another"], limit=9)] == ["another"]
        assert [claim.task.type for claim in queue.claim("agent", types=["lost"], limit=9)] == ["lost"]


# Others who hold the file


@contextmanager
def _foreign_transaction(path: str) -> Iterator[None]:
    foreign = apsw.Connection(path)
    foreign.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        foreign.execute("ROLLBACK")
        foreign.close()


@pytest.mark.alone
def test_verbs_wait_for_a_foreign_transaction_and_the_event_loop_goes_on(path: str) -> None:
    async def story() -> None:
        late: list[float] = []

        async def tick() -> None:
            while True:
                due = time.monotonic() + 0.01
                await asyncio.sleep(0.01)
                late.append(time.monotonic() - due)

        async with dibs.connect(f"sqlite:{path}") as queue:
            await queue.add("work")
            ticking = asyncio.create_task(tick())
            with _foreign_transaction(path):
                waiting = [asyncio.ensure_future(verb) for verb in (queue.add("a"), queue.add("b"), queue.claim("x"))]
                done, _ = await asyncio.wait(waiting, timeout=1.5)
                while len(late) <= 100 and not done:
                    done, _ = await asyncio.wait(waiting, timeout=0.1)
                assert not done
                assert (await queue.stats()).by_status == {"ready": 1}
            await asyncio.wait_for(asyncio.gather(*waiting), 30)
            ticking.cancel()
            # Not the latest of all: a busy machine makes anybody late now and then.
            usual = sorted(late)[len(late) * 9 // 10]
            assert usual < 0.1, f"the event loop stood still for {usual:.3f} s"

    asyncio.run(story())


def test_all_who_wait_are_told_when_the_file_stays_locked(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_BUSY_MS", 1_000)

    async def story() -> None:
        async with dibs.connect(f"sqlite:{path}") as queue:
            await queue.add("work")
            with _foreign_transaction(path):
                started = time.monotonic()
                answers = await asyncio.gather(*(queue.add("work") for _ in range(40)), return_exceptions=True)
                took = time.monotonic() - started
            for answer in answers:
                assert isinstance(answer, dibs.Unavailable)
                assert "stayed locked" in answer.message
            assert took < 20.0, "they were told one after the other"
            await queue.add("work")

    asyncio.run(story())


@contextmanager
def _stopped_holder(path: str, what: str) -> Iterator[None]:
    with holding(what, path) as (holder, said):
        assert said == "held"
        holder.send_signal(signal.SIGSTOP)
        yield


def test_a_process_stopped_in_its_turn_delays_others_once(
    path: str, queue: dibs.SyncQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "LONGEST_S", 0.5)
    queue.add("work")
    with _stopped_holder(path, "turn"):
        queue.add("work")
        monkeypatch.setattr(turns, "LONGEST_S", 60.0)
        started = time.monotonic()
        for _ in range(5):
            queue.add("work")
        assert time.monotonic() - started < 30, "the turn was waited for again and again"
    queue.add("work")
    assert time.monotonic() - started < 30
    assert _is_sound(queue, 8)


def test_a_process_stopped_in_a_transaction_is_named_and_its_end_frees_the_others(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "LONGEST_S", 0.3)
    monkeypatch.setattr(opening, "_BUSY_MS", 500)
    with dibs.connect_sync(f"sqlite:{path}") as queue:
        queue.add("work")
        with _stopped_holder(path, "transaction"):
            started = time.monotonic()
            with pytest.raises(dibs.Unavailable, match="stayed locked"):
                queue.add("work")
            assert time.monotonic() - started < 20
            assert queue.stats().by_status == {"ready": 1}, "reading goes on"
        queue.add("work")
        assert _is_sound(queue, 2)


def test_a_long_reader_makes_the_log_grow_and_stops_nobody(path: str, queue: dibs.SyncQueue) -> None:
    def log_size() -> int:
        return os.path.getsize(path + "-wal") >> 20

    def add() -> None:
        queue.add_many([dibs.NewTask("work", {"pad": "x" * 3_000}) for _ in range(200)])

    add()
    reader = apsw.Connection(path)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM tasks").get == 200
    while log_size() < 80:
        add()
    assert reader.execute("SELECT count(*) FROM tasks").get == 200
    reader.execute("COMMIT")
    reader.close()
    for _ in range(4):
        add()
    assert log_size() <= 64
    queue.close()
    assert not os.path.exists(path + "-wal")


# Opening


class _Overtaken:
    """A connection before whose n-th statement another process makes the file a database of dibs."""

    def __init__(self, path: str, at: int) -> None:
        self._connection = opening.connect(path)
        self._path = path
        self._left = at

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, *args: Any) -> Any:
        self._left -= 1
        if self._left == 0 and not self._connection.in_transaction:
            drive(SqliteStore.open(self._path, blocking=True).close())
        return self._connection.execute(*args)


class _NoTurns:
    """Turns are manners; opening must be right without them."""

    def take(self) -> None: ...

    def give(self) -> None: ...


@pytest.mark.parametrize("statement", range(1, 9))
def test_who_opens_a_new_file_may_be_overtaken_at_any_statement(path: str, statement: int) -> None:
    connection: Any = _Overtaken(path, statement)
    manners: Any = _NoTurns()
    opening.migrate(connection, manners, path)
    assert connection.execute("PRAGMA user_version").get == opening.newest_version()
    connection.close()
    with dibs.connect_sync(f"sqlite:{path}") as queue:
        queue.add("work")
        assert _is_sound(queue, 1)


@pytest.mark.parametrize("how", ["BEGIN", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_opening_a_new_file_waits_for_who_holds_it_just_then(path: str, how: str) -> None:
    other = apsw.Connection(path)
    other.execute(how)
    assert other.execute("SELECT count(*) FROM sqlite_schema").get == 0
    leaving = threading.Timer(0.3, other.close)
    leaving.start()
    try:
        with dibs.connect_sync(f"sqlite:{path}") as queue:
            queue.add("work")
            assert _is_sound(queue, 1)
    finally:
        leaving.join()


def test_processes_killed_while_they_create_a_file_leave_it_to_the_others(tmp_path: Path) -> None:
    program = "import dibs, sys\nwith dibs.connect_sync(sys.argv[1]) as queue: queue.add('work')\n"
    for number in range(3):
        file = tmp_path / f"{number}.db"
        command = [sys.executable, "-c", program, f"sqlite:{file}"]
        crowd = [subprocess.Popen(command) for _ in range(8)]
        while not file.exists():
            time.sleep(0.001)  # until the first of them is at it
        time.sleep(0.002 * number)  # somewhere into it
        for victim in crowd[::2]:
            victim.kill()
        codes = [process.wait(60) for process in crowd]
        assert codes[1::2] == [0] * 4
        with dibs.connect_sync(f"sqlite:{file}") as queue:
            assert 4 <= sum(queue.stats().by_status.values()) <= 8
            assert drive(queue.queue.store.check()) == []


# The file itself


def test_a_damaged_file_is_called_damaged(path: str, queue: dibs.SyncQueue) -> None:
    queue.add_many([dibs.NewTask("work", {"n": n}) for n in range(500)])
    queue.close()
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))
    with pytest.raises(dibs.Unavailable, match=r"is damaged: restore it from a backup"):
        dibs.connect_sync(f"sqlite:{path}").claim("agent")


@pytest.mark.parametrize("what", ["deleted", "replaced"])
def test_nothing_is_acknowledged_into_a_file_that_is_gone(path: str, queue: dibs.SyncQueue, what: str) -> None:
    queue.add("work")
    for end in ("", "-wal", "-shm"):
        os.unlink(path + end)
    if what == "replaced":
        dibs.connect_sync(f"sqlite:{path}").close()
    time.sleep(1.1)  # looking once a second would do
    with pytest.raises(dibs.Unavailable):
        queue.add("work")


# The clock


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_clock_that_goes_back_an_hour_stops_nothing(path: str, kind: str) -> None:
    clock = FakeClock()
    with dibs.connect_sync("memory:" if kind == "memory" else f"sqlite:{path}", clock=clock) as queue:
        for type in ("held", "failing", "dropped"):
            queue.add(type, retry="fixed:5s")
        held, failing, dropped = (queue.claim("agent", types=[type])[0] for type in ("held", "failing", "dropped"))
        clock.advance(-3_600)
        queue.renew(held)
        queue.fail(failing, "later")
        queue.add("soon", run_after=5)
        clock.advance(20)
        back = [claim.task.type for claim in queue.claim("other", limit=9)]
        assert sorted(back) == ["failing", "soon"], "what is due by the new clock comes"
        queue.complete(held)
        clock.advance(3_600 + 60)
        assert [claim.task.id for claim in queue.claim("other", types=["dropped"])] == [dropped.task.id]
        events = queue.read_events(0, 1_000)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
