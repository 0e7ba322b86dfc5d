"""The verbs about dead letters: which there are, and what is decided about them. `Queue` has them; they are written
here.

What they need is imported when they are used: adding and claiming from the shell pay nothing for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.errors import Invalid
from dibs.requests import MAX_LIMIT, another_payload, id_of, optional, raised
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.errors import DibsError
    from dibs.model.deadgroup import DeadGroup
    from dibs.model.task import Task
    from dibs.rules.review import Ruling
    from dibs.stores.contract import Store
    from dibs.stores.deadletters import DeadFilter


class DeadLetters:
    """What a queue has given up on, until somebody decides."""

    store: Store
    project: str

    async def dead_letters(
        self,
        type: str | None = None,
        tag: str | None = None,
        dag: Any = None,
        user: str | None = None,
        text: str | None = None,
        *,
        fingerprint: str | None = None,
        since: Any = None,
        until: Any = None,
        reviewed: bool | None = None,
    ) -> list[DeadGroup]:
        """Dead letters in groups of one type and one kind of failure (`fingerprint`), the largest group first.

        `since` and `until` say when they dead-lettered: instants, or durations before now (`"2h"`). `reviewed` picks
        those about which something, or nothing, was decided; the other filters are those of `find`.
        """
        wanted = self._dead_filter(
            type=type,
            tag=tag,
            dag=dag,
            user=user,
            text=text,
            fingerprint=fingerprint,
            since=since,
            until=until,
            reviewed=reviewed,
        )
        return await self.store.dead_letters(wanted)

    async def dead_letter_ids(
        self,
        type: str | None = None,
        tag: str | None = None,
        dag: Any = None,
        user: str | None = None,
        text: str | None = None,
        *,
        fingerprint: str | None = None,
        since: Any = None,
        until: Any = None,
        reviewed: bool | None = None,
        limit: int | None = None,
        before: Any = None,
    ) -> list[str]:
        """The ids of the dead letters that fit (as for `dead_letters`), the newest task first; all of them, or `limit`
        of those that were added before the task `before`."""
        wanted = self._dead_filter(
            type=type,
            tag=tag,
            dag=dag,
            user=user,
            text=text,
            fingerprint=fingerprint,
            since=since,
            until=until,
            reviewed=reviewed,
        )
        most = None if limit is None else validation.whole(limit, "limit", 1, MAX_LIMIT)
        return await self.store.dead_letter_ids(wanted, most, None if before is None else id_of(before, "before"))

    def _dead_filter(self, *, dag: Any, since: Any, until: Any, reviewed: Any, **texts: Any) -> DeadFilter:
        """The filters that were given, checked; the names of `DeadFilter` and of the verbs are the same."""
        from dibs.rules.review import past_instant
        from dibs.stores.deadletters import DeadFilter

        if reviewed not in (None, True, False):
            raise Invalid(f"reviewed must be True, False or None, not {reviewed!r:.80}.", field="reviewed")
        now = self.store.now()
        return DeadFilter(
            project=self.project,
            dag=None if dag is None else id_of(dag, "dag"),
            since=None if since is None else past_instant(since, "since", now),
            until=None if until is None else past_instant(until, "until", now),
            reviewed=reviewed,
            **{field: optional(value, field) for field, value in texts.items()},
        )

    async def review(
        self,
        task_id: Any,
        resolution: str,
        *,
        by: str,
        note: str | None = None,
        to: str | None = None,
        payload: Any = None,
        delay: Any = 0,
        keep_steps: bool = True,
        question: str | None = None,
    ) -> Task:
        """Decide about a dead letter: `retried`, `dropped` (cancelled), `escalated` (`to` whom) or `kept`.

        The decision is recorded in the task's `reviews` with its author; `payload`, `delay` and `keep_steps` are those
        of `retry`, and a retry with another payload is recorded as `retried_modified`. Raises IllegalTransition if the
        task is no dead letter (any more), else what `retry` raises. `escalated` asks `to` what shall become of it
        (`question`, else the usual one): it is in their inbox, and the answer is a decision (see `answer`).
        """
        from dibs.rules import review

        id = id_of(task_id)
        given = payload is not None
        ruling = review.ruling(resolution, by=by, note=note, to=to, delay=delay, with_payload=given, question=question)
        ruling.keep_steps = validation.flag(keep_steps, "keep_steps")
        if payload is not None:
            ruling.payload, ruling.body_hash = await another_payload(self.store, id, payload)
        [answer] = await self._review([id], ruling)
        return raised(answer)

    async def review_many(
        self,
        task_ids: Sequence[Any],
        resolution: str,
        *,
        by: str,
        note: str | None = None,
        to: str | None = None,
        delay: Any = 0,
        question: str | None = None,
    ) -> list[Task | DibsError]:
        """Decide alike about many dead letters (`dead_letter_ids` names them), in commits of about a hundred; the task
        or an error each. Retry the oldest first: a task can only live again after the ones it depends on."""
        from dibs.rules import review

        ruling = review.ruling(resolution, by=by, note=note, to=to, delay=delay, with_payload=False, question=question)
        return await self._review([id_of(task_id) for task_id in task_ids], ruling)

    async def _review(self, ids: list[str], ruling: Ruling) -> list[Task | DibsError]:
        from dibs.rules import review

        if ruling.resolution == review.DROPPED:
            # What follows from a dead letter is not what follows from a cancelled task.
            while await self.store.spread():
                pass
        answers: list[Task | DibsError] = []
        for start in range(0, len(ids), review.AT_ONCE):
            answers += await self.store.review(ids[start : start + review.AT_ONCE], ruling)
        return answers
