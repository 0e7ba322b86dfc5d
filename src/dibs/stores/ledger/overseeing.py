"""What people look at from above: dags in a row, what was spent, what was completed lately."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.dag import Dag
from dibs.model.instants import from_micros, to_micros
from dibs.model.status import Status
from dibs.rules.flow import End
from dibs.rules.spending import Sum
from dibs.rules.usage import added_up, is_unpriced, plus
from dibs.stores.ledger.snapshots import instant
from dibs.stores.overseen import Dags, Ends

if TYPE_CHECKING:
    from dibs.model.attempt import Attempt
    from dibs.stores.ledger.records import DagRecord, Record
    from dibs.stores.ledger.state import State
    from dibs.stores.overseen import DagFilter

MAX_LOOKED_AT = 10_000


def dags(state: State, wanted: DagFilter, limit: int, before: str | None) -> Dags:
    """Rows of dags that fit, without tasks and edges, by id, the greatest first. Other projects' do not count, and are
    never named as the place to go on from."""
    found: list[DagRecord] = []
    last = before
    own = (dag for dag in state.newest_dags(before) if dag.project == wanted.project)
    for looked_at, dag in enumerate(own):
        matches = _matches(dag, wanted)
        if looked_at >= MAX_LOOKED_AT or (matches and len(found) >= limit):
            return Dags(items=[_shown(state, each) for each in found], rest=last)
        last = dag.id
        if matches:
            found.append(dag)
    return Dags(items=[_shown(state, each) for each in found])


def _matches(dag: DagRecord, wanted: DagFilter) -> bool:
    return (wanted.status is None or dag.status in wanted.status) and (
        wanted.text is None or wanted.text.lower() in (dag.title or "").lower()
    )


def _shown(state: State, dag: DagRecord) -> Dag:
    counts = {
        status.value: dag.tally[status, False] + dag.tally[status, True]
        for status in Status
        if dag.tally[status, False] + dag.tally[status, True]
    }
    return Dag(
        id=dag.id,
        project=dag.project,
        title=dag.title,
        key=dag.key,
        status=dag.status,
        on_failure=dag.on_failure,
        user=dag.user,
        created_by=dag.created_by,
        created_at=from_micros(dag.created_at),
        started_at=instant(dag.started_at),
        ended_at=instant(dag.ended_at),
        counts=counts,
        cost_usd=added_up(record.cost_usd for record in state.members.get(dag.id, ())),
    )


def spending(state: State, project: str, by: str, since: int, until: int, step: int) -> list[Sum]:
    """Attempts that used something, added up."""
    sums: dict[tuple[int, str], Sum] = {}
    for record in state.tasks.values():
        if record.spec.project != project:
            continue
        for ending in record.endings.values():
            attempt = ending.attempt
            ended_at = 0 if attempt.ended_at is None else to_micros(attempt.ended_at)
            if since <= ended_at < until and _used(attempt):
                name = (ended_at - since) // step, _name(state, by, record, attempt)
                _add(sums.setdefault(name, Sum(*name)), attempt)
    return list(sums.values())


def _used(attempt: Attempt) -> bool:
    told = (attempt.cost_usd, attempt.model, attempt.tokens_in, attempt.tokens_out, attempt.turns)
    return any(each is not None for each in told)


def _name(state: State, by: str, record: Record, attempt: Attempt) -> str:
    if by == "dag":
        return record.dag_id if record.dag_id in state.dags else ""
    return {"type": record.spec.type, "agent": attempt.agent, "model": attempt.model or ""}[by]


def _add(one: Sum, attempt: Attempt) -> None:
    one.attempts += 1
    one.cost_usd = plus(one.cost_usd, attempt.cost_usd)
    one.tokens_in = plus(one.tokens_in, attempt.tokens_in)
    one.tokens_out = plus(one.tokens_out, attempt.tokens_out)
    one.unpriced += is_unpriced(
        attempt.outcome,
        attempt.cost_usd,
        model=attempt.model,
        tokens_in=attempt.tokens_in,
        tokens_out=attempt.tokens_out,
        turns=attempt.turns,
    )


def ends(state: State, project: str, since: int, limit: int) -> Ends:
    """Tasks that were completed since then, the last one first."""
    records = [
        record
        for record in state.ended_since(since)
        if record.status is Status.COMPLETED and record.spec.project == project and (record.completed_at or 0) >= since
    ]
    records.sort(key=lambda record: (record.completed_at or 0, record.number), reverse=True)
    found = Ends()
    for record in records[:limit]:
        lane = state.lane_ids[record.lane]
        found.lanes[lane] = record.lane
        found.ends.append(End(lane, record.completed_at or 0, _wait(record)))
    return found


def _wait(record: Record) -> int | None:
    if record.fence != 1 or record.started_at is None or record.ready_at is None:
        return None
    return record.started_at - record.ready_at
