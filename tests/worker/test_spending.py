"""What handlers spend: tokens are priced call by call, whoever runs the handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.pricing import Prices
from dibs.rules.pricing import Rate, Table
from dibs.worker.spending import Spending

if TYPE_CHECKING:
    from dibs.model.attempt import Attempt

MILLION = 1_000_000
TABLE = Table({"large": Rate(3, 15, cached=0.5), "small": Rate(1, 2)})


def spending(model: str | None = None) -> Spending:
    return Spending(Prices(TABLE), model)


def test_each_call_is_priced_with_its_own_model() -> None:
    spent = spending()
    spent.add(tokens_in=MILLION, tokens_out=MILLION, model="large")
    used = spent.add(tokens_in=MILLION, model="small")
    assert (used.cost_usd, used.price) == (19, TABLE.version)
    assert (used.tokens_in, used.tokens_out, used.model) == (2 * MILLION, MILLION, "small")


def test_the_model_is_the_one_named_last_else_the_claims() -> None:
    spent = spending("small")
    assert spent.add(tokens_in=MILLION).cost_usd == 1
    assert spent.add(tokens_in=MILLION, model="large").cost_usd == 4
    assert spent.add(tokens_in=MILLION).cost_usd == 7


def test_tokens_of_the_cache_are_cheaper() -> None:
    assert spending("large").add(tokens_in=MILLION, tokens_cached=MILLION).cost_usd == 0.5
    assert spending("large").add(tokens_in=MILLION, tokens_cache_written=MILLION).cost_usd == 3


def test_what_the_handler_told_is_the_cost() -> None:
    spent = spending("large")
    assert spent.add(tokens_in=MILLION).cost_usd == 3
    for usd in (0.5, None):
        used = spent.add(usd=usd, tokens_in=MILLION)
        assert (used.cost_usd, used.price) == (0.5, None)


def test_one_call_without_a_price_makes_the_cost_unknown() -> None:
    spent = spending("large")
    spent.add(tokens_in=MILLION)
    for model in ("nobody-knows", "large"):
        used = spent.add(tokens_in=5, model=model)
        assert (used.cost_usd, used.price) == (None, None)
    assert used.tokens_in == MILLION + 10


def test_turns_alone_cost_nothing_that_is_known() -> None:
    used = spending("large").add(turns=3)
    assert (used.cost_usd, used.price, used.turns) == (None, None, 3)


def test_two_price_lists_are_both_named() -> None:
    other = Table({"mini": Rate(1, 1)})
    spent = Spending(Prices(TABLE, other), None)
    spent.add(tokens_in=5, model="large")
    assert spent.add(tokens_in=5, model="mini").price == " + ".join(sorted((TABLE.version, other.version)))


async def attempt_of(app: dibs.App, **options: Any) -> Attempt:
    async with dibs.connect("memory:") as queue:
        queue.prices = Prices(TABLE)
        task = await queue.add("job", **options)
        async with dibs.Worker(app, queue) as worker:
            await worker.drain()
        return (await queue.history(task.id))[-1]


async def test_a_coroutine_reports_while_it_works_and_at_its_end() -> None:
    app = dibs.App()

    @app.handler("job")
    async def job(ctx: dibs.Context) -> None:
        ctx.spend(tokens_in=MILLION, tokens_out=0, model="large")
        await ctx.progress(0.5)
        ctx.spend(tokens_in=MILLION, tokens_out=0, tokens_cached=MILLION, model="large")

    attempt = await attempt_of(app)
    assert (attempt.cost_usd, attempt.price, attempt.tokens_in) == (3.5, TABLE.version, 2 * MILLION)


async def test_a_price_that_is_missed_later_voids_what_was_reported_before() -> None:
    app = dibs.App()

    @app.handler("job")
    async def job(ctx: dibs.Context) -> None:
        ctx.spend(tokens_in=MILLION, model="large")
        await ctx.progress(0.5)
        ctx.spend(tokens_in=5, model="nobody-knows")

    attempt = await attempt_of(app)
    assert (attempt.outcome, attempt.cost_usd, attempt.price) == ("completed", None, None)


async def test_a_thread_is_priced_too() -> None:
    app = dibs.App()

    @app.handler("job")
    def job(ctx: Any) -> None:
        ctx.spend(tokens_in=MILLION, tokens_cached=MILLION, model="large")

    assert (await attempt_of(app)).cost_usd == 0.5


async def test_more_cached_tokens_than_tokens_are_refused() -> None:
    app = dibs.App()

    @app.handler("job")
    async def job(ctx: dibs.Context) -> None:
        for field, tokens in {
            "tokens_cached": {"tokens_in": 5, "tokens_cached": 6},
            "tokens_cache_written": {"tokens_cache_written": 1},
            "tokens_in": {"tokens_in": -1},
        }.items():
            with pytest.raises(dibs.Invalid) as caught:
                ctx.spend(**tokens)  # type: ignore[arg-type]
            assert caught.value.field == field

    attempt = await attempt_of(app)
    assert (attempt.outcome, attempt.tokens_in) == ("completed", None)
