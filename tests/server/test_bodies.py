"""Bodies and queries are read strictly: what two readers could understand differently is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs import wire
from dibs.errors import Invalid
from dibs.server.bodies import from_body, from_path, from_query, read_json

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN, st.booleans())
def test_json_is_read_as_it_was_written(value: Any, ascii: bool) -> None:
    raw = json.dumps(value, ensure_ascii=ascii).encode("utf-8", "surrogatepass")
    try:
        raw.decode()
        value_text = json.dumps(value, ensure_ascii=False)
        value_text.encode()
    except UnicodeError:
        with pytest.raises(Invalid):
            read_json(raw, 80)
        return
    assert read_json(raw, 80) == value


@given(
    st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), st.integers(), min_size=1, max_size=5), st.data()
)
def test_a_name_that_is_given_twice_is_refused_however_it_is_written(
    value: dict[str, int], data: st.DataObject
) -> None:
    twice = data.draw(st.sampled_from(sorted(value)))
    pairs = data.draw(st.permutations([*value.items(), (twice, 0)]))
    ascii = data.draw(st.booleans())
    space = data.draw(st.sampled_from(["", " ", "\n"]))
    colons = data.draw(st.sampled_from([":", " :", ": "]))
    text = ",".join(f"{space}{json.dumps(name, ensure_ascii=ascii)}{colons}{number}" for name, number in pairs)
    raw = f'{{"outer": [{{{text}}}, "a\\u003ab:c"]}}'.encode()
    with pytest.raises(Invalid) as refused:
        read_json(raw, 80)
    assert refused.value.field == twice


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"{} {}",
        b"{}\n[]",
        b"{},",
        b"NaN",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": -Infinity}',
        b"{'a': 1}",
        b"{a: 1}",
        b'{"a": 1,}',
        b"[1, 2",
        b'{"a": 01}',
        b'{"a": +1}',
        b'{"a": .5}',
        b'{"a": 0x10}',
        b'"\xff"',
        b'{"a": "\xc3"}',
        b'{"a": "\\ud800"}',
        b'{"a": "tab\there"}',
        b"\xef\xbb\xbf{}",
        "{}".encode("utf-16"),
        "{}".encode("utf-32"),
        b"// no\n{}",
        b"{}\x00",
        b"[" * 100_000,
        b"[" * 500 + b"]" * 500,
        b'{"a":' * 500 + b"1" + b"}" * 500,
    ],
)
def test_what_is_not_one_json_document_is_refused(raw: bytes) -> None:
    with pytest.raises(Invalid) as refused:
        read_json(raw, 80)
    assert refused.value.code == "not_json"


def test_a_body_may_be_as_deep_as_is_allowed() -> None:
    for depth, fits in ((80, True), (81, False)):
        raw = b"[" * depth + b"]" * depth
        if fits:
            assert read_json(raw, 80) is not None
        else:
            with pytest.raises(Invalid):
                read_json(raw, 80)


def test_many_brackets_side_by_side_are_not_deep() -> None:
    assert len(read_json(b"[" + b",".join([b"[{}]"] * 1000) + b"]", 80)) == 1000


def test_an_unknown_name_is_refused_with_the_one_that_may_be_meant() -> None:
    with pytest.raises(Invalid, match="did you mean priority") as refused:
        from_body(wire.verb("add"), {"type": "code", "prority": 3})
    assert (refused.value.code, refused.value.field) == ("unknown_field", "prority")


def test_a_name_that_is_missing_is_named() -> None:
    with pytest.raises(Invalid) as refused:
        from_body(wire.verb("claim"), {"limit": 1})
    assert (refused.value.code, refused.value.field) == ("missing_field", "agent")


def test_a_query_becomes_what_the_verb_takes() -> None:
    found = from_query(wire.verb("find"), b"status=ready&status=running&limit=5&text=5&tag=a%2Fb+c")
    assert found == {"status": ["ready", "running"], "limit": 5, "text": "5", "tag": "a/b c"}
    assert from_query(wire.verb("dead_letters"), b"reviewed=false&since=2h") == {"reviewed": False, "since": "2h"}


def test_what_is_no_number_in_a_query_is_left_for_the_verb_to_refuse() -> None:
    assert from_query(wire.verb("find"), b"limit=ten") == {"limit": "ten"}
    assert from_query(wire.verb("dead_letters"), b"reviewed=perhaps") == {"reviewed": "perhaps"}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        (b"limit=1&limit=2", "limit"),
        (b"limt=1", "limt"),
        (b"%zz=1", "%zz"),
        (b"text=%ff", "query"),
        (b"text=\xff", "query"),
        (b"text=" + b"a" * 20_000, "query"),
        (b"&".join([b"status=ready"] * 300), "query"),
    ],
)
def test_a_query_that_can_be_read_two_ways_is_refused(query: bytes, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        from_query(wire.verb("find"), query)
    assert refused.value.field == field


def test_a_name_in_the_path_may_have_a_slash() -> None:
    assert from_path({"the_agent": "host%2F1%25"}, quoted=True) == {"agent": "host/1%"}
    assert from_path({"the_agent": "plain%2F"}, quoted=False) == {"agent": "plain%2F"}
    with pytest.raises(Invalid):
        from_path({"the_agent": "%ff%2F"}, quoted=True)
