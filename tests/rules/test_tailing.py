"""What is new in a log of which only the end is kept."""

from __future__ import annotations

import pytest

from dibs.rules.tailing import unseen


@pytest.mark.parametrize(
    ("before", "now", "new"),
    [
        ("", "", ""),
        ("", "ab", "ab"),
        ("ab", "ab", ""),
        ("ab", "abc", "c"),
        ("abc", "bcd", "d"),
        ("abc", "xyz", "xyz"),
        ("aaa", "aaab", "b"),
        ("aab", "aba", "a"),
        ("abc", "c", ""),
        ("abcabc", "bcabcd", "d"),
    ],
)
def test_only_what_came_since_is_new(before: str, now: str, new: str) -> None:
    assert list(unseen(list(before), list(now))) == list(new)
