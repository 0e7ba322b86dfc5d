"""Budgets: claims reserve in them, and are charged when they end. What does not fit is parked."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from dibs.model.instants import seconds, to_micros
from dibs.model.status import Status
from dibs.rules import budgets as rules
from dibs.rules import windows
from dibs.stores.ledger.records import BudgetRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.model.attempt import Attempt
    from dibs.model.views import Budget
    from dibs.rules.windows import Window
    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State
    from dibs.stores.values import LaneKey

    Name = tuple[str, str]
    """A budget: its project, and what `parked_on` says of it."""


def closed(state: State, record: Record) -> str | None:
    """The first budget, by name, that has no room for this task; None if all have."""
    for (_, name), unit, budget in _of(state, record):
        taken = budget.taken + _aside(state, record, unit, budget)
        if not rules.fits(limit=budget.limit, taken=taken, wanted=_wanted(record, unit, budget)):
            return name
    return None


def _aside(state: State, record: Record, unit: str, budget: BudgetRecord) -> int:
    """What of a budget is saved for another task; not for one behind it in its lane."""
    other = None if budget.saved_for in (None, record.number) else state.numbered.get(budget.saved_for or 0)
    if other is None or other.status is not Status.READY or (other.number, other.fence) in budget.reserved:
        return 0
    if other.lane == record.lane and _by_rank(record) < _by_rank(other):
        return 0
    return _wanted(other, unit, budget)


def save(state: State) -> None:
    """Save every budget for one of those that were passed over; no longer for whom that is of no use to."""
    for name, budget in list(state.budgets.items()):
        unit = name[1].rpartition(":")[2]
        if budget.saved_for is not None and not _is_kept(state, name, unit, budget):
            budget.saved_for = None
            state.roomy[name] = None
        if budget.saved_for is None:
            budget.saved_for, budget.offered = _passed_over(state, unit, budget), 0
            state.changed = True


def _is_kept(state: State, name: Name, unit: str, budget: BudgetRecord) -> bool:
    record = state.numbered.get(budget.saved_for or 0)
    if record is None or record.status is not Status.READY:
        return False
    kept = rules.is_kept(record.parked_on, name[1], budget.offered)
    budget.offered = budget.offered + 1 if record.parked_on is None else 0
    return kept and rules.could_fit(limit=budget.limit, spent=budget.spent, wanted=_wanted(record, unit, budget))


def _passed_over(state: State, unit: str, budget: BudgetRecord) -> int | None:
    """Of each lane the best that could fit, and of these the one that has been ready longest; None: nobody waits for
    long. Who is behind somebody that is on his way is not passed over."""
    in_lanes: dict[LaneKey, list[Record]] = {}
    for record in sorted((state.numbered[number] for number in budget.parked), key=_by_rank):
        in_lanes.setdefault(record.lane, []).append(record)
    before = state.now - seconds(rules.PASSED_OVER_S)
    waited = []
    for parked in in_lanes.values():
        fitting = (
            record
            for record in parked[: rules.LOOKED_AT]
            if rules.could_fit(limit=budget.limit, spent=budget.spent, wanted=_wanted(record, unit, budget))
        )
        best = next(fitting, None)
        if best is not None and _waited(best, before) and not _is_behind(state, best, before):
            waited.append((best.ready_at, best.number))
    return min(waited)[1] if waited else None


def _waited(record: Record, before: int) -> bool:
    return record.ready_at is not None and record.ready_at <= before


def _is_behind(state: State, record: Record, before: int) -> bool:
    """Whether a better one of its lane is on his way: not parked, and ready since. One that is ready for longer may be
    one that no agent can pay for, where agents have budgets."""
    better = (
        state.numbered[number]
        for rank, number in islice(state.lanes.get(record.lane, ()), rules.LOOKED_AT)
        if (rank, number) < _by_rank(record)
    )
    return any(not _is_stuck(state, other, before) for other in better)


def _is_stuck(state: State, record: Record, before: int) -> bool:
    """Whether a task that is ready and not parked may be one that no agent can pay for."""
    of_agents = rules.PREFIX + rules.OF_AGENTS
    return _waited(record, before) and any(
        project == record.spec.project and name.startswith(of_agents) for project, name in state.budgets
    )


def is_broke(state: State, project: str, agent: str) -> bool:
    """Whether a budget of this agent is used up."""
    return bool(_used_up(state, project, agent))


def broke_for_s(state: State, project: str, agent: str) -> float | None:
    """How long it takes until no budget of this agent is used up any more, by time alone; None: for ever."""
    return rules.broke_for_s([budget.ends_at for budget in _used_up(state, project, agent)], state.now)


def _used_up(state: State, project: str, agent: str) -> list[BudgetRecord]:
    own = _named(state, project, (rules.of_agent(agent),))
    return [budget for _, _, budget in own if rules.is_used_up(limit=budget.limit, taken=budget.taken)]


def can_pay(state: State, record: Record, agent: str) -> bool:
    """Whether the agent's own budgets have room for this task."""
    return all(
        rules.fits(limit=budget.limit, taken=budget.taken, wanted=_wanted(record, unit, budget))
        for _, unit, budget in _named(state, record.spec.project, (rules.of_agent(agent),))
    )


