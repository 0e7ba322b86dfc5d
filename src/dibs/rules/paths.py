"""Paths of files with wildcards: `*` and `?` stand for parts of a name, `**` for any number of folders."""

from __future__ import annotations

from fnmatch import fnmatchcase

WILD = "*?["


def parts_of(path: str) -> tuple[str, ...]:
    """The names of a path that begins with `/`."""
    return tuple(name for name in path.split("/") if name)


def root_of(pattern: str) -> str:
    """The folder below which everything lies that fits; the path itself, if it has no wildcards."""
    fixed = []
    for name in parts_of(pattern):
        if any(sign in name for sign in WILD):
            break
        fixed.append(name)
    return "/" + "/".join(fixed)


def may_be_below(folder: str, pattern: str) -> bool:
    """Whether something below this folder may fit."""
    names, wanted = parts_of(folder), parts_of(pattern)
    for place, name in enumerate(names):
        if place >= len(wanted):
            return False
        if wanted[place] == "**":
            return True
        if not fnmatchcase(name, wanted[place]):
            return False
    return len(wanted) > len(names)


def fits(path: str, pattern: str) -> bool:
    """Whether a path is what the pattern says."""
    return _fits(parts_of(path), parts_of(pattern))


def _fits(names: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    # Row by row: which beginnings of the path fit the first names of the pattern.
    reached = [True, *([False] * len(names))]
    for want in wanted:
        row = [want == "**" and reached[0]]
        for place, name in enumerate(names, 1):
            if want == "**":
                row.append(reached[place] or row[place - 1])
            else:
                row.append(reached[place - 1] and fnmatchcase(name, want))
        reached = row
    return reached[-1]
