"""Changing the tags of a task."""

from __future__ import annotations

import pytest

from dibs.errors import Invalid
from dibs.rules.tagging import retagged


def test_tags_are_added_and_removed_and_stay_sorted() -> None:
    assert retagged(("b", "d"), ["c", "a"], ["d", "x"]) == ("a", "b", "c")
    assert retagged(("a",), ["b"], ["b"]) == ("a", "b")
    assert retagged((), (), ()) == ()


def test_there_may_be_a_hundred() -> None:
    many = [f"t{number:03}" for number in range(100)]
    assert retagged(many[:99], many, ()) == tuple(many)
    with pytest.raises(Invalid) as refused:
        retagged(many, ["one more"], ())
    assert refused.value.field == "add"
    assert "would have 101" in refused.value.message
