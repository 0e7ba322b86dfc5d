"""How a failed task is tried again: the user's wish, in data. `rules.retry` turns it into delays."""

from __future__ import annotations

from msgspec import Struct

NOT_RETRIED = (
    "auth_failure",
    "budget_exceeded",
    "cancelled",
    "out_of_memory",
    "syntax_error",
    "invalid_input",
    "poison_pill",
)


class Retry(Struct, frozen=True, omit_defaults=True):
    """When and how long to wait before a failed task is tried again.

    `delay` is the first wait in seconds, `cap` the longest. `jitter` is a fraction: 0.5 spreads
    a wait of 10 s over 5–15 s. `retry_on` (None: every reason) and `no_retry_on` name failure
    reasons; a reason in `no_retry_on` is never retried. Each timed-out attempt multiplies the next
    attempt's timeout by `timeout_multiplier`.
    """

    strategy: str = "exponential"
    delay: float = 10.0
    multiplier: float = 2.0
    cap: float = 300.0
    jitter: float = 0.5
    retry_on: tuple[str, ...] | None = None
    no_retry_on: tuple[str, ...] = NOT_RETRIED
    timeout_multiplier: float = 1.0
