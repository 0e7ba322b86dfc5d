"""What follows when a task keeps failing: the rungs of a ladder, and those that a task has taken."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct


class Rung(Struct, kw_only=True, omit_defaults=True, frozen=True, gc=False):
    """What to `do` after so many failed attempts: `notify`, `reassign`, `ask` or `fail_dag`.

    `to`: who is told or asked, a person or a role. `agent` or `model`: who gets the task. `question`, `timeout_s` and
    `default` are those of what a person is asked.
    """

    after: int
    do: str
    to: str | None = None
    agent: str | None = None
    model: str | None = None
    question: str | None = None
    timeout_s: float | None = None
    default: Any = None


class Ladder(Struct, kw_only=True, omit_defaults=True):
    """The rungs for the tasks of a type (`*`: of every type without a ladder of its own) or of a dag."""

    type: str | None = None
    dag: str | None = None
    rungs: tuple[Rung, ...] = ()


class Escalation(Struct, kw_only=True, omit_defaults=True, gc=False):
    """A rung that a task has taken in its present life, when the claim `fence` had failed. `question`: its id."""

    after: int
    do: str
    at: datetime
    fence: int
    to: str | None = None
    agent: str | None = None
    model: str | None = None
    question: str | None = None
