"""What the demo came to: counted from the store, and checked against the ledger that the agents kept outside it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct, field

from dibs.demo import ledger
from dibs.demo.landing_page import FLAKY, TITLE
from dibs.model.status import Outcome, Status
from dibs.stores import shown

if TYPE_CHECKING:
    from dibs.demo.ledger import Line
    from dibs.model.attempt import Attempt
    from dibs.model.dag import Dag
    from dibs.model.task import Task
    from dibs.sync import SyncQueue


class Summary(Struct, kw_only=True):
    """The figures of one run. `problems` is empty when every task was finished exactly once."""

    title: str = TITLE
    dag_id: str
    url: str
    tasks: int = 0
    spawned: int = 0
    attempts: int = 0
    crashes: int = 0
    retries: int = 0
    cost_usd: float | None = None
    tokens: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)


def summarize(queue: SyncQueue, dag: Dag, written: list[Line], *, planned: int, seconds: float) -> Summary:
    """Count what the store says, and hold it against what the agents wrote down."""
    histories = {task.id: queue.history(task.id) for task in dag.tasks}
    counted = [attempt for history in histories.values() for attempt in history if attempt.number]
    spawned = sum(task.parent_id is not None for task in dag.tasks)
    costs = [task.cost_usd for task in dag.tasks if task.cost_usd is not None]
    return Summary(
        dag_id=dag.id,
        url=shown(queue.url),
        tasks=len(dag.tasks),
        spawned=spawned,
        attempts=len(counted),
        crashes=sum(attempt.outcome is Outcome.EXPIRED for attempt in counted),
        retries=sum(attempt.outcome is Outcome.FAILED for attempt in counted),
        cost_usd=sum(costs) if costs else None,
        tokens=sum((task.tokens_in or 0) + (task.tokens_out or 0) for task in dag.tasks),
        seconds=seconds,
        problems=[
            *_not_once(dag.tasks, histories, written),
            *_not_as_told(dag.tasks, histories, spawned, planned),
        ],
    )


def _not_once(tasks: list[Task], histories: dict[str, list[Attempt]], written: list[Line]) -> list[str]:
    """Every way in which store and ledger disagree that each task was finished exactly once."""
    problems = []
    done = Counter(line.task_id for line in written if line.what == ledger.DONE)
    drafted = Counter(line.task_id for line in written if line.what == ledger.STEP)
    fences = {line.task_id: line.fence for line in written if line.what == ledger.DONE}
    for task in tasks:
        name = f"{task.title} ({task.id})"
        completed = [a.fence for a in histories[task.id] if a.outcome is Outcome.COMPLETED]
        if task.status is not Status.COMPLETED:
            problems.append(f"{name} ended {task.status}")
        elif len(completed) != 1:
            problems.append(f"the store has {len(completed)} completed attempts at {name}")
        elif done[task.id] == 1 and fences[task.id] != completed[0]:
            problems.append(f"{name} was completed under another claim than the one that did it")
        if done[task.id] != 1:
            problems.append(f"{name} was carried out {done[task.id]} times, by the ledger")
        if drafted[task.id] != 1:
            problems.append(f"the durable step of {name} ran {drafted[task.id]} times, by the ledger")
    known = {task.id for task in tasks}
    problems += [f"the ledger names {id}, which the store does not know" for id in done if id not in known]
    return problems


def _not_as_told(tasks: list[Task], histories: dict[str, list[Attempt]], spawned: int, planned: int) -> list[str]:
    """The demo promises two failures, a crash and a child; without them it would prove nothing.

    More leases than one may have ended: on a machine that stalls, an innocent agent loses its own, which is no failure.
    """
    problems = []
    if len(tasks) != planned + spawned or spawned != 1:
        problems.append(f"{planned} tasks were planned and 1 was to be spawned; there are {len(tasks)}")
    flaky = [attempt for task in tasks if task.ref == FLAKY for attempt in histories[task.id]]
    failures = sum(attempt.outcome is Outcome.FAILED for attempt in flaky)
    if failures != 2:
        problems.append(f"one task was to fail twice; it failed {failures} times")
    if not any(attempt.outcome is Outcome.EXPIRED for history in histories.values() for attempt in history):
        problems.append("no lease ended, although an agent was killed")
    return problems
