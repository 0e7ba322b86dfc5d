"""Where two versions differ: step by step, masked, told in lines that a person reads; and which of it was expected."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.compare.masks import Masks
from tests.compare.program import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Notes = list[tuple[str, Any]]
Run = dict[tuple[str, str, str], Notes]
"""Notes of each program: by kind, name and store."""

AROUND = 2
"""Lines shown around those that differ."""
SHOWN = 3
"""Steps of a program that are shown; what differs after them mostly follows."""


class Difference(NamedTuple):
    """A step of a program that both versions took, and that went another way."""

    kind: str
    program: str
    store: str
    step: str
    lines: tuple[str, ...]

    @property
    def changed(self) -> tuple[str, ...]:
        """The lines that are not around."""
        return tuple(line for line in self.lines if line[:1] in "+-")


class Compared(NamedTuple):
    """What came out: differences, and steps that only one version has, with how often."""

    differences: list[Difference]
    only_before: Counter[str]
    only_now: Counter[str]


class Expected(NamedTuple):
    """A difference that is meant, and its line of the changelog."""

    pattern: re.Pattern[str]
    line: str


def compare(before: Run, now: Run) -> Compared:
    """Compare the notes of each program."""
    differences: list[Difference] = []
    only_before: Counter[str] = Counter()
    only_now: Counter[str] = Counter()
    for key in [*before, *(key for key in now if key not in before)]:
        kind, name, store = key
        one, other = (Masks(exact=name.startswith("walk "), shared=kind == "http") for _ in range(2))
        before_steps = {step: one(seen) for step, seen in _named(before.get(key, []))}
        now_steps = {step: other(seen) for step, seen in _named(now.get(key, []))}
        for step in dict.fromkeys([*before_steps, *now_steps]):
            was, is_ = before_steps.get(step, ABSENT), now_steps.get(step, ABSENT)
            if was == is_:
                continue
            if ABSENT in (was, is_):
                (only_now if was == ABSENT else only_before)[f"{kind}: {re.sub(r'^[0-9]+ ', '', step)}"] += 1
                continue
            differences.append(Difference(kind, name, store, step, tuple(_lines(was, is_))))
    return Compared(differences, only_before, only_now)


def _named(notes: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Notes whose steps have names of their own."""
    times: Counter[str] = Counter()
    for step, seen in notes:
        times[step] += 1
        yield (step if times[step] == 1 else f"{step} ({times[step]})"), seen


def _lines(was: Any, is_: Any) -> Iterator[str]:
    """The lines that differ, with what is around them; what is deeper inside stands further right."""
    found = difflib.unified_diff(_told(was), _told(is_), lineterm="", n=AROUND)
    yield from (line for line in found if not line.startswith(("---", "+++", "@@")))


def _told(seen: Any) -> list[str]:
    text = seen if isinstance(seen, str) else json.dumps(seen, indent=2, ensure_ascii=False, sort_keys=True)
    return text.splitlines()


def read_expected(path: Path, changelog: str) -> list[Expected]:
    """Read a file of differences that are meant: `pattern  # line of the changelog`, one a line."""
    found: list[Expected] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, mark, reason = line.rpartition("  # ")
        if not mark or not pattern.strip():
            raise SystemExit(f"{path}:{number}: write `pattern  # its line of CHANGELOG.md`")
        if reason.strip() not in changelog:
            raise SystemExit(f"{path}:{number}: CHANGELOG.md does not say '{reason.strip()}'")
        try:
            found.append(Expected(re.compile(pattern.strip()), reason.strip()))
        except re.error as error:
            raise SystemExit(f"{path}:{number}: '{pattern.strip()}' is no pattern: {error}") from None
    return found


def split(differences: list[Difference], expected: list[Expected]) -> tuple[list[Difference], Counter[str]]:
    """Return those that nobody expected, and how often each pattern was met.

    A difference is expected when each of its changed lines has a pattern.
    """
    met: Counter[str] = Counter({each.pattern.pattern: 0 for each in expected})
    rest: list[Difference] = []
    for each in differences:
        found = [next((e.pattern.pattern for e in expected if e.pattern.search(line)), None) for line in each.changed]
        if None in found or not found:
            rest.append(each)
        else:
            met.update(pattern for pattern in set(found) if pattern is not None)
    return rest, met


def told(differences: list[Difference]) -> Iterator[str]:
    """Tell differences by kind and program; one that many programs show is told once."""
    of_kind: dict[str, dict[tuple[str, str], list[Difference]]] = {}
    for each in differences:
        of_kind.setdefault(each.kind, {}).setdefault((each.program, each.store), []).append(each)
    alike = Counter(_shape(each) for each in differences)
    for kind, programs in of_kind.items():
        yield f"== {kind}: {len(programs)} programs differ"
        seen: set[tuple[str, ...]] = set()
        passed_over = 0
        for (program, store), steps in programs.items():
            new = [each for each in steps if _shape(each) not in seen]
            if not new:
                passed_over += 1
                continue
            yield f"-- {program} ({store})"
            for each in new[:SHOWN]:
                seen.add(_shape(each))
                times = f"  [{alike[_shape(each)]} times in all]" if alike[_shape(each)] > 1 else ""
                yield f"   {each.step}{times}"
                yield from (f"     {line}" for line in each.lines)
            if len(new) > SHOWN:
                yield f"   … and {len(new) - SHOWN} steps more"
        if passed_over:
            yield f"   {passed_over} more programs differ in ways that are shown above"


def _shape(difference: Difference) -> tuple[str, ...]:
    return difference.changed
