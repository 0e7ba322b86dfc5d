"""Time-sortable, typed ids: `task_` or `dag_` and 26 characters (a ULID in lower-case Crockford base 32).

Ids made by one process sort in the order they were made, also within a millisecond: their random part counts up from
a start that no two processes share.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]

_lock = allocate_lock()
_millisecond = 0
_time = ""
_count = 0
_stem = ""


def new_id(prefix: str) -> str:
    """A fresh id such as `task_01j8k2m…`. Safe to call from any thread."""
    global _millisecond, _time, _count, _stem
    now = time.time_ns() // 1_000_000
    with _lock:
        if now > _millisecond:
            _millisecond = now
            _time = _text(now, 40)
        _count += 1
        if not _count & 1023:
            _stem = _text(_count >> 10, 60)
        return f"{prefix}_{_time}{_stem}{_PAIRS[_count & 1023]}"


def derived_id(prefix: str, at: int, *parts: str) -> str:
    """An id that follows from what it is for: equal parts, at the same instant (in micros), have the same one, and
    nobody else has it. It sorts with the ids that are made at that instant."""
    from hashlib import blake2b

    told = "\0".join((prefix, *parts)).encode()
    rest = int.from_bytes(blake2b(told, digest_size=10).digest())
    return f"{prefix}_{_text(max(at, 0) // 1_000, 40)}{_text(rest, 70)}"


def dag_of(task_id: str) -> str:
    """The id of a standalone task's virtual dag."""
    return "dag_" + task_id.removeprefix("task_")


def alone_in(dag_id: str) -> tuple[str, str]:
    """The ids one of which a standalone task has whose virtual dag has this id."""
    rest = dag_id.removeprefix("dag_")
    return "task_" + rest, rest


JUDGES = "_judge_"
"""Between the id of a task and the attempt: in the id of the task that judges it (`rules.validating`)."""


def _text(value: int, highest: int) -> str:
    """Two characters for ten bits, beginning with those that start at `highest`."""
    return "".join([_PAIRS[value >> shift & 1023] for shift in range(highest, -1, -10)])


def _start_anew() -> None:
    global _lock, _count, _stem
    _lock = allocate_lock()
    # The top bit starts clear, so that counting up cannot overflow.
    _count = int.from_bytes(os.urandom(10)) >> 1
    _stem = _text(_count >> 10, 60)


_start_anew()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
