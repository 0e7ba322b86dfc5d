"""When work that is done and was not judged need not be done again.

A command that judges an output may take an hour, and whoever runs it may be killed. What was made is written down
before it begins (`keeping`). The next attempt then only judges it, if nothing has happened since that says otherwise:
the attempt that made it ended without a verdict, and whoever claimed the task after it gave it back untouched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.status import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.attempt import Attempt

_UNJUDGED = frozenset({Outcome.EXPIRED, Outcome.RELEASED, Outcome.TIMED_OUT})
"""How an attempt ends that was stopped while its output was judged. One that failed was told so by its agent."""


def still_counts(fence: int, attempts: Sequence[Attempt]) -> bool:
    """Whether what was made under this fence is all that was done, after these attempts, oldest first."""
    since = [attempt for attempt in attempts if attempt.fence >= fence]
    if not since or since[0].fence != fence or since[0].outcome not in _UNJUDGED:
        return False
    return all(_did_nothing(attempt) for attempt in since[1:])


def _did_nothing(attempt: Attempt) -> bool:
    """It was given back, or nobody ever said that it began."""
    return attempt.outcome is Outcome.RELEASED or (attempt.outcome is Outcome.EXPIRED and attempt.reason == "expired")
