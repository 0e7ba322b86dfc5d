"""Tasks in one SQLite file: the default store. Durable, shared by any number of processes of one machine."""

from __future__ import annotations

from dibs.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
