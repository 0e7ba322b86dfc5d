"""Where Loki's files are, and reading them: all five at one moment, under their lock."""

from __future__ import annotations

import os
import re
from typing import Any

from msgspec import Struct

from dibs.errors import Invalid
from dibs.loki import breakers
from dibs.loki.format import QUEUES, LokiTask, file_of, read_tasks
from dibs.loki.lock import locked

MAX_BYTES = 1 << 30
"""More than anybody's file; an endless one must not fill the memory."""


class Folder(Struct, frozen=True):
    """The paths of one queue of Loki's."""

    queue: str
    lock: str
    breakers: str

    def file(self, queue: str) -> str:
        """The path of one of the five."""
        return os.path.join(self.queue, file_of(queue))

    def present(self) -> list[str]:
        """The names of those of the five that are there."""
        return [file_of(queue) for queue in QUEUES if os.path.lexists(self.file(queue))]


class Contents(Struct):
    """What the files said at one moment; `breakers` is the text of that file, None if there is none."""

    folder: Folder
    tasks: dict[str, list[LokiTask]]
    breakers: bytes | None


def find_folder(path: str) -> Folder:
    """The queue that a person means: `.loki`, the folder above it, `.loki/queue`, or a copy of the files alone."""
    path = os.path.normpath(path)
    above, name = os.path.split(os.path.abspath(path))
    if os.path.isdir(os.path.join(path, ".loki")):
        return _below(os.path.join(path, ".loki"))
    if name == "queue" and (os.path.basename(above) == ".loki" or os.path.isdir(os.path.join(above, "state"))):
        return _below(above)
    alone = Folder(path, os.path.join(path, "queue.lock"), os.path.join(path, breakers.FILE))
    return alone if alone.present() else _below(path)


def _below(root: str) -> Folder:
    return Folder(
        queue=os.path.join(root, "queue"),
        lock=os.path.join(root, "state", "locks", "queue.lock"),
        breakers=os.path.join(root, "config", breakers.FILE),
    )


def read_folder(path: str) -> Contents:
    """Everything that the folder holds, checked. `Invalid` names the file, the task and the field; `Unavailable` the
    holder of the lock."""
    if not os.path.isdir(path):
        raise Invalid(f"there is no folder {path!r}; name the .loki folder.", field="dir")
    folder = find_folder(path)
    if not folder.present():
        raise Invalid(
            f"{path!r} holds none of Loki's files: there is no {folder.file(QUEUES[0])}; name the .loki folder.",
            field="dir",
        )
    with locked(folder.lock):
        contents = {queue: _read(folder.file(queue)) for queue in QUEUES}
        settings = _read(folder.breakers) if os.path.exists(folder.breakers) else None
    tasks = {}
    for queue, content in contents.items():
        where = folder.file(queue)
        tasks[queue] = read_tasks(_decoded(content, where), queue, where)
    return Contents(folder, tasks, settings)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise Invalid(f'{path} is missing; if that queue is empty, write {{"tasks": []}} to it.', field="dir") from None
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.", field="dir") from None
    if len(content) > MAX_BYTES:
        raise Invalid(f"{path} has more than {MAX_BYTES:,} bytes.", field="dir", code="too_large")
    return content


def _decoded(content: bytes, path: str) -> Any:
    from msgspec import DecodeError, json

    try:
        return json.decode(content)
    except RecursionError:
        raise Invalid(f"{path} is nested too deeply.", field="dir") from None
    except (DecodeError, UnicodeError) as error:
        raise Invalid(f"{path} is not JSON{_position(content, str(error))}: {error}.", field="dir") from None


def _position(content: bytes, message: str) -> str:
    """Line and column of the byte that a message speaks of."""
    found = re.search(r"byte (\d+)", message)
    # A file that ends too early is wrong where it ends.
    before = content if found is None else content[: int(found[1])]
    line = before.count(b"\n") + 1
    column = len(before) - (before.rfind(b"\n") + 1) + 1
    return f" (line {line}, column {column})"
