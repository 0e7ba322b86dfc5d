"""What must happen on time. Each duty is one small file on the contract alone: bounded, and safe to run twice at once.

`run_due` elects the duties that nobody has run lately and runs them; claims and keepers call it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.duties.conclude import conclude, conclude_one
from dibs.duties.desk import BATCH, Desk
from dibs.duties.expire import expire
from dibs.duties.lapse import lapse
from dibs.duties.promote import promote
from dibs.duties.prune import prune
from dibs.duties.rerank import rerank
from dibs.duties.schedule import schedule
from dibs.duties.spread import spread
from dibs.duties.trigger import trigger
from dibs.duties.unpark import unpark
from dibs.duties.watch import watch
from dibs.rules.schedule import GRACE_S, INTERVALS_S, RETENTION_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

DUTIES: dict[str, Callable[[Desk], Awaitable[int]]] = {
    "expire": expire,
    "lapse": lapse,
    "conclude": conclude,
    "schedule": schedule,
    "trigger": trigger,
    "promote": promote,
    "spread": spread,
    "rerank": rerank,
    "unpark": unpark,
    "watch": watch,
    "prune": prune,
}
"""In the order they run: what expires may be promoted, what ended may spread."""


async def run_due(desk: Desk) -> dict[str, int]:
    """Run the duties that are due and not somebody else's just now; what each one did.

    After the machine slept nothing expires and nobody is lost for a while: workers that slept too must get to renew
    first.
    """
    if desk.woke_up():
        await desk.store.postpone("expire", GRACE_S)
        await desk.store.postpone("watch", GRACE_S)
    won = await desk.store.elect(INTERVALS_S)
    return {name: await duty(desk) for name, duty in DUTIES.items() if name in won} if won else {}


__all__ = ["BATCH", "DUTIES", "INTERVALS_S", "RETENTION_S", "Desk", "conclude_one", "run_due"]