def take(state: State, record: Record, agent: str) -> None:
    """Reserve in all its budgets, and in the agent's, under the fence that it is being claimed with."""
    for _, unit, budget in (*_of(state, record), *_named(state, record.spec.project, (rules.of_agent(agent),))):
        budget.reserved[record.number, record.fence] = _wanted(record, unit, budget)


def settle(state: State, record: Record, attempt: Attempt, *, sure: bool) -> None:
    """Its claim ended with this attempt: what it used is spent, and the rest is free for others."""
    usage = rules.Usage(attempt.cost_usd, attempt.tokens_in, attempt.tokens_out, attempt.turns)
    started, ended = attempt.started_at, attempt.ended_at
    micros = 0 if started is None or ended is None else to_micros(ended) - to_micros(started)
    agents = (rules.of_agent(record.agent or ""),)
    for name, unit, budget in (*_of(state, record), *_named(state, record.spec.project, agents)):
        budget.earlier.pop((record.number, record.fence), None)
        reserved = budget.reserved.pop((record.number, record.fence), None)
        if reserved is None:
            continue
        measured = unit == "seconds"
        amount, priced = rules.charge(
            micros if measured else usage.of(unit),
            reserved,
            sure=measured or (sure and attempt.reason != "crash"),
            given_back=not measured and (started is None or attempt.outcome in rules.GIVEN_BACK),
        )
        budget.spent += amount
        budget.unpriced += not priced
        state.roomy[name] = None


def limits_of(record: Record) -> dict[str, Any]:
    """What a renewal is told: which limit of its own the task is over."""
    over = rules.exceeded(_allowance(record), _told(record))
    return {} if over is None else {"exceeded": over}


def overdrawn(state: State, record: Record) -> str | None:
    """The first budget, by name, that is overdrawn with what the claim of a task has used beyond what it reserved."""
    claim = (record.number, record.fence)
    for (_, name), budget in sorted(state.budgets.items(), key=lambda item: item[0]):
        if claim not in budget.reserved or (budget.ends_at is not None and budget.ends_at <= state.now):
            continue
        unit = name.rpartition(":")[2]
        if (_used(state, record, unit) or 0) <= budget.reserved[claim]:
            continue
        shares = [
            (reserved, _used(state, state.numbered[number], unit)) for (number, _), reserved in budget.reserved.items()
        ]
        if rules.overdrawn(budget.limit, budget.spent, shares):
            return name
    return None


def _used(state: State, record: Record, unit: str) -> int | None:
    """What the claim that holds a task has used so far, as far as it told."""
    if not record.held:
        return None
    if unit == "seconds":
        return None if record.started_at is None else state.now - record.started_at
    return _told(record).of(unit)


