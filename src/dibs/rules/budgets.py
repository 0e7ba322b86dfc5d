"""Budgets: nobody spends what was not given. An attempt reserves what it may use, and is charged what it used.

A budget limits one unit (USD, tokens, model turns or seconds of work) within a scope: everything, a type, a user, a
dag or an agent. What is reserved and what is spent never exceed the limit together, unless an attempt used more than it
had reserved. A task that does not fit is parked until it does.

Whoever overdraws a budget that it shares is stopped, and its task goes back: it waits there like any other, but for as
much as it has used so far. So what stopped it once does not stop it again at once, however soft the budget is.

An agent's own budget is nobody else's concern: a task that it cannot pay for is passed over in its claims, and stays
ready for others. Once the budget is used up, the agent gets nothing.

Amounts are whole numbers of a small part of the unit, so that adding them up is exact, in whatever order it is done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dibs.errors import Invalid, NotFound
from dibs.model.instants import from_micros
from dibs.model.status import Outcome
from dibs.model.views import Blocker, Budget
from dibs.rules import validation, windows
from dibs.rules.windows import Window

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.model.task import Task

PARTS = {"usd": 1_000_000, "tokens": 1, "turns": 1, "seconds": 1_000_000}
"""The units there are, and into how many parts each is divided."""

SCOPES = ("type", "user", "dag", "agent")
GLOBAL = "global"
OF_AGENTS = "agent:"
"""What the scopes of agents begin with."""
MOST = 10**15
"""The largest amount of anything, in parts."""

PREFIX = "budget:"
"""What `parked_on` begins with where a budget is in the way. No lock may be called like that."""

LOOKED_AT = 100
"""How many parked tasks of a lane are looked at when a budget has room. The duty looks again."""

PASSED_OVER = 100
"""A claim that has passed over so many tasks that its agent cannot pay for looks at no more."""

EXCEEDED = "budget_exceeded"
"""The reason of an attempt that used more than it may, and of its task until that ends otherwise."""

BROKE = "budget"
"""Why a claim got nothing whatever there is: its agent has a budget that is used up."""

PASSED_OVER_S = 60.0
"""A task that has been ready for so long, and is the best of its lane that waits, is not passed over any more."""

OFFERED = 12
"""How often `unpark` finds what was saved for a task unclaimed, before it is for others again."""

MAX_SCOPE_CHARS = 300
MAX_COST = 1e9
MAX_COUNT = 10**15

GIVEN_BACK = frozenset({Outcome.RELEASED, Outcome.RATE_LIMITED})
"""Ways in which a claim ends that cost nothing, unless its agent said that it did."""

_OWN_LIMITS = (("max_cost", "usd"), ("max_tokens", "tokens"), ("max_turns", "turns"))


class Usage(NamedTuple):
    """What was used, as it was told; None where nobody said."""

    cost_usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    turns: int | None = None

    def of(self, unit: str) -> int | None:
        """What was used of a unit, in parts. Seconds are measured, not told."""
        if unit == "usd":
            return None if self.cost_usd is None else to_parts(self.cost_usd, unit)
        if unit == "turns":
            return self.turns
        if unit == "tokens" and (self.tokens_in is not None or self.tokens_out is not None):
            return (self.tokens_in or 0) + (self.tokens_out or 0)
        return None


class Allowance(NamedTuple):
    """What a task may use over all its attempts, what those that ended used, and how long the next one may take.

    `stopped`: the last that was heard of them is that they used too much.
    """

    max_cost: float | None = None
    max_tokens: int | None = None
    max_turns: int | None = None
    timeout_s: float | None = None
    spent: Usage = Usage()
    stopped: bool = False

    def of(self, unit: str) -> float | None:
        """The most of a unit; None if nothing is said about it."""
        return {"usd": self.max_cost, "tokens": self.max_tokens, "turns": self.max_turns}.get(unit)


def allowance_of(task: Task) -> Allowance:
    """What a task may use, and has used."""
    spent = Usage(task.cost_usd, task.tokens_in, task.tokens_out, task.turns)
    return Allowance(
        task.max_cost, task.max_tokens, task.max_turns, task.timeout, spent, stopped=task.reason == EXCEEDED
    )


def parse_scope(value: object) -> str:
    """`global`, `type:research`, `user:grace`, `dag:dag_01j…` or `agent:coder-1`, checked."""
    scope = validation.text(value, "scope", max_chars=MAX_SCOPE_CHARS)
    kind, _, name = scope.partition(":")
    if scope != GLOBAL and (kind not in SCOPES or not name):
        raise Invalid(
            f"scope must be global, type:NAME, user:NAME, dag:ID or agent:NAME, not {value!r:.80}.", field="scope"
        )
    return scope


def parse_unit(value: object) -> str:
    """One of the units there are."""
    if not isinstance(value, str) or value not in PARTS:
        raise Invalid(f"unit must be one of {', '.join(PARTS)}, not {value!r:.80}.", field="unit")
    return value


def parse_amount(value: object, field: str, unit: str) -> int:
    """A number of units, in parts."""
    return to_parts(validation.number(value, field, 0, MOST / PARTS[unit]), unit)


def to_parts(amount: float, unit: str) -> int:
    """An amount in parts, at most the largest."""
    return min(MOST, round(amount * PARTS[unit]))


def scopes_of(*, type: str, user: str | None, dag: str, charged_to: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Whose budgets a task uses, beside those of the agent that claims it. `charged_to`: also those of these scopes."""
    scopes = (GLOBAL, f"type:{type}", f"dag:{dag}", *charged_to)
    return scopes if user is None else (*scopes, f"user:{user}")


