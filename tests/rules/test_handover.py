"""What one task hands to the next."""

from __future__ import annotations

import pytest

from dibs.rules.handover import MAX_INPUT_BYTES, as_input, by_name


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


def test_inputs_are_named_by_ref_else_by_id() -> None:
    parents = [("task_1", "a", "1"), ("task_2", None, "2"), ("task_3", "", None)]
    assert by_name(parents) == {"a": 1, "task_2": 2, "task_3": None}


def test_of_several_tasks_with_one_ref_the_first_has_it() -> None:
    parents = [("task_2", "a", "2"), ("task_1", "a", "1"), ("task_3", "a", "3")]
    assert by_name(parents) == {"a": 2, "task_1": 1, "task_3": 3}


def test_a_task_that_is_named_twice_is_one_input() -> None:
    assert by_name([("task_1", "a", "1"), ("task_2", "b", "2"), ("task_1", "a", "1")]) == {"a": 1, "b": 2}


def test_no_ref_takes_the_place_of_another_tasks_id() -> None:
    parents = [("task_1", "task_2", "1"), ("task_2", None, "2"), ("task_3", "task_3", "3")]
    assert by_name(parents) == {"task_1": 1, "task_2": 2, "task_3": 3}


def test_nothing_before_gives_no_inputs() -> None:
    assert by_name([]) == {}
