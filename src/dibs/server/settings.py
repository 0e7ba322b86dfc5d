"""What a server takes at most, so that no caller can take it from the others."""

from __future__ import annotations

from msgspec import Struct

MAX_WAIT_S = 60.0
"""How long one request may wait for work, or for a task to end; whoever wants to wait longer asks again."""


class Settings(Struct, frozen=True, kw_only=True):
    """The limits of one server process.

    `requests_per_s` is for each token, after a `burst`; None: no limit. `max_waiting` long polls are kept at a time;
    `max_at_once` requests are served at a time, those included. `max_depth` is how deeply a body may be nested.
    """

    max_body_bytes: int = 32 << 20
    max_depth: int = 80
    max_wait_s: float = MAX_WAIT_S
    max_waiting: int = 2_000
    max_at_once: int = 4_000
    requests_per_s: float | None = 5_000.0
    burst: int = 10_000

    def shown(self) -> dict[str, float]:
        """What a client should know of them."""
        return {
            "max_body_bytes": self.max_body_bytes,
            "max_depth": self.max_depth,
            "max_wait_s": self.max_wait_s,
        }
