"""What attempts reserve and are charged, and what is said about budgets."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Invalid
from dibs.model.instants import from_micros, to_micros
from dibs.model.status import Status
from dibs.model.task import Task
from dibs.model.views import Agent
from dibs.rules import budgets, windows
from dibs.rules.budgets import Allowance, Usage
from dibs.rules.locks import check_name
from dibs.rules.why import explain
from dibs.rules.windows import Window

if TYPE_CHECKING:
    from dibs.model.views import Budget


@pytest.mark.parametrize("scope", ["global", "type:research", "user:grace:hopper", "dag:dag_01j", "agent:host:7"])
def test_scopes_are_kept_as_they_are_written(scope: str) -> None:
    assert budgets.parse_scope(scope) == scope


@pytest.mark.parametrize("scope", ["", "type:", "type", "agent:", "planet:mars", "global:", "Global", None])
def test_other_scopes_are_refused(scope: Any) -> None:
    with pytest.raises(Invalid) as error:
        budgets.parse_scope(scope)
    assert error.value.field == "scope"


@pytest.mark.parametrize("unit", ["euro", "", None, []])
def test_other_units_are_refused(unit: Any) -> None:
    with pytest.raises(Invalid) as error:
        budgets.parse_unit(unit)
    assert error.value.field == "unit"
    assert budgets.parse_unit("turns") == "turns"


def test_amounts_are_whole_parts_of_their_unit() -> None:
    assert budgets.parse_amount(0.1, "limit", "usd") == 100_000
    assert budgets.parse_amount(1e9, "limit", "seconds") == budgets.MOST
    assert budgets.parse_amount(7, "limit", "tokens") == 7
    with pytest.raises(Invalid, match="limit must be a number"):
        budgets.parse_amount(1e10, "limit", "usd")


def test_a_task_uses_what_is_for_all_and_for_its_type_user_and_dag() -> None:
    assert budgets.scopes_of(type="a", user=None, dag="d") == ("global", "type:a", "dag:d")
    assert budgets.scopes_of(type="a", user="u", dag="d") == ("global", "type:a", "dag:d", "user:u")
    judge = budgets.scopes_of(type="judge", user=None, dag="d", charged_to=("dag:e", "type:a"))
    assert judge == ("global", "type:judge", "dag:d", "dag:e", "type:a")


@pytest.mark.parametrize(
    ("unit", "allowance", "reserved"),
    [
        ("usd", Allowance(), 5),
        ("usd", Allowance(max_cost=0.5), 500_000),
        ("usd", Allowance(max_cost=0.5, spent=Usage(cost_usd=0.2)), 300_000),
        ("usd", Allowance(max_cost=0.5, spent=Usage(cost_usd=0.7)), 0),
        ("tokens", Allowance(max_tokens=9, spent=Usage(tokens_in=2, tokens_out=3)), 4),
        ("tokens", Allowance(max_tokens=9, spent=Usage(tokens_out=3)), 6),
        ("turns", Allowance(max_turns=9, spent=Usage(turns=3)), 6),
        ("turns", Allowance(max_cost=9), 5),
        ("seconds", Allowance(), 5),
        ("seconds", Allowance(timeout_s=1.5), 1_500_000),
        ("usd", Allowance(spent=Usage(cost_usd=0.2)), 5),
    ],
)
def test_an_attempt_reserves_what_is_left_of_its_own_limit_or_the_default(
    unit: str, allowance: Allowance, reserved: int
) -> None:
    assert budgets.reserve(unit, allowance, 5, 1_000_000) == reserved


@pytest.mark.parametrize(
    ("unit", "allowance", "reserved"),
    [
        ("turns", Allowance(spent=Usage(turns=7)), 7),
        ("turns", Allowance(spent=Usage(turns=10)), 10),
        ("turns", Allowance(spent=Usage(turns=11)), 5),
        ("turns", Allowance(spent=Usage(turns=4)), 5),
        ("turns", Allowance(), 5),
        ("turns", Allowance(max_turns=9, spent=Usage(turns=8)), 1),
        ("seconds", Allowance(spent=Usage(turns=7)), 5),
    ],
)
def test_a_task_that_was_stopped_reserves_what_it_used_as_far_as_that_can_ever_fit(
    unit: str, allowance: Allowance, reserved: int
) -> None:
    assert budgets.reserve(unit, allowance._replace(stopped=True), 5, 10) == reserved


def test_only_a_budget_is_shared() -> None:
    assert budgets.is_shared("budget:type:job:usd")
    assert not budgets.is_shared("max_cost")


def test_why_names_what_a_task_that_was_stopped_needs() -> None:
    task = Task(id="task_1", type="a", status=Status.READY, cost_usd=0.6)
    assert budgets.explain(task, budget(limit=500_000, spent=600_000))[1][0].help == (
        "raise budget type:a by $0.100001: dibs budget raise type:a 0.100001"
    )
    task.reason = "budget_exceeded"
    sentence, [blocker] = budgets.explain(task, budget(limit=500_000, spent=600_000))
    assert "it reserves $0.60 because it had used that much when it was stopped" in sentence
    assert "never" not in sentence
    assert blocker.help == "raise budget type:a by $0.70: dibs budget raise type:a 0.7"
    [blocker] = budgets.explain(task, budget(limit=1_200_000, spent=600_000))[1]
    assert blocker.help == "it will be offered again in a moment"
    [blocker] = budgets.explain(task, budget(limit=1_100_000, spent=600_000))[1]
    assert blocker.help == "raise budget type:a by $0.10: dibs budget raise type:a 0.1"


def test_why_names_all_that_is_missing() -> None:
    task = Task(id="task_1", type="a", status=Status.READY, reason="budget_exceeded", cost_usd=12.345644)
    [blocker] = budgets.explain(task, budget(limit=0, spent=1_234_567_000_000))[1]
    assert (blocker.help or "").endswith("by $1,234,579.345644: dibs budget raise type:a 1234579.345644")
    [blocker] = budgets.explain(task, budget("tokens", limit=0, spent=1_500_000))[1]
    assert (blocker.help or "").endswith("dibs budget raise type:a 1500001 --unit tokens")


def test_what_a_task_used_does_not_keep_it_from_a_budget_that_begins_anew() -> None:
    task = Task(id="task_1", type="a", status=Status.READY, cost_usd=1.6, reason="budget_exceeded")
    sentence, [blocker] = budgets.explain(task, daily(spent=1_600_000))
    assert "it begins anew at" in sentence
    assert blocker.until is not None
    assert blocker.help == "raise budget global by $2.25: dibs budget raise global 2.25"


@pytest.mark.parametrize(
    ("taken", "wanted", "fits"),
    [(0, 10, True), (1, 10, False), (9, 1, True), (9, 0, True), (10, 0, False), (12, 0, False)],
)
def test_so_much_fits_into_a_budget_of_ten(taken: int, wanted: int, fits: bool) -> None:
    assert budgets.fits(limit=10, taken=taken, wanted=wanted) is fits


@pytest.mark.parametrize(
    ("told", "sure", "given_back", "charged"),
    [
        (3, True, False, (3, True)),
        (30, True, False, (30, True)),
        (None, True, False, (10, False)),
        (3, False, False, (10, False)),
        (30, False, False, (30, False)),
        (None, True, True, (0, True)),
        (3, False, True, (3, True)),
        (10**30, True, False, (budgets.MOST, True)),
    ],
)
def test_what_is_not_known_is_charged_as_the_larger_of_told_and_reserved(
    told: int | None, sure: bool, given_back: bool, charged: tuple[int, bool]
) -> None:
    assert budgets.charge(told, 10, sure=sure, given_back=given_back) == charged


def test_a_limit_is_exceeded_by_what_all_attempts_used_together() -> None:
    allowance = Allowance(0.5, 10, 3, spent=Usage(cost_usd=0.2, turns=1))
    assert budgets.exceeded(allowance, Usage(0.3, 5, 5, 2)) is None
    assert budgets.exceeded(allowance, Usage(0.31, 5, 6, 3)) == "max_cost"
    assert budgets.exceeded(allowance, Usage(None, 5, 6, 3)) == "max_tokens"
    assert budgets.exceeded(allowance, Usage(turns=3)) == "max_turns"
    assert budgets.exceeded(Allowance(), Usage(9, 9, 9, 9)) is None


def test_the_error_names_the_limit() -> None:
    task = Task(id="task_1", type="a", max_cost=0.5, max_turns=3)
    assert budgets.why_exceeded(task, "max_cost") == "the task used more than its max_cost of $0.50"
    assert budgets.why_exceeded(task, "max_turns") == "the task used more than its max_turns of 3 turns"


@pytest.mark.parametrize(
    ("amount", "unit", "words"),
    [
        (0.4, "usd", "$0.40"),
        (1234, "usd", "$1,234.00"),
        (0.000125, "usd", "$0.000125"),
        (1200, "tokens", "1,200 tokens"),
        (3, "turns", "3 turns"),
        (90, "seconds", "90 s"),
        (2.5, "seconds", "2.5 s"),
    ],
)
def test_amounts_in_words(amount: float, unit: str, words: str) -> None:
    assert budgets.in_words(amount, unit) == words


def budget(unit: str = "usd", **fields: Any) -> Budget:
    parts = {"limit": 0, "default_reserve": 0, "reserved": 0, "spent": 0, "unpriced": 0, "waiting": 1, **fields}
    return budgets.shown("type:a", unit, **parts)


def test_a_budget_is_shown_in_units() -> None:
    shown = budget(limit=1_000_000, reserved=300_000, spent=900_000)
    assert (shown.limit, shown.reserved, shown.spent, shown.left) == (1.0, 0.3, 0.9, 0.0)
    assert budgets.spent_in_words(shown) == "$0.90"
    assert budgets.spent_in_words(budget(spent=900_000, unpriced=2)) == "≥ $0.90, 2 unpriced"


def test_why_tells_what_is_missing() -> None:
    task = Task(id="task_1", type="a", max_cost=0.5, status=Status.READY, parked_on=budgets.parked_on("type:a", "usd"))
    assert task.parked_on == "budget:type:a:usd"
    why = explain(task, 0, budget=budget(limit=1_000_000, reserved=500_000, spent=400_000))
    sentence, [blocker] = why.explanation, why.blockers
    assert "budget type:a has $0.10 left of $1.00 (spent $0.40; $0.50 reserved by what runs)" in sentence
    assert "reserves $0.50 of its own limit" in sentence
    assert "never" not in sentence
    assert blocker.help == "raise budget type:a by $0.40: dibs budget raise type:a 0.4"


def test_why_says_that_a_task_can_never_fit() -> None:
    task = Task(id="task_1", type="a", max_cost=2)
    sentence, [blocker] = budgets.explain(task, budget(limit=1_000_000))
    assert "as it is it can never fit" in sentence
    assert blocker.help is not None
    assert blocker.help.startswith("raise budget type:a by $1.00")


def test_why_says_where_the_amount_comes_from() -> None:
    task = Task(id="task_1", type="a", timeout=30)
    sentence, [blocker] = budgets.explain(task, budget("seconds", limit=10_000_000))
    assert "reserves 30 s of its own limit" in sentence
    assert blocker.help == "raise budget type:a by 20 s: dibs budget raise type:a 20 --unit seconds"
    sentence, _ = budgets.explain(task, budget("tokens", limit=10, spent=10))
    assert "reserves 0 tokens of default_reserve, because it names no limit of its own" in sentence


def test_why_has_nothing_to_advise_where_there_is_room_by_now() -> None:
    _, [blocker] = budgets.explain(Task(id="task_1", type="a"), budget(limit=10))
    assert blocker.help == "it will be offered again in a moment"


def test_why_says_for_whom_a_budget_is_saved() -> None:
    saved = budget(limit=1_000_000, saved_for="task_2")
    assert "saved for task_2, which needs more" in budgets.explain(Task(id="task_1", type="a"), saved)[0]
    assert "saved for" not in budgets.explain(Task(id="task_2", type="a"), saved)[0]


@pytest.mark.parametrize(("spent", "wanted", "could"), [(0, 10, True), (5, 5, True), (6, 5, False), (0, 11, False)])
def test_saving_is_worth_it_while_it_could_fit_into_a_budget_of_ten(spent: int, wanted: int, could: bool) -> None:
    assert budgets.could_fit(limit=10, spent=spent, wanted=wanted) is could


@pytest.mark.parametrize(
    ("parked_on", "offered", "kept"),
    [("budget:x:usd", 99, True), ("repo", 0, False), (None, 0, True), (None, budgets.OFFERED, False)],
)
def test_a_budget_is_saved_while_its_task_waits_there_or_may_soon_be_claimed(
    parked_on: str | None, offered: int, kept: bool
) -> None:
    assert budgets.is_kept(parked_on, "budget:x:usd", offered) is kept


def test_a_budget_that_is_not_there_is_named() -> None:
    assert "There is no budget type:a in usd" in str(budgets.no_budget("type:a", "usd"))


def test_no_lock_is_called_like_a_budget() -> None:
    check_name("repo:budget:x", "name")
    with pytest.raises(Invalid) as error:
        check_name("budget:global:usd", "locks")
    assert error.value.field == "locks"


def test_a_budget_is_used_up_when_nothing_is_left() -> None:
    assert not budgets.is_used_up(limit=10, taken=9)
    assert budgets.is_used_up(limit=10, taken=10)
    assert budgets.is_used_up(limit=10, taken=12)


def of(agent: str, limit: int) -> Budget:
    """What an agent may cost, and has not."""
    nothing: dict[str, Any] = {"default_reserve": 0, "reserved": 0, "spent": 0, "unpriced": 0, "waiting": 0}
    return budgets.shown(budgets.of_agent(agent), "usd", limit=limit, **nothing)


def test_an_agent_is_without_the_budget_that_has_no_room_for_a_task() -> None:
    task = Task(id="task_1", type="a", max_cost=0.5)
    rich, poor = of("ada", 1_000_000), of("bob", 100_000)
    known = [budget(limit=0), rich, poor]
    assert budgets.without(task, "ada", known) is None
    assert budgets.without(task, "bob", known) is poor
    assert budgets.without(task, "eve", known) is None


def test_why_says_so_when_no_agent_can_pay_for_it() -> None:
    task = Task(id="task_1", type="a", status=Status.READY, max_cost=0.5)
    heard = from_micros(0)
    agents = [Agent(id="ada", heard_at=heard), Agent(id="bob", heard_at=heard, max_concurrent=1, tasks=["task_2"])]
    why = explain(task, 0, agents=agents, spending=[of("ada", 0), of("bob", 100_000)])
    assert why.explanation == "It is ready, but no live agent that could do it has the budget for it."
    assert [blocker.help for blocker in why.blockers] == [
        "raise budget agent:ada by $0.50: dibs budget raise agent:ada 0.5",
        "raise budget agent:bob by $0.40: dibs budget raise agent:bob 0.4",
    ]
    why = explain(task, 0, agents=agents, spending=[of("ada", 0)])
    assert "holds as many tasks as it may: bob (1 of 1)" in why.explanation
    assert explain(task, 0, agents=agents, spending=[of("bob", 0)]).blockers == []


NOON = to_micros(datetime(2026, 1, 1, 12, tzinfo=UTC))
DAY_S = 86_400


def daily(*, now: int = NOON, spent: int = 900_000) -> Budget:
    """A dollar each day in Berlin, of which most is spent."""
    values: dict[str, Any] = {"default_reserve": 0, "reserved": 50_000, "unpriced": 1, "waiting": 2}
    window = Window("day", "Europe/Berlin")
    ends_at = windows.ends_at(window, NOON)
    return budgets.shown(
        "global", "usd", limit=1_000_000, spent=spent, window=window, ends_at=ends_at, now=now, **values
    )


def test_a_budget_shows_its_window_and_begins_anew_when_that_is_over() -> None:
    today, tomorrow = daily(), daily(now=NOON + DAY_S * 1_000_000)
    assert (today.window, today.timezone, today.spent, today.unpriced) == ("day", "Europe/Berlin", 0.9, 1)
    assert today.ends_at == datetime(2026, 1, 1, 23, tzinfo=UTC)
    assert (tomorrow.spent, tomorrow.reserved, tomorrow.unpriced, tomorrow.left) == (0, 0, 0, 1.0)
    assert tomorrow.ends_at == datetime(2026, 1, 2, 23, tzinfo=UTC)
    assert tomorrow.waiting == 2, "nobody has let them in yet"
    assert budgets.window_of(today) == Window("day", "Europe/Berlin")
    assert budgets.window_of(budget(limit=1)) is None


def test_why_says_when_a_budget_begins_anew() -> None:
    task = Task(id="task_1", type="a", status=Status.READY, max_cost=0.5)
    sentence, [blocker] = budgets.explain(task, daily())
    assert sentence.endswith("; it begins anew at 2026-01-02 00:00 Europe/Berlin.")
    assert blocker.until == datetime(2026, 1, 1, 23, tzinfo=UTC)
    _, [blocker] = budgets.explain(Task(id="task_2", type="a", max_cost=2), daily())
    assert (blocker.until, "can never fit" in blocker.detail) == (None, True)


@pytest.mark.parametrize(
    ("limit", "spent", "shares", "over"),
    [
        (10, 10, [], False),
        (10, 11, [], True),
        (10, 5, [(5, None)], False),
        (10, 5, [(5, 3)], False),
        (10, 5, [(0, 6)], True),
        (10, 0, [(5, 6), (4, None)], False),
        (10, 0, [(5, 6), (4, 5)], True),
    ],
)
def test_a_budget_is_overdrawn_by_what_is_used_before_it_is_charged(
    limit: int, spent: int, shares: list[tuple[int, int | None]], over: bool
) -> None:
    assert budgets.overdrawn(limit, spent, shares) is over


def test_an_attempt_that_overdrew_a_budget_says_what_to_raise() -> None:
    error = budgets.why_exceeded(Task(id="task_1", type="a"), "budget:user:team:a:tokens")
    assert error.startswith("budget user:team:a is used up")
    assert "dibs budget raise user:team:a AMOUNT --unit tokens" in error
    assert "AMOUNT)" in budgets.why_exceeded(Task(id="task_1", type="a"), "budget:global:usd")


@pytest.mark.parametrize(
    ("ends", "seconds"), [([5_000_000], 4), ([5_000_000, 9_000_000], 8), ([0], 0), ([9, None], None)]
)
def test_an_agent_is_broke_until_the_last_of_its_used_up_budgets_begins_anew(
    ends: list[int | None], seconds: float | None
) -> None:
    assert budgets.broke_for_s(ends, 1_000_000) == seconds


def test_a_budget_that_was_removed_meanwhile_stops_nobody() -> None:
    assert budgets.broke_for_s([], 1_000_000) == 0
