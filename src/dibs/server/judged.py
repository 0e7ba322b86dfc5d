"""Contracts with commands: a server never runs them. Whoever completes the task does, where the work was done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs import checking
from dibs.errors import Conflict, DibsError
from dibs.model.ended import COMPLETED, Ended
from dibs.wire.problems import MUST_BE_JUDGED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.model.claim import Claim
    from dibs.server.desk import Asking


async def unjudged(
    asking: Asking, outcomes: Sequence[Ended], known: Mapping[tuple[str, int], Claim]
) -> dict[int, DibsError]:
    """By place: those of these completions whose output must pass a command that nobody says was run."""
    asked = [
        (place, ended)
        for place, ended in enumerate(outcomes)
        if ended.outcome == COMPLETED and not ended.judged and type(ended.fence) is int
    ]
    strange = [ended.task_id for _, ended in asked if (ended.task_id, ended.fence) not in known]
    found = await asking.queue.store.get(strange, listed=True) if strange else []
    looked_up = {task.id: task for task in found if task is not None}
    refused: dict[int, DibsError] = {}
    for place, ended in asked:
        claim = known.get((ended.task_id, ended.fence))
        task = looked_up.get(ended.task_id) if claim is None else claim.task
        if task is not None and _has_commands(task.expects):
            refused[place] = _must_be_judged(task.id)
    return refused


def _has_commands(expects: Any) -> bool:
    return expects is not None and bool(checking.commands(expects))


def _must_be_judged(task_id: str) -> Conflict:
    return Conflict(
        f"The output of {task_id} must pass a command, which runs where the work is done: complete it with a dibs"
        " worker, or run it and say `judged`, with a `refusal` if it failed.",
        code=MUST_BE_JUDGED,
        field="judged",
    )
