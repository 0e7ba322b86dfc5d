"""No verb enters more of dibs than it may, on any store. And what a verb enters is counted right."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from dibs.sync import drive
from tests.architecture import bounds, tracer
from tests.architecture.tracer import Entered

if TYPE_CHECKING:
    from pathlib import Path


def check(store: str, url: str) -> None:
    entered = tracer.trace(store, url)
    above = bounds.excesses(tracer.by_name({(verb, store): found for verb, found in entered.items()}), bounds.read())
    assert not above, "\n".join(above)


def test_memory_enters_no_more_than_it_may() -> None:
    check("memory", "memory:")


def test_sqlite_enters_no_more_than_it_may(tmp_path: Path) -> None:
    check("sqlite", f"sqlite:{tmp_path}/dibs.db")


def test_postgres_enters_no_more_than_it_may(postgres_url: str) -> None:
    check("postgres", postgres_url)


def test_redis_enters_no_more_than_it_may(redis_url: str) -> None:
    check("redis", redis_url)


def test_there_is_no_bound_for_what_is_not_traced() -> None:
    """All stores have the verbs of the memory store; SQLite has an HTTP server before it, too."""
    verbs = tracer.trace("memory", "memory:")
    traced = {f"{verb}.{store}" for verb in verbs for store in tracer.STORES} | {"http-claim.sqlite"}
    assert {name.rpartition(".")[0] for name in bounds.read().bounds if "." in name} == traced


# Counting

MADE_UP = """\
def leaf(x):
    return x

def verb(n):
    return [leaf(x) for x in range(n)], {leaf(x) for x in range(n)}, sum(leaf(x) for x in range(n)), (lambda: leaf(1))()

async def waits():
    await also()

async def also():
    return verb(2)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Functions of a package that is traced in place of dibs."""
    monkeypatch.setattr(tracer, "HOME", f"{tmp_path}/")
    monkeypatch.setattr(tracer, "FOR_TESTS", f"{tmp_path}/testing/")
    made: dict[str, Any] = {}
    exec(compile(MADE_UP, f"{tmp_path}/verbs.py", "exec"), made)
    exec(compile("def other(f):\n    return f(3)\n", f"{tmp_path}/other.py", "exec"), made)
    exec(compile("def clock():\n    return 1\n", f"{tmp_path}/testing/clock.py", "exec"), made)
    return made


def test_comprehensions_and_lambdas_are_no_functions(package: dict[str, Any]) -> None:
    assert watched(lambda: package["verb"](3)) == Entered(files=1, functions=2)


def test_functions_of_several_files_are_counted_once_each(package: dict[str, Any]) -> None:
    assert watched(lambda: package["other"](package["verb"])) == Entered(files=2, functions=3)


def test_coroutines_are_functions(package: dict[str, Any]) -> None:
    assert watched(lambda: drive(package["waits"]())) == Entered(1, 4)


def test_what_is_for_tests_and_what_is_not_dibs_does_not_count(package: dict[str, Any]) -> None:
    assert watched(lambda: (package["clock"](), sorted([2, 1]), str(bounds.Grant("a", 1, "b")))) == Entered(0, 0)


def test_a_watch_leaves_the_profiler_as_it_was(package: dict[str, Any]) -> None:
    before = sys.getprofile()
    watched(lambda: package["verb"](3))
    assert sys.getprofile() is before


def watched(call: Any) -> Entered:
    with tracer.Watch() as watch:
        call()
    return watch.entered()
