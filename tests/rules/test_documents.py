"""Small values with versions: what may be written, and what a write that expects another version is told."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Conflict, Invalid
from dibs.rules import documents


def test_a_version_counts_up_and_ends_with_the_document() -> None:
    assert documents.next_version(0, None, "a", removes=False, now=50) == 50
    assert documents.next_version(0, 0, "a", removes=False, now=0) == 1
    assert documents.next_version(7, 7, "a", removes=False, now=50) == 8
    assert documents.next_version(7, None, "a", removes=True, now=50) == 0
    assert documents.next_version(0, None, "a", removes=True, now=50) == 0


@pytest.mark.parametrize(
    ("version", "expected", "said"),
    [
        (2, 1, "a has version 2, and version 1 was expected: read it again."),
        (2, 0, "a has version 2, and none was expected: read it again."),
        (0, 3, "a does not exist, and version 3 was expected: read it again."),
    ],
)
def test_another_version_than_expected_is_a_conflict(version: int, expected: int, said: str) -> None:
    with pytest.raises(Conflict) as caught:
        documents.next_version(version, expected, "a", removes=False, now=50)
    assert (caught.value.message, caught.value.code, caught.value.field) == (said, "version_conflict", "expected")


@pytest.mark.parametrize("body", [None, b"", b"x" * documents.MAX_BODY_BYTES])
@pytest.mark.parametrize("expected", [None, 0, 5])
def test_what_fits_may_be_written(body: bytes | None, expected: int | None) -> None:
    documents.check("kind", "n" * 200, body, expected)


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("kind", ("", "a", b"", None)),
        ("name", ("kind", "", b"", None)),
        ("name", ("kind", "n" * 201, b"", None)),
        ("name", ("kind", 5, b"", None)),
        ("body", ("kind", "a", "text", None)),
        ("body", ("kind", "a", b"x" * (documents.MAX_BODY_BYTES + 1), None)),
        ("expected", ("kind", "a", b"", -1)),
        ("expected", ("kind", "a", b"", "1")),
    ],
)
def test_what_does_not_is_refused_and_named(field: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(Invalid) as caught:
        documents.check(*arguments)
    assert caught.value.field == field