def _told(record: Record) -> rules.Usage:
    used = record.usage
    return rules.Usage(used.cost_usd, used.tokens_in, used.tokens_out, used.turns)


def open_up(state: State) -> int:
    """Unpark who fits into the budgets that may have room; how many."""
    roomy, state.roomy = sorted(state.roomy), {}
    return sum(_open_up(state, name) for name in roomy)


def _open_up(state: State, name: Name) -> int:
    """Of each lane the best, as long as they fit beside those that are on their way: ready, and not parked."""
    from dibs.stores.ledger.locks import closed as closed_to
    from dibs.stores.ledger.locks import move

    budget = state.budgets.get(name)
    if budget is None:
        return 0
    unit = name[1].rpartition(":")[2]
    unparked = 0
    before = state.now - seconds(rules.PASSED_OVER_S)
    waiting = [state.numbered[number] for number in budget.parked]
    for lane in {record.lane: None for record in waiting}:
        # Whom it is saved for does not wait for those who have been on their way for long.
        taken = lately = budget.taken
        for record in _in_line(state, lane, [record for record in waiting if record.lane == lane]):
            wanted = _wanted(record, unit, budget)
            aside = _aside(state, record, unit, budget)
            before_it = lately if record.number == budget.saved_for else taken
            if not rules.fits(limit=budget.limit, taken=before_it + aside, wanted=wanted):
                continue
            on_its_way = record.parked_on is None
            if not on_its_way:
                move(state, record, closed_to(state, record))
                unparked += record.parked_on is None
            elif not any(budget is each for _, _, each in _of(state, record)):
                continue
            # What is saved for it is aside already.
            if record.parked_on is None and record.number != budget.saved_for:
                taken += wanted
                lately += 0 if on_its_way and _is_stuck(state, record, before) else wanted
    return unparked


def _in_line(state: State, lane: LaneKey, parked: list[Record]) -> list[Record]:
    """Those of a lane that are parked and those that are on their way, as many of each as are looked at. Best first."""
    on_their_way = [state.numbered[number] for _, number in islice(state.lanes.get(lane, ()), rules.LOOKED_AT)]
    return sorted([*sorted(parked, key=_by_rank)[: rules.LOOKED_AT], *on_their_way], key=_by_rank)


def _by_rank(record: Record) -> tuple[float, int]:
    return record.rank or 0.0, record.number


def roll(state: State) -> int:
    """Let budgets whose window is over begin anew, and in who fits; how many."""
    from dibs.stores.ledger.locks import follow

    over = [(name, budget) for name, budget in state.windowed() if (budget.ends_at or 0) <= state.now]
    for name, budget in over:
        budget.earlier |= budget.reserved
        budget.reserved, budget.spent, budget.unpriced = {}, 0, 0
        budget.ends_at = _ends_at(state, budget.window)
        state.roomy[name] = None
        state.changed = True
    if over:
        follow(state)
    return len(over)


def _ends_at(state: State, window: Window | None) -> int | None:
    return None if window is None else windows.ends_at(window, state.now)


def give(
    state: State,
    project: str,
    scope: str,
    unit: str,
    limit: int,
    default_reserve: int,
    window: Window | None = None,
) -> Budget:
    """Make a budget, which counts what runs already, or change one."""
    roll(state)
    name = (project, rules.parked_on(scope, unit))
    budget = state.budgets.get(name)
    if budget is None:
        budget = state.budgets[name] = BudgetRecord(limit=limit, default_reserve=default_reserve)
        for record in state.occupied():
            if any(
                budget is each
                for _, _, each in (
                    *_of(state, record),
                    *_named(state, record.spec.project, (rules.of_agent(record.agent or ""),)),
                )
            ):
                budget.reserved[record.number, record.fence] = _wanted(record, unit, budget)
    budget.limit, budget.default_reserve = limit, default_reserve
    budget.window, budget.ends_at = window, _ends_at(state, window)
    state.roomy[name] = None
    state.changed = True
    return _shown(state, name, budget)


