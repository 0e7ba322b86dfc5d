"""What tokens cost by an operator's table."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Invalid
from dibs.rules.pricing import Price, Rate, Table, Tokens, check_tokens, cost, read_table

MILLION = 1_000_000


def test_a_price_is_for_a_million_tokens() -> None:
    assert cost(Rate(3, 15), Tokens(read=2 * MILLION, written=MILLION)) == 21
    assert cost(Rate(3, 15), Tokens()) == 0


def test_tokens_of_the_cache_cost_what_the_table_says_else_as_much_as_the_others() -> None:
    tokens = Tokens(read=4 * MILLION, cached=2 * MILLION, cache_written=MILLION)
    assert cost(Rate(3, 15, cached=0.5, cache_write=4), tokens) == 3 + 1 + 4
    assert cost(Rate(3, 15), tokens) == 12
    assert cost(Rate(3, 15, cached=0, cache_write=0), tokens) == 3


def test_the_exact_name_wins_then_the_longest_beginning() -> None:
    table = Table({"gpt-*": Rate(1, 1), "gpt-5*": Rate(2, 2), "gpt-5-mini": Rate(3, 3)})
    read = Tokens(read=MILLION)
    found = {name: table.price(name, read) for name in ("gpt-4", "gpt-5-nano", "GPT-5-mini", "claude")}
    assert found == {
        "gpt-4": Price(1, table.version),
        "gpt-5-nano": Price(2, table.version),
        "GPT-5-mini": Price(3, table.version),
        "claude": None,
    }


def test_a_star_alone_stands_for_every_model() -> None:
    assert Table({"*": Rate(0, 0)}).price("anything", Tokens(read=5)) is not None


def test_the_version_tells_tables_apart_and_nothing_else() -> None:
    one, same, other = Table({"a": Rate(1, 2)}), Table({"a": Rate(1, 2)}), Table({"a": Rate(1, 3)})
    assert one.version == same.version != other.version
    assert one.version.startswith("prices ")


def test_a_table_is_read() -> None:
    table = read_table({"Large": {"input": 3, "output": 15.5, "cached": 0.3, "cache_write": 4}, "local": FREE})
    assert table.rates == {"large": Rate(3, 15.5, 0.3, 4), "local": Rate(0, 0)}


FREE = {"input": 0, "output": 0}


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ([], "prices"),
        (3, "prices"),
        ({"m": 3}, "prices.m"),
        ({"m": {"input": 1}}, "prices.m.output"),
        ({"m": {"output": 1}}, "prices.m.input"),
        ({"m": {**FREE, "colour": 1}}, "prices.m.colour"),
        ({"m": {**FREE, "cached": "cheap"}}, "prices.m.cached"),
        ({"m": {**FREE, "input": -1}}, "prices.m.input"),
        ({"m": {**FREE, "input": True}}, "prices.m.input"),
        ({"m": {**FREE, "output": float("nan")}}, "prices.m.output"),
        ({"m": {**FREE, "output": float("inf")}}, "prices.m.output"),
    ],
)
def test_a_mistake_in_a_table_is_named(raw: Any, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_table(raw)
    assert caught.value.field == field


def test_tokens_of_the_cache_are_part_of_those_that_were_read() -> None:
    check_tokens(Tokens(read=10, cached=6, cache_written=4))
    for tokens, field in (
        (Tokens(read=10, cached=11), "tokens_cached"),
        (Tokens(read=10, cached=6, cache_written=5), "tokens_cached"),
        (Tokens(cache_written=1), "tokens_cache_written"),
    ):
        with pytest.raises(Invalid) as caught:
            check_tokens(tokens)
        assert caught.value.field == field
