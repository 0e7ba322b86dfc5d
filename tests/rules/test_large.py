"""Large values: when they are, how they are named, and how a store marks them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.json import decode, encode

from dibs.rules import large
from dibs.rules.large import Kept

DIGEST = "sha256:" + "a" * 64
KEPT = Kept(DIGEST, 70_000, "task:task_1:output")


def test_a_value_is_named_by_its_task() -> None:
    assert large.named("task_1", large.OUTPUT) == {"ref": "task:task_1:output"}
    assert large.named("task_1", large.PAYLOAD) == {"ref": "task:task_1:payload"}


def test_a_mark_says_where_the_bytes_lie() -> None:
    mark = large.mark(KEPT)
    assert large.kept_as(decode(mark)) == KEPT
    assert large.size_of(mark) == 70_000
    assert f'"payload":{mark.decode()}'.startswith(large.PAYLOAD_MARK + DIGEST)


@pytest.mark.parametrize("body", [b"null", b"1", b'"x"', b"{}", b'{"a":1}', b'{"dibs:kept":1,"b":2}'], ids=bytes.decode)
def test_other_values_are_kept_as_they_are(body: bytes) -> None:
    assert large.guarded(body) == body or body.startswith(b'{"dibs:kept"')
    assert large.kept_as(decode(large.guarded(body))) == decode(body)


@pytest.mark.parametrize(
    "value",
    [
        decode(large.mark(KEPT)),
        {"dibs:kept": 1},
        {"dibs:kept": {}},
        {"dibs:kept": {"digest": DIGEST}},
        {"dibs:kept": {"value": 1}},
        {"dibs:kept": {"value": {"dibs:kept": {"value": 2}}}},
        {"dibs:kept": 1, "more": 2},
    ],
    ids=str,
)
def test_a_value_that_looks_like_a_mark_is_wrapped_and_comes_back(value: Any) -> None:
    body = encode(value)
    kept = large.guarded(body)
    assert kept != body
    assert large.kept_as(decode(kept)) == value
    assert not isinstance(large.kept_as(decode(kept)), Kept)
    assert large.size_of(kept) == len(kept)


def test_what_is_no_mark_of_ours_stays_what_it_is() -> None:
    for value in ({"dibs:kept": 1}, {"dibs:kept": {"digest": DIGEST}}, [1], None):
        assert large.kept_as(value) is value


def test_large_begins_above_64_kib() -> None:
    assert not large.is_noticed(b"x" * 65_536)
    assert large.is_noticed(b"x" * 65_537)
    assert large.is_noticed(b'{"dibs:kept":1}')
    assert large.size_of(b"x" * 10) == 10


def test_the_digest_of_a_payload_is_found_in_its_specification() -> None:
    other = "sha256:" + "b" * 64
    mark, forged = large.mark(KEPT).decode(), large.mark(KEPT._replace(digest=other)).decode()
    assert large.payload_digests(f'{{"id":"x","payload":{mark}}}') == [DIGEST]
    assert large.payload_digests(f'{{"context":{{"payload":{forged}}},"payload":{mark}}}') == [other, DIGEST]
    assert large.payload_digests('{"id":"x","payload":{"dibs:kept":{"value":1}}}') == []
