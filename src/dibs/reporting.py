"""What the types of a project want to be told in a decision report, and how their tasks get to expect it.

It is a document of the project for each type (`report`, by the type): the names of the fields. A task that wants a
report and names no fields gets those of its type when it is added, and keeps them: what is set later is for later
tasks. Only such tasks look whether there are any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.json import decode, encode

from dibs.model.views import Report

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.stores.contract import Store
    from dibs.stores.values import Draft

REPORT = "report"
EVERY = "*"
"""Stands for every type without fields of its own."""


async def reports(store: Store, project: str) -> list[Report]:
    """What was set, by type."""
    found = await store.documents(project, REPORT)
    return [Report(type=each.name, fields=decode(each.body, type=tuple[str, ...])) for each in found]


async def fill_in(store: Store, project: str, drafts: Iterable[Draft]) -> None:
    """Give these tasks the fields of their types, where their contracts want a report and name none."""
    bare = [draft for draft in drafts if draft.task.expects is not None and is_open(draft.task.expects)]
    if not bare:
        return
    from dibs import checking
    from dibs.rules import contracts

    fields = {report.type: report.fields for report in await reports(store, project)}
    for draft in bare:
        wanted = fields.get(draft.task.type) or fields.get(EVERY)
        if wanted:
            expects = contracts.with_fields(decode(encode(draft.task.expects)), wanted)
            draft.task.expects = checking.accepted(expects)
            # It is like no other task now.
            draft.kind = object()


def is_open(expects: Any) -> bool:
    """Whether a contract, or what may be one, wants a report and names no fields."""
    try:
        body = encode(expects)
    except (TypeError, ValueError, RecursionError):
        return False
    # Most contracts want none, and pay for no more than this look.
    if b'"decision-report"' not in body:
        return False
    from dibs.rules import contracts

    return contracts.is_open_report(decode(body))