def raise_limit(state: State, project: str, scope: str, unit: str, amount: int) -> Budget:
    """Add to its limit."""
    roll(state)
    name, budget = _get(state, project, scope, unit)
    budget.limit = min(rules.MOST, budget.limit + amount)
    state.roomy[name] = None
    state.changed = True
    return _shown(state, name, budget)


def remove(state: State, project: str, scope: str, unit: str) -> Budget:
    """Forget it; whoever is parked on it may try again."""
    from dibs.stores.ledger.locks import move

    name, budget = _get(state, project, scope, unit)
    gone = _shown(state, name, budget)
    for number in list(budget.parked):
        move(state, state.numbered[number], None)
    del state.budgets[name]
    state.changed = True
    return gone


def all_budgets(state: State, project: str) -> list[Budget]:
    """By scope and unit."""
    found = [_shown(state, name, budget) for name, budget in state.budgets.items() if name[0] == project]
    return sorted(found, key=lambda budget: (budget.scope, budget.unit))


def _get(state: State, project: str, scope: str, unit: str) -> tuple[Name, BudgetRecord]:
    name = (project, rules.parked_on(scope, unit))
    if name not in state.budgets:
        raise rules.no_budget(scope, unit)
    return name, state.budgets[name]


def _of(state: State, record: Record) -> Iterator[tuple[Name, str, BudgetRecord]]:
    """The budgets of a task, by name; each with its unit."""
    spec = record.spec
    scopes = rules.scopes_of(type=spec.type, user=spec.user, dag=record.dag_id, charged_to=spec.charged_to)
    return _named(state, spec.project, scopes)


def _named(state: State, project: str, scopes: Sequence[str]) -> Iterator[tuple[Name, str, BudgetRecord]]:
    """Those budgets of these scopes that exist, by name; each with its unit."""
    if not state.budgets:
        return
    for name, unit in sorted((rules.parked_on(scope, unit), unit) for scope in scopes for unit in rules.PARTS):
        budget = state.budgets.get((project, name))
        if budget is not None:
            yield (project, name), unit, budget


def _wanted(record: Record, unit: str, budget: BudgetRecord) -> int:
    return rules.reserve(unit, _allowance(record), budget.default_reserve, budget.limit)


def _allowance(record: Record) -> rules.Allowance:
    spec = record.spec
    spent = rules.Usage(record.cost_usd, record.tokens_in, record.tokens_out, record.turns)
    stopped = record.reason == rules.EXCEEDED
    return rules.Allowance(spec.max_cost, spec.max_tokens, spec.max_turns, record.timeout_s, spent, stopped)


def _shown(state: State, name: Name, budget: BudgetRecord) -> Budget:
    saved_for = None if budget.saved_for is None else state.numbered.get(budget.saved_for)
    is_kept = saved_for is not None and saved_for.status is Status.READY
    scope, _, unit = name[1].removeprefix(rules.PREFIX).rpartition(":")
    return rules.shown(
        scope,
        unit,
        limit=budget.limit,
        default_reserve=budget.default_reserve,
        reserved=sum(budget.reserved.values()),
        spent=budget.spent,
        unpriced=budget.unpriced,
        waiting=len(budget.parked),
        window=budget.window,
        ends_at=budget.ends_at,
        now=state.now,
        saved_for=saved_for.id if saved_for is not None and is_kept else None,
    )


def wrong(state: State) -> list[str]:
    """What must always hold of budgets: a sentence for each thing that does not."""
    found = []
    for (project, name), budget in state.budgets.items():
        for number, fence in (*budget.reserved, *budget.earlier):
            record = state.numbered.get(number)
            if record is None or record.fence != fence or not (record.held or record.unwritten):
                found.append(f"{name} of {project} is reserved in by task {number}, whose claim has ended.")
        found += [
            f"Task {number} is parked on {name} of {project}, but is not ready."
            for number in budget.parked
            if state.numbered[number].status is not Status.READY
        ]
    return found
