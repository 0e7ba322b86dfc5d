"""What one task hands to the next."""

from __future__ import annotations

import pytest

from dibs.rules.handover import MAX_INPUT_BYTES, as_input


@pytest.mark.parametrize(("output", "value"), [(None, None), ("null", None), (b'{"a":[1]}', {"a": [1]}), ('"é"', "é")])
def test_an_output_is_handed_over_as_it_is(output: str | bytes | None, value: object) -> None:
    assert as_input("task_1", output) == value


@pytest.mark.parametrize("letter", ["a", "é", "€", "🙂"])
def test_a_large_output_is_named_instead_whether_text_or_bytes(letter: str) -> None:
    size = len(letter.encode())
    fits = '"' + letter * ((MAX_INPUT_BYTES - 2) // size) + '"'
    larger = '"' + letter * (MAX_INPUT_BYTES // size) + '"'
    for text in (fits, fits.encode()):
        assert as_input("task_1", text) == fits[1:-1]
    for text in (larger, larger.encode()):
        assert as_input("task_1", text) == {"ref": "task:task_1:output"}
