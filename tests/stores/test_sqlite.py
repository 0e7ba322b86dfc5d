"""What only the SQLite store promises: refusals when opening, query plans, many processes, group commit, forks."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, TypeVar

import apsw
import msgspec
import pytest

from dibs.errors import KeyReused, NotFound, Unavailable
from dibs.model.ids import new_id
from dibs.model.instants import from_micros
from dibs.model.status import Outcome, Status
from dibs.model.task import Task
from dibs.rules.locks import LOOKED_AT
from dibs.stores.specs import Spec
from dibs.stores.sqlite import SqliteStore, allotting, budgets, lanes, locks, opening, slots, turns
from dibs.stores.sqlite.statements import sql
from dibs.stores.values import ClaimRequest, Dependency, Draft, Insertion, LaneKey, Settlement
from dibs.sync import drive
from dibs.testing import FakeClock
from tests.proofs.crowd import Pulse, longest_wait, run_crowd

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from pathlib import Path

T = TypeVar("T")
LANE = LaneKey("default", "job")


def draft(payload: Any = None, *, after: tuple[str, ...] = (), body_hash: str | None = None, **spec: Any) -> Draft:
    task = Task(**{"id": new_id("task"), "type": "job", "payload": payload, **spec})
    return Draft(
        task=task,
        payload=msgspec.json.encode(payload),
        lane=LANE,
        dependencies=tuple(Dependency(parent) for parent in after),
        body_hash=body_hash,
    )


def done(task_id: str, fence: int, output: bytes | None = None) -> Settlement:
    return Settlement(
        task_id=task_id,
        fence=fence,
        outcome=Outcome.COMPLETED,
        next=Status.COMPLETED,
        digest="done",
        output=output,
    )


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "dibs.db")


@pytest.fixture
def store(path: str) -> Iterator[SqliteStore]:
    opened = SqliteStore.open(path, blocking=True)
    yield opened
    drive(opened.close())


# Opening


def test_opening_creates_the_folder(tmp_path: Path) -> None:
    store = SqliteStore.open(str(tmp_path / "a" / "b" / "dibs.db"), blocking=True)
    assert drive(store.check()) == []
    drive(store.close())
    assert (tmp_path / "a" / "b" / "dibs.db").exists()


def test_commits_are_durable(store: SqliteStore) -> None:
    connection = store._engine._writer
    assert connection.execute("PRAGMA synchronous").get == 2
    assert connection.execute("PRAGMA journal_mode").get == "wal"


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: str) -> None:
    content = "not a database, but somebody's notes\n" * 100
    with open(path, "w") as file:
        file.write(content)
    with pytest.raises(Unavailable, match="not a SQLite database"):
        SqliteStore.open(path, blocking=True)
    with open(path) as file:
        assert file.read() == content


def test_a_database_of_another_program_is_refused_and_left_alone(path: str) -> None:
    other = apsw.Connection(path)
    other.execute("CREATE TABLE notes (text TEXT)")
    with pytest.raises(Unavailable, match="another program"):
        SqliteStore.open(path, blocking=True)
    assert other.execute("SELECT group_concat(name) FROM sqlite_schema").get == "notes"
    assert other.execute("PRAGMA journal_mode").get == "delete"
    other.close()


def test_a_newer_schema_is_refused(path: str) -> None:
    drive(SqliteStore.open(path, blocking=True).close())
    later = apsw.Connection(path)
    later.execute("PRAGMA user_version = 999")
    later.close()
    with pytest.raises(Unavailable, match=r"newer dibs.*upgrade"):
        SqliteStore.open(path, blocking=True)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="is a folder"):
        SqliteStore.open(str(tmp_path), blocking=True)


def test_a_parent_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(Unavailable, match="cannot be created"):
        SqliteStore.open(str(tmp_path / "file" / "dibs.db"), blocking=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_is_read_only_is_refused(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "folder"
    path = folder / "dibs.db"
    drive(SqliteStore.open(str(path), blocking=True).close())
    target = path if what == "file" else folder
    target.chmod(0o444 if what == "file" else 0o555)
    try:
        with pytest.raises(Unavailable, match=r"read-only|not writable"):
            SqliteStore.open(str(path), blocking=True)
    finally:
        target.chmod(0o755)


def test_a_read_only_file_is_refused_whoever_asks(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drive(SqliteStore.open(path, blocking=True).close())
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda name, mode: mode != os.W_OK and allowed(name, mode))
    with pytest.raises(Unavailable, match="is read-only"):
        SqliteStore.open(path, blocking=True)


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (apsw.BusyError("busy"), "another program holds"),
        (apsw.FullError("full"), "disk is full"),
        (apsw.CorruptError("malformed"), "damaged"),
        (apsw.IOError("disk I/O"), "check the disk"),
        (apsw.CantOpenError("cantopen"), "cannot be opened"),
        (OSError(28, "No space left"), "check the disk"),
    ],
)
def test_trouble_below_is_said_in_one_sentence(error: apsw.Error | OSError, advice: str) -> None:
    said = opening.unavailable(error, "/x/dibs.db")
    assert advice in said.message
    assert said.code == "unavailable"


def test_many_processes_may_open_a_new_file_at_once(path: str) -> None:
    program = (
        "import sys\n"
        "from dibs.stores.sqlite import SqliteStore\n"
        "from dibs.sync import drive\n"
        "store = SqliteStore.open(sys.argv[1], blocking=True)\n"
        "assert drive(store.check()) == []\n"
        "drive(store.close())\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program, path]) for _ in range(8)]
    assert [process.wait(timeout=60) for process in processes] == [0] * 8


# Surviving


def test_what_was_answered_survives_kill_9(path: str) -> None:
    program = (
        "import asyncio, os, signal, sys\n"
        "import msgspec\n"
        "from dibs.stores.sqlite import SqliteStore\n"
        "from dibs.stores.values import Draft, Insertion, LaneKey\n"
        "from dibs.model.task import Task\n"
        "async def main():\n"
        "    store = SqliteStore.open(sys.argv[1])\n"
        "    for number in range(20):\n"
        "        task = Task(id=f'task_{number:03}', type='job')\n"
        "        made = Draft(task=task, payload=b'null', lane=LaneKey('default', 'job'))\n"
        "        await store.insert(Insertion(drafts=[made]))\n"
        "    asyncio.ensure_future(store.check())\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, path], timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    store = SqliteStore.open(path, blocking=True)
    assert drive(store.stats("default")).by_status == {"ready": 20}
    assert drive(store.check()) == []
    drive(store.close())


def test_a_store_opened_before_a_fork_refuses_to_work_in_the_child(store: SqliteStore) -> None:
    child = os.fork()
    if child == 0:
        try:
            drive(store.get(["task_x"]))
        except Unavailable as refused:
            os._exit(0 if "connect again" in refused.message else 2)
        except BaseException:
            os._exit(3)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert drive(store.get(["task_x"])) == [None]


def test_a_closed_store_says_so(path: str) -> None:
    store = SqliteStore.open(path, blocking=True)
    drive(store.close())
    drive(store.close())
    with pytest.raises(Unavailable, match="closed"):
        drive(store.get([]))


# Ctrl-C


class Interrupted:
    """A connection on which Ctrl-C comes right after a statement."""

    def __init__(self, connection: apsw.Connection, after: str) -> None:
        self._connection, self._after = connection, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, statement: str, *more: Any, **options: Any) -> Any:
        answer = self._connection.execute(statement, *more, **options)
        if statement == self._after:
            self._after = ""
            raise KeyboardInterrupt
        return answer


@pytest.mark.parametrize("after", ["BEGIN", "BEGIN IMMEDIATE", "COMMIT"])
def test_whoever_is_interrupted_can_go_on_with_the_same_store(path: str, store: SqliteStore, after: str) -> None:
    """It stayed inside a transaction, and everything that followed was refused."""
    drive(store.insert(Insertion(drafts=[draft()])))
    engine, real = store._engine, store._engine._writer
    engine._writer = Interrupted(real, after)  # type: ignore[assignment]
    verb: Any = store.insert(Insertion(drafts=[draft()])) if after == "BEGIN IMMEDIATE" else store.stats("default")
    with pytest.raises(KeyboardInterrupt):
        drive(verb)
    engine._writer = real
    assert not real.in_transaction
    drive(store.insert(Insertion(drafts=[draft()])))
    assert drive(store.check()) == []


def test_whoever_is_interrupted_keeps_no_turn(path: str, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = store._engine._turns
    take = kept.take

    def interrupted() -> None:
        take()
        raise KeyboardInterrupt

    monkeypatch.setattr(kept, "take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        drive(store.insert(Insertion(drafts=[draft()])))
    others = turns.Turns(path)
    assert others.try_take()
    others.close()


# Writing together


def test_writes_that_wait_together_are_committed_together(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.stores.sqlite.engine._LONGEST_S", 60.0)

    async def main() -> None:
        store = SqliteStore.open(path)
        await store.insert(Insertion(drafts=[draft()]))
        engine = store._engine
        commits = 0
        serve = engine._commit

        def counted(jobs: Any, **how: Any) -> Any:
            nonlocal commits
            commits += 1
            return serve(jobs, **how)

        engine._commit = counted  # type: ignore[method-assign]
        with_turn = opening.connect(path)
        with_turn.execute("BEGIN IMMEDIATE")
        adds = [asyncio.ensure_future(store.insert(Insertion(drafts=[draft(n)]))) for n in range(50)]
        await asyncio.sleep(0.05)
        with_turn.execute("COMMIT")
        with_turn.close()
        await asyncio.gather(*adds)
        assert commits <= 2
        assert (await store.stats("default")).by_status == {"ready": 51}
        events = await store.events(0, 1000)
        assert [event.seq for event in events] == list(range(1, 103))
        await store.close()

    asyncio.run(main())


def test_one_that_fails_does_not_harm_its_neighbours(path: str) -> None:
    async def main() -> None:
        store = SqliteStore.open(path)
        await store.insert(Insertion(drafts=[draft(1, key="k", body_hash="one")]))
        answers = await asyncio.gather(
            store.insert(Insertion(drafts=[draft(2)])),
            store.insert(Insertion(drafts=[draft(3), draft(3, key="k", body_hash="other")])),
            store.insert(Insertion(drafts=[draft(4, after=("task_unknown",))])),
            store.insert(Insertion(drafts=[draft(5)])),
            return_exceptions=True,
        )
        assert [type(answer).__name__ for answer in answers] == ["Inserted", "KeyReused", "NotFound", "Inserted"]
        assert isinstance(answers[1], KeyReused)
        assert isinstance(answers[2], NotFound)
        assert (await store.stats("default")).by_status == {"ready": 3}
        assert [event.seq for event in await store.events(0, 100)] == list(range(1, 7))
        assert await store.check() == []
        await store.close()

    asyncio.run(main())


def test_trouble_with_taking_a_turn_at_once_does_not_stop_the_writer(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        store = SqliteStore.open(path)
        await store.insert(Insertion(drafts=[draft(1)]))

        def no_locks() -> bool:
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr(store._engine._turns, "try_take", no_locks)
        for number in (2, 3):
            await asyncio.wait_for(store.insert(Insertion(drafts=[draft(number)])), 60)
        assert (await store.stats("default")).by_status == {"ready": 3}
        await store.close()

    asyncio.run(main())


def test_a_turn_that_is_never_given_back_delays_others_once(
    path: str, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "LONGEST_S", 0.5)
    stopped = os.open(path + "-lock", os.O_RDWR)
    fcntl.flock(stopped, fcntl.LOCK_EX)
    began = time.monotonic()
    drive(store.insert(Insertion(drafts=[draft()])))
    assert time.monotonic() - began >= 0.5
    monkeypatch.setattr(turns, "LONGEST_S", 60.0)
    began = time.monotonic()
    for number in range(2):
        drive(store.insert(Insertion(drafts=[draft(number)])))
    assert time.monotonic() - began < 30
    os.close(stopped)


def test_closing_is_finished_also_when_nobody_waits_for_it(path: str) -> None:
    async def main() -> None:
        store = SqliteStore.open(path)
        await store.insert(Insertion(drafts=[draft()]))
        closing = asyncio.ensure_future(store.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        deadline = time.monotonic() + 60
        while store._engine._turns._current >= 0:
            assert time.monotonic() < deadline, "its files are still open"
            await asyncio.sleep(0.01)

    asyncio.run(main())


def test_a_commit_in_another_process_is_news(path: str) -> None:
    async def main() -> None:
        store, other = SqliteStore.open(path), SqliteStore.open(path, blocking=True)
        seen = await store.news()
        waiting = asyncio.ensure_future(store.wait_for_news(seen, 60))
        await asyncio.sleep(0.02)
        assert not waiting.done()
        drive(other.insert(Insertion(drafts=[draft()])))
        assert await waiting != seen
        assert await store.wait_for_news(await store.news(), 0.01) == await store.news()
        drive(other.close())
        await store.close()

    asyncio.run(main())


def test_an_idle_claim_takes_no_write_lock(path: str, store: SqliteStore) -> None:
    request = ClaimRequest(agent="ada")
    assert drive(store.claim(request)).claims == []
    writer = opening.connect(path)
    writer.execute("BEGIN IMMEDIATE")
    assert drive(store.claim(request)).claims == []
    writer.execute("ROLLBACK")
    writer.close()


def write_for(path: str, seconds: float) -> list[tuple[float, float, float]]:
    """When each of the writes of this process began and ended, and how long it was awake meanwhile."""
    store = SqliteStore.open(path, blocking=True)
    writes = []
    with Pulse() as pulse:
        while pulse.awake_s < seconds:
            began = time.monotonic()
            drive(store.postpone("nothing", 0))
            writes.append((began, time.monotonic()))
    drive(store.close())
    return pulse.waits(writes)


@pytest.mark.alone
@pytest.mark.timeout(300)
def test_sixteen_processes_wait_less_than_a_second_each(path: str, tmp_path: Path) -> None:
    drive(SqliteStore.open(path, blocking=True).close())
    longest = longest_wait(run_crowd(tmp_path, write_for, [(path, 3.0)] * 16))
    assert longest < 1.0


# Plans


def plan(store: SqliteStore, text: str, parameters: tuple[Any, ...]) -> str:
    rows = store._engine._writer.execute("EXPLAIN QUERY PLAN " + text, parameters)
    return "\n".join(row[3] for row in rows)


def columns_sought(store: SqliteStore, text: str, parameters: tuple[Any, ...]) -> list[Any]:
    """What is read of tasks that an index led to, though it need not have been: SQLite seeks such a row then.

    It calls an index covering only if all columns are among the first 63 of a table.
    """
    steps = list(store._engine._writer.execute("EXPLAIN " + text, parameters))
    put_off = {step[4] for step in steps if step[1] == "DeferredSeek"}
    return [step for step in steps if step[1] in ("Column", "FinishSeek") and step[2] in put_off]


def test_a_claim_reads_heads_of_lanes_and_no_other_task(store: SqliteStore) -> None:
    drive(store.insert(Insertion(drafts=[draft(number) for number in range(100)])))
    steps = plan(store, sql("claim"), ("[[1, 0.0]]", 10)).splitlines()
    assert not [step for step in steps if "TEMP B-TREE" in step]
    assert not [step for step in steps if step.startswith("SCAN") and step.split()[1] in ("t", "h", "s", "tasks")]
    assert len([step for step in steps if "USING INDEX task_ready (lane=?" in step]) == 3
    assert not columns_sought(store, sql("claim"), ("[[1, 0.0]]", 10))
    assert [step for step in steps if "task_ready" in step and "rank=? AND n>?" in step]
    assert [step for step in steps if "task_ready" in step and "rank>?" in step]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("claim_take", ()),
        ("claim_read", ("[1]",)),
        ("settle_look", ('["x"]',)),
        ("settle_attempts", ("[[1]]", 0)),
        ("settle", ("[1]", 0)),
        ("insert_look", ('["x"]',)),
        ("next_due", ("[1]",)),
    ],
)
def test_no_hot_statement_scans_the_tasks(store: SqliteStore, name: str, parameters: tuple[Any, ...]) -> None:
    given: Any = parameters
    if name == "claim_take":
        wanted = ("status", "agent", "models", "lease_s", "lease_expires_at", "now", "started_at", "numbers")
        given = dict.fromkeys(wanted)
    steps = plan(store, sql(name), given).splitlines()
    assert not [step for step in steps if step.startswith("SCAN") and step.split()[1] in ("t", "s", "tasks")], steps


def test_a_claim_makes_few_statements_whatever_its_size(store: SqliteStore) -> None:
    drive(store.insert(Insertion(drafts=[draft(number) for number in range(400)])))
    for _ in range(2):
        drive(store.claim(ClaimRequest(agent="ada", limit=1)))
    made: list[str] = []

    def trace(_: apsw.Cursor, text: str, __: Any) -> bool:
        made.append(text)
        return True

    store._engine._writer.exec_trace = trace
    claims = drive(store.claim(ClaimRequest(agent="ada", limit=300))).claims
    assert len(claims) == 300
    assert len(made) <= 6
    made.clear()
    drive(store.settle([done(claim.task.id, claim.fence, b"1") for claim in claims]))
    assert len(made) <= 6
    store._engine._writer.exec_trace = None


# Locks


def traced(store: SqliteStore, work: Coroutine[Any, Any, T]) -> tuple[T, list[str]]:
    """The answer, and the statements it took."""
    made: list[str] = []

    def trace(_: apsw.Cursor, text: str, __: Any) -> bool:
        made.append(text)
        return True

    store._engine._writer.exec_trace = trace
    try:
        return drive(work), made
    finally:
        store._engine._writer.exec_trace = None


ABOUT_LOCKS = re.compile(r"\b(FROM|JOIN|INTO|UPDATE) (holds|wants|locks)\b|SET parked")


def test_whoever_needs_no_lock_makes_no_statement_about_locks(store: SqliteStore) -> None:
    drive(store.insert(Insertion(drafts=[draft(locks=("repo",)) for _ in range(3)])))
    drive(store.claim(ClaimRequest(agent="ada", limit=10)))
    _, made = traced(store, store.insert(Insertion(drafts=[draft(number) for number in range(3)])))
    claimed, more = traced(store, store.claim(ClaimRequest(agent="ada", limit=10)))
    made += more
    assert len(claimed.claims) == 3
    settlements = [done(claim.task.id, claim.fence) for claim in claimed.claims]
    made += traced(store, store.settle(settlements))[1]
    assert [text for text in made if ABOUT_LOCKS.search(text)] == []


def test_a_thousand_behind_one_lock_are_parked_in_few_statements_and_cost_the_next_claim_nothing(
    store: SqliteStore,
) -> None:
    drive(store.insert(Insertion(drafts=[draft(locks=("repo",)) for _ in range(1_001)])))
    [holder] = drive(store.claim(ClaimRequest(agent="ada"))).claims
    drive(store.insert(Insertion(drafts=[draft(), draft()])))
    first, made = traced(store, store.claim(ClaimRequest(agent="ada")))
    assert len(first.claims) == 1
    assert len(made) <= 30
    second, made = traced(store, store.claim(ClaimRequest(agent="ada")))
    assert len(second.claims) == 1
    assert len(made) <= 6
    _, made = traced(store, store.settle([done(holder.task.id, holder.fence)]))
    assert len(made) <= 16
    [lock] = drive(store.locks("default"))
    assert (lock.holders, lock.waiting) == ([], 999)
    assert drive(store.check()) == []


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        (locks._STATES, ('[["default", "repo"]]',)),
        (locks._HOLD, ("[1]",)),
        (locks._LET_GO, ('[["default", "repo", 1, 1]]',)),
        (locks._WANT, ("[1]",)),
        (locks._WANT_NO_MORE, ("[1]",)),
        (locks._UNRESERVE, ("[1]",)),
        (locks._PARK, ('[[1, "repo"]]', 0)),
        (budgets._WISHES, ("[1]", "ada")),
        (budgets._RESERVE, ('[[1, "budget:global:usd", 5]]',)),
        (budgets._MARK, ("[[1]]",)),
        (budgets._ADD_UP, ('[["default", "budget:global:usd", 5, 0, 0]]',)),
        (budgets._GIVE_BACK, ("[[1, 1]]",)),
        (budgets._LANES, ("default", "budget:global:usd")),
        (budgets._BEST, ("default", "budget:global:usd", 1, 100, 0)),
        (allotting._AT_WORK, ("default", "global")),
        (allotting._UNPARK, ("default", "budget:global:usd")),
        (locks._NOT_PASSED_OVER, ("[1]",)),
        (locks._LANES, ("default", "repo")),
        (locks._BEST, ("default", "repo", 1, 1, 1)),
        (slots._PASSED_OVER, (0, 1)),
        (lanes._NOTE_IDLE, (0,)),
    ],
)
def test_no_statement_about_locks_scans_the_tasks_or_sorts_them(
    store: SqliteStore, text: str, parameters: tuple[Any, ...]
) -> None:
    steps = plan(store, text, parameters).splitlines()
    tables = ("t", "h", "l", "b", "tasks", "holds", "wants", "locks", "budgets", "reserves")
    scans = [step for step in steps if step.startswith("SCAN") and step.split()[1] in tables]
    if text is lanes._NOTE_IDLE:
        # The lanes of everything that is parked, once for all lanes.
        assert scans == ["SCAN tasks USING COVERING INDEX task_parked"]
    else:
        assert scans == [], steps
    assert not [step for step in steps if "TEMP B-TREE" in step], steps


def test_an_idle_claim_takes_no_write_lock_while_others_are_parked(path: str, store: SqliteStore) -> None:
    request = ClaimRequest(agent="ada")
    drive(store.insert(Insertion(drafts=[draft(locks=("repo",)) for _ in range(2)])))
    assert len(drive(store.claim(request)).claims) == 1
    assert drive(store.claim(request)).claims == []
    writer = opening.connect(path)
    writer.execute("BEGIN IMMEDIATE")
    assert drive(store.claim(request)).claims == []
    writer.execute("ROLLBACK")
    writer.close()


def test_tasks_of_many_kinds_want_their_locks_once_they_are_ready(path: str) -> None:
    clock = FakeClock()
    store = SqliteStore.open(path, clock=clock, blocking=True)
    later = from_micros(clock() + 10_000_000)
    drafts = [draft(locks=(f"lock{number}", "all"), run_after=later if number % 2 else None) for number in range(20)]
    drive(store.insert(Insertion(drafts=drafts)))
    assert store._engine._writer.execute("SELECT count(*) FROM wants").get == 20
    assert drive(store.check()) == []
    clock.advance(11)
    drive(store.promote(100))
    assert store._engine._writer.execute("SELECT count(*) FROM wants").get == 40
    assert len(drive(store.claim(ClaimRequest(agent="ada", limit=20))).claims) == 1
    assert store._engine._writer.execute("SELECT count(*) FROM wants").get == 0
    assert drive(store.check()) == []
    drive(store.close())


def test_a_lane_with_nothing_but_parked_tasks_is_not_retired(path: str) -> None:
    clock = FakeClock()
    store = SqliteStore.open(path, clock=clock, blocking=True)
    drive(store.insert(Insertion(drafts=[draft(locks=("repo",)) for _ in range(2)])))
    [claim] = drive(store.claim(ClaimRequest(agent="ada", lease_s=86_400.0 * 3))).claims
    assert drive(store.claim(ClaimRequest(agent="ada"))).claims == []
    drive(store.prune(1e9, 100))
    clock.advance(86_401)
    drive(store.prune(1e9, 100))
    drive(store.settle([done(claim.task.id, claim.fence)]))
    assert len(drive(store.claim(ClaimRequest(agent="ada"))).claims) == 1
    assert drive(store.check()) == []
    drive(store.close())


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        ("UPDATE tasks SET status = 'retrying', due_at = 1 WHERE status = 'running'", "whose claim has ended"),
        ("UPDATE tasks SET fence = 2 WHERE status = 'running'", "whose claim has ended"),
        ("DELETE FROM holds", "does not hold lock repo"),
        ("UPDATE tasks SET status = 'completed' WHERE parked_on IS NOT NULL", "but parked on repo"),
        ("DELETE FROM wants", "but not counted there"),
        ("UPDATE wants SET lane = 7", "but counted there"),
    ],
)
def test_check_finds_locks_that_leaked(store: SqliteStore, harm: str, sentence: str) -> None:
    drive(store.insert(Insertion(drafts=[draft(locks=("repo",)) for _ in range(2)])))
    drive(store.claim(ClaimRequest(agent="ada", limit=2)))
    drive(store.insert(Insertion(drafts=[draft(locks=("site",))])))
    assert drive(store.check()) == []
    store._engine._writer.execute(harm)
    assert any(sentence in found for found in drive(store.check()))


def test_a_database_from_before_there_were_locks_goes_on(path: str) -> None:
    connection = apsw.Connection(path)
    with open(os.path.join(opening._MIGRATIONS, "0001_initial.sql"), encoding="utf-8") as file:
        connection.execute(file.read())
    lane = msgspec.json.encode(LANE).decode()
    connection.execute(
        "INSERT INTO lanes (id, project, type, boost, key) VALUES (1, 'default', 'job', 0.1, ?)", (lane,)
    )
    connection.execute(
        "INSERT INTO tasks (n, project, id, type, status, lane, rank, priority, boost, max_attempts, created_at,"
        " ready_at, updated_at) VALUES (1, 'default', 'task_old', 'job', 'ready', 1, 50.0, 50.0, 0.1, 3, 1, 1, 1);"
        'INSERT INTO specs VALUES (1, \'{"id":"task_old","type":"job"}\');'
        f"PRAGMA application_id = {opening.APPLICATION_ID}; PRAGMA user_version = 1"
    )
    connection.close()
    store = SqliteStore.open(path, blocking=True)
    drive(store.insert(Insertion(drafts=[draft(locks=("repo",))])))
    assert drive(store.check()) == []
    claims = drive(store.claim(ClaimRequest(agent="ada", limit=2))).claims
    assert claims[0].task.id == "task_old"
    assert [task.status for task in drive(store.get(["task_old"])) if task] == [Status.RUNNING]
    assert len(claims) == 2
    assert drive(store.check()) == []
    drive(store.close())


def test_a_task_that_became_less_urgent_leaves_its_place_at_a_lock_to_a_better_one(path: str) -> None:
    clock = FakeClock()
    store = SqliteStore.open(path, clock=clock, blocking=True)
    first, second, third = (draft(locks=("repo",), priority=priority) for priority in (1.0, 10.0, 20.0))
    drive(store.insert(Insertion(drafts=[first, second, third])))
    [claim] = drive(store.claim(ClaimRequest(agent="ada"))).claims
    assert drive(store.claim(ClaimRequest(agent="ada"))).claims == []
    drive(store.settle([done(claim.task.id, claim.fence)]))
    drive(store.reprioritise(second.task.id, 60.0))
    parked = [task.parked_on for task in drive(store.get([second.task.id, third.task.id])) if task]
    assert parked == [None, None]
    assert drive(store.check()) == []
    [claim] = drive(store.claim(ClaimRequest(agent="ada"))).claims
    assert claim.task.id == third.task.id
    drive(store.close())


def test_a_lock_with_several_slots_is_open_again_once_what_it_was_reserved_for_runs(path: str) -> None:
    clock = FakeClock()
    store = SqliteStore.open(path, clock=clock, blocking=True)
    request = ClaimRequest(agent="ada", lease_s=600.0)
    drive(store.set_slots("default", "gpu", 1))
    drive(store.insert(Insertion(drafts=[draft(locks=("gpu",)) for _ in range(3)])))
    assert len(drive(store.claim(request)).claims) == 1
    assert drive(store.claim(request)).claims == []
    clock.advance(61)
    assert drive(store.unpark(1)) == 0
    drive(store.set_slots("default", "gpu", 3))
    [lock] = drive(store.locks("default"))
    assert (lock.reserved_for is not None, lock.waiting) == (True, 1)
    assert len(drive(store.claim(request)).claims) == 1
    [lock] = drive(store.locks("default"))
    assert (lock.reserved_for, lock.waiting, len(lock.holders)) == (None, 0, 2)
    assert drive(store.unpark(10)) == 0
    assert len(drive(store.claim(request)).claims) == 1
    drive(store.close())


def test_only_so_many_who_wait_are_looked_at_when_a_slot_becomes_free(path: str) -> None:
    store = SqliteStore.open(path, blocking=True)
    holders = [draft(locks=("a",), priority=1.0), draft(locks=("b",), priority=2.0)]
    # All of the better ones are parked on a, and would be shut out by b too.
    both = [draft(locks=("a", "b"), priority=10.0) for _ in range(LOOKED_AT)]
    last = draft(locks=("a",), priority=20.0)
    drive(store.insert(Insertion(drafts=[*holders, *both, last])))
    claims = drive(store.claim(ClaimRequest(agent="ada", limit=10))).claims
    assert len(claims) == 2
    drive(store.settle([done(claims[0].task.id, claims[0].fence)]))
    waiting = {lock.name: lock.waiting for lock in drive(store.locks("default"))}
    assert waiting == {"a": 1, "b": LOOKED_AT}
    assert drive(store.unpark(10)) == 1
    [claim] = drive(store.claim(ClaimRequest(agent="ada"))).claims
    assert claim.task.id == last.task.id
    assert drive(store.check()) == []
    drive(store.close())


# Keeping


def test_specifications_have_the_names_and_defaults_of_tasks() -> None:
    task = {field.name: field for field in msgspec.structs.fields(Task)}
    for field in msgspec.structs.fields(Spec):
        assert field.default == task[field.name].default, field.name


def test_a_long_output_is_kept_apart_and_read_back(store: SqliteStore) -> None:
    drive(store.insert(Insertion(drafts=[draft()])))
    [claim] = drive(store.claim(ClaimRequest(agent="ada"))).claims
    text = "é" * 100_000
    drive(store.settle([done(claim.task.id, claim.fence, msgspec.json.encode(text))]))
    assert store._engine._writer.execute("SELECT count(*) FROM blobs").get == 1
    [task] = drive(store.get([claim.task.id]))
    assert task is not None
    assert task.output == text


def test_an_idle_lane_is_retired_and_comes_back_with_its_next_task(path: str) -> None:
    clock = FakeClock()
    store = SqliteStore.open(path, clock=clock, blocking=True)
    other = SqliteStore.open(path, clock=clock, blocking=True)
    request = ClaimRequest(agent="ada")
    drive(other.insert(Insertion(drafts=[draft()])))
    [claim] = drive(store.claim(request)).claims
    drive(store.settle([done(claim.task.id, claim.fence)]))
    drive(store.prune(1e9, 100))
    clock.advance(86_401)
    drive(store.prune(1e9, 100))
    assert store._engine._writer.execute("SELECT count(*) FROM lanes WHERE retired_at IS NULL").get == 0
    drive(other.insert(Insertion(drafts=[draft()])))
    assert len(drive(store.claim(request)).claims) == 1
    assert drive(store.check()) == []
    drive(store.close())
    drive(other.close())


def test_agents_that_left_long_ago_are_forgotten(path: str) -> None:
    clock = FakeClock()
    store = SqliteStore.open(path, clock=clock, blocking=True)
    drive(store.claim(ClaimRequest(agent="gone")))
    clock.advance(8 * 86_400)
    drive(store.claim(ClaimRequest(agent="here")))
    drive(store.prune(7 * 86_400.0, 100))
    known = store._engine._writer.execute("SELECT id FROM agents").fetchall()
    assert known == [("here",)]
    drive(store.close())


def test_check_finds_a_count_that_is_wrong(store: SqliteStore) -> None:
    parent = draft()
    drive(store.insert(Insertion(drafts=[parent, draft(after=(parent.task.id,))])))
    assert drive(store.check()) == []
    store._engine._writer.execute("UPDATE tasks SET open = 2 WHERE open = 1")
    assert any("counts 2 open edges and has 1" in sentence for sentence in drive(store.check()))
    store._engine._writer.execute("UPDATE tasks SET status = 'running', due_at = NULL WHERE open = 0")
    assert any("no time is set" in sentence for sentence in drive(store.check()))


def test_the_shell_path_imports_neither_asyncio_nor_threading(path: str) -> None:
    program = (
        "import sys\n"
        "from dibs.stores.sqlite import SqliteStore\n"
        "store = SqliteStore.open(sys.argv[1], blocking=True)\n"
        "heavy = {'asyncio', 'threading', 'json', 'inspect', 'dataclasses', 're', 'typing_extensions'}\n"
        "found = sorted(heavy & set(sys.modules) - before)\n"
        "print(found)\n"
    )
    program = "import sys; before = set(sys.modules); import apsw, msgspec; before |= set(sys.modules)\n" + program
    ran = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_specification_that_is_no_longer_json_is_called_damage(path: str) -> None:
    store = SqliteStore.open(path, blocking=True)
    inserted = drive(store.insert(Insertion(drafts=[draft()])))
    store._engine._writer.execute("UPDATE specs SET spec = 'nothing'")
    with pytest.raises(Unavailable, match="damaged"):
        drive(store.get([inserted.tasks[0].id]))
    drive(store.close())
