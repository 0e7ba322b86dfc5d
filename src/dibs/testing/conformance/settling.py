"""Ending a claim: completing, failing, giving back; what counts, and saying it twice."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from dibs import settling
from dibs.errors import IllegalTransition, LeaseLost
from dibs.model.retry import NOT_RETRIED, Retry
from dibs.model.status import Outcome, Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, elapse, nothing, status, story, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Settling(Topic):
    async def test_completing_stores_the_output_and_ends_the_task(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue)
        clock.advance(2)
        settled = await queue.complete(claim, {"answer": [42]}, decision={"why": "because"})
        assert (settled.task_id, settled.fence, settled.outcome) == (claim.task.id, 1, "completed")
        task = await queue.get(claim.task.id)
        assert (task.status, task.output, task.output_sanitized) == (Status.COMPLETED, {"answer": [42]}, False)
        assert task.decision == {"why": "because"}
        assert (task.attempts, task.crashes, task.completed_at) == (1, 0, clock.now)
        assert task.lease_expires_at is None
        assert await story(queue, task.id) == ["added", "ready", "claimed", "started", "completed"]

    @pytest.mark.door
    async def test_a_large_output_comes_back_whole(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        output = {"text": "ä" * 200_000, "more": list(range(1000))}
        await queue.complete(claim, output)
        assert (await queue.get(claim.task.id)).output == output

    @pytest.mark.door
    @pytest.mark.routing
    async def test_completing_twice_gives_the_same_answer(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue)
        first = await queue.complete(claim, "done")
        seq = await queue.store.last_seq()
        clock.advance(100)
        assert await queue.complete(claim, "done") == first
        assert await queue.store.last_seq() == seq
        assert len(await queue.history(claim.task.id)) == 1

    async def test_failing_twice_gives_the_same_answer(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue)
        first = await queue.fail(claim, "no")
        clock.advance(1)
        assert await queue.fail(claim, "no") == first
        assert (await queue.get(claim.task.id)).attempts == 1

    async def test_releasing_twice_gives_the_same_answer(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        first = await queue.release(claim)
        assert await queue.release(claim) == first
        assert len(await queue.history(claim.task.id)) == 1

    async def test_another_outcome_under_the_same_fence_is_illegal(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await queue.complete(claim, "done")
        for other in (queue.fail(claim, "no"), queue.release(claim), queue.complete(claim, "something else")):
            with pytest.raises(IllegalTransition):
                await other
        assert (await queue.get(claim.task.id)).output == "done"

    async def test_an_old_fence_that_settled_is_remembered_while_another_holds_it(self, queue: Queue) -> None:
        await queue.add("job", retry="immediate")
        old = await take(queue)
        answer = await queue.fail(old, "no")
        new = await take(queue)
        assert await queue.fail(old, "no") == answer
        for other in (queue.complete(old, "yes"), queue.fail(old, "something else"), queue.release(old)):
            with pytest.raises(LeaseLost):
                await other
        await queue.complete(new)
        with pytest.raises(LeaseLost):
            await queue.complete(old, "yes")

    async def test_an_old_fence_that_expired_is_lost(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        old = await take(queue, lease=5)
        await elapse(queue, clock, 7)
        with pytest.raises(LeaseLost):
            await queue.complete(old)
        assert await status(queue, old.task) == Status.READY

    @pytest.mark.routing
    async def test_a_failure_is_tried_again_after_its_delay(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", retry=Retry(strategy="fixed", delay=30, jitter=0))
        claim = await take(queue)
        settled = await queue.fail(claim, "no luck", exit_code=3)
        due = clock.now + timedelta(seconds=30)
        assert (settled.status, settled.retry_at) == ("retrying", due)
        task = await queue.get(claim.task.id)
        assert (task.status, task.retry_at, task.attempts) == (Status.RETRYING, due, 1)
        assert (task.error, task.reason, task.exit_code, task.agent) == ("no luck", "error", 3, None)
        await elapse(queue, clock, 28)
        assert await nothing(queue)
        await elapse(queue, clock, 2)
        assert (await take(queue)).previous_attempts[0].error == "no luck"
        assert (await story(queue, task.id))[4:] == ["retrying", "ready", "claimed", "started"]

    @pytest.mark.parametrize(
        ("retry", "delays"),
        [
            (Retry(strategy="immediate"), [0, 0, 0, 0]),
            (Retry(strategy="fixed", delay=5, jitter=0), [5, 5, 5, 5]),
            (Retry(strategy="linear", delay=5, cap=12, jitter=0), [5, 10, 12, 12]),
            (Retry(strategy="quadratic", delay=5, jitter=0), [5, 20, 45, 80]),
            (Retry(strategy="exponential", delay=10, cap=60, jitter=0), [10, 20, 40, 60]),
            (Retry(strategy="exponential", delay=1, multiplier=3, jitter=0), [1, 3, 9, 27]),
        ],
        ids=lambda value: value.strategy if isinstance(value, Retry) else "",
    )
    def test_delays_follow_the_strategy(self, retry: Retry, delays: list[float]) -> None:
        async def check(_: Topic, queue: Queue, clock: FakeClock) -> None:
            task = await queue.add("job", retry=retry, max_attempts=9)
            for delay in delays:
                await queue.fail(await take(queue), "again")
                task = await queue.get(task.id)
                if delay:
                    assert task.retry_at == clock.now + timedelta(seconds=delay)
                    clock.advance(delay + 1.5)
                else:
                    assert task.status == Status.READY

        self.run(check)

    async def test_jitter_spreads_a_delay_by_its_fraction(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("job", retry="exponential:10s:5m") for _ in range(40)])
        waits = set()
        for claim in await queue.claim("ada", limit=40):
            settled = await queue.fail(claim, "no")
            assert settled.retry_at is not None
            waits.add((settled.retry_at - clock.now).total_seconds())
        assert min(waits) >= 5
        assert max(waits) <= 15
        assert len(waits) > 5

    async def test_the_last_attempt_makes_a_dead_letter(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", max_attempts=2, retry="immediate")
        await queue.fail(await take(queue), "first")
        await queue.fail(await take(queue), "second")
        task = await queue.get(task.id)
        assert (task.status, task.attempts, task.error) == (Status.DEAD_LETTERED, 2, "second")
        assert (task.dead_lettered_at, task.poison_pill) == (clock.now, False)
        assert (await story(queue, task.id))[-1] == "dead_lettered"
        assert await nothing(queue)

    async def test_no_retry_makes_a_dead_letter_at_once(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        settled = await queue.fail(claim, "hopeless", retry=False)
        assert settled.status == "dead_lettered"

    @pytest.mark.parametrize("reason", NOT_RETRIED)
    def test_some_reasons_are_never_retried_whatever_the_agent_says(self, reason: str) -> None:
        async def check(_: Topic, queue: Queue) -> None:
            await queue.add("job")
            claim = await take(queue)
            await queue.fail(claim, "no", reason=reason, retry=True)
            task = await queue.get(claim.task.id)
            assert (task.status, task.reason) == (Status.DEAD_LETTERED, reason)

        self.run(check)

    async def test_a_reason_that_dibs_does_not_know_is_retried(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await queue.fail(claim, "no", reason="moon_phase")
        task = await queue.get(claim.task.id)
        assert (task.status, task.reason) == (Status.RETRYING, "moon_phase")

    async def test_retry_on_and_no_retry_on_are_kept(self, queue: Queue) -> None:
        await queue.add("only", retry=Retry(retry_on=("timeout",)))
        await queue.add("never", retry=Retry(no_retry_on=("moon_phase",)))
        for type, reason in (("only", "error"), ("never", "moon_phase")):
            claim = await take(queue, type)
            await queue.fail(claim, "no", reason=reason)
            assert await status(queue, claim.task) == Status.DEAD_LETTERED

    async def test_retry_after_sets_the_delay(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        settled = await queue.fail(await take(queue), "busy", retry_after="2m")
        assert settled.retry_at == clock.now + timedelta(minutes=2)

    async def test_a_rate_limit_counts_no_attempt(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", max_attempts=1)
        await queue.fail(await take(queue), "429", reason="rate_limit", retry_after=20)
        task = await queue.get(task.id)
        assert (task.status, task.attempts) == (Status.RETRYING, 0)
        assert task.retry_at == clock.now + timedelta(seconds=20)
        (attempt,) = await queue.history(task.id)
        assert (attempt.number, attempt.outcome) == (0, Outcome.RATE_LIMITED)

    async def test_an_error_that_tells_of_a_rate_limit_is_one(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", max_attempts=1)
        claim = await take(queue)
        settled = await queue.fail(claim, "HTTP 429 Too Many Requests (Retry-After: 90)")
        assert settled.retry_at == clock.now + timedelta(seconds=90)
        assert await queue.fail(claim, "HTTP 429 Too Many Requests (Retry-After: 90)") == settled
        task = await queue.get(task.id)
        assert (task.status, task.attempts, task.reason) == (Status.RETRYING, 0, "rate_limit")

    async def test_a_rate_limit_does_not_overrule_what_the_agent_says(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", max_attempts=2, retry="immediate")
        await queue.fail(await take(queue), "rate limit", reason="invalid_output")
        claim = await take(queue)
        assert claim.task.attempts == 1
        await queue.fail(claim, "rate limit: retry after 10 seconds", retry=False)
        assert await status(queue, claim.task) == Status.DEAD_LETTERED
        await queue.add("job")
        settled = await queue.fail(await take(queue), "rate limit: retry after 10 seconds", retry_after=70)
        assert settled.retry_at == clock.now + timedelta(seconds=70)

    async def test_a_release_counts_no_attempt(self, queue: Queue) -> None:
        task = await queue.add("job", max_attempts=1)
        await queue.release(await take(queue))
        task = await queue.get(task.id)
        assert (task.status, task.attempts, task.agent, task.error) == (Status.READY, 0, None, None)
        (attempt,) = await queue.history(task.id)
        assert (attempt.number, attempt.outcome) == (0, Outcome.RELEASED)
        assert "released" in await story(queue, task.id)

    async def test_a_release_may_ask_for_a_delay(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue)
        settled = await queue.release(claim, delay="90s")
        assert (settled.status, settled.retry_at) == ("retrying", clock.now + timedelta(seconds=90))
        await elapse(queue, clock, 91)
        assert (await take(queue)).task.id == claim.task.id

    async def test_releases_in_a_row_wait_longer_and_longer(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job")
        waits = []
        for _ in range(5):
            await queue.release(await take(queue))
            task = await queue.get(task.id)
            waits.append(0.0 if task.retry_at is None else (task.retry_at - clock.now).total_seconds())
            clock.advance(waits[-1] + 2)
        assert waits == [0, 1, 2, 4, 8]

    async def test_a_failure_ends_the_row_of_releases(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", retry="immediate")
        await queue.release(await take(queue))
        await queue.fail(await take(queue), "no")
        await queue.release(await take(queue))
        assert await status(queue, task) == Status.READY

    async def test_numbers_count_attempts_and_skip_what_does_not_count(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", retry="immediate", max_attempts=5)
        await queue.release(await take(queue))
        await queue.fail(await take(queue), "one")
        await queue.fail(await take(queue), "slow down", reason="rate_limit", retry_after=5)
        await elapse(queue, clock, 10)
        await queue.complete(await take(queue))
        history = await queue.history(task.id)
        assert [(attempt.fence, attempt.number) for attempt in history] == [(1, 0), (2, 1), (3, 0), (4, 2)]

    async def test_completion_clears_the_last_error(self, queue: Queue) -> None:
        task = await queue.add("job", retry="immediate")
        await queue.fail(await take(queue), "once", reason="moon_phase")
        await queue.complete(await take(queue))
        task = await queue.get(task.id)
        assert (task.error, task.reason, task.attempts) == (None, None, 2)

    async def test_completion_has_an_exit_code_of_its_own(self, queue: Queue) -> None:
        task = await queue.add("job", retry="immediate", max_attempts=5)
        await queue.fail(await take(queue), "once", exit_code=3)
        assert (await queue.get(task.id)).exit_code == 3
        await queue.complete(await take(queue))
        assert (await queue.get(task.id)).exit_code is None
        other = await queue.add("job", retry="immediate")
        await queue.fail(await take(queue), "once", exit_code=3)
        settlement = settling.completed(await take(queue), "fine")
        settlement.exit_code = 0
        await queue.settle([settlement])
        assert (await queue.get(other.id)).exit_code == 0
        assert [attempt.exit_code for attempt in await queue.history(other.id)] == [3, 0]

    async def test_usage_adds_up_over_attempts_and_unknown_is_not_zero(self, queue: Queue) -> None:
        task = await queue.add("job", retry="immediate", max_attempts=5)
        await queue.fail(await take(queue), "one")
        assert (await queue.get(task.id)).cost_usd is None
        await queue.fail(await take(queue), "two", cost=0.25, tokens_in=100, tokens_out=10, turns=1, model="large")
        await queue.complete(await take(queue), cost=0.5, tokens_in=50, turns=2)
        task = await queue.get(task.id)
        assert (task.cost_usd, task.tokens_in, task.tokens_out, task.turns) == (0.75, 150, 10, 3)
        history = await queue.history(task.id)
        assert [attempt.cost_usd for attempt in history] == [None, 0.25, 0.5]
        assert history[1].model == "large"

    async def test_usage_reported_while_running_is_kept_with_the_attempt(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await queue.renew(claim, cost=0.1, tokens_in=5)
        await queue.renew(claim, cost=0.3, tokens_in=9)
        await queue.release(claim)
        task = await queue.get(claim.task.id)
        assert (task.cost_usd, task.tokens_in) == (0.3, 9)
        (attempt,) = await queue.history(task.id)
        assert (attempt.cost_usd, attempt.tokens_in) == (0.3, 9)

    async def test_history_says_who_when_and_how(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", models=["large"])
        claim = await take(queue, agent="bob", models=["large"])
        began = clock.now
        clock.advance(7)
        await queue.fail(claim, "no", reason="invalid_output", exit_code=2)
        (attempt,) = await queue.history(claim.task.id)
        assert (attempt.agent, attempt.model, attempt.outcome) == ("bob", "large", Outcome.FAILED)
        assert (attempt.reason, attempt.error, attempt.exit_code) == ("invalid_output", "no", 2)
        assert (attempt.started_at, attempt.ended_at) == (began, clock.now)

    @pytest.mark.parametrize(
        ("output", "kept"),
        [
            ("a\0b", "a\ufffdb"),
            ({"k": ["\ud800"]}, {"k": ["\ufffd"]}),
            (float("nan"), None),
            (b"\xff\xfe", "\ufffd\ufffd"),
        ],
        ids=["nul", "surrogate", "nan", "bytes"],
    )
    @pytest.mark.door
    def test_output_that_no_store_could_keep_is_replaced_and_flagged(self, output: Any, kept: Any) -> None:
        async def check(_: Topic, queue: Queue) -> None:
            await queue.add("job")
            claim = await take(queue)
            await queue.complete(claim, output)
            task = await queue.get(claim.task.id)
            assert (task.status, task.output, task.output_sanitized) == (Status.COMPLETED, kept, True)

        self.run(check)

    @pytest.mark.door
    async def test_errors_and_notes_with_nul_never_wedge_a_task(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await queue.renew(claim, note="half\0way \udcff")
        assert (await queue.get(claim.task.id)).note == "half\ufffdway \ufffd"
        await queue.log(claim, "line\0one")
        await queue.fail(claim, "bad\0news \udcff", retry=False)
        task = await queue.get(claim.task.id)
        assert (task.status, task.error) == (Status.DEAD_LETTERED, "bad\ufffdnews \ufffd")
