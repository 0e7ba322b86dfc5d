"""Chapter 2. Agents fail, vanish and come back too late; the task always ends in one place, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import dibs

if TYPE_CHECKING:
    from dibs.testing import FakeClock


def test_a_failed_task_is_tried_again_later(queue: dibs.SyncQueue, clock: FakeClock) -> None:
    task = queue.add("research", retry=dibs.Retry(strategy="fixed", delay=10, jitter=0))
    [claim] = queue.claim("scout-1")
    queue.fail(claim, "the search engine answered 503")

    waiting = queue.get(task.id)
    assert waiting.status == "retrying"
    assert queue.claim("scout-1") == []

    clock.advance(11)
    [second] = queue.claim("scout-1")
    # The next attempt knows what went wrong before.
    assert [past.error for past in second.previous_attempts] == ["the search engine answered 503"]
    queue.complete(second, "found it")
    assert queue.get(task.id).status == "completed"


def test_a_task_that_keeps_failing_becomes_a_dead_letter(queue: dibs.SyncQueue) -> None:
    task = queue.add("research", {"topic": "CROS"}, max_attempts=2, retry="immediate")
    for problem in ("no results", "still no results"):
        [claim] = queue.claim("scout-1")
        queue.fail(claim, problem)

    dead = queue.get(task.id)
    assert (dead.status, dead.attempts, dead.error) == ("dead_lettered", 2, "still no results")

    # A person looks at it, sees the typo, and gives it a new life.
    queue.retry(task.id, payload={"topic": "CORS"})
    [claim] = queue.claim("scout-1")
    assert claim.task.payload == {"topic": "CORS"}
    queue.complete(claim, "found it")
    assert len(queue.history(task.id)) == 3


def test_some_failures_are_not_worth_another_try(queue: dibs.SyncQueue) -> None:
    task = queue.add("deploy")
    [claim] = queue.claim("shipper")
    queue.fail(claim, "the key was revoked", reason="auth_failure")
    assert queue.get(task.id).status == "dead_lettered"


def test_an_agent_that_vanishes_loses_its_lease(queue: dibs.SyncQueue, clock: FakeClock) -> None:
    task = queue.add("code")
    [claim] = queue.claim("coder-1", lease=30)
    queue.renew(claim, progress=0.4, note="half way there")

    # coder-1 is never heard of again. Its lease ends, and the task goes to somebody else.
    assert queue.claim("coder-2") == []
    clock.advance(31)
    [rescued] = queue.claim("coder-2")
    assert rescued.task.id == task.id
    assert rescued.fence > claim.fence
    queue.complete(rescued, "done by coder-2")

    # coder-1 was only stuck, and now wakes up. Its fence is old: it cannot overwrite anything.
    with pytest.raises(dibs.LeaseLost):
        queue.complete(claim, "done by coder-1")
    assert queue.get(task.id).output == "done by coder-2"


def test_renewing_keeps_the_lease(queue: dibs.SyncQueue, clock: FakeClock) -> None:
    queue.add("code")
    [claim] = queue.claim("coder-1", lease=30)
    for _ in range(4):
        clock.advance(20)
        queue.renew(claim)
        assert queue.claim("coder-2") == []
    queue.complete(claim)


def test_saying_the_same_thing_twice_is_fine(queue: dibs.SyncQueue) -> None:
    # The answer to `complete` got lost on its way? Ask again.
    queue.add("code")
    [claim] = queue.claim("coder-1")
    assert queue.complete(claim, {"lines": 12}) == queue.complete(claim, {"lines": 12})

    # Changing one's mind is not.
    with pytest.raises(dibs.IllegalTransition):
        queue.fail(claim, "on second thoughts, no")


def test_cancelling_stops_the_work(queue: dibs.SyncQueue) -> None:
    task = queue.add("code")
    [claim] = queue.claim("coder-1")
    assert queue.cancel(task.id, reason="the customer left") == [task.id]

    # The agent hears of it with its next renewal.
    assert queue.renew(claim).cancel
    assert queue.get(task.id).cancel_reason == "the customer left"


def test_giving_work_back_costs_no_attempt(queue: dibs.SyncQueue) -> None:
    task = queue.add("code")
    [claim] = queue.claim("coder-1")
    queue.release(claim)
    assert (queue.get(task.id).status, queue.get(task.id).attempts) == ("ready", 0)
