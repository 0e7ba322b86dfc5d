"""Deciding about dead letters.

A dead letter waits for a person, who decides one of five things: try again as it is (`retried`) or with another
payload (`retried_modified`), give it up (`dropped`: it becomes cancelled), hand the decision to somebody
(`escalated`), or leave it as it is (`kept`). Each decision is recorded with its author; a dead letter that has one
counts as reviewed until it lives and dies again. Whom it is escalated to is asked what shall become of it, and the
answer is a decision like any other.

Dead letters that failed alike need one decision, not ten thousand: those of one type whose last attempts share a
**fingerprint** (`rules.retry.fingerprint`). An attempt without one, because nobody was left to tell of an error, is
known by its outcome.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dibs.errors import Invalid
from dibs.model.instants import to_micros
from dibs.model.review import Resolution
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.attempt import Attempt
    from dibs.model.deadgroup import DeadGroup
    from dibs.model.review import Review

MAX_NOTE_CHARS = 4_000
MAX_QUESTION_CHARS = 10_000
MAX_REVIEWS = 50
"""So many decisions are kept with a task, the newest."""
MAX_GROUPS = 1_000
SHOWN_IDS = 5
"""How many ids a group names."""
AT_ONCE = 100
"""How many dead letters are decided about in one transaction."""
MAX_DELAY_S = 365 * 86_400.0
DROPPED = "dropped"
"""The reason of a task that was cancelled because somebody dropped it."""

BY_NOBODY = "unknown"
"""Who decided, if whoever answered did not say who they are."""

_RETRIES = (Resolution.RETRIED, Resolution.RETRIED_MODIFIED)
_WORDS = {"retry": Resolution.RETRIED, "drop": Resolution.DROPPED, "keep": Resolution.KEPT}


class Ruling(Struct, kw_only=True):
    """A decision about dead letters, to be recorded and carried out. The last four are for retries, as for `revive`;
    `question` is what is asked of whom it is escalated to, if not the usual."""

    resolution: Resolution
    by: str
    note: str | None = None
    to: str | None = None
    question: str | None = None
    delay_s: float = 0.0
    payload: bytes | None = None
    body_hash: str | None = None
    keep_steps: bool = True

    @property
    def retries(self) -> bool:
        """Whether the task lives again."""
        return self.resolution in _RETRIES

    @property
    def told(self) -> dict[str, str]:
        """What the event carries beside the resolution, which is its reason."""
        said = {"by": self.by, "note": self.note, "to": self.to}
        return {name: value for name, value in said.items() if value is not None}


def ruling(
    resolution: object,
    *,
    by: object,
    note: object,
    to: object,
    delay: Any,
    with_payload: bool,
    question: object = None,
) -> Ruling:
    """The decision, checked. A retry with another payload is `retried_modified`, whichever of the two was said."""
    if not isinstance(resolution, str) or resolution not in set(Resolution):
        raise Invalid(
            f"resolution must be one of {', '.join(Resolution)}, not {str(resolution)[:80]!r}.", field="resolution"
        )
    word = Resolution(resolution)
    retries = word in _RETRIES
    if with_payload and not retries:
        raise Invalid(f"payload goes with a retry; what is {word} keeps its own.", field="payload")
    if word is Resolution.RETRIED_MODIFIED and not with_payload:
        raise Invalid("retried_modified needs the other payload; without one it is retried.", field="payload")
    if word is Resolution.ESCALATED and to is None:
        raise Invalid("to must say to whom it is escalated: a person or a role.", field="to")
    if word is not Resolution.ESCALATED and to is not None:
        raise Invalid(f"to goes with escalated, not with {word}.", field="to")
    if word is not Resolution.ESCALATED and question is not None:
        raise Invalid(f"question goes with escalated, not with {word}.", field="question")
    delay_s = validation.duration_s(delay, "delay", high=MAX_DELAY_S)
    if delay_s and not retries:
        raise Invalid(f"delay goes with a retry, not with {word}.", field="delay")
    return Ruling(
        resolution=Resolution.RETRIED_MODIFIED if with_payload else word,
        by=validation.text(by, "by"),
        note=None if note is None else validation.text(note, "note", max_chars=MAX_NOTE_CHARS),
        to=None if to is None else validation.text(to, "to"),
        question=None if question is None else validation.text(question, "question", max_chars=MAX_QUESTION_CHARS),
        delay_s=delay_s,
    )


def answered(answer: Any, by: str | None) -> Ruling:
    """What somebody decided who was asked about a dead letter: a word or a note, or both in an object.

    A note alone leaves it as it is.
    """
    do, note = (answer.get("do"), answer.get("note")) if isinstance(answer, dict) else (answer, None)
    word = _WORDS.get(do.strip().lower()) if isinstance(do, str) else None
    if word is None and isinstance(do, str):
        note = do
    return Ruling(resolution=word or Resolution.KEPT, by=by or BY_NOBODY, note=note)


def past_instant(value: Any, field: str, now: int) -> int:
    """Micros from an instant, or from a duration before now: `2h` is two hours ago."""
    try:
        return validation.instant(value, field, now, durations=False)
    except Invalid:
        return 2 * now - validation.instant(value, field, now, durations=True)


def mark_of(last: Attempt | None) -> str:
    """What a dead letter is grouped by: its last attempt's fingerprint, else how that ended."""
    if last is None:
        return "unknown"
    return last.fingerprint or str(last.outcome)


def with_review(reviews: Sequence[Review], review: Review) -> tuple[Review, ...]:
    """The decisions about a task and one more; the oldest of too many are forgotten."""
    return (*reviews, review)[-MAX_REVIEWS:]


def lets_go(resolution: str | None) -> bool:
    """Whether retention may delete a dead letter after this decision. What was escalated is yet to be decided about."""
    return resolution == Resolution.KEPT


def in_order(groups: list[DeadGroup]) -> list[DeadGroup]:
    """The largest first, of equal ones the one that grew last; at most so many."""
    groups.sort(key=lambda group: (-group.count, -to_micros(group.last_at), group.type, group.fingerprint))
    return groups[:MAX_GROUPS]
