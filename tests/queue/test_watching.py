"""Files that triggers watch: what counts as a change, and that each makes one task."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest

from dibs import watching
from dibs.queue import Queue
from dibs.stores.memory import MemoryStore
from dibs.watching import FileWatcher

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

TASK = {"type": "reread", "payload": {"path": "{{event.data.path}}", "what": "{{event.data.change}}"}}


def write(path: Path, text: str, *, age_s: float = 60.0, now: float = 1_800_000_000.0) -> None:
    """A file that was written a while ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (now - age_s, now - age_s))


def run(test: Callable[[Queue, FileWatcher], Awaitable[None]]) -> None:
    async def look() -> None:
        async with Queue(MemoryStore()) as queue:
            await test(queue, FileWatcher(queue))

    asyncio.run(look())


async def changes(queue: Queue) -> list[tuple[str, str]]:
    found: list[Any] = [task.payload for task in (await queue.find(type="reread", limit=1000)).items]
    return sorted((os.path.basename(payload["path"]), payload["what"]) for payload in found)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.watching.time.time", lambda: 1_800_000_000.0)


def test_what_is_made_changed_or_removed_makes_a_task_each(tmp_path: Path) -> None:
    async def test(queue: Queue, watcher: FileWatcher) -> None:
        write(tmp_path / "a.md", "a")
        write(tmp_path / "b.md", "b")
        write(tmp_path / "c.txt", "c")
        await queue.add_trigger("docs", "files", paths=[f"{tmp_path}/**/*.md"], task=TASK)
        assert await watcher.look() == 0, "what was there before is no change"
        assert await watcher.look() == 0
        write(tmp_path / "a.md", "another a", age_s=50)
        write(tmp_path / "deep" / "er" / "new.md", "n")
        write(tmp_path / "c.txt", "another c", age_s=50)
        (tmp_path / "b.md").unlink()
        assert await watcher.look() == 3
        assert await watcher.look() == 0
        assert await changes(queue) == [("a.md", "modified"), ("b.md", "deleted"), ("new.md", "created")]
        write(tmp_path / "a.md", "a", age_s=40)
        write(tmp_path / "a.md", "another a", age_s=30)
        assert await watcher.look() == 0, "only the time is another one"
        write(tmp_path / "a.md", "a", age_s=20)
        assert await watcher.look() == 1
        assert (await queue.get_trigger("docs")).made == 4

    run(test)


def test_two_who_look_make_one(tmp_path: Path) -> None:
    async def test(queue: Queue, watcher: FileWatcher) -> None:
        other = FileWatcher(queue)
        await queue.add_trigger("docs", "files", paths=[f"{tmp_path}/*.md"], task=TASK)
        await watcher.look()
        for number in range(5):
            write(tmp_path / f"{number}.md", "x")
        await asyncio.gather(watcher.look(), other.look())
        assert len(await changes(queue)) == 5
        # As if whoever made them was killed before it said what it saw.
        await queue.store.write_document("", "files", "default/docs", b"{}")
        await other.look()
        assert len(await changes(queue)) == 5

    run(test)


def test_a_file_that_is_being_written_is_left_for_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(queue: Queue, watcher: FileWatcher) -> None:
        await queue.add_trigger("docs", "files", paths=[f"{tmp_path}/*.md"], task=TASK)
        write(tmp_path / "old.md", "x")
        await watcher.look()
        write(tmp_path / "a.md", "half", age_s=0.5)
        write(tmp_path / "old.md", "half", age_s=0.5)
        assert await watcher.look() == 0
        monkeypatch.setattr("dibs.watching.time.time", lambda: 1_800_000_001.0)
        assert await watcher.look() == 2

    run(test)


def test_what_changes_while_it_is_paused_or_before_it_is_replaced_is_not_made_up_for(tmp_path: Path) -> None:
    async def test(queue: Queue, watcher: FileWatcher) -> None:
        await queue.add_trigger("docs", "files", paths=[f"{tmp_path}/*.md"], task=TASK)
        await watcher.look()
        await queue.pause_trigger("docs")
        write(tmp_path / "a.md", "a")
        assert await watcher.look() == 0
        await queue.resume_trigger("docs")
        assert await watcher.look() == 0
        write(tmp_path / "other" / "b.txt", "b")
        await queue.add_trigger("docs", "files", paths=[f"{tmp_path}/*/*.txt"], task=TASK, replace=True)
        assert await watcher.look() == 0
        write(tmp_path / "other" / "c.txt", "c")
        assert await watcher.look() == 1
        await queue.remove_trigger("docs")
        write(tmp_path / "other" / "d.txt", "d")
        assert await watcher.look() == 0

    run(test)


def test_only_what_fits_and_no_more_than_the_rate(tmp_path: Path) -> None:
    async def test(queue: Queue, watcher: FileWatcher) -> None:
        await queue.add_trigger(
            "docs",
            "files",
            paths=[f"{tmp_path}/*"],
            where={"event.type": "file.created", "event.data.name": "*.md"},
            rate="2/min",
            task=TASK,
        )
        await watcher.look()
        for name in ("a.md", "b.md", "c.md", "d.txt"):
            write(tmp_path / name, "x")
        assert await watcher.look() == 2
        trigger = await queue.get_trigger("docs")
        assert (trigger.made, trigger.dropped) == (2, 1)

    run(test)


def test_how_much_is_looked_at_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        write(tmp_path / f"{number:02}.md", "x")
    pattern = (f"{tmp_path}/*.md",)
    monkeypatch.setattr(watching, "MAX_FILES", 10)
    assert len(watching.look_at(pattern, None)[0]) == 10
    monkeypatch.setattr(watching, "MAX_ENTRIES", 5)
    assert len(watching.look_at(pattern, None)[0]) == 5
    monkeypatch.setattr(watching, "MAX_ENTRIES", 20_000)
    monkeypatch.setattr(watching, "MAX_STATE_BYTES", 100)
    assert len(watching.look_at(pattern, None)[0]) <= 1


def test_what_is_no_file_for_us_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path / "a.md", "x")
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "nowhere.md").symlink_to(tmp_path / "missing")
    os.mkfifo(tmp_path / "pipe.md")
    with open(os.fsencode(tmp_path) + b"/\xff.md", "wb"):
        pass
    found, _ = watching.look_at((f"{tmp_path}/**/*.md", f"{tmp_path}/a.md", "/no/such/place/*.md"), None)
    assert sorted(map(os.path.basename, found)) == ["a.md", "link.md"]


def test_one_file_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    before, _ = watching.look_at((str(path),), None)
    assert before == {}
    write(path, "x")
    after, [change] = watching.look_at((str(path),), before)
    assert (change.change, change.size) == ("created", 1)
    path.unlink()
    assert [change.change for change in watching.look_at((str(path),), after)[1]] == ["deleted"]
