"""A claim: one agent's timed right to one task, and all it needs to do the work."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct, field

from dibs.model.attempt import Attempt
from dibs.model.made import Made
from dibs.model.task import Task


class Claim(Struct, kw_only=True, gc=False):
    """The right to work on `task` until `lease_expires_at`, proven by `fence`.

    `inputs` holds the outputs of the tasks it depended on, keyed by ref, else id (of several with one ref the first has
    it); `children` likewise for what it spawned and waited for. `context` is the task's, with an object of what
    each reference in its `refs` means now. `previous_attempts` are the last ten, oldest first. `group` holds the claims
    of the tasks with its `coalesce_key` that were taken with it, each to be settled like any other, or all together.
    `made`: the work is done, but the command that its output must pass was cut short: complete it with this output.
    """

    task: Task
    fence: int
    agent: str
    model: str | None = None
    lease_s: float = 60.0
    lease_expires_at: datetime | None = None
    timeout_s: float | None = None
    inputs: dict[str, Any] = field(default_factory=dict)
    children: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    checkpoint: Any = None
    context: Any = None
    previous_attempts: list[Attempt] = field(default_factory=list)
    limits: dict[str, Any] = field(default_factory=dict)
    group: list[Claim] = field(default_factory=list)
    made: Made | None = None


class Claims(list[Claim]):
    """What an agent was given, best first; and where that is nothing, what it should know.

    `slow_down`: a rate limit keeps something back that it could do; seconds to wait before it asks again. `reason`: why
    it gets nothing whatever there is, `draining` or `max_concurrent`.
    """

    slow_down: float | None = None
    reason: str | None = None


class News(Struct, kw_only=True, gc=False):
    """What a renewal tells the agent: `cancel` means stop now; `slow_down` is seconds to wait before more calls."""

    cancel: bool = False
    reason: str | None = None
    lease_expires_at: datetime | None = None
    slow_down: float | None = None
    limits: dict[str, Any] = field(default_factory=dict)


class Settled(Struct, kw_only=True, gc=False):
    """The recorded end of a claim: repeating a settlement returns the same one."""

    task_id: str
    fence: int
    outcome: str
    status: str
    retry_at: datetime | None = None
