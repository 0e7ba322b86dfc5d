"""Operations that touch more than one row: gates, failures, cascades, people, graphs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import dibs
from benchmarks.operations.operation import (
    TYPE,
    Amount,
    Operation,
    add,
    claim,
    claim_one,
    claims_one_by_one,
    complete,
    expect,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

DEPENDANT = "dependant"
"""A type that nobody claims."""
PLENTY = 1_000_000

# Claims at gates: there is room for all of them


def _waiting(queue: dibs.SyncQueue, amount: Amount, **options: Any) -> int:
    add(queue, amount.times, **options)
    return amount.times


def _with_locks_of_their_own(queue: dibs.SyncQueue, amount: Amount) -> int:
    queue.add_many([dibs.NewTask(TYPE, locks=[f"file-{number}"]) for number in range(amount.times)])
    return amount.times


def _with_budgets_of_their_own(queue: dibs.SyncQueue, amount: Amount) -> int:
    for number in range(amount.times):
        queue.add_dag(f"dag {number}", [dibs.NewTask(TYPE, max_cost=0.01)], budget=1.0)
    return amount.times


# Failures


def _held(queue: dibs.SyncQueue, amount: Amount) -> list[dibs.Claim]:
    add(queue, amount.times)
    return claim(queue, amount.times)


def _fail(queue: dibs.SyncQueue, claims: Sequence[dibs.Claim]) -> list[str]:
    for one in claims:
        queue.fail(one, "it broke", retry_after=3_600)
    return [one.task.id for one in claims]


def _held_parent(queue: dibs.SyncQueue, amount: Amount) -> tuple[dibs.Claim, list[str]]:
    [parent] = add(queue, 1)
    below = queue.add_many([dibs.NewTask(DEPENDANT, after=[parent.id]) for _ in range(amount.width)])
    return claim_one(queue), [task.id for task in below]


def _fail_for_good(queue: dibs.SyncQueue, made: tuple[dibs.Claim, list[str]]) -> list[str]:
    parent, below = made
    queue.fail(parent, "it broke", retry=False)
    return below


def _open_parent(queue: dibs.SyncQueue, amount: Amount) -> tuple[str, list[str]]:
    [parent] = add(queue, 1)
    below = queue.add_many([dibs.NewTask(DEPENDANT, after=[parent.id]) for _ in range(amount.width)])
    return parent.id, [task.id for task in below]


def _cancel(queue: dibs.SyncQueue, made: tuple[str, list[str]]) -> list[str]:
    parent, below = made
    ended = queue.cancel(parent)
    if len(ended) != 1 + len(below):
        raise RuntimeError(f"{len(ended)} of {1 + len(below)} were cancelled")
    return below


def _dead_parent(queue: dibs.SyncQueue, amount: Amount) -> tuple[str, list[str]]:
    parent, below = _held_parent(queue, amount)
    queue.fail(parent, "it broke", retry=False)
    expect(queue, below, "cancelled")
    return parent.task.id, below


def _revive(queue: dibs.SyncQueue, made: tuple[str, list[str]]) -> tuple[str, list[str]]:
    queue.retry(made[0])
    return made


def _back(queue: dibs.SyncQueue, made: tuple[str, list[str]]) -> None:
    parent, below = made
    expect(queue, below, "pending")
    queue.cancel(parent)


# People


def _asked(queue: dibs.SyncQueue, amount: Amount) -> list[str]:
    return [queue.ask(one, "Shall I go on?").id for one in _held(queue, amount)]


def _answer(queue: dibs.SyncQueue, questions: Sequence[str]) -> int:
    for id in questions:
        queue.answer(id, "yes", by="bench")
    return len(questions)


def _go_on(queue: dibs.SyncQueue, times: int) -> None:
    """All of them are ready again."""
    complete(queue, claim(queue, times))


def _dead(queue: dibs.SyncQueue, amount: Amount) -> list[str]:
    claims = _held(queue, amount)
    for one in claims:
        queue.fail(one, "it broke", retry=False)
    return [one.task.id for one in claims]


def _review(queue: dibs.SyncQueue, ids: Sequence[str]) -> list[str]:
    for id in ids:
        queue.review(id, "dropped", by="bench")
    return list(ids)


# Graphs


def _graphs(queue: dibs.SyncQueue, amount: Amount) -> list[list[dibs.NewTask]]:
    """Each task waits for the one before it and for the one in the middle between that and the first."""
    return [
        [
            dibs.NewTask(DEPENDANT, {"number": n}, ref=f"t{n}", after=sorted({f"t{n - 1}", f"t{n // 2}"}) if n else ())
            for n in range(amount.width)
        ]
        for _ in range(amount.times)
    ]


def _add_dags(queue: dibs.SyncQueue, graphs: Sequence[Sequence[dibs.NewTask]]) -> list[dibs.Dag]:
    return [queue.add_dag("a graph", tasks) for tasks in graphs]


def _added(queue: dibs.SyncQueue, dags: Sequence[dibs.Dag]) -> None:
    for dag in dags:
        queue.cancel(dag.id)


def _parents(queue: dibs.SyncQueue, amount: Amount) -> list[str]:
    return [task.id for task in add(queue, amount.width)]


def _add_join(queue: dibs.SyncQueue, parents: Sequence[str]) -> list[str]:
    return [queue.add(DEPENDANT, after=parents).id, *parents]


def _joined(queue: dibs.SyncQueue, made: Sequence[str]) -> None:
    join, *parents = made
    expect(queue, [join], "pending")
    complete(queue, claim(queue, len(parents)))


def _last_of_many(queue: dibs.SyncQueue, amount: Amount) -> tuple[dibs.Claim, list[str]]:
    join = queue.add(DEPENDANT, after=_parents(queue, amount))
    complete(queue, claim(queue, amount.width - 1))
    return claim_one(queue), [join.id]


def _complete_last(queue: dibs.SyncQueue, made: tuple[dibs.Claim, list[str]]) -> list[str]:
    last, join = made
    queue.complete(last)
    return join


OPERATIONS = (
    Operation("claim, with a lock", 100, _with_locks_of_their_own, claims_one_by_one, complete),
    Operation(
        "claim, within a global budget",
        100,
        partial(_waiting, max_cost=0.01),
        claims_one_by_one,
        complete,
        setup=lambda queue: queue.set_budget("global", PLENTY),
    ),
    Operation("claim, within a budget of its dag", 50, _with_budgets_of_their_own, claims_one_by_one, complete),
    Operation(
        "claim, of a type with slots",
        100,
        _waiting,
        claims_one_by_one,
        complete,
        setup=lambda queue: queue.set_slots(type=TYPE, slots=1_000),
    ),
    Operation(
        "claim, with a slot of a lock",
        100,
        partial(_waiting, locks=["gpu"]),
        claims_one_by_one,
        complete,
        setup=lambda queue: queue.set_slots("gpu", 1_000),
    ),
    Operation(
        "claim, of a type with a rate",
        100,
        _waiting,
        claims_one_by_one,
        complete,
        setup=lambda queue: queue.set_rate(TYPE, f"{PLENTY}/min"),
    ),
    Operation("fail, to be retried", 100, _held, _fail, partial(expect, status="retrying")),
    Operation(
        "fail, and {width} dependants end",
        1,
        _held_parent,
        _fail_for_good,
        partial(expect, status="cancelled"),
        width=10_000,
    ),
    Operation(
        "cancel, and {width} dependants end",
        1,
        _open_parent,
        _cancel,
        partial(expect, status="cancelled"),
        width=10_000,
    ),
    Operation("retry, and {width} dependants come back", 1, _dead_parent, _revive, _back, width=1_000),
    Operation("answer", 50, _asked, _answer, _go_on),
    Operation("review, dropped", 50, _dead, _review, partial(expect, status="cancelled")),
    Operation("add_dag of {width} tasks", 10, _graphs, _add_dags, _added, width=100),
    Operation("add a join of {width}", 1, _parents, _add_join, _joined, width=9_999),
    Operation(
        "complete the last parent of a join of {width}",
        1,
        _last_of_many,
        _complete_last,
        partial(expect, status="ready"),
        width=9_999,
    ),
)
