"""Looking at files for triggers: what was made, changed or removed since somebody looked.

A server looks every few seconds; nobody has to tell it. What it saw is kept in a document for each trigger, so that a
server that was away finds what changed meanwhile, and two that look at the same files make one task. The first look
only remembers. A file counts as changed when its bytes are other ones, not when it was only touched; one that was
written to a moment ago is left for the next look. All of it is bounded: so many files, so many folders' entries.
"""

from __future__ import annotations

import os
import stat
import time
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from msgspec import DecodeError, Struct
from msgspec.json import decode, encode

from dibs.duties import calendar, firing
from dibs.errors import Conflict, Unavailable
from dibs.rules import paths, triggers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.model.trigger import Trigger
    from dibs.queue import Queue
    from dibs.stores.values import Document

KIND = triggers.FILES
LOOK_EVERY_S = 2.0
MAX_FILES = 1_000
MAX_STATE_BYTES = 60_000
MAX_ENTRIES = 20_000
MAX_READ_BYTES = 16 << 20
"""Of a larger file the first bytes are compared, and its size."""
SETTLED_S = 1.0

Seen = dict[str, tuple[str, str]]
"""For each path: when it was changed and how large it is, and what it holds."""


class Change(Struct, frozen=True):
    """What happened to one file."""

    path: str
    change: str
    id: str
    size: int | None = None


class FileWatcher:
    """Looks at the files that the triggers of a store name, of every project, until it is cancelled."""

    def __init__(self, queue: Queue) -> None:
        self._store = queue.store
        self._known: tuple[int, list[tuple[str, Trigger]]] | None = None

    async def run(self) -> None:
        """Look again and again. A store that is away, or a look that fails, is tried again."""
        import asyncio
        import logging

        while True:
            try:
                await self.look()
            except Unavailable:
                pass
            except Exception:
                logging.getLogger("dibs.watching").exception("looking at files failed; it is tried again")
            await asyncio.sleep(LOOK_EVERY_S)

    async def look(self) -> int:
        """Look once; how many tasks or dags were made."""
        clock = await calendar.read_clock(self._store, firing.KIND)
        if clock is None:
            return 0
        made = 0
        for project, trigger in await self._watching(clock):
            made += await self._compare(project, trigger)
        return made

    async def _watching(self, clock: Document) -> list[tuple[str, Trigger]]:
        if self._known is None or self._known[0] != clock.version:
            found = []
            async for document in calendar.pages(self._store, firing.KIND):
                try:
                    trigger = firing.read(document)
                except DecodeError:
                    continue  # of a later version, which knows what to do with it
                if trigger.on == triggers.FILES:
                    found.append((document.name.rpartition("/")[0], trigger))
            self._known = (clock.version, found)
        return self._known[1]

    async def _compare(self, project: str, trigger: Trigger) -> int:
        import asyncio

        place = calendar.place_of(project, trigger.name)
        documents = await self._store.documents(calendar.EVERYWHERE, KIND, name=place)
        version = documents[0].version if documents else 0
        before: Seen | None = decode(documents[0].body, type=Seen) if documents else None
        after, changes = await asyncio.to_thread(look_at, trigger.paths, before)
        if before == after:
            return 0
        made = 0
        for change in changes if before is not None and not trigger.paused else ():
            event = {"type": f"file.{change.change}", "data": _told(change)}
            if triggers.fits(trigger, event):
                receipt = await firing.fire(self._store, project, trigger.name, event, change.id)
                made += receipt is not None and receipt.id is not None and not receipt.existing
        try:
            await self._store.write_document(calendar.EVERYWHERE, KIND, place, encode(after), version)
        except Conflict:
            pass  # somebody else looked, too
        return made


def look_at(patterns: tuple[str, ...], before: Seen | None) -> tuple[Seen, list[Change]]:
    """What is there now, and what changed since `before`: of files that nobody is writing to just now."""
    known = before or {}
    after: Seen = {}
    changes: list[Change] = []
    room = MAX_STATE_BYTES
    for path, found in sorted(_files(patterns)):
        room -= len(encode(path)) + 64
        if len(after) >= MAX_FILES or room < 0:
            break
        mark = f"{found.st_mtime_ns}:{found.st_size}"
        old = known.get(path)
        if old is not None and old[0] == mark:
            after[path] = old
            continue
        if 0 <= time.time() - found.st_mtime < SETTLED_S and before is not None:
            if old is not None:
                after[path] = old
            continue
        holds = _digest(path, found.st_size)
        if holds is None:
            continue  # gone, or not for us
        after[path] = (mark, holds)
        if old is None or old[1] != holds:
            change = "created" if old is None else "modified"
            changes.append(Change(path, change, _id(path, mark, change), found.st_size))
    for path, (mark, _) in known.items():
        if path not in after and not os.path.exists(path):
            changes.append(Change(path, "deleted", _id(path, mark, "deleted")))
    return after, changes


def _files(patterns: tuple[str, ...]) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files that fit, each once. Links to folders are not followed."""
    seen: set[str] = set()
    left = MAX_ENTRIES
    for pattern in patterns:
        folders = [paths.root_of(pattern)]
        while folders and left > 0:
            folder = folders.pop()
            try:
                entries = sorted(os.listdir(folder))
            except NotADirectoryError:
                entries = [""]
            except OSError:
                continue
            for entry in entries[:left]:
                left -= 1
                path = os.path.join(folder, entry) if entry else folder
                if not _is_text(path):
                    continue
                try:
                    found = os.stat(path, follow_symlinks=False)
                    if stat.S_ISLNK(found.st_mode):
                        found = os.stat(path)
                        if stat.S_ISDIR(found.st_mode):
                            continue
                except OSError:
                    continue
                if stat.S_ISDIR(found.st_mode):
                    if paths.may_be_below(path, pattern):
                        folders.append(path)
                elif stat.S_ISREG(found.st_mode) and path not in seen and paths.fits(path, pattern):
                    seen.add(path)
                    yield path, found


def _is_text(path: str) -> bool:
    """Whether a name can be told at all; those of old disks may be bytes that stand for nothing."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in path


def _digest(path: str, size: int) -> str | None:
    try:
        with open(path, "rb") as file:
            held = file.read(MAX_READ_BYTES)
    except OSError:
        return None
    return blake2b(b"%d:" % size + held, digest_size=12).hexdigest()


def _id(path: str, mark: str, change: str) -> str:
    return blake2b(f"{change}\0{mark}\0{path}".encode(), digest_size=16).hexdigest()


def _told(change: Change) -> dict[str, Any]:
    return {
        "path": change.path,
        "name": os.path.basename(change.path),
        "change": change.change,
        "size": change.size,
    }