def of_agent(agent: str) -> str:
    """The scope of an agent's own budgets."""
    return f"{OF_AGENTS}{agent}"


def parked_on(scope: str, unit: str) -> str:
    """How a task says that this budget is in its way."""
    return f"{PREFIX}{scope}:{unit}"


def is_shared(limit: str) -> bool:
    """Whether a limit that was exceeded is a budget, not the task's own."""
    return limit.startswith(PREFIX)


def reserve(unit: str, allowance: Allowance, default_reserve: int, limit: int) -> int:
    """What an attempt sets aside, in parts: what is left of the task's own limit, or what the budget says for tasks
    without one. Of time it sets aside its timeout.

    A task that was stopped sets aside at least what it has used, unless that is more than the `limit` of the budget: it
    would wait for ever then, also where the budget begins anew.
    """
    if unit == "seconds":
        return default_reserve if allowance.timeout_s is None else to_parts(allowance.timeout_s, unit)
    own, used = allowance.of(unit), allowance.spent.of(unit) or 0
    if own is not None:
        return max(0, to_parts(own, unit) - used)
    return used if allowance.stopped and default_reserve < used <= limit else default_reserve


def fits(*, limit: int, taken: int, wanted: int) -> bool:
    """Whether so much more may be reserved, `taken` being reserved or spent already. A budget that is used up admits
    nobody, also who reserves nothing."""
    return taken + wanted <= limit and (wanted > 0 or taken < limit)


def is_used_up(*, limit: int, taken: int) -> bool:
    """Whether nothing at all fits any more."""
    return taken >= limit


def could_fit(*, limit: int, spent: int, wanted: int) -> bool:
    """Whether so much could be reserved once nobody else has reserved anything: worth saving for."""
    return spent + wanted <= limit


def is_kept(parked_on: str | None, name: str, offered: int) -> bool:
    """Whether a budget is still saved for a ready task: it is parked there, or may be claimed, but not for ever."""
    return parked_on == name or (parked_on is None and offered < OFFERED)


def charge(told: int | None, reserved: int, *, sure: bool, given_back: bool) -> tuple[int, bool]:
    """What the end of a claim is charged, and whether that is what it cost.

    It is not known where nobody said, or whoever knew is gone (not `sure`): then it is the larger of what was told and
    what was reserved. Work that never began, or was given back, costs what was told.
    """
    if given_back:
        return min(MOST, told or 0), True
    if told is not None and sure:
        return min(MOST, told), True
    return max(min(MOST, told or 0), reserved), False


def exceeded(allowance: Allowance, told: Usage) -> str | None:
    """Which of its own limits a task is over with what the attempt under way has told; None if it keeps them."""
    for name, unit in _OWN_LIMITS:
        limit, used = allowance.of(unit), told.of(unit)
        if limit is not None and used is not None and used + (allowance.spent.of(unit) or 0) > to_parts(limit, unit):
            return name
    return None


def broke_for_s(ends: Sequence[int | None], now: int) -> float | None:
    """How long an agent gets nothing whose used up budgets end their windows then (None: they have none); None: until
    somebody raises one."""
    instants = [at for at in ends if at is not None]
    if len(instants) < len(ends):
        return None
    # Whoever looked without a transaction may find that somebody has raised or removed it meanwhile.
    return max(0.0, (max(instants, default=now) - now) / 1_000_000)


def overdrawn(limit: int, spent: int, shares: Iterable[tuple[int, int | None]]) -> bool:
    """Whether a budget does not suffice for what is spent and what those who work have reserved, or used if that is
    more: each (reserved, used), in parts."""
    return spent + sum(max(reserved, used or 0) for reserved, used in shares) > limit


def why_exceeded(task: Task, limit: str) -> str:
    """The error of an attempt that was stopped because of its own limit, or of a budget that it shares."""
    if is_shared(limit):
        scope, _, unit = limit.removeprefix(PREFIX).rpartition(":")
        option = "" if unit == "usd" else f" --unit {unit}"
        return (
            f"budget {scope} is used up, and the attempt used more than it had reserved there:"
            f" it goes on when there is room again (dibs budget raise {scope} AMOUNT{option})"
        )
    unit = dict(_OWN_LIMITS)[limit]
    return f"the task used more than its {limit} of {in_words(getattr(task, limit), unit)}"


