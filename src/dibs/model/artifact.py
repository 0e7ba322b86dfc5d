"""What work leaves behind beside its output: named bytes, kept outside the tasks' store and known by their digest."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class Artifact(Struct, kw_only=True, frozen=True, gc=False):
    """An artifact of a task. `name` is a label; what finds the bytes is `digest` (`sha256:…`).

    Putting another under the same name replaces it. `task_id` is the task it belongs to, `put_at` since when.
    """

    name: str
    digest: str
    size: int
    media_type: str | None = None
    task_id: str = ""
    put_at: datetime | None = None


class Swept(Struct, kw_only=True, frozen=True, gc=False):
    """What a sweep did: how many blobs it deleted, how many bytes those had, and how many as old as that it kept."""

    deleted: int = 0
    bytes: int = 0
    kept: int = 0
