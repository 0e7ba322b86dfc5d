"""What the holder of a claim does meanwhile: start and renew. Each item is answered by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.model.claim import News
from dibs.model.instants import from_micros, seconds
from dibs.stores import refusals
from dibs.stores.sqlite.allotting import limits_of, overdrawn
from dibs.stores.sqlite.registry import hear_renewals
from dibs.stores.sqlite.rows import encode
from dibs.stores.sqlite.settle import cancelled_unwritten
from dibs.stores.sqlite.work import Work, first_of, merge_usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.errors import DibsError
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.lanes import Lanes
    from dibs.stores.sqlite.rows import Row
    from dibs.stores.values import Renewal

_TURNED_AWAY = "SELECT EXISTS (SELECT 1 FROM backoffs WHERE until > ?)"
_STOPPED = "SELECT EXISTS (SELECT 1 FROM attempts WHERE n = ? AND fence = ? AND outcome = 'cancelled')"


def start(tx: Transaction, held: Sequence[tuple[str, int]]) -> list[DibsError | None]:
    """Mark claimed tasks as running; running ones are only confirmed."""
    work = Work(tx)
    found = work.by_id({task_id: None for task_id, _ in held})
    answers = [_start(work, found.get(task_id), task_id, fence) for task_id, fence in held]
    work.flush()
    return answers


def _start(work: Work, row: Row | None, task_id: str, fence: int) -> DibsError | None:
    if row is None:
        return refusals.no_task(task_id)
    if _cancelled_under(work, row, fence):
        return refusals.was_cancelled(row.id, row.cancel_reason or row.reason)
    if not row.held or row.fence != fence:
        return refusals.lease_lost(task_id, fence)
    row.confirmed = 1
    work.mend(row)
    if row.status == "claimed":
        work.start(row)
    return None


def renew(tx: Transaction, lanes: Lanes, renewals: Sequence[Renewal]) -> list[News | DibsError]:
    """Extend leases, also expired ones that nobody has taken away yet."""
    work = Work(tx)
    found = work.by_id({renewal.task_id: None for renewal in renewals})
    answers = [_renew(work, found.get(renewal.task_id), renewal) for renewal in renewals]
    _tell_limits(work, [(found.get(renewal.task_id), news) for renewal, news in zip(renewals, answers, strict=True)])
    work.flush()
    renewed = [row for row in found.values() if row.held and row.renewed_at == work.now]
    hear_renewals(tx, dict.fromkeys((row.project, row.agent) for row in renewed if row.agent is not None))
    _tell_overdrawn(tx, renewed, renewals, answers)
    _slow_down(tx, lanes, renewed, renewals, answers)
    return answers


def _tell_overdrawn(
    tx: Transaction, renewed: list[Row], renewals: Sequence[Renewal], answers: list[News | DibsError]
) -> None:
    """Tell those that reserved in a budget if that is overdrawn with them; others pay nothing for it."""
    reserved = [row for row in renewed if row.reserved]
    if not reserved:
        return
    numbers, limits = {row.id: row.n for row in reserved}, overdrawn(tx, reserved)
    for renewal, answer in zip(renewals, answers, strict=True):
        if isinstance(answer, News) and not answer.cancel and not answer.limits:
            answer.limits = limits.get(numbers.get(renewal.task_id, 0), {})


def _slow_down(
    tx: Transaction,
    lanes: Lanes,
    renewed: list[Row],
    renewals: Sequence[Renewal],
    answers: list[News | DibsError],
) -> None:
    """Tell those whose provider has had enough; without any such provider this is one look at an empty table."""
    if not tx.row(_TURNED_AWAY, (tx.now,))[0]:
        return
    from dibs.stores.sqlite.providers import slow_downs

    told = dict(zip((row.id for row in renewed), slow_downs(tx, lanes, renewed), strict=True))
    for renewal, answer in zip(renewals, answers, strict=True):
        if isinstance(answer, News) and not answer.cancel:
            answer.slow_down = told.get(renewal.task_id)


def _renew(work: Work, row: Row | None, renewal: Renewal) -> News | DibsError:
    if row is None:
        return refusals.no_task(renewal.task_id)
    if _cancelled_under(work, row, renewal.fence):
        return News(cancel=True, reason=row.reason)
    if not row.held or row.fence != renewal.fence:
        return refusals.lease_lost(row.id, renewal.fence)
    if row.over_timeout(work.now):
        return refusals.over_timeout(row.id, renewal.fence, row.timeout_s)
    lease_s = renewal.lease_s if renewal.lease_s is not None else (row.lease_s or 0.0)
    expires = row.lease_expires_at = work.now + seconds(lease_s)
    row.due_at = first_of(expires, row.timeout_at)
    row.renewed_at = work.now
    if row.status != "claimed":
        row.confirmed = 1
    if renewal.usage is not None:
        row.usage = encode(merge_usage(row.usage, renewal.usage)).decode()
    said: dict[str, Any] = {}
    if renewal.progress is not None:
        row.progress = said["progress"] = renewal.progress
    if renewal.note is not None:
        row.note = said["note"] = renewal.note
    work.touch(row)
    if said:
        work.emit("task.progress", row, agent=row.agent, data=said)
    return News(lease_expires_at=from_micros(expires))


def _tell_limits(work: Work, answers: Sequence[tuple[Row | None, News | DibsError]]) -> None:
    """Tell those that renewed which limit of its own their task is over."""
    told = [
        (row, news) for row, news in answers if row is not None and row.usage is not None and isinstance(news, News)
    ]
    if told:
        limits = limits_of(work.tx, [row for row, _ in told])
        for row, news in told:
            news.limits = limits[row.n]


def _cancelled_under(work: Work, row: Row, fence: int) -> bool:
    """Whether it was cancelled while this fence held it."""
    if row.status != "cancelled" or row.fence != fence:
        return False
    return cancelled_unwritten(row, fence) or bool(work.tx.row(_STOPPED, (row.n, fence))[0])
