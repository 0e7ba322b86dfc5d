"""What decision reports must say."""

from __future__ import annotations

from dibs.model.role import EVERYONE, OPERATING
from dibs.model.views import Report
from dibs.wire.verbs import Verb

VERBS = (
    Verb(
        name="reports",
        method="GET",
        path="/v1/reports",
        roles=EVERYONE,
        about="The types whose decision reports have fields of their own, by type.",
        reply=list[Report],
    ),
    Verb(
        name="set_report",
        method="PUT",
        path="/v1/reports/{type}",
        roles=OPERATING,
        about="Say in which fields the decision reports of a type (`*`: of every other) must say something.",
        needs={"fields": list[str]},
        reply=Report,
        acts=True,
    ),
    Verb(
        name="remove_report",
        method="DELETE",
        path="/v1/reports/{type}",
        roles=OPERATING,
        about="Forget the fields of a type; tasks that were added keep theirs.",
        reply=Report,
        acts=True,
    ),
)
