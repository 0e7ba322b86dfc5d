"""Paths with wildcards."""

from __future__ import annotations

import pytest

from dibs.rules import paths


@pytest.mark.parametrize(
    ("path", "pattern", "fits"),
    [
        ("/srv/a.md", "/srv/a.md", True),
        ("/srv/a.md", "/srv/*.md", True),
        ("/srv/x/a.md", "/srv/*.md", False),
        ("/srv/x/a.md", "/srv/**/*.md", True),
        ("/srv/a.md", "/srv/**/*.md", True),
        ("/srv/x/y/z/a.md", "/srv/**/*.md", True),
        ("/srv/x/y/z/a.md", "/srv/**/y/*/a.md", True),
        ("/srv/x/a.txt", "/srv/**/*.md", False),
        ("/srv/x", "/srv/**", True),
        ("/srv/a1", "/srv/a?", True),
        ("/srv/a1", "/srv/a", False),
        ("/srv", "/srv/a", False),
    ],
)
def test_a_path_fits_name_by_name(path: str, pattern: str, fits: bool) -> None:
    assert paths.fits(path, pattern) is fits


def test_a_pattern_of_many_stars_is_read_quickly() -> None:
    assert not paths.fits("/a" * 60 + "/b", "/**/a" * 30 + "/c")


@pytest.mark.parametrize(
    ("pattern", "root"),
    [("/srv/docs/*.md", "/srv/docs"), ("/srv/a.md", "/srv/a.md"), ("/**/x", "/"), ("/srv/[ab]/x", "/srv")],
)
def test_the_root_is_what_has_no_wildcards(pattern: str, root: str) -> None:
    assert paths.root_of(pattern) == root


@pytest.mark.parametrize(
    ("folder", "pattern", "may"),
    [
        ("/srv", "/srv/*.md", True),
        ("/srv/x", "/srv/*.md", False),
        ("/srv/x", "/srv/*/a.md", True),
        ("/srv/y", "/srv/x*/a.md", False),
        ("/srv/x/y/z", "/srv/**/*.md", True),
        ("/srv/a.md/b", "/srv/a.md", False),
    ],
)
def test_folders_that_cannot_hold_what_fits_are_left_alone(folder: str, pattern: str, may: bool) -> None:
    assert paths.may_be_below(folder, pattern) is may
