"""Chapter 3. Tasks depend on each other: a graph is submitted in one piece, and outputs flow along its edges."""

from __future__ import annotations

import pytest

import dibs
from dibs import NewTask


def landing_page() -> list[NewTask]:
    return [
        NewTask("research", ref="competitors"),
        NewTask("design", ref="wireframe"),
        NewTask("plan", ref="requirements", after=["competitors", "wireframe"]),
        NewTask("code", ref="implement", after=["requirements"]),
        NewTask("ship", ref="deploy", after=["implement"]),
    ]


def work_off(queue: dibs.SyncQueue) -> list[str]:
    """One agent does everything there is to do; what it did, in order."""
    done = []
    while claims := queue.claim("jack-of-all-trades"):
        [claim] = claims
        name = claim.task.ref or claim.task.type
        queue.complete(claim, f"output of {name}")
        done.append(name)
    return done


def test_tasks_run_once_what_they_need_is_done(queue: dibs.SyncQueue) -> None:
    dag = queue.add_dag("Landing page", landing_page())
    assert {task.ref: task.status for task in dag.tasks} == {
        "competitors": "ready",
        "wireframe": "ready",
        "requirements": "pending",
        "implement": "pending",
        "deploy": "pending",
    }
    assert work_off(queue) == ["competitors", "wireframe", "requirements", "implement", "deploy"]
    assert queue.get_dag(dag.id).status == "completed"


def test_a_claim_carries_the_outputs_it_depends_on(queue: dibs.SyncQueue) -> None:
    queue.add_dag("Landing page", landing_page())
    for claim in queue.claim("early-bird", limit=2):
        queue.complete(claim, f"output of {claim.task.ref}")

    [claim] = queue.claim("planner")
    assert claim.task.ref == "requirements"
    assert claim.inputs == {"competitors": "output of competitors", "wireframe": "output of wireframe"}


def test_a_graph_with_a_cycle_is_refused_whole(queue: dibs.SyncQueue) -> None:
    with pytest.raises(dibs.CycleDetected):
        queue.add_dag("Hen and egg", [NewTask("hen", ref="h", after=["e"]), NewTask("egg", ref="e", after=["h"])])
    assert queue.find().items == []


def test_when_a_task_is_given_up_the_rest_of_its_graph_is_too(queue: dibs.SyncQueue) -> None:
    dag = queue.add_dag("Landing page", landing_page())
    [claim] = queue.claim("scout", types=["research"])
    queue.fail(claim, "the internet is down", retry=False)

    failed = queue.get_dag(dag.id)
    assert failed.status == "failed"
    assert {task.ref: task.status for task in failed.tasks}["deploy"] == "cancelled"

    # Retrying the one that failed brings back everything that was cancelled because of it.
    queue.retry(claim.task.id)
    assert len(work_off(queue)) == 5
    assert queue.get_dag(dag.id).status == "completed"


def test_some_tasks_run_however_the_others_end(queue: dibs.SyncQueue) -> None:
    build = queue.add("code", title="build")
    queue.add("notify", title="tell the team", after_ended=[build])
    [claim] = queue.claim("coder", types=["code"])
    queue.fail(claim, "it does not compile", retry=False)

    [claim] = queue.claim("messenger", types=["notify"])
    assert claim.task.title == "tell the team"


def test_a_running_task_can_grow_the_graph(queue: dibs.SyncQueue) -> None:
    parent = queue.add("research", {"topic": "coffee"})
    [claim] = queue.claim("scout")
    [child] = queue.spawn(claim, [NewTask("research", {"topic": "espresso"}, ref="espresso")], wait=True)

    # The parent now waits for its child, and its agent is free for other work: for the child, say.
    assert queue.get(parent.id).status == "pending"
    [below] = queue.claim("scout")
    assert below.task.id == child.id
    queue.complete(below, "short and strong")

    # Then the parent comes back with what the child found.
    [resumed] = queue.claim("scout")
    assert resumed.task.id == parent.id
    assert resumed.children == {"espresso": "short and strong"}
    queue.complete(resumed)
