"""What was done to tokens and settings, by whom, and what was refused."""

from __future__ import annotations

from dibs.model.audit import AuditEntry, AuditVerdict
from dibs.model.role import OPERATING
from dibs.wire.verbs import Verb

VERBS = (
    Verb(
        name="audit",
        method="GET",
        path="/v1/audit",
        roles=OPERATING,
        about="The entries of the project in their order: the first after a number, or the last ones.",
        takes={"after": int | None, "limit": int, "act": str | None, "by": str | None},
        reply=list[AuditEntry],
    ),
    Verb(
        name="verify_audit",
        method="GET",
        path="/v1/audit/verdict",
        roles=OPERATING,
        about="Read the whole audit and say what is wrong with it; only for admins of the project `default`.",
        takes={"noted": str | None},
        reply=AuditVerdict,
    ),
    Verb(
        name="prune_audit",
        method="POST",
        path="/v1/audit/prune",
        roles=OPERATING,
        about="Drop the oldest entries but the last `keep`, with an entry that says so; how many.",
        takes={"keep": int | None},
        reply=int,
        acts=True,
    ),
)
