"""The verbs about decision reports: what those of a type must say. `Queue` has them; they are written here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.errors import Conflict, NotFound
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.views import Report
    from dibs.stores.contract import Store

MAX_REPORTS = 1_000
"""In one project."""


class Reports:
    """What a queue wants to know of decisions."""

    store: Store
    project: str

    async def reports(self) -> list[Report]:
        """The types whose decision reports have fields of their own, by type."""
        from dibs import reporting

        return await reporting.reports(self.store, self.project)

    async def set_report(self, type: str, fields: Sequence[str]) -> Report:
        """Say in which fields the decision reports of a type (`*`: of every type without its own) must say something.

        It is for tasks that are added from now on, if their contract wants a `decision-report` and names no `fields`.
        """
        from msgspec.json import encode

        from dibs.model.views import Report
        from dibs.reporting import REPORT
        from dibs.rules import contracts

        report = Report(type=validation.text(type, "type"), fields=contracts.report_fields(fields))
        others = {each.type for each in await self.reports()} - {report.type}
        if len(others) >= MAX_REPORTS:
            raise Conflict(f"{MAX_REPORTS:,} types have fields of their own already: remove one first.", field="type")
        await self.store.write_document(self.project, REPORT, report.type, encode(report.fields))
        return report

    async def remove_report(self, type: str) -> Report:
        """Forget the fields of a type; tasks that were added keep theirs. As it was. Raises NotFound."""
        from dibs.reporting import REPORT

        kind = validation.text(type, "type")
        for report in await self.reports():
            if report.type == kind:
                await self.store.write_document(self.project, REPORT, kind, None)
                return report
        raise NotFound(f"There is no report of type {kind}. `dibs report ls` shows the ones there are.", field="type")
