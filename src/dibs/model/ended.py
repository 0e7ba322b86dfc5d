"""How a claim ended, in the words of whoever held it; what follows is for the rules to say."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dibs.model.retry import Retry

COMPLETED, FAILED, RELEASED = "completed", "failed", "released"


class Ended(Struct, kw_only=True, omit_defaults=True):
    """One of many ends: `outcome` is `completed`, `failed` or `released`, and the rest are the parameters of
    `complete`, `fail` and `release`; those of the others are left out.

    `judged`: the commands that the output must pass were run by whoever completes it; `refusal` is what they found
    against it, if anything.

    What only a worker says: the output had to be `sanitized` before it could be sent; the retry `policy` of its
    handler, for a task that has none; that it failed `together` with another of its group, in one attempt at both; that
    a task which it releases was `untouched`, so that this is no release that counts; by which version of prices
    (`price`) its cost was computed.
    """

    task_id: str
    fence: int
    outcome: str
    output: Any = None
    decision: Any = None
    artifacts: Any = ()
    judged: bool = False
    refusal: str | None = None
    error: str | None = None
    reason: str = "error"
    retry: bool = True
    retry_after: float | str | None = None
    exit_code: int | None = None
    delay: float | str = 0
    cost: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    turns: int | None = None
    model: str | None = None
    tokens_cached: int | None = None
    tokens_cache_written: int | None = None
    price: str | None = None
    sanitized: bool = False
    policy: Retry | None = None
    together: bool = False
    untouched: bool = False
