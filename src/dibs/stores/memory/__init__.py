"""Tasks in plain dicts: the readable reference, the oracle of the model tests, and what unit tests run on."""

from __future__ import annotations

from dibs.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
