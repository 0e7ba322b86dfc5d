"""Rate limits on PostgreSQL: what its functions repeat of the rules, what they leave alone, and two clients at once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dibs import settling
from dibs.errors import DibsError
from dibs.model.task import NewTask
from dibs.rules import providers
from dibs.rules.retry import limit_wait_s
from tests.servers import clients
from tests.servers.clients import engine_of, on

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dibs.model.claim import Claim
    from dibs.queue import Queue
    from dibs.stores.values import Settlement

    Verb = Callable[[Queue], Awaitable[Any]]

_VERSIONS = "SELECT md5(string_agg(n || ' ' || ctid || ' ' || xmin, ',' ORDER BY n)) FROM dibs.waiting"


def test_the_functions_name_the_gates_that_the_rule_names(postgres_url: str) -> None:
    served = sorted({provider for _, provider in providers.BY_PREFIX})
    beginnings = [prefix for prefix, _ in providers.BY_PREFIX]
    models = [
        None,
        *(f"{prefix}{rest}" for prefix in beginnings for rest in ("", "x", "/x", ":x")),
        *(f"{name}{sign}model" for name in (*served, "acme", "") for sign in ("/", ":", "-", "")),
        *("llama3:8b", "a/b/c", "openrouter/openai/gpt-5", "openai:a/b", "CLAUDE", "large", "%", "_"),
    ]

    async def check(queue: Queue) -> None:
        for provider in (None, "acme"):
            for model in models:
                gate = await engine_of(queue).value("SELECT dibs.gate_of($1, $2, 'code')", provider, model)
                assert gate == providers.gate_of(provider, model, "code"), (provider, model)

    on(postgres_url, check)


def test_the_function_waits_as_long_as_the_rule(postgres_url: str) -> None:
    async def check(queue: Queue) -> None:
        for wait_s in (None, 0.0, 0.5, 1.0, 33.3, 86_400.0, 1e9):
            for limits in (1, 2, 3, 6, 7, 8, 20, 5_000):
                for draw in (0.0, 0.123, 0.5, 0.999):
                    wait = await engine_of(queue).value("SELECT dibs.limit_wait($1, $2, $3)", wait_s, limits, draw)
                    assert wait == round(limit_wait_s(wait_s, limits, draw) * 1_000_000), (wait_s, limits, draw)

    on(postgres_url, check)


def test_a_closed_gate_rewrites_no_row_of_those_who_wait(postgres_url: str) -> None:
    async def check(queue: Queue) -> None:
        await queue.add_many([NewTask("code", number) for number in range(2_000)])
        [claim] = await queue.claim("ada")
        before = await engine_of(queue).value(_VERSIONS)
        await queue.fail(claim, "429", retry=False)
        await queue.fail(claim, "429", retry=False)
        assert await engine_of(queue).value(_VERSIONS) == before

    on(postgres_url, check)


# Two at once, in every order of their steps.


every_order = partial(clients.every_order, first=lambda queue: queue.set_breaker("code", failure_threshold=1))


def limited(claim: Claim) -> Settlement:
    return settling.failed(claim, "429", draw=0.5)


def settle(*settlements: Settlement) -> Verb:
    return lambda queue: queue.store.settle(list(settlements))


async def four_held(queue: Queue) -> list[Claim]:
    await queue.add_many([NewTask("code", number) for number in range(4)])
    return await queue.claim("ada", limit=4)


async def limits(queue: Queue) -> int | None:
    """How many limits in a row are remembered."""
    found: int | None = await engine_of(queue).value("SELECT limits FROM dibs.backoffs WHERE gate = 'limit:code'")
    return found


async def clear(queue: Queue, claims: list[Claim]) -> None:
    """Nothing of this run is in the way of the next."""
    for claim in claims:
        await queue.cancel(claim.task.id)
    await engine_of(queue).fetch("UPDATE dibs.backoffs SET until = 1")
    await queue.store.promote(10)
    assert await limits(queue) is None
    await queue.close_breaker("code")


def test_of_two_limits_at_once_one_counts(postgres_url: str) -> None:
    async def check(queue: Queue, claims: Any, answers: list[Any]) -> None:
        assert not any(isinstance(answer, DibsError) for answer in answers)
        assert await limits(queue) == 1
        assert [gate.gate for gate in await queue.gates()] == ["limit:code"]
        await clear(queue, claims)

    every_order(postgres_url, four_held, lambda claims: (settle(limited(claims[0])), settle(limited(claims[1]))), check)


def test_a_success_beside_a_limit_came_before_or_after_it(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> list[Claim]:
        claims = await four_held(queue)
        opened = queue.store.now() - 1_000_000
        await engine_of(queue).fetch(
            "INSERT INTO dibs.backoffs VALUES ('default', 'limit:code', 3, $1, $2, false)", opened - 60_000_000, opened
        )
        return claims

    async def check(queue: Queue, claims: Any, answers: list[Any]) -> None:
        assert not any(isinstance(answer, DibsError) for answer in answers)
        assert await limits(queue) in {1, 4}
        assert len(await queue.gates()) == 1
        await clear(queue, claims)

    every_order(
        postgres_url,
        prepare,
        lambda claims: (settle(limited(claims[0])), settle(settling.completed(claims[1]))),
        check,
    )


def test_limits_and_failures_in_two_batches_do_not_wait_in_a_circle(postgres_url: str) -> None:
    def broken(claim: Claim) -> Settlement:
        return settling.failed(claim, "no", retry_again=False, draw=0.5)

    async def check(queue: Queue, claims: Any, answers: list[Any]) -> None:
        assert [len(answer) for answer in answers] == [2, 2]
        assert await limits(queue) == 1
        await clear(queue, claims)

    every_order(
        postgres_url,
        four_held,
        lambda c: (settle(limited(c[0]), broken(c[1])), settle(broken(c[2]), limited(c[3]))),
        check,
    )
