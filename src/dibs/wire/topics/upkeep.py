"""Looking after the store."""

from __future__ import annotations

from dibs.model.role import OPERATING
from dibs.wire.verbs import Verb

VERBS = (
    Verb(
        name="check",
        method="GET",
        path="/v1/upkeep/check",
        roles=OPERATING,
        about="What is wrong inside the store, a sentence each; nothing should be.",
        reply=list[str],
    ),
    Verb(
        name="advise",
        method="GET",
        path="/v1/upkeep/advice",
        roles=OPERATING,
        about="What the operator should know or do, a sentence each.",
        reply=list[str],
    ),
    Verb(
        name="run_duties",
        method="POST",
        path="/v1/upkeep/duties",
        roles=OPERATING,
        about="Run the duties that are due; how much each did.",
        reply=dict[str, int],
    ),
    Verb(
        name="prune",
        method="POST",
        path="/v1/upkeep/prune",
        roles=OPERATING,
        about="Delete everything that retention no longer keeps; how many tasks.",
        reply=int,
        acts=True,
    ),
)
