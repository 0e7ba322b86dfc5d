"""Tasks in Redis: the steps of the ledger on what they need of a namespace, and scripts for what must be quick."""

from __future__ import annotations

from dibs.stores.redis.store import RedisStore

__all__ = ["RedisStore"]
