"""`make compare REF=main`: what users would notice since REF.

Runs the same programs with dibs as it was at REF and as it is in the working tree, on memory and SQLite (or the stores
that are named), and prints where they differ. Exits 1 if they do and nobody expected it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.versions import commit_of, python_of
from tests.compare.differences import Run, compare, read_expected, split, told
from tests.compare.program import STORES
from tests.compare.programs import PROGRAMS, chosen
from tests.servers.quick import place

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]


class Performance(NamedTuple):
    """Programs that run with one version on one store."""

    version: str
    store: str
    process: subprocess.Popen[bytes]
    out: Path
    programs: int


def main() -> int:
    """Run, compare, and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.compare", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("ref", help="a branch, a tag or a commit")
    parser.add_argument("--store", default="memory,sqlite", help=f"of {', '.join(STORES)}; default memory,sqlite")
    parser.add_argument("--expect", type=Path, metavar="FILE", help="differences that are meant, each with its line")
    parser.add_argument("--only", default="", metavar="A,B", help="kinds of programs, or kind and beginning of a name")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 2, metavar="N", help="so many processes at a time"
    )
    asked = parser.parse_args()
    stores = [store.strip() for store in asked.store.split(",") if store.strip()]
    if unknown := [store for store in stores if store not in STORES]:
        parser.error(f"--store: no {', '.join(unknown)}; there are {', '.join(STORES)}")
    if not any(chosen(store, asked.only) for store in stores):
        parser.error(f"--only: no program is '{asked.only}'; kinds are {', '.join(sorted({p.kind for p in PROGRAMS}))}")
    expected = read_expected(asked.expect, (ROOT / "CHANGELOG.md").read_text()) if asked.expect else []
    commit = commit_of(asked.ref)
    before = python_of(asked.ref, _say)
    began = time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dibs-compare-", dir=place())))
        runs = _perform(stack, folder, before, stores, asked.only, asked.jobs)
    found = compare(runs["before"], runs["now"])
    rest, met = split(found.differences, expected)
    print("\n".join(told(rest)), end="\n" if rest else "")
    for where, counted in ((f"only at {asked.ref}", found.only_before), ("only here", found.only_now)):
        if counted:
            print(f"{where}, so not compared: {', '.join(sorted(counted))}")
    unmet = [pattern for pattern, times in met.items() if not times]
    for pattern in unmet:
        print(f"expected, but nothing differs so: {pattern}")
    programs = len(runs["now"])
    print(
        f"{programs} programs on {', '.join(stores)}, {asked.ref} ({commit[:10]}) against the working tree:"
        f" {len(rest)} differences, {len(found.differences) - len(rest)} expected ({time.monotonic() - began:.0f} s)"
    )
    return 1 if rest or unmet else 0


def _perform(stack: ExitStack, folder: Path, before: Path, stores: list[str], only: str, jobs: int) -> dict[str, Run]:
    """Run all programs with both versions, so many processes at a time."""
    servers = {store: _server(stack, store) for store in stores}
    waiting = [
        (version, python, store)
        for store in sorted(stores, key=lambda store: len(chosen(store, only)), reverse=True)
        for version, python in (("before", before), ("now", Path(sys.executable)))
    ]
    runs: dict[str, Run] = {"before": {}, "now": {}}
    under_way: list[Performance] = []
    done = 0
    total = 2 * sum(len(chosen(store, only)) for store in stores)
    last_said = time.monotonic()
    while waiting or under_way:
        while waiting and len(under_way) < jobs:
            version, python, store = waiting.pop(0)
            under_way.append(_start(folder, version, python, store, servers[store], only))
        for each in [each for each in under_way if each.process.poll() is not None]:
            under_way.remove(each)
            if each.process.returncode:
                raise SystemExit(f"programs on {each.store} broke: {(folder / f'{each.out.name}.err').read_text()}")
            runs[each.version].update(_read(each.out))
            done += each.programs
        if time.monotonic() - last_said > 10:
            last_said = time.monotonic()
            written = sum(each.out.read_bytes().count(b"\n") for each in under_way if each.out.exists())
            _say(f"{done + written} of {total}")
        time.sleep(0.05)
    return runs


def _start(folder: Path, version: str, python: Path, store: str, server: str, only: str) -> Performance:
    out = folder / f"{version}-{store}"
    command = [
        *(str(python), "-m", "tests.compare.perform", "--store", store, "--server", server),
        *("--only", only, "--label", version, "--out", str(out)),
    ]
    # Not `src`: each version has its own dibs.
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0", "TMPDIR": str(folder)}
    with open(folder / f"{out.name}.err", "wb") as told_to:
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=told_to, stderr=told_to)
    return Performance(version, store, process, out, len(chosen(store, only)))


def _read(path: Path) -> Iterator[tuple[tuple[str, str, str], list[tuple[str, object]]]]:
    with path.open() as lines:
        for line in lines:
            kind, name, store, notes = json.loads(line)
            yield (kind, name, store), [(step, seen) for step, seen in notes]


def _server(stack: ExitStack, store: str) -> str:
    """Where stores are made, for those that need a server."""
    if store == "postgres":
        from tests.servers.postgres import private

        return stack.enter_context(private(fsync="off", full_page_writes="off", max_connections="200")).url()
    if store == "redis":
        from tests.servers.redis import private as private_redis

        return stack.enter_context(private_redis()).url()
    return ""


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
