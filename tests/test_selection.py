"""One test, one topic, one store; and the cases of the suite that each target runs."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from dibs.testing.conformance import StoreConformance
from tests import selection

ROOT = Path(__file__).parents[1]


def marked(mark: str) -> set[str]:
    """The cases of the suite that have this mark."""
    return {
        name
        for name in dir(StoreConformance)
        if any(each.name == mark for each in getattr(getattr(StoreConformance, name), "pytestmark", ()))
    }


def collected(*arguments: str) -> Counter[str]:
    """How many cases of the suite each class has. Where there are two programs for Redis, a case makes two tests."""
    files = [f"tests/stores/test_conformance{end}.py" for end in ("", "_http")]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *files, *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        cwd=ROOT,
        check=False,
    )
    found = [line.split("::") for line in ran.stdout.splitlines() if line.count("::") == 2]
    return Counter(cls for cls, _ in {(cls, case.partition("[")[0]) for _, cls, case in found})


def test_a_topic_and_a_store_leave_nothing_else() -> None:
    assert set(collected("--topic", "tokens", "--store", "memory,sqlite")) == {
        "TestMemory",
        "TestSqlite",
        "TestHttpMemory",
        "TestHttpSqlite",
    }


def test_a_topic_has_its_stories_and_no_others() -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/doors", "--topic", "rates"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=ROOT, check=False)
    names = [line.partition("[")[2] for line in ran.stdout.splitlines() if "test_doors.py::" in line]
    assert len(names) > 1
    assert all(name.startswith("rates-") for name in names)


def test_targets_run_every_case_or_those_that_can_fail_there() -> None:
    few, all_of_them = collected("--topic", "documents"), collected("--topic", "documents", "--matrix")
    assert len(all_of_them) == 9
    assert set(all_of_them.values()) == {all_of_them["TestMemory"]}
    in_full = {"TestMemory", "TestSqlite", "TestPostgres", "TestRedis", "TestHttpSqlite"}
    assert {name for name, count in few.items() if count == all_of_them[name]} == in_full
    assert all(0 < few[name] < all_of_them[name] for name in all_of_them.keys() - in_full)


def test_over_a_hundred_cases_are_run_behind_every_door_and_on_a_cluster() -> None:
    assert len(marked("door") | marked("routing")) > 100
    assert marked("door") - marked("routing")
    assert marked("routing") - marked("door")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--store", "mongo"], "no mongo; there are memory, sqlite, postgres, redis"),
        (["--topic", "budgest"], "no test file has 'budgest' in its name; try budgetchanges, budgets"),
    ],
)
def test_a_store_or_topic_that_no_test_has_is_named(arguments: list[str], told: str) -> None:
    asked = dict(zip(arguments[::2], arguments[1::2], strict=True))

    class Asked:
        def getoption(self, name: str) -> str:
            return asked.get(name, "")

    with pytest.raises(pytest.UsageError, match=told):
        selection.check_options(Asked())  # type: ignore[arg-type]


def test_files_of_other_topics_are_not_even_read() -> None:
    assert selection.is_left_out(Path("tests/rules/test_retry.py"), "budgets")
    assert not selection.is_left_out(Path("tests/rules/test_budgets.py"), "budgets")
    assert not selection.is_left_out(Path("tests/stores/test_conformance_http.py"), "budgets")
    assert selection.is_left_out(Path("tests/stores/test_conformance.py"), "postgres_plans")
    assert not selection.is_left_out(Path("tests/rules/test_retry.py"), "")
