"""Who is asking: a token's secret becomes a `Caller`, and what callers did or were refused is recorded.

The server knows nothing else of tokens. How they are kept, and for how long one may be trusted that was looked up
before, is for the `Authority` to say.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from dibs.model.role import Role
from dibs.rules import validation


class SpawnLimits(Struct, frozen=True, kw_only=True):
    """How far an agent may make more work: levels below a task that nobody spawned, tasks below one task, and what all
    that one call adds may cost (`max_cost` of its tasks, in USD; None: not limited here)."""

    depth: int = validation.MAX_SPAWN_DEPTH
    children: int = validation.MAX_CHILDREN
    cost_usd: float | None = None


class Caller(Struct, frozen=True, kw_only=True):
    """Whoever a request comes from.

    `project` is the only one whose tasks it can see. `types` are those that an agent may claim, and add below a task
    that it holds; None: any. `name` is for people, `token_id` for the audit.
    """

    name: str
    role: Role
    project: str = "default"
    types: frozenset[str] | None = None
    token_id: str = ""
    limits: SpawnLimits = SpawnLimits()


class Authority(Protocol):
    """Knows the callers and remembers what was decided about them."""

    async def identify(self, secret: str) -> Caller | None:
        """Whose token this is; None if it is nobody's, or is not valid any more. Raises Unavailable."""
        ...

    async def record(self, caller: Caller | None, act: str, target: str, outcome: str) -> None:
        """Note for the audit what a caller (None: an unknown one) did or was refused.

        `act` is the verb, `target` the path, `outcome` is `done` or the code of the error. Never raises: what cannot be
        recorded is logged.
        """
        ...
