"""A member is put and taken out; all else stays as it was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import decode, encode, format

from dibs.rules import json_members

VALUE = '{\n  "command": "dibs",\n  "args": ["mcp"]\n}'
OURS = {"command": "dibs", "args": ["mcp"]}

TEXTS = [
    "{}",
    "{\n}\n",
    '{"other": 1}',
    '{\n  "mcpServers": {\n    "b": {"command": "x"}\n  }\n}\n',
    '{\n\t"a": [1, 2, {"}": "]"}],\n\t"mcpServers": {"b": {}}\n}\n',
    '{"a": "\\"{", "b": null, "c": -1.5e3}',
    '\ufeff{"a": true}',
]


@pytest.mark.parametrize("text", TEXTS)
def test_taking_it_out_gives_back_what_was_there(text: str) -> None:
    with_it = json_members.put(text, "mcpServers", "dibs", VALUE)
    assert json_members.value_at(with_it, "mcpServers", "dibs") == OURS
    before, after = decode(text.lstrip("\ufeff")), decode(with_it.lstrip("\ufeff"))
    before.setdefault("mcpServers", {})["dibs"] = OURS
    assert after == before
    assert json_members.put(with_it, "mcpServers", "dibs", VALUE) == with_it
    assert json_members.take_out(with_it, "mcpServers", "dibs") == text


def test_comments_and_last_commas_stay() -> None:
    text = '//\n{\n  /* {x} */\n  "servers": { // "these"\n    "a": {"x": 1 /* } */, /* [ */ "y": [1,],},\n  },\n}\n'
    with_it = json_members.put(text, "servers", "dibs", VALUE)
    assert json_members.value_at(with_it, "servers", "dibs") == OURS
    assert json_members.value_at(with_it, "servers", "a") is None  # has comments
    assert json_members.take_out(with_it, "servers", "dibs") == text


def test_one_that_is_there_already_stays_as_it_is() -> None:
    text = '{"mcpServers": {"dibs": {"url": "http://elsewhere"}}}'
    assert json_members.put(text, "mcpServers", "dibs", VALUE) == text


def test_a_member_is_found_wherever_it_was_moved() -> None:
    text = '{"mcpServers": {"a": 1, "dibs": 2, "c": 3}, "z": 0}'
    assert json_members.take_out(text, "mcpServers", "dibs") == '{"mcpServers": {"a": 1, "c": 3}, "z": 0}'
    text = '{"z": 0, "mcpServers": {"a": 1, "dibs": 2}}'
    assert json_members.take_out(text, "mcpServers", "dibs") == '{"z": 0, "mcpServers": {"a": 1}}'
    text = '{"z": 0, "mcpServers": {"dibs": 2}}'
    assert json_members.take_out(text, "mcpServers", "dibs") == '{"z": 0, "mcpServers": {}}'


@pytest.mark.parametrize("text", ["{}", '{"mcpServers": {"a": 1}}', '{"mcpServers": {}}'])
def test_what_is_not_there_is_not_taken_out(text: str) -> None:
    assert json_members.take_out(text, "mcpServers", "dibs") == text
    assert json_members.value_at(text, "mcpServers", "dibs") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"a"',
        '{"a" 1}',
        '{"a": }',
        '{"a": 1 "b": 2}',
        '{"a": [1, {]',
        '{"a": "x}',
        '{"a\\x": 1}',
        "{a: 1}",
        "{} {}",
        "/* {}",
        '{"a": "\\',
        '{"a": 1',
        '{"mcpServers": []}',
    ],
)
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(json_members.Unreadable):
        json_members.put(text, "mcpServers", "dibs", VALUE)


def test_a_comment_may_end_the_text() -> None:
    assert json_members.read("{} // so").members == ()


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), values, max_size=4), st.integers(0, 4))
def test_any_object_keeps_its_members(given: dict[str, object], indent: int) -> None:
    text = format(encode(given), indent=indent).decode()
    with_it = json_members.put(text, "servers!", "dibs", VALUE)
    assert decode(with_it) == {**given, "servers!": {"dibs": OURS}}
    assert decode(json_members.take_out(with_it, "servers!", "dibs")) == given
