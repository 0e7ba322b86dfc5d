"""Budgets: claims reserve in them, and are charged when they end. What does not fit is parked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.model.instants import to_micros
from dibs.model.status import Status
from dibs.rules import budgets as rules
from dibs.rules import windows
from dibs.stores.memory.state import BudgetRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.model.attempt import Attempt
    from dibs.model.views import Budget
    from dibs.rules.windows import Window
    from dibs.stores.memory.state import Record, State

    Name = tuple[str, str]
    """A budget: its project, and what `parked_on` says of it."""


def closed(state: State, record: Record) -> str | None:
    """The first budget, by name, that has no room for this task; None if all have."""
    for (_, name), unit, budget in _of(state, record):
        if not rules.fits(limit=budget.limit, taken=budget.taken, wanted=_wanted(record, unit, budget)):
            return name
    return None


def is_broke(state: State, project: str, agent: str) -> bool:
    """Whether a budget of this agent is used up."""
    return any(
        rules.is_used_up(limit=budget.limit, taken=budget.taken)
        for _, _, budget in _named(state, project, (rules.of_agent(agent),))
    )


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
    seconds = 0 if started is None or ended is None else to_micros(ended) - to_micros(started)
    for name, budget in sorted(state.budgets.items(), key=lambda item: item[0]):
        unit = name[1].rpartition(":")[2]
        budget.earlier.pop((record.number, record.fence), None)
        reserved = budget.reserved.pop((record.number, record.fence), None)
        if reserved is None:
            continue
        measured = unit == "seconds"
        amount, priced = rules.charge(
            seconds if measured else usage.of(unit),
            reserved,
            sure=measured or (sure and attempt.reason != "crash"),
            given_back=not measured and (started is None or attempt.outcome in rules.GIVEN_BACK),
        )
        budget.spent += amount
        budget.unpriced += not priced
        state.roomy[name] = None


def limits_of(record: Record) -> dict[str, Any]:
    """What a renewal is told: which limit of its own the task is over."""
    used = record.usage
    told = rules.Usage(used.cost_usd, used.tokens_in, used.tokens_out, used.turns)
    over = rules.exceeded(_allowance(record), told)
    return {} if over is None else {"exceeded": over}


def open_up(state: State) -> int:
    """Unpark who fits into the budgets that may have room; how many."""
    roomy, state.roomy = sorted(state.roomy), {}
    return sum(_open_up(state, name) for name in roomy)


def _open_up(state: State, name: Name) -> int:
    """Of each lane the best, as long as they fit beside those that were unparked before."""
    from dibs.stores.memory.locks import closed as closed_to
    from dibs.stores.memory.locks import move

    budget = state.budgets.get(name)
    if budget is None:
        return 0
    unit = name[1].rpartition(":")[2]
    unparked = 0
    waiting = [state.numbered[number] for number in budget.parked]
    for lane in {record.lane: None for record in waiting}:
        taken = budget.taken
        best = sorted((r for r in waiting if r.lane == lane), key=lambda record: (record.rank or 0.0, record.number))
        for record in best[: rules.LOOKED_AT]:
            wanted = _wanted(record, unit, budget)
            if not rules.fits(limit=budget.limit, taken=taken, wanted=wanted):
                continue
            other = closed_to(state, record)
            move(state, record, other)
            if other is None:
                taken += wanted
                unparked += 1
    return unparked


def roll(state: State) -> int:
    """Let budgets whose window is over begin anew; how many."""
    over = [
        (name, budget)
        for name, budget in sorted(state.budgets.items(), key=lambda item: item[0])
        if budget.ends_at is not None and budget.ends_at <= state.now
    ]
    for name, budget in over:
        budget.earlier |= budget.reserved
        budget.reserved, budget.spent, budget.unpriced = {}, 0, 0
        budget.ends_at = _ends_at(state, budget.window)
        state.roomy[name] = None
        state.changed = True
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
        for record in state.tasks.values():
            if (record.held or record.unwritten) and any(
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
    return _shown(name, budget, state.now)


def raise_limit(state: State, project: str, scope: str, unit: str, amount: int) -> Budget:
    """Add to its limit."""
    roll(state)
    name, budget = _get(state, project, scope, unit)
    budget.limit = min(rules.MOST, budget.limit + amount)
    state.roomy[name] = None
    state.changed = True
    return _shown(name, budget, state.now)


def remove(state: State, project: str, scope: str, unit: str) -> Budget:
    """Forget it; whoever is parked on it may try again."""
    from dibs.stores.memory.locks import move

    name, budget = _get(state, project, scope, unit)
    gone = _shown(name, budget, state.now)
    for number in list(budget.parked):
        move(state, state.numbered[number], None)
    del state.budgets[name]
    state.changed = True
    return gone


def all_budgets(state: State, project: str) -> list[Budget]:
    """By scope and unit."""
    found = [_shown(name, budget, state.now) for name, budget in state.budgets.items() if name[0] == project]
    return sorted(found, key=lambda budget: (budget.scope, budget.unit))


def _get(state: State, project: str, scope: str, unit: str) -> tuple[Name, BudgetRecord]:
    name = (project, rules.parked_on(scope, unit))
    if name not in state.budgets:
        raise rules.no_budget(scope, unit)
    return name, state.budgets[name]


def _of(state: State, record: Record) -> Iterator[tuple[Name, str, BudgetRecord]]:
    """The budgets of a task, by name; each with its unit."""
    spec = record.spec
    return _named(state, spec.project, rules.scopes_of(type=spec.type, user=spec.user, dag=record.dag_id))


def _named(state: State, project: str, scopes: Sequence[str]) -> Iterator[tuple[Name, str, BudgetRecord]]:
    """Those budgets of these scopes that exist, by name; each with its unit."""
    if not state.budgets:
        return
    for name, unit in sorted((rules.parked_on(scope, unit), unit) for scope in scopes for unit in rules.PARTS):
        budget = state.budgets.get((project, name))
        if budget is not None:
            yield (project, name), unit, budget


def _wanted(record: Record, unit: str, budget: BudgetRecord) -> int:
    return rules.reserve(unit, _allowance(record), budget.default_reserve)


def _allowance(record: Record) -> rules.Allowance:
    spec = record.spec
    spent = rules.Usage(record.cost_usd, record.tokens_in, record.tokens_out, record.turns)
    return rules.Allowance(spec.max_cost, spec.max_tokens, spec.max_turns, record.timeout_s, spent)


def _shown(name: Name, budget: BudgetRecord, now: int) -> Budget:
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
        now=now,
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
