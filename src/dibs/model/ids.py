"""Time-sortable, typed ids: `task_` or `dag_` and 26 characters (a ULID in lower-case Crockford base 32).

Ids made by one process in one millisecond still sort in the order they were made: the millisecond and 30 random bits
stay, 50 more count up from a random start.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]

_lock = allocate_lock()
_millisecond = 0
_head = ""
_count = 0


def new_id(prefix: str) -> str:
    """A fresh id such as `task_01j8k2m…`. Safe to call from any thread."""
    global _millisecond, _head, _count
    now = time.time_ns() // 1_000_000
    with _lock:
        if now > _millisecond:
            _millisecond = now
            random = int.from_bytes(os.urandom(10))
            _head = _text(now << 30 | random >> 50, 16)
            # The top bit starts clear, so that counting up cannot overflow.
            _count = random & (1 << 49) - 1
        else:
            _count += 1
        head, count = _head, _count
    return f"{prefix}_{head}{_text(count, 10)}"


def dag_of(task_id: str) -> str:
    """The id of a standalone task's virtual dag."""
    return "dag_" + task_id.removeprefix("task_")


def _text(value: int, characters: int) -> str:
    """The lowest bits of a number, five to a character."""
    return "".join([_PAIRS[value >> shift & 1023] for shift in range(5 * characters - 10, -1, -10)])
