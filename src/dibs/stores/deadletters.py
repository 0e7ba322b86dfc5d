"""Which dead letters are meant, as the verbs tell a store."""

from __future__ import annotations

from msgspec import Struct


class DeadFilter(Struct, kw_only=True):
    """Which dead letters are meant; None does not filter. `since` and `until` (micros) bound when they dead-lettered:
    since ≤ then < until. `text` is looked for where `find` looks. `dag` also takes the id of a virtual dag."""

    project: str = "default"
    type: str | None = None
    fingerprint: str | None = None
    tag: str | None = None
    dag: str | None = None
    user: str | None = None
    text: str | None = None
    since: int | None = None
    until: int | None = None
    reviewed: bool | None = None
