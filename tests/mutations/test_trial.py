"""Mutations of a function in a made-up tree: what is found, what survives, what hangs, and what cannot be judged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.mutations import trial
from tests.mutations.__main__ import FOUND, HUNG, NOT_JUDGED, OUT_OF_TIME, SURVIVED, judge, table, try_all
from tests.mutations.areas import Area, Mutation, mutations_of
from tests.mutations.trial import Ran

ROOT = Path(__file__).parents[2]
SOURCE = "def positive(n):\n    if n < 0:\n        n = 0\n    return n\n"
AREA = Area("made up", ("src/small.py",), ("tests/test_small.py",), "memory")
GREEN = Ran({}, "", 0, 1.0)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with one function, tests of it, and what the tool brings along."""
    root = tmp_path / "tree"
    shutil.copytree(ROOT / "tests" / "mutations", root / "tests" / "mutations")
    shutil.copy(ROOT / "tests" / "selection.py", root / "tests")
    (root / "src").mkdir()
    (root / "src" / "small.py").write_text(SOURCE)
    (root / "tests" / "test_small.py").write_text(
        "from small import positive\n\n\n"
        "def test_what_is_below_zero_becomes_zero():\n    assert [positive(n) for n in (-2, 0, 3)] == [0, 0, 3]\n\n\n"
        "def test_of_postgres_is_not_asked(postgres_url):\n    raise NotImplementedError\n"
    )
    (root / "tests" / "test_other.py").write_text("def test_nobody_asked_for():\n    raise NotImplementedError\n")
    return root


def mutation(became: str) -> Mutation:
    [found] = [each for each in mutations_of("src/small.py", SOURCE, AREA.name) if each.became == became]
    return found


def test_a_change_is_found_by_its_test_and_one_that_changes_nothing_survives(tree: Path) -> None:
    changes = [mutation("n = 1"), mutation("if n <= 0:")]
    told: list[str] = []
    [(_, found), (_, survived)] = judged = try_all(tree, changes, (AREA,), tell=told.append)
    assert (found.word, found.by) == (FOUND, "tests/test_small.py::test_what_is_below_zero_becomes_zero")
    assert survived.word == SURVIVED
    assert (tree / "src" / "small.py").read_text() == SOURCE
    assert any(line.startswith("made up: without a mutation 0 tests fail") for line in told)
    lines = table(judged).splitlines()
    assert lines[1] == "    n = 0 → n = 1"
    assert lines[-2].split()[:6] == ["all", "2", "1", "0", "1", "0"]


def test_a_run_that_takes_too_long_is_ended(tree: Path) -> None:
    (tree / "tests" / "test_small.py").write_text("import time\n\n\ndef test_small():\n    time.sleep(100)\n")
    copy = trial.Copy(tree, tree.parent / "copy")
    ran = trial.attempt(copy, AREA, mutation("n = 1"), None, limit_s=3)
    assert ran.code is None
    assert ran.seconds < 60
    assert judge(ran, GREEN).word == OUT_OF_TIME
    assert (copy.root / "src" / "small.py").read_text() == SOURCE


@pytest.mark.parametrize(
    ("ran", "before", "word", "by"),
    [
        (Ran({"a": "Failed: Timeout (>25.0s) from pytest-timeout."}, "a", 1, 1), GREEN, HUNG, "a"),
        (Ran({}, "a", None, 60), GREEN, HUNG, "a"),
        (Ran({}, "", 3, 1), GREEN, FOUND, "(pytest ended)"),
        (Ran({}, "", 5, 1), GREEN, NOT_JUDGED, "no test names its topic"),
        (Ran({"a": "wrong"}, "", 1, 1), Ran({"a": "wrong"}, "", 1, 1), NOT_JUDGED, "a fails without it"),
        (Ran({"b": "wrong"}, "", 1, 1), Ran({"a": "wrong"}, "", 1, 1), FOUND, "b"),
        (Ran({"a": "wrong"}, "", 1, 1), Ran({}, "", None, 1), NOT_JUDGED, "without it the tests did not end"),
        (
            *(Ran({"a": 'PostgresSyntaxError: syntax error at "<"'}, "", 1, 1), GREEN, NOT_JUDGED),
            'it cannot be read: PostgresSyntaxError: syntax error at "<"',
        ),
    ],
)
def test_only_what_is_green_without_a_change_judges_it(ran: Ran, before: Ran, word: str, by: str) -> None:
    assert judge(ran, before)[:2] == (word, by)
