"""Costs: what is told, what is computed from tokens, and what stays unknown; frozen in the attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Invalid
from dibs.model.claim import Settled
from dibs.model.task import NewTask
from dibs.pricing import Prices
from dibs.rules.pricing import Rate, Table
from dibs.settling import completed, failed
from dibs.stores.values import Usage
from dibs.testing.conformance.topic import Topic, elapse, events, take

if TYPE_CHECKING:
    from dibs.model.attempt import Attempt
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock

TABLE = Table({"large": Rate(3, 15, cached=0.5, cache_write=4), "small": Rate(1, 2)})
"""A million tokens read and one written by `large` cost $18."""
MILLION = 1_000_000


async def work(queue: Queue, *reports: dict[str, Any], **told: Any) -> Attempt:
    """One attempt that tells these things while it works and that at its end, as it is recorded."""
    queue.prices = Prices(TABLE)
    await queue.add("job")
    claim = await take(queue, "job")
    for report in reports:
        await queue.renew(claim, **report)
    await queue.complete(claim, **told)
    return (await queue.history(claim.task.id))[-1]


class Costs(Topic):
    async def test_tokens_without_a_cost_are_priced_and_the_price_is_kept(self, queue: Queue) -> None:
        attempt = await work(queue, tokens_in=MILLION, tokens_out=MILLION, model="large")
        assert (attempt.cost_usd, attempt.price) == (18, TABLE.version)
        assert (attempt.tokens_in, attempt.tokens_out, attempt.model) == (MILLION, MILLION, "large")
        assert (await queue.stats()).cost_usd == 18

    async def test_tokens_of_the_cache_have_prices_of_their_own(self, queue: Queue) -> None:
        attempt = await work(
            queue,
            tokens_in=MILLION,
            tokens_out=0,
            tokens_cached=500_000,
            tokens_cache_written=250_000,
            model="large",
        )
        assert attempt.cost_usd == 0.25 * 3 + 0.5 * 0.5 + 0.25 * 4
        assert attempt.tokens_in == MILLION

    async def test_the_model_that_was_chosen_at_the_claim_is_the_one_that_is_priced(self, queue: Queue) -> None:
        queue.prices = Prices(TABLE)
        task = await queue.add("job", models=["small"])
        claim = await take(queue, "job", models=["small"])
        await queue.complete(claim, tokens_in=MILLION, tokens_out=MILLION)
        (attempt,) = await queue.history(task.id)
        assert (attempt.cost_usd, attempt.model) == (3, "small")

    async def test_the_cost_of_an_unknown_model_stays_unknown(self, queue: Queue) -> None:
        attempt = await work(queue, tokens_in=5, tokens_out=5, model="nobody-knows")
        assert (attempt.cost_usd, attempt.price, attempt.tokens_in) == (None, None, 5)
        assert (await queue.stats()).cost_usd is None

    async def test_a_cost_that_is_told_is_not_computed(self, queue: Queue) -> None:
        attempt = await work(queue, cost=0.5, tokens_in=MILLION, tokens_out=MILLION, model="large")
        assert (attempt.cost_usd, attempt.price) == (0.5, None)

    async def test_a_cost_that_was_told_holds_over_one_that_is_computed_later(self, queue: Queue) -> None:
        attempt = await work(queue, {"cost": 0.5}, tokens_in=MILLION, tokens_out=MILLION, model="large")
        assert (attempt.cost_usd, attempt.price, attempt.tokens_in) == (0.5, None, MILLION)

    async def test_a_cost_that_is_told_replaces_one_that_was_computed(self, queue: Queue) -> None:
        attempt = await work(queue, {"tokens_in": MILLION, "tokens_out": 0, "model": "large"}, cost=0.5)
        assert (attempt.cost_usd, attempt.price) == (0.5, None)

    async def test_newer_tokens_are_priced_anew(self, queue: Queue) -> None:
        report = {"tokens_in": MILLION, "tokens_out": 0, "model": "large"}
        attempt = await work(queue, report, tokens_in=2 * MILLION, tokens_out=0, model="large")
        assert attempt.cost_usd == 6

    async def test_newer_tokens_that_cannot_be_priced_make_the_cost_unknown(self, queue: Queue) -> None:
        report = {"tokens_in": MILLION, "tokens_out": 0, "model": "large"}
        attempt = await work(queue, report, tokens_out=7)
        assert (attempt.cost_usd, attempt.price) == (None, None)
        assert (attempt.tokens_in, attempt.tokens_out) == (MILLION, 7)

    async def test_a_report_without_tokens_leaves_a_computed_cost_alone(self, queue: Queue) -> None:
        report = {"tokens_in": MILLION, "tokens_out": 0, "model": "large"}
        attempt = await work(queue, report, {"progress": 0.5, "turns": 3})
        assert (attempt.cost_usd, attempt.price, attempt.turns) == (3, TABLE.version, 3)

    async def test_other_prices_do_not_change_what_is_recorded(self, queue: Queue) -> None:
        first = await work(queue, tokens_in=MILLION, tokens_out=0, model="large")
        await queue.add("job")
        claim = await take(queue, "job")
        queue.prices = Prices(Table({"large": Rate(30, 150)}))
        await queue.complete(claim, tokens_in=MILLION, tokens_out=0, model="large")
        (second,) = await queue.history(claim.task.id)
        assert (first.cost_usd, second.cost_usd) == (3, 30)
        assert first.price != second.price

    async def test_what_was_told_before_an_agent_died_is_kept_with_its_price(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        queue.prices = Prices(TABLE)
        task = await queue.add("job")
        claim = await take(queue, "job", lease=10)
        await queue.renew(claim, tokens_in=MILLION, tokens_out=0, model="large")
        await elapse(queue, clock, 60)
        (attempt,) = await queue.history(task.id)
        assert (attempt.outcome, attempt.cost_usd, attempt.price) == ("expired", 3, TABLE.version)

    async def test_every_way_to_end_a_claim_keeps_the_price(self, queue: Queue) -> None:
        queue.prices = Prices(TABLE)
        usage: dict[str, Any] = {"tokens_in": MILLION, "tokens_out": 0, "model": "large"}
        await queue.add_many([NewTask("fails"), NewTask("stops"), NewTask("spawns")])
        failing, stopping, spawning = [await take(queue, type) for type in ("fails", "stops", "spawns")]
        await queue.fail(failing, "it broke", **usage)
        await queue.renew(spawning, **usage)
        await queue.spawn(spawning, [NewTask("child")], wait=True)
        await queue.renew(stopping, **usage)
        await queue.cancel(stopping.task.id)
        with pytest.raises(Exception, match="cancelled"):
            await queue.complete(stopping)
        for claim in (failing, stopping, spawning):
            (attempt,) = await queue.history(claim.task.id)
            assert (attempt.cost_usd, attempt.price) == (3, TABLE.version), attempt.outcome

    async def test_the_next_claim_is_told_the_price_of_earlier_attempts(self, queue: Queue) -> None:
        queue.prices = Prices(TABLE)
        await queue.add("job", retry="immediate")
        await queue.fail(await take(queue, "job"), "no", tokens_in=MILLION, tokens_out=0, model="large")
        (attempt,) = (await take(queue, "job")).previous_attempts
        assert (attempt.cost_usd, attempt.price) == (3, TABLE.version)

    async def test_more_cached_tokens_than_tokens_are_refused(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue, "job")
        reports: dict[str, dict[str, Any]] = {
            "tokens_cached": {"tokens_in": 5, "tokens_cached": 6},
            "tokens_cache_written": {"tokens_in": 5, "tokens_cache_written": 6},
            "tokens_in": {"tokens_cached": 1},
        }
        for field, told in reports.items():
            with pytest.raises(Invalid) as caught:
                await queue.complete(claim, **told)
            assert caught.value.field == field
        assert await queue.history(claim.task.id) == []

    @pytest.mark.door
    async def test_a_batch_is_added_up_as_one_by_one(self, queue: Queue) -> None:
        await queue.set_budget("type:job", 9.0)
        await queue.add_many([NewTask("job", number, max_attempts=2) for number in range(6)])
        claims = await queue.claim("ada", limit=6)
        await queue.renew(claims[4], cost=0.5, turns=3)
        done = [completed(claim, claim.task.payload, usage=Usage(cost_usd=0.25, model="m")) for claim in claims[:4]]
        quiet = [completed(claims[4], "told before"), completed(claims[5], "untold")]
        failing = failed(claims[3], "no", draw=0.5)
        answers = await queue.settle([done[0], failing, done[1], *quiet, done[0], done[2], done[3]])
        assert [answer.outcome if isinstance(answer, Settled) else answer.code for answer in answers] == [
            *("completed", "failed", "completed", "completed", "completed", "completed", "completed"),
            "illegal_transition",
        ]
        assert await queue.settle([done[2], *quiet]) == [answers[6], answers[3], answers[4]]
        [budget] = await queue.budgets()
        assert (budget.reserved, budget.spent) == (0, 1.25)
        costs = [[attempt.cost_usd for attempt in await queue.history(claim.task.id)] for claim in claims]
        assert costs == [[0.25], [0.25], [0.25], [None], [0.5], [None]]
        [attempt] = await queue.history(claims[0].task.id)
        assert (attempt.number, attempt.model, attempt.outcome) == (1, "m", "completed")
        task = await queue.get(claims[4].task.id)
        assert (task.cost_usd, task.turns, task.output, task.attempts) == (0.5, 3, "told before", 1)
        ended = {event.task_id for event in await events(queue) if event.type == "task.completed"}
        assert ended == {claim.task.id for claim in claims if claim is not claims[3]}
        assert await queue.store.check() == []
