"""One claim in this worker's hands, from its arrival until it is settled."""

from __future__ import annotations

import os
import signal
from collections import deque
from enum import Enum
from time import monotonic
from typing import TYPE_CHECKING, Any

from dibs.rules import budgets
from dibs.rules.providers import gate_of
from dibs.worker.spending import Spending

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from dibs.model.artifact import Artifact
    from dibs.model.claim import Claim, News
    from dibs.pricing import Prices
    from dibs.stores.values import Usage
    from dibs.worker.app import Handler
    from dibs.worker.outcomes import Ending
    from dibs.worker.worktrees import Tree


class Stop(Enum):
    """Why work is stopped before it ended by itself."""

    TIMEOUT = "over its timeout"
    CANCELLED = "cancelled"
    LOST = "its lease is lost"
    LEAVING = "the worker leaves"
    OVERSPENT = "it used more than it may"


NEVER = float("inf")

MAX_LINES = 1_000
"""Unwritten log lines kept per task: no more than the task's log itself keeps."""


class Work:
    """A claim, the task that works on it, and everything it has reported but not yet written.

    Instants here are this process's monotonic clock: `lease_until` is when the lease may end at the
    earliest, `ends_at` when the timeout does, `slow_until` how long its provider shall be spared. `group` is the
    process group that does the work, if one does. `sanitized`: something it recorded could not be kept as it was.
    `entered`: its first line has run. `decision`: what it decided, for its completion. `artifacts`: kept, and to be
    told with its end if it fails.
    `over_limit`: the limit of its task, or the budget, that it is over. `members`: the others of its group
    (`together`); one of those has its own `ending` if it was judged by itself, and calls `forget` when it is settled by
    itself. `span`: its span, where attempts are traced. `tree`: the worktree that its agent has left and that is to be
    finished.
    """

    __slots__ = (
        "arrived",
        "artifacts",
        "began",
        "claim",
        "decision",
        "ended",
        "ending",
        "ends_at",
        "entered",
        "forget",
        "group",
        "handler",
        "lease_until",
        "lines",
        "loop",
        "members",
        "over",
        "over_limit",
        "prices",
        "sanitized",
        "slow_until",
        "span",
        "spending",
        "stopped",
        "stopped_at",
        "suspended",
        "task",
        "timeout_s",
        "tree",
        "usage",
        "usage_changed",
    )

    def __init__(
        self,
        claim: Claim,
        handler: Handler,
        loop: asyncio.AbstractEventLoop,
        arrived: float,
        lease_until: float,
        prices: Prices,
    ) -> None:
        self.claim = claim
        self.handler = handler
        self.loop = loop
        self.arrived = arrived
        self.lease_until = lease_until
        self.began: float | None = None
        self.timeout_s = handler.timeout_s if claim.timeout_s is None else claim.timeout_s
        self.ends_at = NEVER
        self.task: asyncio.Task[None] | None = None
        self.entered = False
        self.group: int | None = None
        self.stopped: Stop | None = None
        self.stopped_at = NEVER
        self.ended: float | None = None
        self.over = False
        self.over_limit: str | None = None
        self.sanitized = False
        self.slow_until = 0.0
        self.span: Any = None
        self.suspended = False
        self.decision: Any = None
        self.artifacts: tuple[Artifact, ...] = ()
        self.prices = prices
        self.spending: Spending | None = None
        self.usage: Usage | None = None
        self.usage_changed = False
        self.lines: deque[str] | None = None
        self.members: Sequence[Work] = ()
        self.ending: Ending | None = None
        self.forget: Callable[[list[Work]], None] | None = None
        self.tree: Tree | None = None

    def stop(self, why: Stop) -> None:
        """End this work now, from any thread. The first reason given stays; work that is over is left alone.

        A process group hears of it at once, even while the event loop is blocked.
        """
        if self.over or self.stopped is not None:
            return
        self.stopped = why
        self.stopped_at = monotonic()
        for work in (self, *self.members):
            group = work.group  # whose thread may forget it at any moment
            if group is not None:
                signal_group(group, signal.SIGTERM)
        try:
            self.loop.call_soon_threadsafe(self._cancel)
        except RuntimeError:  # the loop is closed: nothing runs any more
            pass

    @property
    def gate(self) -> str:
        """The gate of its provider."""
        return gate_of(self.claim.task.provider, self.claim.model, self.claim.task.type)

    def hear(self, news: News) -> None:
        """What a renewal said, but for a cancel."""
        if news.slow_down is not None:
            self.slow_until = monotonic() + news.slow_down
        if "exceeded" in news.limits:
            self.stop_over(news.limits["exceeded"])

    @property
    def slow_down(self) -> float:
        """For how many seconds its provider shall be spared."""
        return max(0.0, self.slow_until - monotonic())

    def spend(self, **spent: Any) -> None:
        """Add to what this attempt has used, as `Spending.add` takes it. Who uses more than his task may is stopped."""
        if self.spending is None:
            self.spending = Spending(self.prices, self.claim.model)
        self.usage = self.spending.add(**spent)
        self.usage_changed = True
        told = budgets.Usage(self.usage.cost_usd, self.usage.tokens_in, self.usage.tokens_out, self.usage.turns)
        over = budgets.exceeded(budgets.allowance_of(self.claim.task), told)
        if over is not None:
            self.stop_over(over)

    def stop_over(self, limit: str) -> None:
        """It is over this limit of its task, or overdraws this budget. A limit of its own, once known, stays."""
        if self.over_limit is None or budgets.is_shared(self.over_limit):
            self.over_limit = limit
        self.stop(Stop.OVERSPENT)

    def log(self, line: str) -> None:
        """Keep a line for the task's log; the worker writes it with the next batch."""
        if self.lines is None:
            self.lines = deque(maxlen=MAX_LINES)
        self.lines.append(line)

    def take_lines(self) -> list[str]:
        """The lines not written yet; they are the caller's now. Its thread may be adding more meanwhile."""
        lines: list[str] = []
        while self.lines:
            lines.append(self.lines.popleft())
        return lines

    def put_back_lines(self, lines: list[str]) -> None:
        """Lines that were taken and could not be written, before those that came since; the oldest may not fit."""
        if self.lines is not None:
            room = MAX_LINES - len(self.lines)
            self.lines.extendleft(reversed(lines[max(len(lines) - room, 0) :]))

    def _cancel(self) -> None:
        if self.over or self.task is None:
            return
        if self.entered:
            self.task.cancel()
        else:
            # Cancelled before its first line it would never run that, and nobody would give back its slot.
            self.loop.call_soon(self._cancel)


def signal_group(group: int, number: signal.Signals) -> bool:
    """Signal every process of a group; False if none is left."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS says so of a group of which only zombies are left
        return False
    return True
