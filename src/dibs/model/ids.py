"""Time-sortable, typed ids: `task_` or `dag_` and 26 characters (a ULID in lower-case Crockford base 32).

Ids made by one process in one millisecond still sort in the order they were made: they count up from a random start.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]

_lock = allocate_lock()
_millisecond = 0
_count = 0
_stem = ""


def new_id(prefix: str) -> str:
    """A fresh id such as `task_01j8k2m…`. Safe to call from any thread."""
    global _millisecond, _count, _stem
    now = time.time_ns() // 1_000_000
    with _lock:
        if now > _millisecond:
            _millisecond = now
            # The top bit starts clear, so that counting up cannot overflow.
            _count = now << 80 | int.from_bytes(os.urandom(10)) >> 1
            _stem = _text(_count)
        else:
            _count += 1
            if not _count & 1023:
                _stem = _text(_count)
        return f"{prefix}_{_stem}{_PAIRS[_count & 1023]}"


def dag_of(task_id: str) -> str:
    """The id of a standalone task's virtual dag."""
    return "dag_" + task_id.removeprefix("task_")


def _text(value: int) -> str:
    """All but the last two characters: five bits each, of 130."""
    return "".join([_PAIRS[value >> shift & 1023] for shift in range(120, 0, -10)])
