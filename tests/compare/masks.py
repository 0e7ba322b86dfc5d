"""What differs from run to run of one version, masked: what stories mask, and ports, folders, ETags, the version."""

from __future__ import annotations

import re
from typing import Any

from tests.doors.masks import Masks as OfStories

_FOLDER = re.compile(r"(?:/[\w.@+-]+)*/dibs-compare-\w+")
_PLACE = re.compile(r"\b(?:127\.0\.0\.1|localhost):\d+")
_PID = re.compile(r"\b[\w.-]+:\d+:[0-9a-z]{4,}\b")
_ETAG = re.compile(r'(?:W/)?"[0-9a-f]{8,}"')
_VERSION = re.compile(r"\b0\.\d+\.\d+(?:[.+-]?\w+)*\b")
_AFTER_A_WHILE = re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|µs)\b|\b\d+\.\d+ ?s\b|\b\d+\.\d{4,}\b")
"""How long something took. Nobody sets a duration to four places."""
AGES = frozenset(
    {
        *("age_s", "cursor", "due_in", "duration_s", "effective_priority", "enqueued_at", "free_bytes", "instance"),
        *("latency_s", "oldest_ready_s", "p50_s", "p95_s", "pid", "ran_s", "ready_for_s", "renewal_delay_s"),
        *("run_p50_s", "run_p95_s", "size_bytes", "slow_down", "took_s", "uptime_s", "wait_p50_s", "wait_p95_s"),
        *("wait_s", "waited_s"),
    }
)
ON_A_SHARED_STORE = AGES | {"after", "after_seq", "before", "number", "seq"}
"""Events, acts and lanes are numbered for all projects together, and a server that runs tells some of its own."""


class Masks(OfStories):
    """Masks what one run of one program saw.

    `exact`: its clock was its own, so ages can be compared. `shared`: its store was not its own.
    """

    def __init__(self, *, exact: bool = False, shared: bool = False) -> None:
        super().__init__(frozenset() if exact else ON_A_SHARED_STORE if shared else AGES)
        self._exact = exact
        self._shared = shared

    def _field(self, name: str, value: Any) -> Any:
        if self._shared and name == "id" and type(value) is int:
            return "<number>"
        if self._shared and name == "last_used_at":
            # Written down beside the request, sooner or later.
            return "<last_used_at>"
        return super()._field(name, value)

    def _text(self, text: str) -> str:
        text = _ETAG.sub("<etag>", _PLACE.sub("<place>", _FOLDER.sub("<folder>", text)))
        if not self._exact:
            text = _VERSION.sub("<version>", _AFTER_A_WHILE.sub("<a while>", _PID.sub("<pid>", text)))
        return super()._text(text)
