"""JSON that every store can keep: refused from people, repaired from agents."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.errors import Invalid
from dibs.rules.plain_json import MAX_DEPTH, clean, clean_text, content_key, json_bytes, many_json_bytes

MIB = 1 << 20

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=20,
)
wild_texts = st.text(st.characters(exclude_categories=[]))
wild = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | wild_texts | st.binary(max_size=8) | st.datetimes(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(wild_texts | st.integers(), inner, max_size=4)
    ),
    max_leaves=15,
)


class Text(str):
    __slots__ = ()


class Number(IntEnum):
    ONE = 1


class Word(StrEnum):
    ONE = "one"


class Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("no")


def nested(depth: int, kind: str = "list") -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value] if kind == "list" else {"k": value} if kind == "dict" else (value,)
    return value


def around_itself() -> list[Any]:
    value: list[Any] = []
    value += [value, value, {"again": value}]
    return value


def as_json(value: Any) -> bytes:
    return json_bytes(value, "payload", max_bytes=MIB)


def refusal(value: Any) -> str:
    with pytest.raises(Invalid) as caught:
        as_json(value)
    assert caught.value.field == "payload"
    assert caught.value.message.startswith("payload")
    caught.value.message.encode()
    return caught.value.message


@given(plain)
def test_plain_json_comes_back_as_it_was(value: Any) -> None:
    encoded = as_json(value)
    assert json.loads(encoded) == value
    assert clean(value) == (value, False)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (None, b"null"),
        ({"a": [1, 2.5, True, None, "ä"]}, '{"a":[1,2.5,true,null,"ä"]}'.encode()),
        ((1, (2,)), b"[1,[2]]"),
        (OrderedDict(b=1, a=2), b'{"b":1,"a":2}'),
        (2**70, str(2**70).encode()),
        ("a text about \\u0000", b'"a text about \\\\u0000"'),
        (Word.ONE, b'"one"'),
        (Number.ONE, b"1"),
        (Text("x"), b'"x"'),
        ({Text("k"): Text("x")}, b'{"k":"x"}'),
    ],
)
def test_what_json_can_say_is_taken(value: Any, encoded: bytes) -> None:
    assert as_json(value) == encoded


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (float("nan"), "payload is not a finite number"),
        ({"a": [1, float("inf")]}, "payload.a[1] is not a finite number"),
        ({"a": -math.inf}, "payload.a is not a finite number"),
        ("a\0b", "payload contains a NUL character"),
        ({"a": {"b": "\0"}}, "payload.a.b contains a NUL character"),
        ({"a\0": 1}, "payload has a key that contains a NUL character"),
        (["\ud800"], "payload[0] contains a lone surrogate"),
        ({"\udfff": 1}, "payload has a key that contains a lone surrogate"),
        ({1: 2}, "payload has the key 1; keys must be text"),
        ({"a": [{None: 2}]}, "payload.a[0] has the key None; keys must be text"),
        ({"a": {1, 2}}, "payload.a is of type set"),
        (b"bytes", "payload is of type bytes"),
        (datetime(2026, 1, 1, tzinfo=UTC), "payload is of type datetime"),
        ([uuid4()], "payload[0] is of type UUID"),
        (Decimal(1), "payload is of type Decimal"),
        (object(), "payload is of type object"),
        pytest.param(10**5000, "payload has too many digits", id="a huge number"),
        ([10**5000], "payload[0] has too many digits"),
    ],
)
def test_what_json_cannot_say_is_refused_with_its_place(value: Any, why: str) -> None:
    assert why in refusal(value)


@pytest.mark.parametrize("kind", ["list", "dict", "tuple"])
def test_sixty_four_levels_are_the_limit(kind: str) -> None:
    as_json(nested(MAX_DEPTH, kind))
    assert "nested more than 64 levels deep" in refusal(nested(MAX_DEPTH + 1, kind))
    assert "nested more than 64 levels deep" in refusal(nested(100, kind))


@pytest.mark.parametrize("kind", ["list", "dict", "tuple"])
def test_absurdly_deep_values_are_refused_without_recursion(kind: str) -> None:
    assert "nested more than 64 levels deep" in refusal(nested(100_000, kind))


def test_a_value_that_contains_itself_is_refused() -> None:
    assert "nested more than 64 levels deep" in refusal(around_itself())


def test_wide_values_are_not_deep_and_brackets_in_texts_do_not_count() -> None:
    wide = [{"row": [number]} for number in range(500)]
    assert json.loads(as_json(wide)) == wide
    assert as_json("[" * 1000)
    assert clean(["{" * 1000]) == (["{" * 1000], False)


def test_a_value_with_too_many_bytes_is_refused() -> None:
    assert len(as_json("x" * (MIB - 2))) == MIB
    assert "1,048,577 bytes as JSON; at most 1,048,576" in refusal("x" * (MIB - 1))
    refusal("x" * 10_000_000)


@given(st.lists(plain, max_size=5))
def test_many_at_once_are_what_each_is_by_itself(values: list[Any]) -> None:
    together = many_json_bytes(values, max_bytes=MIB)
    # None: one has many brackets, and is to be looked at by itself.
    assert together in ([as_json(value) for value in values], None)
    if all(len(as_json(value)) <= MAX_DEPTH for value in values):
        assert together is not None


@pytest.mark.parametrize(
    "doubtful",
    [
        math.nan,
        "a\0b",
        "\ud800",
        {1: 2},
        {1, 2},
        (1, 2),
        object(),
        pytest.param(nested(MAX_DEPTH + 1, "list"), id="deep"),
        pytest.param(nested(100_000, "list"), id="absurdly deep"),
        pytest.param("x" * MIB, id="long"),
    ],
)
def test_among_many_one_that_is_in_doubt_is_left_to_be_looked_at(doubtful: Any) -> None:
    assert many_json_bytes([{"fine": 1}, doubtful, "fine"], max_bytes=MIB) is None


@pytest.mark.parametrize(
    ("dirty", "kept"),
    [
        ("a\0b", "a\ufffdb"),
        ("\ud800x", "\ufffdx"),
        ("x\udc00", "x\ufffd"),
        ("\ud83e\udd8a", "🦊"),
        (b"caf\xc3\xa9", "café"),
        (b"\xff\0", "\ufffd\ufffd"),
        (bytearray(b"x"), "x"),
        ([float("nan"), math.inf], [None, None]),
        ({"a\0": {"b": "\0"}}, {"a\ufffd": {"b": "\ufffd"}}),
        ({"a\0": 1, "a\ufffd": 2}, {"a\ufffd": 1, "a\ufffd\ufffd": 2}),
        ({1: "x"}, {"1": "x"}),
        (Decimal("1.50"), "1.50"),
        (Unspeakable(), "[Unspeakable]"),
        pytest.param(2**20_000, hex(2**20_000), id="a huge number"),
    ],
)
def test_agents_output_is_repaired_and_flagged(dirty: Any, kept: Any) -> None:
    assert clean(dirty) == (kept, True)


@pytest.mark.parametrize(
    ("given_value", "kept"),
    [
        ((1, (2,)), [1, [2]]),
        ("a text about \\u0000", "a text about \\u0000"),
        (Text("x"), "x"),
        ([Number.ONE, 1.5, True, None, Text("y")], [1, 1.5, True, None, "y"]),
        ({Text("k"): 1}, {"k": 1}),
    ],
)
def test_output_that_json_can_say_is_not_flagged(given_value: Any, kept: Any) -> None:
    value, changed = clean(given_value)
    assert (value, changed) == (kept, False)
    assert json.loads(json.dumps(value)) == value


def test_output_nested_too_deeply_keeps_its_upper_levels() -> None:
    value, changed = clean(nested(100_000, "dict"))
    assert changed
    for _ in range(MAX_DEPTH):
        value = value["k"]
    assert value == "[nested too deeply]"
    assert clean(nested(MAX_DEPTH)) == (nested(MAX_DEPTH), False)


def test_output_that_contains_itself_is_cut_there() -> None:
    note = "[contains itself]"
    assert clean(around_itself()) == ([note, note, {"again": note}], True)
    shared = [float("nan")]
    assert clean([shared, shared]) == ([[None], [None]], True)


@given(wild)
def test_repaired_output_can_always_be_kept(value: Any) -> None:
    kept, changed = clean(value)
    as_json(kept)
    assert clean(kept) == (kept, False)
    if not changed:
        assert json.loads(as_json(value)) == kept


@given(wild_texts)
def test_repaired_text_keeps_everything_else(value: str) -> None:
    kept, changed = clean_text(value, 10**6)
    kept.encode()
    assert "\0" not in kept
    assert changed == (kept != value)
    if not any(0xD800 <= ord(char) <= 0xDFFF for char in value):
        assert kept == value.replace("\0", "\ufffd")


@pytest.mark.parametrize(
    ("value", "max_chars", "kept", "changed"),
    [
        ("fine", 10, "fine", False),
        (b"fine", 10, "fine", False),
        (b"caf\xe9", 10, "caf\ufffd", True),
        (b"a\0", 10, "a\ufffd", True),
        ("a\ud800", 10, "a\ufffd", True),
        ("too long", 4, "too…", True),
        ("too long", 1, "…", True),
        ("too long", 0, "", True),
    ],
)
def test_agents_text_is_repaired_and_cut(value: str | bytes, max_chars: int, kept: str, changed: bool) -> None:
    assert clean_text(value, max_chars) == (kept, changed)


def test_a_content_key_ignores_the_order_of_keys_and_nothing_else() -> None:
    key = content_key("code", b'{"a":1,"b":{"c":2,"d":3}}')
    assert key == content_key("code", b'{"b":{"d":3,"c":2},"a":1}')
    assert len(key) == 64
    assert key != content_key("codes", b'{"a":1,"b":{"c":2,"d":3}}')
    assert key != content_key("code", b'{"a":1,"b":{"c":2,"d":4}}')
    assert content_key("code", b"[1,2]") != content_key("code", b"[2,1]")
