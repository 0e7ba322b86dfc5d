"""How it has been going, by type, agent, model or day: every task and every ended claim, looked at one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from dibs.model.instants import to_micros
from dibs.model.status import Outcome, Status
from dibs.rules import metrics as rule
from dibs.rules.usage import is_unpriced, plus

if TYPE_CHECKING:
    from dibs.model.metrics import Metrics
    from dibs.stores.ledger.records import Ending, Record
    from dibs.stores.ledger.state import State


class _Group(Struct):
    """A group while it is counted."""

    counts: rule.Counts
    waits: list[int] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)


class _Groups(dict[str, _Group]):
    def __missing__(self, name: str) -> _Group:
        group = self[name] = _Group(rule.Counts(name))
        return group


def metrics(state: State, project: str, by: str, since: int) -> list[Metrics]:
    """The groups, as `rules.metrics` orders them."""
    groups = _Groups()
    for record in state.tasks.values():
        if record.spec.project != project:
            continue
        if by in rule.OF_TASKS:
            _count_task(groups, by, record, since)
        for ending in record.endings.values():
            _count_claim(groups, by, record, ending, since)
        if record.held and by != "day":
            _count_held(groups, by, record, state.now)
    for group in groups.values():
        counts = group.counts
        waits, runs = sorted(group.waits), sorted(group.runs)
        counts.wait_p50, counts.wait_p95 = rule.percentile(waits, 50), rule.percentile(waits, 95)
        counts.run_p50, counts.run_p95 = rule.percentile(runs, 50), rule.percentile(runs, 95)
    return rule.measured(by, [group.counts for group in groups.values()])


def _count_task(groups: _Groups, by: str, record: Record, since: int) -> None:
    """Before anybody claims it a task belongs to its type, and to the day when it happened."""
    if record.created_at >= since:
        groups[_task_group(by, record, record.created_at)].counts.created += 1
    at = record.cancelled_at
    if record.status is Status.CANCELLED and at is not None and at >= since:
        groups[_task_group(by, record, at)].counts.cancelled += 1


def _task_group(by: str, record: Record, at: int) -> str:
    return rule.group_of(by, type=record.spec.type, agent="", model=None, at=at)


def _count_claim(groups: _Groups, by: str, record: Record, ending: Ending, since: int) -> None:
    attempt = ending.attempt
    assert attempt.ended_at is not None
    ended_at = to_micros(attempt.ended_at)
    if ended_at < since:
        return
    name = rule.group_of(by, type=record.spec.type, agent=attempt.agent, model=attempt.model, at=ended_at)
    group = groups[name]
    counts, outcome = group.counts, attempt.outcome
    counts.completed += outcome is Outcome.COMPLETED
    counts.failed += outcome in rule.FAILED
    counts.dead_lettered += ending.settled is not None and ending.settled.status == Status.DEAD_LETTERED
    if by not in rule.OF_TASKS:
        counts.cancelled += outcome is Outcome.CANCELLED
    counts.cost_usd = plus(counts.cost_usd, attempt.cost_usd)
    counts.tokens_in = plus(counts.tokens_in, attempt.tokens_in)
    counts.tokens_out = plus(counts.tokens_out, attempt.tokens_out)
    counts.turns = plus(counts.turns, attempt.turns)
    counts.unpriced += is_unpriced(
        outcome,
        attempt.cost_usd,
        model=attempt.model,
        tokens_in=attempt.tokens_in,
        tokens_out=attempt.tokens_out,
        turns=attempt.turns,
    )
    if attempt.started_at is not None:
        started_at = to_micros(attempt.started_at)
        if attempt.fence == 1 and record.ready_at is not None:
            group.waits.append(started_at - record.ready_at)
        if outcome in rule.RAN:
            group.runs.append(ended_at - started_at)


def _count_held(groups: _Groups, by: str, record: Record, now: int) -> None:
    assert record.claimed_at is not None
    counts = groups[
        rule.group_of(by, type=record.spec.type, agent=record.agent or "", model=record.model, at=now)
    ].counts
    heard_at = max(record.claimed_at, record.renewed_at or 0)
    counts.held += 1
    counts.renewal_delay = max(counts.renewal_delay or 0, now - heard_at)
