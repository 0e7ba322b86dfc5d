"""What a server is told of settlements that are made here: how each claim ended, and nothing of what was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Raw
from msgspec.structs import asdict, replace

from dibs.model.ended import COMPLETED, Ended
from dibs.model.status import Outcome
from dibs.stores.values import Usage

if TYPE_CHECKING:
    from dibs.stores.values import Settlement


class Unpriced(Usage, kw_only=True):
    """What was used, as it was told: the server prices it, and needs to know what of it came from a cache."""

    tokens_cached: int | None = None
    tokens_cache_written: int | None = None

    @classmethod
    def of(cls, used: Usage, cached: int | None, cache_written: int | None) -> Unpriced:
        return cls(**asdict(used), tokens_cached=cached, tokens_cache_written=cache_written)


def told(settlement: Settlement) -> Ended:
    """How a claim ended, as its agent said it."""
    ended = settlement.told
    if ended is None:
        ended = Ended(
            task_id=settlement.task_id,
            fence=settlement.fence,
            outcome=COMPLETED,
            output=Raw(settlement.output or b"null"),
            decision=Raw(settlement.decision or b"null"),
            artifacts=settlement.artifacts,
            sanitized=settlement.output_sanitized,
        )
    used: dict[str, Any] = {}
    if settlement.usage is not None:
        spent = settlement.usage
        used = {
            "cost": spent.cost_usd,
            "tokens_in": spent.tokens_in,
            "tokens_out": spent.tokens_out,
            "turns": spent.turns,
            "model": spent.model,
            "price": spent.price,
        }
        if isinstance(spent, Unpriced):
            used |= {"tokens_cached": spent.tokens_cached, "tokens_cache_written": spent.tokens_cache_written}
    reason = "timeout" if settlement.outcome is Outcome.TIMED_OUT else ended.reason
    return replace(ended, reason=reason, exit_code=settlement.exit_code, together=settlement.together, **used)
