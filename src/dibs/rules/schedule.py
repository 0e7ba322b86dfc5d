"""What is due, and when. Duties are small and bounded; these are their times."""

from __future__ import annotations

from dibs.model.instants import seconds

INTERVALS_S: dict[str, float] = {
    "promote": 1.0,
    "expire": 1.0,
    "rerank": 1.0,
    "spread": 1.0,
    "prune": 60.0,
}
"""How often each duty runs where somebody keeps time."""

RETENTION_S = 7 * 86_400.0
"""How long completed and cancelled tasks, and events, are kept unless configured otherwise."""

GRACE_S = 30.0
"""How long nothing expires after the expiry duty was missed, so that workers can renew first."""

MISSED_INTERVALS = 3


def due(last_ran: int | None, now: int, interval_s: float) -> bool:
    """Whether a duty should run now: also if it never ran, or ran 'later' because a clock was set back."""
    return last_ran is None or not 0 <= now - last_ran < seconds(interval_s)


def next_due_at(last_ran: int | None, now: int, interval_s: float) -> int:
    """When a duty should run next, now at the earliest."""
    if last_ran is None or due(last_ran, now, interval_s):
        return now
    return last_ran + seconds(interval_s)


def missed(last_ran: int | None, now: int, interval_s: float) -> bool:
    """Whether a duty is more than three intervals late: the store was down or the machine slept.

    A duty that never ran was not missed; there was nothing to do yet.
    """
    return last_ran is not None and now - last_ran > seconds(MISSED_INTERVALS * interval_s)


def grace_until(now: int) -> int:
    """The instant before which nothing expires, when the expiry duty was found missed at `now`."""
    return now + seconds(GRACE_S)


def kept_until(ended_at: int, retention_s: float = RETENTION_S) -> int:
    """When something that ended may be pruned."""
    return ended_at + seconds(retention_s)
