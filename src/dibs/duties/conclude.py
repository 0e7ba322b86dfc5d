"""Go on with work that was handed in: send it to its judge, ask a person, and decide once they have spoken.

What is to be done is read from what is on record (`rules.validating`), so a process that is killed between any two of
these writes leaves nothing behind that the next one does not find. Two that do it at once get in nobody's way: each
write names the fence, and is refused where the other was faster.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from dibs.errors import Conflict, DibsError, Invalid, Unavailable
from dibs.model.status import Outcome, Status

if TYPE_CHECKING:
    from dibs.duties.desk import Desk
    from dibs.model.claim import Claim
    from dibs.rules.validating import Step

BATCH = 50
"""Each takes several calls; the next pass goes on."""
MAX_STEPS = 50
"""More than any contract has: somebody else goes on, or the next pass does."""


async def conclude(desk: Desk) -> int:
    """Go on with up to a batch of works that wait for nobody any more; how many."""
    found = await desk.store.handed_in(BATCH)
    for task_id in found:
        try:
            await conclude_one(desk, task_id)
        except Unavailable:
            # One whose values cannot be read here must not keep this process from its other duties.
            continue
    return len(found)


async def conclude_one(desk: Desk, task_id: str) -> str | None:
    """Take this task's work as far as it goes now; the task's status then, None if it is gone or was not handed in."""
    # Only work that is judged by others pays for these.
    from dibs.rules import validating

    store = desk.store
    for _ in range(MAX_STEPS):
        claim = await _handed_in(desk, task_id)
        if claim is None:
            break
        ids = validating.judge_ids(claim.task)
        judges = {judge.id: judge for judge in await store.get(ids) if judge is not None}
        asked = {question.id: question for question in await store.questions(task_id=task_id)}
        step = validating.next_step(claim.task, judges, asked)
        try:
            if step.do == "send":
                await _send(desk, claim, step)
            elif step.do == "ask":
                await _ask(desk, claim, step)
                return Status.WAITING
            elif step.do == "wait":
                if step.id not in judges or await store.await_verdict(task_id, claim.fence, step.id):
                    return Status.VALIDATING
            else:
                return await _decide(desk, claim, step)
        except Conflict:
            # Somebody was faster: cancelled it, or went on with it.
            if step.do == "wait":
                await store.cancel(step.id, "the work it judges was cancelled")
            break
    [task] = await store.get([task_id], listed=True)
    return None if task is None else task.status


async def _handed_in(desk: Desk, task_id: str) -> Claim | None:
    """The claim under which the work was done that waits to be judged; None if there is none.

    A contract that this version does not know is left to one that does.
    """
    from dibs.model.claim import Claim
    from dibs.rules import contracts

    # Large values are named: what becomes of the work does not depend on whether they can be read here.
    [task] = await desk.store.get([task_id], listed=True)
    if task is None or task.status is not Status.VALIDATING:
        return None
    try:
        contracts.parse(task.expects)
    except Invalid:
        return None
    attempts = await desk.store.history(task_id)
    if not attempts or attempts[-1].outcome is not Outcome.SUBMITTED:
        return None
    return Claim(task=task, fence=task.fence, agent=attempts[-1].agent, previous_attempts=attempts[:-1][-10:])


async def _send(desk: Desk, claim: Claim, step: Step) -> None:
    """Add the judge's task. That the work waits for it is written next, by whoever looks."""
    from msgspec.structs import replace

    from dibs import drafting
    from dibs.rules import validating
    from dibs.stores.values import Insertion

    task = claim.task
    try:
        [whole] = await desk.store.get([task.id])
    except Unavailable:
        whole = None  # what cannot be read here is named
    spec = validating.order(whole or task, step.place)
    [draft] = drafting.drafts([spec], project=task.project, now=desk.store.now(), new_id=lambda _: step.id)
    draft.task.parent_id, draft.task.depth = task.id, task.depth + 1
    draft.task.charged_to = validating.charged_to(task)
    draft.task.assignee = validating.not_for(claim.agent)
    draft.lane = replace(draft.lane, assignee=draft.task.assignee)
    draft.kind = None  # it differs from what its frame says
    await desk.store.insert(Insertion(drafts=[draft]))


async def _ask(desk: Desk, claim: Claim, step: Step) -> None:
    from msgspec.json import encode

    from dibs.rules import questions
    from dibs.stores.values import Ask

    await desk.store.ask(
        Ask(
            task_id=claim.task.id,
            fence=claim.fence,
            id=step.id,
            name=step.id,
            digest=blake2b(encode([step.text, step.assignee]), digest_size=16).hexdigest(),
            question=step.text,
            schema=encode(questions.VALIDATION_SCHEMA, order="sorted"),
            assignee=step.assignee,
            timeout_s=step.timeout_s,
            default=None if step.default is None else encode(step.default, order="sorted"),
            kind=questions.VALIDATION,
        )
    )


async def _decide(desk: Desk, claim: Claim, step: Step) -> str | None:
    """Write what was found; what followed from it."""
    from dibs import settling

    refusal = step.text if step.do == "reject" else None
    settlement = settling.concluded(claim, refusal, draw=desk.draw, poison=desk.poison)
    [answer] = await desk.store.settle([settlement])
    if isinstance(answer, DibsError):
        raise answer
    if settlement.next is Status.DEAD_LETTERED:
        while await desk.store.spread():
            pass
    return answer.status
