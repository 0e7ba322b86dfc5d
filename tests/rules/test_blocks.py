"""A block is put once, replaced in place, and taken out without a trace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.rules import blocks

MARKS = blocks.MARKDOWN


@pytest.mark.parametrize("text", ["", "# Rules\n", "# Rules", "# Rules\n\n", "a\r\nb\r\n", "\ufeff# Rules\n", "\n"])
def test_taking_it_out_gives_back_what_was_there(text: str) -> None:
    with_it = blocks.put(text, "our\nwords", MARKS)
    assert with_it.startswith(text)
    assert blocks.put(with_it, "our\nwords", MARKS) == with_it
    # A text that did not end its last line ends it now: there is no telling afterwards.
    assert blocks.take_out(with_it, MARKS) in (text, f"{text}\n")


@given(st.text(alphabet="ab#\n\r<!->: ", max_size=40))
def test_whatever_is_there_stays(text: str) -> None:
    with_it = blocks.put(text, "words", MARKS)
    assert with_it.startswith(text)
    assert blocks.take_out(with_it, MARKS).rstrip("\r\n") == text.rstrip("\r\n")


def test_a_block_is_replaced_where_it_is() -> None:
    text = blocks.put("before\n", "old", MARKS) + "after\n"
    assert blocks.put(text, "new", MARKS) == text.replace("old", "new")
    assert blocks.take_out(text, MARKS) == "before\n\nafter\n"


def test_lines_end_as_they_do_in_the_text() -> None:
    with_it = blocks.put("a\r\n", "one\ntwo", MARKS)
    assert with_it == f"a\r\n\r\n{MARKS.begin}\r\none\r\ntwo\r\n{MARKS.end}\r\n"
    assert blocks.take_out(with_it, MARKS) == "a\r\n"


def test_marks_inside_a_line_or_without_an_end_are_no_block() -> None:
    for text in (
        f"see {MARKS.begin} here\n{MARKS.end}\n",
        f"{MARKS.begin}\nwords\n",
        f"{MARKS.begin} x\n{MARKS.end}\n",
    ):
        assert blocks.take_out(text, MARKS) == text


def test_a_block_may_end_with_the_text() -> None:
    assert blocks.take_out(f"a\n{MARKS.begin}\nx\n{MARKS.end}", MARKS) == "a\n"
