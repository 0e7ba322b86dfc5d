"""The verbs between agents and people: questions, approvals, the inbox. `Queue` has them; they are written here.

What a question and an answer must look like is in `asking.py`, imported when one is asked or answered: adding and
claiming from the shell pay nothing for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.requests import MAX_LIMIT, get_task, held, id_of, no_question, optional
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.duties import Desk
    from dibs.model.question import Question
    from dibs.model.task import Task
    from dibs.requests import Held
    from dibs.stores.contract import Store
    from dibs.stores.values import Asked, Usage


class People:
    """What the agents of a queue ask of people, and what people answer."""

    store: Store
    project: str
    new_id: Callable[[str], str]
    _desk: Desk

    async def ask(
        self,
        claim: Held,
        question: str,
        schema: Any = None,
        assignee: str | None = None,
        timeout: Any = None,
        default: Any = None,
        *,
        name: str | None = None,
    ) -> Question:
        """Ask a person, once: the same question again, also by a later attempt, is the same question.

        The claim ends here, and no attempt is counted; the task is waiting, for as long as it takes, and is then
        claimed again with the answer in `claim.answers`. A question that is answered already is returned with its
        answer, and the claim goes on. After `timeout` without an answer the task goes on with `default`, or without one
        is dead-lettered. `name` tells questions apart; without it their content does.
        """
        asked = await self.ask_under(
            claim, question, schema, assignee=assignee, timeout=timeout, default=default, name=name
        )
        return asked.question

    async def ask_under(
        self,
        claim: Held,
        question: str,
        schema: Any = None,
        *,
        assignee: str | None = None,
        timeout: Any = None,
        default: Any = None,
        name: str | None = None,
        used: Usage | None = None,
    ) -> Asked:
        """As `ask`, also saying whether the claim has ended."""
        from dibs import asking

        ask = asking.ask(
            held(claim),
            self.new_id("q"),
            question,
            schema,
            assignee=assignee,
            timeout=timeout,
            default=default,
            name=name,
            used=used,
        )
        return await self.store.ask(ask)

    async def answer(self, question_id: Any, value: Any, by: str | None = None) -> Question:
        """Answer an open question; its task goes on. Answering again with the same value is answered the same.

        An approval takes true or false: a task that is refused is cancelled, with what depends on it. A validation
        takes true, or `{"approve": False, "reason": …}`: then the work is tried again, like any that failed. A decision
        about a dead letter takes `retry`, `drop`, `keep`, an object with one of them as `do` and a `note`, or a note
        alone (which keeps it); the answer is recorded as a review, and a retry finds it in its claim's `answers`.
        Raises IllegalTransition if it was answered otherwise, or its task has ended.
        """
        from dibs import asking
        from dibs.rules import questions

        question = await self.get_question(question_id)
        body = asking.answer(question, value)
        if question.kind == questions.DECISION:
            # If it is dropped: what follows from a dead letter is not what follows from a cancelled task.
            while await self.store.spread():
                pass
        answered = await self.store.answer(question.id, body, optional(by, "by"))
        if answered.kind == questions.APPROVAL and not answered.answer:
            while await self.store.spread(cause=answered.task_id):
                pass
        if answered.kind == questions.VALIDATION:
            from dibs import duties

            await duties.conclude_one(self._desk, answered.task_id)
        return answered

    async def get_question(self, question_id: Any) -> Question:
        """The question as it is now."""
        id = id_of(question_id, "question_id")
        found = await self.store.questions(id=id)
        if not found:
            raise no_question(id)
        return found[0]

    async def inbox(self, *, assignee: str | None = None, limit: int = MAX_LIMIT) -> list[Question]:
        """The open questions and approvals, oldest first; for an `assignee` only those meant for them or nobody."""
        return await self.store.inbox(
            self.project, optional(assignee, "assignee"), validation.whole(limit, "limit", 1, MAX_LIMIT)
        )

    async def judges_of(self, task_id: Any) -> list[Task]:
        """The tasks that judge the work of this one, or did, oldest first."""
        return await self._judges_of(await get_task(self.store, task_id, listed=True))

    async def _judges_of(self, task: Task) -> list[Task]:
        from dibs.rules import contracts, validating

        if task.expects is None or not contracts.is_slow(task.expects):
            return []
        fences = [attempt.fence for attempt in await self.store.history(task.id)]
        found = await self.store.get(validating.judge_ids(task, fences), listed=True)
        return [judge for judge in found if judge is not None]

    async def questions_of(self, task_id: Any) -> list[Question]:
        """Everything the task ever asked, approvals included, oldest first; with the answers."""
        return await self.store.questions(task_id=id_of(task_id))
