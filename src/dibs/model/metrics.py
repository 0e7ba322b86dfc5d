"""How the queue has been doing, by type, agent, model or day."""

from __future__ import annotations

from msgspec import Struct


class Metrics(Struct, kw_only=True):
    """One group, of what is still kept. Times in seconds; None where nothing is known.

    `name` is the type, agent or model (None: no model was named), or the day (UTC) as YYYY-MM-DD.
    `created` and `cancelled` count tasks; by agent or model nothing is created, and `cancelled` counts the claims
    that a cancel ended. `completed`, `failed` (failed, timed out, expired, refused) and `dead_lettered` count claims by
    how they ended; a task that is retried by hand may be dead-lettered twice. `error_rate` is failed of both.
    `wait_*`: from first ready to the start of the first claim. `run_*`: from start to end, of claims that completed,
    failed, timed out or were refused. `held` are held now, and `renewal_delay_s` is how long ago the quietest of their
    agents was heard of. `cost_usd` is what is known; `unpriced` claims come on top.
    """

    name: str | None
    created: int | None = None
    completed: int = 0
    failed: int = 0
    dead_lettered: int = 0
    cancelled: int = 0
    error_rate: float | None = None
    wait_p50_s: float | None = None
    wait_p95_s: float | None = None
    run_p50_s: float | None = None
    run_p95_s: float | None = None
    held: int | None = None
    renewal_delay_s: float | None = None
    cost_usd: float | None = None
    unpriced: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    turns: int | None = None
