"""What was done to a server's settings, and what was refused: one entry each, chained by their digests."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, field


class AuditEntry(Struct, kw_only=True):
    """One entry. `by` is who (the name of a token, or whoever used the shell), `act` the verb, `target` what it was
    done to, `outcome` `done` or the code of the refusal; `count` how often, of what was folded into one.

    `previous` is the SHA-256 of the entry before, as it is kept; `digest` that of this one.
    """

    number: int
    at: datetime
    by: str | None = None
    token_id: str | None = None
    project: str = "default"
    act: str = ""
    target: str = ""
    outcome: str = "done"
    count: int = 1
    previous: str = ""
    digest: str = ""


class AuditFault(Struct, frozen=True):
    """Something that is wrong with the audit, beginning with the entry of this number."""

    number: int
    detail: str


class AuditVerdict(Struct, kw_only=True):
    """Whether the audit is whole, and what is wrong with it.

    `number` and `head` are those of the last entry: whoever notes them elsewhere can prove later that nothing before
    was changed. `checked` entries were read; those up to `pruned` were dropped on purpose.
    """

    sound: bool
    checked: int = 0
    number: int = 0
    head: str = ""
    pruned: int = 0
    faults: list[AuditFault] = field(default_factory=list)
