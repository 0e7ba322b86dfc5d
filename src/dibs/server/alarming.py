"""Events for what no verb tells of: budgets that are nearly used up, or are.

Any number of servers look; what was told is a document of its project, and whoever writes it tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import json

from dibs.errors import Conflict
from dibs.rules import alarms

if TYPE_CHECKING:
    from dibs.queue import Queue

KIND, NAME = "alarms", "budgets"


async def tell_of_budgets(queue: Queue, project: str) -> int:
    """Look at the budgets of a project, and tell what has not been told; of how many."""
    store = queue.store
    budgets = await store.budgets(project)
    found = await store.documents(project, KIND, name=NAME)
    told = json.decode(found[0].body, type=dict[str, str]) if found else {}
    known, news = alarms.alarms(budgets, told)
    if known == told:
        return 0
    try:
        await store.write_document(project, KIND, NAME, json.encode(known), found[0].version if found else 0)
    except Conflict:
        # Another server looked in the same moment.
        return 0
    for level, budget in news:
        await store.tell(project, f"budget.{level}", reason=budget.scope, data=alarms.event_data(budget))
    return len(news)
