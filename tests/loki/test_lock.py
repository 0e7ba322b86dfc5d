"""`queue.lock`, with other processes that hold it."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dibs.errors import Unavailable
from dibs.loki import lock as locking
from dibs.loki.lock import locked

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    (tmp_path / "state" / "locks").mkdir(parents=True)
    return tmp_path / "state" / "locks" / "queue.lock"


@contextmanager
def held(*command: str) -> Iterator[subprocess.Popen[str]]:
    """A process that says `held` once it has the lock, and keeps it until it is told to end."""
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def by_python(lock: Path) -> tuple[str, ...]:
    return (sys.executable, "-m", "tests.loki.holder", str(lock))


def is_free(lock: Path) -> bool:
    with open(lock, "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_it_is_made_held_and_let_go(tmp_path: Path) -> None:
    path = tmp_path / "state" / "locks" / "queue.lock"
    with locked(str(path)):
        assert not is_free(path)
        assert f"process {os.getpid()}" in path.read_text()
    assert is_free(path)
    assert path.read_text() == ""


def test_it_is_let_go_after_an_error(lock: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(str(lock)):
        raise ZeroDivisionError
    assert is_free(lock)


def test_a_held_lock_is_refused_naming_its_holder(lock: Path) -> None:
    with held(*by_python(lock)) as holder, pytest.raises(Unavailable) as refused, locked(str(lock), wait_s=0.1):
        pytest.fail("two processes held it")
    assert str(lock) in refused.value.message
    if os.path.exists("/proc/locks"):
        assert f"process {holder.pid} " in refused.value.message
        assert "tests.loki.holder" in refused.value.message


@pytest.mark.skipif(shutil.which("flock") is None, reason="needs the command flock, with which Loki's scripts lock")
def test_a_shell_that_holds_it_is_named_though_flock_itself_has_ended(lock: Path) -> None:
    script = f'exec 200>"{lock}"; flock -x 200; echo held; read -r _'
    with held("bash", "-c", script) as holder, pytest.raises(Unavailable) as refused, locked(str(lock), wait_s=0.1):
        pytest.fail("two processes held it")
    assert f"process {holder.pid} (bash" in refused.value.message


@pytest.mark.parametrize(
    ("note", "holder"), [("", "another process (`lsof"), ("dibs, process 7 on box\n", "process 7 on box")]
)
def test_where_the_system_does_not_tell_the_file_may(
    lock: Path, monkeypatch: pytest.MonkeyPatch, note: str, holder: str
) -> None:
    monkeypatch.setattr(locking, "_processes", lambda _: iter(()))
    with held(*by_python(lock)):
        lock.write_text(note)
        with pytest.raises(Unavailable) as refused, locked(str(lock), wait_s=0):
            pytest.fail("two processes held it")
    assert holder in refused.value.message


def test_it_waits_for_who_lets_go_in_time(lock: Path) -> None:
    with held(*by_python(lock)) as holder:
        assert holder.stdin is not None
        # Its end is under way, not done: whoever comes now may have to wait a moment.
        holder.stdin.close()
        with locked(str(lock), wait_s=60):
            assert not is_free(lock)


def test_whoever_dies_holds_nothing_any_more(lock: Path) -> None:
    with held(*by_python(lock)) as holder:
        holder.kill()
        holder.wait()
        with locked(str(lock), wait_s=0):
            pass


def test_a_file_that_lies_around_means_nothing(lock: Path) -> None:
    lock.write_text("4711\n")
    with locked(str(lock), wait_s=0):
        pass


def test_a_lock_on_a_file_that_was_deleted_meanwhile_is_none(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deleted: list[str] = []
    take = locking._try

    def deleting(descriptor: int) -> bool:
        # Somebody "cleans up" the moment before the first lock is taken.
        if not deleted:
            os.unlink(lock)
            deleted.append("once")
        return take(descriptor)

    monkeypatch.setattr(locking, "_try", deleting)
    with locked(str(lock)):
        assert not is_free(lock)


def test_a_lock_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("not a folder")
    with pytest.raises(Unavailable, match="cannot be taken"), locked(str(tmp_path / "state" / "locks" / "queue.lock")):
        pytest.fail("it was taken")
