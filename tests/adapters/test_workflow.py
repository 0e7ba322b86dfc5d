"""`Orchestrator.create_task`: tasks of a workflow for named agents."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

import dibs
from dibs.adapters import Orchestrator, row_of
from dibs.errors import Conflict, Invalid, NotFound

if TYPE_CHECKING:
    from dibs.testing import FakeClock


async def test_a_task_is_for_the_agent_that_it_names(queue: dibs.Queue) -> None:
    workflow = uuid4()
    task = await Orchestrator(queue).create_task(
        workflow, "FitmentAgent", "generate_fitment", {"part": 7}, priority=0, max_attempts=5
    )
    assert (task.type, task.payload, task.assignee) == ("generate_fitment", {"part": 7}, "FitmentAgent")
    assert (task.priority, task.max_attempts, task.tags) == (0, 5, (f"workflow:{workflow}",))
    assert await queue.claim("SomeoneElse") == []
    await queue.register_agent("worker-1", type="FitmentAgent")
    [claim] = await queue.claim("worker-1")
    assert claim.task.id == task.id


async def test_the_tasks_of_a_workflow_are_one_dag_whoever_creates_them(queue: dibs.Queue, other: dibs.Queue) -> None:
    workflow = uuid4()
    one, two = Orchestrator(queue), Orchestrator(other)
    made = [await each.create_task(workflow, "A", "t") for each in (one, two, one, two)]
    assert len({task.id for task in made}) == 4
    [dag_id] = {task.dag_id for task in made}
    dag = await queue.get_dag(dag_id)
    assert (dag.title, len(dag.tasks)) == (f"Workflow {workflow}", 4)
    elsewhere = await one.create_task(uuid4(), "A", "t")
    assert elsewhere.dag_id != dag_id


async def test_two_who_begin_a_workflow_at_once_begin_one(queue: dibs.Queue, other: dibs.Queue) -> None:
    workflow = uuid4()
    makers = [Orchestrator(queue), Orchestrator(other)] * 5
    made = await asyncio.gather(*(maker.create_task(workflow, "A", "t") for maker in makers))
    assert len({task.id for task in made}) == 10
    assert len({task.dag_id for task in made}) == 1


async def test_a_workflow_goes_on_after_a_task_is_done(queue: dibs.Queue) -> None:
    orchestrator = Orchestrator(queue)
    first = await orchestrator.create_task("w", "A", "t")
    [claim] = await queue.claim("A")
    await queue.complete(claim)
    assert (await queue.get_dag(first.dag_id)).status == "completed"
    second = await orchestrator.create_task("w", "A", "t")
    assert second.dag_id == first.dag_id
    assert (await queue.get_dag(first.dag_id)).status != "completed"


async def test_a_dead_task_leaves_the_others_alone_and_the_workflow_begins_anew(
    queue: dibs.Queue, other: dibs.Queue
) -> None:
    orchestrator = Orchestrator(queue)
    dead, alive = [await orchestrator.create_task("w", name, "t") for name in ("A", "B")]
    [claim] = await queue.claim("A")
    await queue.fail(claim, "no", retry=False)
    assert (await queue.get(alive.id)).status == "ready"
    [claim] = await queue.claim("B")
    await queue.complete(claim)
    assert (await queue.get_dag(dead.dag_id)).status == "failed"
    anew = await orchestrator.create_task("w", "A", "t")
    assert anew.dag_id != dead.dag_id
    assert (await Orchestrator(other).create_task("w", "A", "t")).dag_id == anew.dag_id


async def test_a_workflow_that_is_not_kept_any_more_begins_anew(queue: dibs.Queue, clock: FakeClock) -> None:
    orchestrator = Orchestrator(queue)
    first = await orchestrator.create_task("w", "A", "t")
    [claim] = await queue.claim("A")
    await queue.complete(claim)
    clock.advance(8 * 86_400)
    assert await queue.prune() == 1
    anew = await orchestrator.create_task("w", "A", "t")
    assert anew.dag_id != first.dag_id
    assert len(await queue.claim("A")) == 1


async def test_a_workflow_is_found_however_many_tasks_there_are(
    queue: dibs.Queue, other: dibs.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await Orchestrator(queue).create_task("w", "A", "t")
    find = other.find

    async def patient(*, cursor: str | None = None, **wanted: Any) -> dibs.Page:
        # A store that has looked long enough answers with an empty page and a cursor.
        return dibs.Page(cursor="on") if cursor is None else await find(**wanted)

    monkeypatch.setattr(other, "find", patient)
    assert (await Orchestrator(other).create_task("w", "A", "t")).dag_id == first.dag_id


async def test_a_workflow_that_always_slips_away_is_given_up(
    queue: dibs.Queue, other: dibs.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    await Orchestrator(queue).create_task("w", "A", "t")

    async def nothing(**_: Any) -> dibs.Page:
        return dibs.Page()

    monkeypatch.setattr(other, "find", nothing)
    with pytest.raises(Conflict) as refused:
        await Orchestrator(other).create_task("w", "A", "t")
    assert refused.value.field == "workflow_id"
    assert (await queue.stats()).by_status == {"ready": 1}


async def test_a_conflict_of_another_kind_is_told(queue: dibs.Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    orchestrator = Orchestrator(queue)
    await orchestrator.create_task("w", "A", "t")

    async def refuse(*_: Any) -> None:
        raise Conflict("something else")

    monkeypatch.setattr(queue, "add_many", refuse)
    with pytest.raises(Conflict, match="something else"):
        await orchestrator.create_task("w", "A", "t")


async def test_a_workflow_may_be_a_dag(queue: dibs.Queue) -> None:
    dag = await queue.add_dag("Mine", [dibs.NewTask("t")])
    task = await Orchestrator(queue).create_task(dag.id, "A", "t")
    assert task.dag_id == dag.id
    await queue.cancel(dag.id)
    with pytest.raises(Conflict):
        await Orchestrator(queue).create_task(dag.id, "A", "t")
    with pytest.raises(NotFound) as refused:
        await Orchestrator(queue).create_task("dag_nobody", "A", "t")
    assert refused.value.field == "workflow_id"


async def test_waits_grow_with_the_square_of_the_attempts(queue: dibs.Queue, clock: FakeClock) -> None:
    task = await Orchestrator(queue).create_task("w", "A", "t")
    for wait_s in (5, 20):
        [claim] = await queue.claim("A")
        assert row_of(claim.task)["status"] == "running"
        await queue.fail(claim, "no")
        clock.advance(wait_s - 0.001)
        assert await queue.claim("A") == []
        clock.advance(0.001)
    [claim] = await queue.claim("A", start=False)
    assert row_of(claim.task)["status"] == "leased"
    await queue.fail(claim, "never", reason="odd")
    row = row_of(await queue.get(task.id))
    assert (row["status"], row["attempts"], row["max_attempts"]) == ("dead", 3, 3)
    assert row["error_info"] == {"message": "never", "reason": "odd"}


async def test_a_task_waits_until_it_is_available(queue: dibs.Queue, clock: FakeClock) -> None:
    task = await Orchestrator(queue).create_task("w", "A", "t", available_at="90s")
    assert row_of(task)["available_at"] > clock.now
    assert await queue.claim("A") == []
    clock.advance(90)
    assert len(await queue.claim("A")) == 1


async def test_a_task_reads_as_a_row_of_the_table(queue: dibs.Queue, clock: FakeClock) -> None:
    task = await Orchestrator(queue).create_task("w-1", "A", "t", [1], priority=3)
    row = row_of(task)
    assert row["id"] == task.id
    assert (row["workflow_id"], row["agent_name"], row["task_type"], row["payload"]) == ("w-1", "A", "t", [1])
    assert (row["priority"], row["status"], row["attempts"]) == (3, "pending", 0)
    assert (row["error_info"], row["lease_owner"], row["available_at"]) == (None, None, clock.now)
    plain = await queue.add("t")
    assert row_of(plain)["workflow_id"] == plain.dag_id


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("workflow_id", {"workflow_id": ""}),
        ("workflow_id", {"workflow_id": 5}),
        ("workflow_id", {"workflow_id": "w" * 195}),
        ("agent_name", {"agent_name": ""}),
        ("task_type", {"task_type": None}),
        ("payload", {"payload": {1, 2}}),
        ("priority", {"priority": 4}),
        ("max_attempts", {"max_attempts": 0}),
        ("available_at", {"available_at": "soon"}),
    ],
)
async def test_a_task_that_makes_no_sense_is_refused(queue: dibs.Queue, field: str, options: dict[str, Any]) -> None:
    asked = {"workflow_id": "w", "agent_name": "A", "task_type": "t"} | options
    with pytest.raises(Invalid) as refused:
        await Orchestrator(queue).create_task(**asked)
    assert refused.value.field == field
    assert (await queue.stats()).by_status == {}
