"""Time-sortable, typed ids: `task_` or `dag_` and 26 characters (a ULID in lower-case Crockford base 32).

Ids made by one process in one millisecond still sort in the order they were made.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]

_lock = allocate_lock()
_last_ms = 0
_counter = 0


def new_id(prefix: str) -> str:
    """A fresh id such as `task_01j8k2m…`. Safe to call from any thread."""
    global _last_ms, _counter
    ms = time.time_ns() // 1_000_000
    with _lock:
        if ms > _last_ms:
            _last_ms = ms
            # The top bit stays clear so that counting up within a millisecond cannot overflow.
            _counter = int.from_bytes(os.urandom(10)) >> 1
        else:
            _counter += 1 + (os.urandom(1)[0] << 8)
        value = (_last_ms << 80) | _counter
    return f"{prefix}_{_encode(value)}"


def dag_of(task_id: str) -> str:
    """The id of a standalone task's virtual dag."""
    return "dag_" + task_id.removeprefix("task_")


def _encode(value: int) -> str:
    """130 bits as 26 characters, two at a time."""
    return "".join(_PAIRS[(value >> shift) & 1023] for shift in range(120, -1, -10))
