"""Chapter 1. A task is added, an agent calls dibs on it, does it, and hands in what it produced."""

from __future__ import annotations

import pytest

import dibs


def test_a_task_is_added_claimed_and_completed(queue: dibs.SyncQueue) -> None:
    # Somebody wants something done. Once `add` returns, the task survives any crash.
    task = queue.add("research", {"topic": "CORS"}, title="What is CORS?")
    assert task.status == "ready"

    # An agent asks for work. It gets a claim: the task, and a fence that proves the claim is its own.
    [claim] = queue.claim("scout-1", types=["research"])
    assert claim.task.id == task.id
    assert claim.task.payload == {"topic": "CORS"}
    assert claim.fence == 1

    # Nobody else can have it meanwhile.
    assert queue.claim("scout-2", types=["research"]) == []

    # The agent does the work, and says so.
    queue.complete(claim, {"answer": "a browser rule about origins"}, cost=0.02)

    done = queue.get(task.id)
    assert done.status == "completed"
    assert done.output == {"answer": "a browser rule about origins"}
    assert done.cost_usd == pytest.approx(0.02)


def test_every_attempt_is_remembered(queue: dibs.SyncQueue) -> None:
    task = queue.add("research")
    [claim] = queue.claim("scout-1")
    queue.complete(claim, "done")

    [attempt] = queue.history(task.id)
    assert (attempt.number, attempt.agent, attempt.outcome) == (1, "scout-1", "completed")


def test_the_most_urgent_task_comes_first(queue: dibs.SyncQueue) -> None:
    # Lower is more urgent; 50 is the default.
    queue.add("chore", title="tidy up", priority=90)
    queue.add("chore", title="fix production", priority=1)
    queue.add("chore", title="write a test")

    claims = queue.claim("coder-1", limit=3)
    assert [claim.task.title for claim in claims] == ["fix production", "write a test", "tidy up"]


def test_an_agent_gets_only_what_it_can_do(queue: dibs.SyncQueue) -> None:
    queue.add("code", {"goal": "a Rust parser"}, requires={"rust"})

    assert queue.claim("py-coder", capabilities={"python"}) == []
    [claim] = queue.claim("rust-coder", capabilities={"python", "rust"})
    assert claim.task.requires == ("rust",)


def test_a_key_makes_adding_safe_to_repeat(queue: dibs.SyncQueue) -> None:
    # The script that adds tasks died half-way? Run it again.
    first = queue.add("report", {"day": "Monday"}, key="report-monday")
    again = queue.add("report", {"day": "Monday"}, key="report-monday")
    assert again.id == first.id

    # The same key for other work is a mistake, and is told.
    with pytest.raises(dibs.KeyReused):
        queue.add("report", {"day": "Tuesday"}, key="report-monday")


def test_why_explains_what_a_task_waits_for(queue: dibs.SyncQueue) -> None:
    design = queue.add("design", title="wireframe")
    build = queue.add("code", title="build it", after=[design])

    why = queue.why(build.id)
    assert why.explanation == "It waits for 1 other task to end."
    [blocker] = why.blockers
    assert blocker.kind == "dependency"
    assert blocker.ids == [design.id]
