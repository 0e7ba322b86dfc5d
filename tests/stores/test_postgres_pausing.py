"""Pauses and circuit breakers on PostgreSQL: what its functions repeat of the rules, what they leave alone, and what
two clients do to them at once."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from dibs import settling
from dibs.artifacts.overflow import beneath
from dibs.model.status import Outcome
from dibs.model.task import NewTask
from dibs.rules import breaker
from dibs.stores.postgres import PostgresStore
from dibs.stores.values import ClaimRequest
from tests.servers import clients
from tests.servers.clients import engine_of, on

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dibs.model.claim import Claim
    from dibs.queue import Queue

    Verb = Callable[[Queue], Awaitable[Any]]

REASONS = (None, "error", "rate_limit", "budget_exceeded", "cancelled", "crash")


def test_the_function_says_of_every_ending_what_the_rule_says(postgres_url: str) -> None:
    async def check(queue: Queue) -> None:
        for outcome in Outcome:
            for reason in REASONS:
                for counts, together in product((True, False), repeat=2):
                    said = await engine_of(queue).value(
                        "SELECT dibs.verdict($1, $2, $3, $4)", outcome.value, reason, counts, together
                    )
                    right = breaker.verdict(outcome, reason, counts_attempt=counts, together=together)
                    assert said == right, (outcome, reason, counts, together)

    on(postgres_url, check)


def test_the_functions_defaults_are_those_of_the_rule(postgres_url: str) -> None:
    async def check(queue: Queue) -> None:
        held = await engine_of(queue).row("SELECT * FROM dibs.breaker_holds('default', 'code')")
        assert breaker.Settings(**held) == breaker.DEFAULTS

    on(postgres_url, check)


_VERSIONS = "SELECT md5(string_agg(n || ' ' || ctid || ' ' || xmin, ',' ORDER BY n)) FROM dibs.waiting"


def test_a_pause_and_an_open_breaker_rewrite_no_row_of_those_who_wait(postgres_url: str) -> None:
    async def check(queue: Queue) -> None:
        await queue.add_many([NewTask("code", number) for number in range(2_000)])
        before = await engine_of(queue).value(_VERSIONS)
        for close, open in (
            (queue.pause("code"), lambda: queue.resume("code")),
            (queue.open_breaker("code"), lambda: queue.close_breaker("code")),
        ):
            await close
            assert await queue.claim("ada", limit=10) == []
            assert await engine_of(queue).value(_VERSIONS) == before
            await open()
        assert await engine_of(queue).value(_VERSIONS) == before
        assert len(await queue.claim("ada", limit=10)) == 10

    on(postgres_url, check)


def test_a_completion_writes_nothing_to_a_breaker_without_failures(postgres_url: str) -> None:
    async def check(queue: Queue) -> None:
        versions = "SELECT string_agg(ctid || ' ' || xmin, ',') FROM dibs.breakers"
        await queue.set_breaker("code")
        await queue.add_many([NewTask("code", number) for number in range(4)])
        failed, first, second, third = await queue.claim("ada", limit=4)
        await queue.fail(failed, "no", retry=False)
        counted = await engine_of(queue).value(versions)
        await queue.complete(first)
        forgotten = await engine_of(queue).value(versions)
        assert forgotten != counted
        await queue.complete(second)
        await queue.complete(third, cost=0.1)
        assert await engine_of(queue).value(versions) == forgotten

    on(postgres_url, check)


# Two at once, in every order of their steps.


every_order = partial(clients.every_order, first=lambda queue: queue.set_breaker("code", failure_threshold=3))


def claiming(agent: str) -> Verb:
    async def verb(queue: Queue) -> Any:
        return (await queue.store.claim(ClaimRequest(agent=agent, types=("code",), limit=2))).claims

    return verb


def failing(claim: Claim) -> Verb:
    return lambda queue: queue.store.settle([settling.failed(claim, "no", retry_again=False, draw=0.5)])


def completing(claim: Claim) -> Verb:
    return lambda queue: queue.store.settle([settling.completed(claim)])


async def clear(queue: Queue) -> None:
    """Nothing of this run is in the way of the next."""
    await queue.close_breaker("code")
    while claims := await queue.claim("ada", limit=100):
        for claim in claims:
            await queue.complete(claim)


async def half_open(queue: Queue) -> None:
    """Open, and its time has come."""
    await queue.open_breaker("code")
    await engine_of(queue).fetch("UPDATE dibs.breakers SET due_at = 1")
    assert await queue.store.promote(10) == 1


async def state(queue: Queue) -> tuple[str, int]:
    [found] = [found for found in await queue.breakers() if found.type == "code"]
    return found.state, found.failures


def test_of_two_claims_one_gets_the_probe(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> None:
        await queue.add_many([NewTask("code", number) for number in range(4)])
        await half_open(queue)
        store = beneath(queue.store)
        assert isinstance(store, PostgresStore)
        await store._lanes.refresh()

    async def check(queue: Queue, _: Any, answers: list[Any]) -> None:
        taken = [claim for claims in answers for claim in claims]
        assert len(taken) == 1
        await queue.complete(taken[0])
        assert await state(queue) == ("closed", 0)
        await clear(queue)

    every_order(postgres_url, prepare, lambda _: (claiming("ada"), claiming("bob")), check)


async def three_held(queue: Queue) -> list[Claim]:
    await queue.add_many([NewTask("code", number) for number in range(3)])
    return await queue.claim("ada", limit=3)


def test_no_failure_is_lost_when_two_fail_at_once(postgres_url: str) -> None:
    async def check(queue: Queue, claims: Any, _: Any) -> None:
        assert await state(queue) == ("closed", 2)
        await queue.fail(claims[2], "no", retry=False)
        assert await state(queue) == ("open", 3)
        await clear(queue)

    every_order(postgres_url, three_held, lambda claims: (failing(claims[0]), failing(claims[1])), check)


def test_a_success_beside_a_failure_came_before_or_after_it(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> list[Claim]:
        claims = await three_held(queue)
        await queue.fail(claims[2], "no", retry=False)
        return claims

    async def check(queue: Queue, _: Any, answers: Any) -> None:
        # Before: both failures or only the second count. After: none does.
        assert await state(queue) in {("closed", 0), ("closed", 1), ("closed", 2)}
        await clear(queue)

    every_order(postgres_url, prepare, lambda claims: (failing(claims[0]), completing(claims[1])), check)


def test_a_claim_beside_a_pause_comes_before_it_or_gets_nothing(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> None:
        await queue.add_many([NewTask("code", number) for number in range(3)])

    async def check(queue: Queue, _: Any, answers: list[Any]) -> None:
        assert len(answers[0]) in {0, 2}
        assert await queue.claim("ada") == []
        for claim in answers[0]:
            await queue.complete(claim)
        await queue.resume("code")
        await clear(queue)

    every_order(postgres_url, prepare, lambda _: (claiming("ada"), lambda queue: queue.pause("code")), check)


@pytest.mark.parametrize("verb", ["cancel", "complete"])
def test_a_probe_that_ends_while_gates_are_tended_is_not_taken_for_dead(postgres_url: str, verb: str) -> None:
    async def prepare(queue: Queue) -> Claim:
        await queue.add_many([NewTask("code", number) for number in range(3)])
        await half_open(queue)
        [claim] = await queue.claim("ada")
        return claim

    def verbs(claim: Claim) -> tuple[Verb, Verb]:
        ending = completing(claim) if verb == "complete" else lambda queue: queue.store.cancel(claim.task.id, None)
        return ending, lambda queue: queue.store.promote(10)

    async def check(queue: Queue, _: Any, answers: Any) -> None:
        await queue.store.promote(10)
        found, _ = await state(queue)
        assert found == ("closed" if verb == "complete" else "half_open")
        assert len(await queue.claim("bob")) == 1
        await clear(queue)

    every_order(postgres_url, prepare, verbs, check)
