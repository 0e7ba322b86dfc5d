"""Writing the five files: none of them is ever half written, and Loki's tools see none of it before it is there.

All five are written beside the old ones and brought to the disk first; only then is one after the other replaced. A
crash in between leaves each file old or new, whole in both cases, and exporting again completes it. `pending.json`
comes first: what is no longer to be claimed disappears from there before it appears elsewhere.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dibs.errors import Conflict, Unavailable
from dibs.loki.format import QUEUES, file_of
from dibs.loki.lock import locked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.loki.folder import Folder


def refuse_overwriting(folder: Folder, settings: bytes | None = None) -> None:
    """`Conflict` if any of the five is there, or `settings` are to be written where others are."""
    present = folder.present()
    if present:
        raise Conflict(f"{folder.queue} holds {', '.join(present)} already; --force replaces all five.", field="dir")
    if settings is not None and os.path.lexists(folder.breakers):
        raise Conflict(f"{folder.breakers} is there already; --force replaces it too.", field="dir")


def write_folder(
    folder: Folder, files: Mapping[str, Sequence[bytes]], *, force: bool = False, settings: bytes | None = None
) -> None:
    """Replace all five files by these tasks, under the lock, and the file about circuit breakers, if there is something
    to say. `Unavailable` if they cannot be written."""
    with locked(folder.lock):
        if not force:
            refuse_overwriting(folder, settings)
        try:
            os.makedirs(folder.queue, exist_ok=True)
            if settings is not None:
                _replace(folder.breakers, settings)
            _replace_all(folder, files)
        except OSError as error:
            raise Unavailable(f"{error.filename or folder.queue} cannot be written: {error.strerror}.") from None


def _replace(path: str, content: bytes) -> None:
    """One file, old or new, whole in both cases."""
    above, name = os.path.split(path)
    os.makedirs(above, exist_ok=True)
    fresh = os.path.join(above, f".{name}.dibs")
    try:
        with open(fresh, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
    finally:
        if os.path.exists(fresh):
            os.unlink(fresh)
    _sync_folder(above)


def _replace_all(folder: Folder, files: Mapping[str, Sequence[bytes]]) -> None:
    # Only the holder of the lock uses these names, so whatever a crash left there may be overwritten.
    fresh = {queue: os.path.join(folder.queue, f".{file_of(queue)}.dibs") for queue in QUEUES}
    try:
        for queue, path in fresh.items():
            _write(path, files.get(queue, ()))
        for queue, path in fresh.items():
            os.replace(path, folder.file(queue))
    finally:
        for path in fresh.values():
            if os.path.exists(path):
                os.unlink(path)
    _sync_folder(folder.queue)


def _write(path: str, tasks: Sequence[bytes]) -> None:
    """A file of tasks, a line each, on the disk."""
    with open(path, "wb") as file:
        file.write(b'{"tasks": [')
        for place, task in enumerate(tasks):
            file.write(b",\n" if place else b"\n")
            file.write(task)
        file.write(b"\n]}\n")
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: str) -> None:
    """Bring the new names to the disk, too."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
