"""`python -m tests.mutations`: sixty small changes of the code, each tried against the tests that name its topic.

What no test finds is equivalent, or a test is missing. `--tests REF` tries the tests of another commit on the same
changes: a smaller suite has to find as many.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

from tests.mutations import trial
from tests.mutations.areas import AREAS, EACH, draw
from tests.servers.quick import place

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.mutations.areas import Area, Mutation
    from tests.mutations.trial import Copy, Ran
    from tests.servers.postgres import Server

ROOT = Path(__file__).parents[2]

FOUND, HUNG, SURVIVED, OUT_OF_TIME, NOT_JUDGED = "found", "hung", "SURVIVED", "SURVIVED (out of time)", "not judged"


class Verdict(NamedTuple):
    """What became of a mutation. `by`: the test that found it, or why it was not judged."""

    word: str
    by: str
    seconds: float


def judge(ran: Ran, before: Ran) -> Verdict:
    """What a run says of its mutation; `before`: how the tests of its area ended without it."""
    failed = next(iter(ran.failed.items()), None)
    if ran.code == 5:
        return Verdict(NOT_JUDGED, "no test names its topic", ran.seconds)
    if before.code not in (0, 1):
        return Verdict(NOT_JUDGED, "without it the tests did not end", ran.seconds)
    if failed and failed[0] in before.failed:
        return Verdict(NOT_JUDGED, f"{failed[0]} fails without it", ran.seconds)
    if failed and "syntax error" in failed[1].lower().replace("syntaxerror", "syntax error"):
        return Verdict(NOT_JUDGED, f"it cannot be read: {failed[1]}", ran.seconds)
    if ran.hung:
        return Verdict(HUNG, ran.hung, ran.seconds)
    if failed:
        return Verdict(FOUND, failed[0], ran.seconds)
    if ran.code is None:
        return Verdict(OUT_OF_TIME, "", ran.seconds)
    # Pytest itself could not go on; without the change it could.
    return Verdict(FOUND, "(pytest ended)", ran.seconds) if ran.code else Verdict(SURVIVED, "", ran.seconds)


def try_all(
    root: Path,
    mutations: list[Mutation],
    areas: tuple[Area, ...],
    *,
    ref: str = "",
    jobs: int = 2,
    tell: Callable[[str], None] = lambda line: None,
) -> list[tuple[Mutation, Verdict]]:
    """Try every mutation, so many at a time, in the order given."""
    of_name = {area.name: area for area in areas if any(each.area == area.name for each in mutations)}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dibs-mutations-", dir=place())))
        server = _server(stack) if any(area.store == "postgres" for area in of_name.values()) else None
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(jobs):
            copies.put(trial.Copy(root, folder / str(number), ref))

        def before(area: Area) -> Ran:
            copy = copies.get()
            try:
                ran = trial.unchanged(copy, area, [each for each in mutations if each.area == area.name], _on(area))
            finally:
                copies.put(copy)
            tell(f"{area.name}: without a mutation {len(ran.failed)} tests fail, {ran.seconds:.0f} s")
            for test, error in ran.failed.items():
                tell(f"  {test}: {error}")
            return ran

        def attempt(mutation: Mutation) -> Ran:
            area, copy = of_name[mutation.area], copies.get()
            try:
                ran = trial.attempt(copy, area, mutation, _on(area))
            finally:
                copies.put(copy)
            ended = ", ".join(f"{test}: {error}" for test, error in ran.failed.items()) or ran.hung
            tell(f"{mutation.path}:{mutation.number}: {ended or 'no test failed'}, {ran.seconds:.0f} s")
            return ran

        def _on(area: Area) -> Server | None:
            return server if area.store == "postgres" else None

        with ThreadPoolExecutor(jobs) as pool:
            befores = {name: pool.submit(before, area) for name, area in of_name.items()}
            attempts = [pool.submit(attempt, each) for each in mutations]
            return [
                (each, judge(ran.result(), befores[each.area].result()))
                for each, ran in zip(mutations, attempts, strict=True)
            ]


def _server(stack: ExitStack) -> Server:
    from tests.servers.postgres import private

    # Nobody pulls the plug on it.
    return stack.enter_context(private(fsync="off", full_page_writes="off", max_connections="200"))


def table(judged: list[tuple[Mutation, Verdict]]) -> str:
    """What became of each, and the sums of each area."""
    lines: list[str] = []
    for each, verdict in judged:
        lines += [
            f"{each.path}:{each.number}  {verdict.word}  {verdict.seconds:.0f} s  {verdict.by}".rstrip(),
            f"    {each.change}",
        ]
    lines += ["", f"{'area':14} {'drawn':>6} {'found':>6} {'hung':>6} {'survived':>9} {'not judged':>11} {'s':>6}"]
    names = list(dict.fromkeys(each.area for each, _ in judged))
    for name in [*names, "all"]:
        verdicts = [verdict for each, verdict in judged if name in (each.area, "all")]
        words = Counter(verdict.word for verdict in verdicts)
        lines.append(
            f"{name:14} {len(verdicts):6} {words[FOUND] + words[HUNG]:6} {words[HUNG]:6}"
            f" {words[SURVIVED] + words[OUT_OF_TIME]:9} {words[NOT_JUDGED]:11}"
            f" {sum(verdict.seconds for verdict in verdicts):6.0f}"
        )
    return "\n".join([*lines, "Those that hung are among the found."])


def main() -> int:
    """Draw, try, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--only", metavar="AREA", choices=[area.name for area in AREAS], help="one area")
    parser.add_argument("--each", type=int, default=EACH, metavar="N", help="so many in each area")
    parser.add_argument("--list", action="store_true", help="print the mutations, try none")
    parser.add_argument("--tests", default="", metavar="REF", help="the tests and dibs.testing of that commit")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="so many at a time")
    parser.add_argument("--at-least", type=int, default=0, metavar="N", help="exit 1 if fewer are found")
    asked = parser.parse_args()
    areas = tuple(area for area in AREAS if asked.only in (None, area.name))
    mutations = [each for area in areas for each in draw(ROOT, area, asked.seed, asked.each)]
    if asked.list:
        print("\n".join(f"{each.path}:{each.number}\n    {each.change}" for each in mutations))
        return 0
    began = time.monotonic()
    judged = try_all(ROOT, mutations, areas, ref=asked.tests, jobs=asked.jobs, tell=_tell)
    print(table(judged))
    _tell(f"{time.monotonic() - began:.0f} s")
    found = sum(verdict.word in (FOUND, HUNG) for _, verdict in judged)
    return 1 if found < asked.at_least else 0


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
