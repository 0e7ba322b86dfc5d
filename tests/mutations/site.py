"""A place where source can be changed a little, and what both languages need to find such places."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Site(NamedTuple):
    """One small change. `start` and `end` are offsets in characters, both on one line."""

    kind: str
    start: int
    end: int
    after: str
    within: str = ""
    """The function that it is in."""


def changed(source: str, site: Site) -> str:
    """The source with this change made."""
    return source[: site.start] + site.after + source[site.end :]


def line_of(source: str, offset: int) -> tuple[int, str]:
    """The number and the text of the line at an offset."""
    first = source.rfind("\n", 0, offset) + 1
    last = source.find("\n", first)
    return source.count("\n", 0, offset) + 1, source[first : last if last >= 0 else len(source)].strip()


def only_real(source: str, sites: Iterable[Site]) -> list[Site]:
    """Those that change one line, in the order of the text, each change once."""
    found: dict[tuple[int, int, str], Site] = {}
    for site in sites:
        before = source[site.start : site.end]
        if "\n" not in before and before != site.after:
            found.setdefault((site.start, site.end, site.after), site)
    return [found[key] for key in sorted(found)]
