"""What is due, and when. Duties are small and bounded; these are their times."""

from __future__ import annotations

from dibs.model.instants import seconds

INTERVALS_S: dict[str, float] = {
    "promote": 1.0,
    "expire": 1.0,
    "lapse": 1.0,
    "conclude": 1.0,
    "rerank": 1.0,
    "schedule": 1.0,
    "spread": 1.0,
    "trigger": 1.0,
    "unpark": 5.0,
    "watch": 5.0,
    "prune": 60.0,
}
"""How often each duty runs where somebody keeps time."""

RETENTION_S = 7 * 86_400.0
"""How long completed and cancelled tasks, and events, are kept unless configured otherwise."""

GRACE_S = 30.0
"""How long nothing expires after the machine slept, so that workers can renew first."""

NAP_S = 3.0
"""Clocks that disagree by less than this were only a little out of step."""


def due(due_at: int | None, now: int, interval_s: float) -> bool:
    """Whether a duty should run now: its time has come, or was set by a clock that has been put back since.

    Nothing sets it further ahead than its interval or the grace period.
    """
    return due_at is None or due_at <= now or due_at - now > seconds(max(interval_s, GRACE_S))


def slept(wall_s: float, running_s: float) -> bool:
    """Whether the machine slept: more time passed on the wall than on a clock that stands still meanwhile."""
    return wall_s - running_s > NAP_S
