"""What differs from run to run, masked: ids and secrets by the order in which they were first seen, instants, ages.

    masks = Masks()
    masks({"id": "task_01j…", "after": ["task_01k…"]})   # {"id": "<task 1>", "after": ["<task 2>"]}

One `Masks` for all answers of one run: what is the same id there is the same name here.
"""

from __future__ import annotations

import re
from typing import Any

_MADE_UP = (
    re.compile(r"\b(?P<kind>[a-z]+)_[0-9a-hjkmnp-tv-z]{26}"),
    re.compile(r"\bdibs_[A-Za-z0-9_-]{20,}"),
    re.compile(r"\bwhsec_[A-Za-z0-9+/=_-]{16,}"),
    re.compile(r"(?<!sha256:)\b(?:[0-9a-f]{48}|[0-9a-f]{64})\b"),
)
_INSTANT = re.compile(r"20(?:2[4-9]|[3-8]\d)-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)")
"""Of these days: a story that names instants takes those of other centuries."""
_AGE = re.compile(r"\bin \d+(?:\.\d+)? ?(?:s|min|m|h|d)\b|\b\d+(?:\.\d+)? ?(?:s|min|m|h|d) ago\b")
_MICROS = range(1_700_000_000_000_000, 4_000_000_000_000_000)
AGES = frozenset(
    {"cursor", "due_in", "effective_priority", "run_p50_s", "run_p95_s", "slow_down", "wait_p50_s", "wait_p95_s"}
)
"""Fields that tell of the time of the run; that they are there is compared."""


class Masks:
    """Masks the values of one run."""

    def __init__(self, ages: frozenset[str] = AGES) -> None:
        self._ages = ages
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def __call__(self, value: Any) -> Any:
        """The same value with all that differs from run to run masked."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            # In one order: who was seen first must not depend on how fields are sorted.
            masked = {self._text(name): self._field(name, value[name]) for name in sorted(value)}
            return dict(sorted(masked.items()))
        if isinstance(value, list | tuple):
            return [self(each) for each in value]
        if type(value) is int and value in _MICROS:
            return "<instant>"
        return value

    def _field(self, name: str, value: Any) -> Any:
        if name in self._ages and value is not None:
            return f"<{name}>"
        return self(value)

    def _text(self, text: str) -> str:
        for made_up in _MADE_UP:
            text = made_up.sub(lambda found: self._named(found[0], found.groupdict().get("kind", "secret")), text)
        return _AGE.sub("<age>", _INSTANT.sub("<instant>", text))

    def _named(self, id: str, kind: str) -> str:
        if id not in self._names:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._names[id] = f"<{kind} {self._counts[kind]}>"
        return self._names[id]