def shown(
    scope: str,
    unit: str,
    *,
    limit: int,
    default_reserve: int,
    reserved: int,
    spent: int,
    unpriced: int,
    waiting: int,
    window: Window | None = None,
    ends_at: int | None = None,
    now: int = 0,
    saved_for: str | None = None,
) -> Budget:
    """A budget as people see it now: amounts in units. One whose window is over begins anew, noted or not."""
    parts = PARTS[unit]
    if window is not None and ends_at is not None and ends_at <= now:
        reserved = spent = unpriced = 0
        ends_at = windows.ends_at(window, now)
    return Budget(
        scope=scope,
        unit=unit,
        limit=limit / parts,
        default_reserve=default_reserve / parts,
        reserved=reserved / parts,
        spent=spent / parts,
        left=max(0, limit - reserved - spent) / parts,
        unpriced=unpriced,
        waiting=waiting,
        window=None if window is None else window.per,
        timezone=None if window is None else window.timezone,
        ends_at=None if ends_at is None else from_micros(ends_at),
        saved_for=saved_for,
    )


def window_of(budget: Budget) -> Window | None:
    """The window of a budget as people see it."""
    return None if budget.window is None or budget.timezone is None else Window(budget.window, budget.timezone)


def in_words(amount: float, unit: str) -> str:
    """`$0.40`, `1,200 tokens`, `3 turns`, `90 s`."""
    if unit == "usd":
        return f"${amount:,.2f}" if round(amount, 2) == amount else f"${amount:,.6f}".rstrip("0")
    number = f"{amount:,.0f}" if amount == round(amount) else f"{amount:,.3f}".rstrip("0")
    return f"{number} s" if unit == "seconds" else f"{number} {unit}"


def spent_in_words(budget: Budget) -> str:
    """What is spent; where some of it is a guess, that it may be more."""
    amount = in_words(budget.spent, budget.unit)
    return f"≥ {amount}, {budget.unpriced} unpriced" if budget.unpriced else amount


def without(task: Task, agent: str, known: Iterable[Budget]) -> Budget | None:
    """The first budget of an agent's own that has no room for this task; None: it can pay for it."""
    return next((budget for budget in known if budget.scope == of_agent(agent) and _missing(task, budget)), None)


def explain_agents(task: Task, broke: Sequence[Budget]) -> tuple[str, list[Blocker]]:
    """Why a task waits although there are agents for it: none of them can pay for it."""
    blockers = [blocker for budget in broke for blocker in explain(task, budget)[1]]
    return "It is ready, but no live agent that could do it has the budget for it.", blockers


def _wanted(task: Task, budget: Budget, limit: int) -> int:
    """What the next attempt reserves, in parts, in a budget of this limit."""
    return reserve(budget.unit, allowance_of(task), to_parts(budget.default_reserve, budget.unit), limit)


def _missing(task: Task, budget: Budget) -> int:
    """By how much a budget is too small for a task now, in parts; 0: it fits."""
    taken = to_parts(budget.reserved, budget.unit) + to_parts(budget.spent, budget.unit)
    limit = to_parts(budget.limit, budget.unit)
    if fits(limit=limit, taken=taken, wanted=_wanted(task, budget, limit)):
        return 0
    return taken + max(_wanted(task, budget, MOST), 1) - limit


def explain(task: Task, budget: Budget) -> tuple[str, list[Blocker]]:
    """Why a budget has no room for a task, and what would help."""
    parts, unit, name = PARTS[budget.unit], budget.unit, f"budget {budget.scope}"
    allowance = allowance_of(task)
    limit = to_parts(budget.limit, unit)
    # What it needs if the budget is raised; as it is, it may be content with less.
    wanted, for_now = _wanted(task, budget, MOST), _wanted(task, budget, limit)
    missing = _missing(task, budget) / parts
    whose = "of default_reserve, because it names no limit of its own"
    if allowance.of(unit) is not None or (unit == "seconds" and task.timeout is not None):
        whose = "of its own limit"
    elif wanted > to_parts(budget.default_reserve, unit):
        whose = "because it had used that much when it was stopped"
    detail = (
        f"{name} has {in_words(budget.left, unit)} left of {in_words(budget.limit, unit)}"
        f" (spent {spent_in_words(budget)}; {in_words(budget.reserved, unit)} reserved by what runs),"
        f" and it reserves {in_words(wanted / parts, unit)} {whose}"
    )
    until = budget.ends_at
    if budget.saved_for not in (None, task.id):
        detail += f"; what is left is saved for {budget.saved_for}, which needs more and was passed over"
    if for_now > limit:
        detail += "; as it is it can never fit"
        until = None
    elif until is not None:
        detail += f"; it begins anew at {windows.local(until, budget.timezone or windows.UTC)}"
    option = "" if unit == "usd" else f" --unit {unit}"
    # To the last part: what is less would not do.
    exactly = f"{missing:.6f}".rstrip("0").rstrip(".")
    help = f"raise {name} by {in_words(missing, unit)}: dibs budget raise {budget.scope} {exactly}{option}"
    if not missing:
        help = "it will be offered again in a moment"
    return f"It is ready, but {detail}.", [Blocker(kind="gate", detail=detail, until=until, help=help)]


def no_budget(scope: str, unit: str) -> NotFound:
    """Nobody made such a budget."""
    return NotFound(f"There is no budget {scope} in {unit}. `dibs budget ls` shows the ones there are.", field="scope")
