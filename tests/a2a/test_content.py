"""What is said, as values; and values, as what is said."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from msgspec.json import decode

from dibs.a2a.content import JSON, TEXT, answers_of, part_of, payload_of, plain
from dibs.a2a.offer import Skill
from tests.a2a.client import message

SKILL = Skill(type="echo", name="echo", description="Says it again.", text="topic")

values = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False, allow_infinity=False) | some.text(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(deadline=None)
@given(values)
def test_whatever_a_task_makes_arrives_as_it_is(value: Any) -> None:
    part = part_of(value)
    if isinstance(value, str):
        assert (part.text, part.media_type) == (value, TEXT)
    else:
        assert part.media_type == JSON
        arrived = decode(part.text) if part.HasField("text") else plain(part.data)
        assert arrived == value


def test_what_is_nested_too_deeply_goes_as_text() -> None:
    deep: Any = 1
    for _ in range(60):
        deep = {"in": deep}
    part = part_of(deep)
    assert decode(part.text) == deep
    assert plain(part_of([1, 2]).data) == [1, 2]


def test_a_message_is_a_payload() -> None:
    request = message("Acme", {"depth": 3, "ratio": 0.5, "tags": ["a"]})
    payload = payload_of(request.message, SKILL)
    assert payload == {"depth": 3, "ratio": 0.5, "tags": ["a"], "topic": "Acme"}
    assert type(payload["depth"]) is int


@pytest.mark.parametrize(
    ("text", "meant"),
    [("blue", ["blue"]), ("5", ["5", 5]), ('{"a": 1}', ['{"a": 1}', {"a": 1}]), ("[" * 10_000, ["[" * 10_000])],
)
def test_an_answer_in_words_may_be_json(text: str, meant: list[Any]) -> None:
    assert answers_of(message(text).message) == meant
