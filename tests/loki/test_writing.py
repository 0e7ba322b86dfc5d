"""Writing Loki's files: whole or not at all, whatever happens in between."""

from __future__ import annotations

import errno
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.errors import Conflict, Invalid, Unavailable
from dibs.loki import exporting, writing
from dibs.loki.folder import find_folder
from dibs.loki.format import QUEUES
from tests.loki.dying_export import run
from tests.loki.files import read, task, write
from tests.proofs.crowd import exit_of

if TYPE_CHECKING:
    from pathlib import Path


def files(root: Path) -> dict[str, bytes]:
    """Every file below a folder, and what it holds."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_five_files_and_a_lock_are_written_where_loki_looks(queue: dibs.SyncQueue, tmp_path: Path) -> None:
    queue.add("eng-backend", {"action": "test"})
    counts = exporting.export(queue, str(tmp_path / ".loki"))
    assert counts == {f"{name}.json": int(name == "pending") for name in QUEUES}
    assert sorted(files(tmp_path)) == [
        ".loki/queue/cancelled.json",
        ".loki/queue/completed.json",
        ".loki/queue/dead-letter.json",
        ".loki/queue/in-progress.json",
        ".loki/queue/pending.json",
        ".loki/state/locks/queue.lock",
    ]
    [written] = read(tmp_path / ".loki")["pending"]
    assert (written["type"], written["payload"]) == ("eng-backend", {"action": "test"})


@pytest.mark.parametrize("present", QUEUES)
def test_files_that_are_there_are_not_overwritten(queue: dibs.SyncQueue, tmp_path: Path, present: str) -> None:
    (tmp_path / "queue").mkdir()
    (tmp_path / "queue" / f"{present}.json").write_text("precious")
    before = files(tmp_path)
    with pytest.raises(Conflict, match=f"{present}.json already; --force replaces all five"):
        exporting.export(queue, str(tmp_path))
    assert files(tmp_path) == before
    exporting.export(queue, str(tmp_path), force=True)
    assert read(tmp_path) == {name: [] for name in QUEUES}


def test_files_that_appear_meanwhile_are_not_overwritten(queue: dibs.SyncQueue, tmp_path: Path) -> None:
    def meanwhile(_: int) -> None:
        write(tmp_path, pending=[task("precious")])

    with pytest.raises(Conflict):
        exporting.export(queue, str(tmp_path), progress=meanwhile)
    assert [each["id"] for each in read(tmp_path)["pending"]] == ["precious"]


def test_a_full_disk_changes_nothing(queue: dibs.SyncQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, pending=[task("old")])
    queue.add("new")
    write_one = writing._write

    def full(path: str, tasks: Any) -> None:
        write_one(path, tasks)
        if "cancelled" in path:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    monkeypatch.setattr(writing, "_write", full)
    with pytest.raises(Unavailable, match="No space left on device"):
        exporting.export(queue, str(tmp_path), force=True)
    assert [each["id"] for each in read(tmp_path)["pending"]] == ["old"]
    assert sorted(os.listdir(tmp_path / "queue")) == sorted(f"{name}.json" for name in QUEUES)


def test_a_file_in_the_place_of_the_folder_is_refused(queue: dibs.SyncQueue, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(Invalid, match="not a folder") as refused:
        exporting.export(queue, str(tmp_path / "file"))
    assert refused.value.field == "dir"


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("last", range(1, 6))
def test_an_export_killed_at_any_file_leaves_whole_files_old_or_new(tmp_path: Path, last: int, when: str) -> None:
    root, url = tmp_path / ".loki", f"sqlite:{tmp_path / 'work.db'}"
    write(root, **{name.replace("-", "_"): [task("old")] for name in QUEUES})
    with dibs.connect_sync(url) as queue:
        new = queue.add("new").id
    assert exit_of(run, url, str(root), last, when) == -signal.SIGKILL

    replaced = last if when == "after" else last - 1
    for place, tasks in enumerate(read(root).values()):
        fresh = [new] if place == 0 else []
        assert [each["id"] for each in tasks] == (fresh if place < replaced else ["old"])

    # The lock went with the process, what it left lying around is in nobody's way, and doing it again completes it.
    with dibs.connect_sync(url) as queue:
        exporting.export(queue, str(root), force=True)
    assert read(root) == {**{name: [] for name in QUEUES}, "pending": read(root)["pending"]}
    assert sorted(os.listdir(root / "queue")) == sorted(f"{name}.json" for name in QUEUES)


def test_folders_are_found_however_people_name_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(tmp_path / ".loki")
    inside = [find_folder(str(path)) for path in (tmp_path, root, root / "queue")]
    assert {os.path.realpath(folder.queue) for folder in inside} == {str(root / "queue")}
    assert {os.path.realpath(folder.lock) for folder in inside} == {str(root / "state" / "locks" / "queue.lock")}
    monkeypatch.chdir(root / "queue")
    for path in (".", "..", "../queue"):
        found = find_folder(path)
        assert os.path.realpath(found.queue) == str(root / "queue")
        assert os.path.realpath(found.breakers) == str(root / "config" / "circuit-breakers.yaml")


def test_a_copy_of_the_files_alone_is_locked_beside_them(tmp_path: Path) -> None:
    (tmp_path / "pending.json").write_text('{"tasks": []}')
    found = find_folder(str(tmp_path))
    assert (found.queue, found.lock) == (str(tmp_path), str(tmp_path / "queue.lock"))
