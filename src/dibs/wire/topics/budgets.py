"""What the work may use."""

from __future__ import annotations

from dibs.model.role import EVERYONE, OPERATING
from dibs.model.views import Budget
from dibs.wire.verbs import Verb

VERBS = (
    Verb(
        name="budgets",
        method="GET",
        path="/v1/budgets",
        roles=EVERYONE,
        about="All budgets: what may be used, what is reserved by attempts under way, and what was spent.",
        reply=list[Budget],
    ),
    Verb(
        name="get_budget",
        method="GET",
        path="/v1/budgets/{scope}",
        roles=EVERYONE,
        about="One budget, with the version (ETag) that a change of it may name.",
        takes={"unit": str},
        reply=Budget,
    ),
    Verb(
        name="set_budget",
        method="PUT",
        path="/v1/budgets/{scope}",
        roles=OPERATING,
        about="Let no more than `limit` of a unit be used within a scope.",
        needs={"limit": float},
        takes={"unit": str, "default_reserve": float, "window": str | None, "timezone": str | None},
        reply=Budget,
        acts=True,
        edits=True,
    ),
    Verb(
        name="raise_budget",
        method="POST",
        path="/v1/budgets/{scope}/raise",
        roles=OPERATING,
        about="Add to the limit of a budget, and let in who fits now.",
        needs={"amount": float},
        takes={"unit": str},
        reply=Budget,
        acts=True,
        edits=True,
    ),
    Verb(
        name="remove_budget",
        method="DELETE",
        path="/v1/budgets/{scope}",
        roles=OPERATING,
        about="Limit this no longer; the budget as it was.",
        takes={"unit": str},
        reply=Budget,
        acts=True,
        edits=True,
    ),
)
