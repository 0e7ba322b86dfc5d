"""The verbs about escalation: what follows when tasks keep failing. `Queue` has them; they are written here.

What they need is imported when they are used: adding and claiming from the shell pay nothing for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.requests import id_of

if TYPE_CHECKING:
    from dibs.model.escalation import Ladder, Rung
    from dibs.stores.contract import Store


class Escalating:
    """What a queue does about failures, beyond trying again."""

    store: Store
    project: str

    async def set_escalation(self, ladder: Any, *, type: str | None = None, dag: Any = None) -> Ladder:
        """What follows after so many failed attempts of a task of this type (`*`: of every type without a ladder of
        its own) or dag: a list of rungs, objects with `after` (failures) and `do`.

        `notify` (`to`), `reassign` (to an `agent` or a `model`), `ask` (`to` whom; `question`, `timeout`, `default`) or
        `fail_dag`. A dag's ladder wins over a type's. It replaces the one before, and holds from the next failure on.
        Raises Invalid, with the part at fault; NotFound, field `dag`.
        """
        from dibs.model.escalation import Ladder
        from dibs.rules import escalation

        dag = _dag_id(dag)
        scope = escalation.scope_of(type, dag)
        rungs = escalation.parse(ladder)
        await self.store.set_ladder(self.project, scope, escalation.as_json(rungs))
        return Ladder(type=type, dag=dag, rungs=rungs)

    async def clear_escalation(self, *, type: str | None = None, dag: Any = None) -> None:
        """Forget the ladder of a type or dag. Rungs that were taken stay taken. Raises NotFound if there is none."""
        from dibs.rules import escalation

        scope = escalation.scope_of(type, _dag_id(dag))
        if not await self.store.set_ladder(self.project, scope, None):
            raise escalation.no_ladder(scope)

    async def get_escalation(self, *, type: str | None = None, dag: Any = None) -> Ladder:
        """The ladder that was set for this type or dag. Raises NotFound if there is none."""
        from dibs.rules import escalation

        wanted = _dag_id(dag)
        scope = escalation.scope_of(type, wanted)
        for ladder in await self.escalations():
            if (ladder.type, ladder.dag) == (type, wanted):
                return ladder
        raise escalation.no_ladder(scope)

    async def _ladder_of(self, dag_id: str) -> tuple[Rung, ...]:
        """The rungs that were set for a dag; none if there are none of its own."""
        text = (await self.store.ladders(self.project)).get(f"dag:{dag_id}")
        if text is None:
            return ()
        from dibs.rules import escalation

        return escalation.from_json(text)

    async def escalations(self) -> list[Ladder]:
        """Every ladder there is: those of types, by name, then those of dags."""
        from dibs.model.escalation import Ladder
        from dibs.rules import escalation

        found = []
        for scope, text in (await self.store.ladders(self.project)).items():
            kind, _, name = scope.partition(":")
            found.append(Ladder(**{kind: name}, rungs=escalation.from_json(text)))
        return sorted(found, key=lambda ladder: (ladder.dag or "", ladder.type or ""))


def _dag_id(dag: Any) -> str | None:
    return None if dag is None else id_of(dag, "dag")
