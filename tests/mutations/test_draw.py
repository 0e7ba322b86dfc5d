"""Which changes are drawn: the same again, and nearly the same after an edit elsewhere."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.mutations.areas import AREAS, Area, draw, files_of, unnamed

ROOT = Path(__file__).parents[2]
TOPIC = Area("made up", ("*.py",), (), "")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for number in range(12):
        functions = (f"def f{each}(n):\n    return n < a < b < c < d < e + {each} and not g(n)\n" for each in range(5))
        (tmp_path / f"f{number}.py").write_text("\n".join(functions))
    return tmp_path


def test_a_draw_is_repeatable_and_every_seed_has_its_own(tree: Path) -> None:
    assert draw(tree, TOPIC, 1) == draw(tree, TOPIC, 1)
    assert draw(tree, TOPIC, 1) != draw(tree, TOPIC, 2)


def test_an_edit_moves_only_what_it_touches(tree: Path) -> None:
    before = draw(tree, TOPIC, 1)
    edited = next(f"f{number}.py" for number in range(12) if all(each.path != f"f{number}.py" for each in before))
    path = tree / before[0].path
    # Other lines, above: it is the same change, further down.
    path.write_text("# A comment.\nX = y\n\n" + path.read_text())
    (tree / edited).write_text("X = y\n")
    assert [(each.path, each.change) for each in draw(tree, TOPIC, 1)] == [(each.path, each.change) for each in before]
    (tree / before[0].path).unlink()
    after = draw(tree, TOPIC, 1)
    assert len(set(after) & set(before)) >= 8


def test_a_draw_is_of_many_files_and_kinds(tree: Path) -> None:
    drawn = draw(tree, TOPIC, 1)
    assert len({each.path for each in drawn}) == 10
    assert max(Counter(each.site.kind for each in drawn).values()) == 3
    for number in range(1, 12):
        (tree / f"f{number}.py").unlink()
    assert len(set(draw(tree, TOPIC, 1))) == 10


def test_areas_have_files_and_every_file_has_tests_that_name_its_topic() -> None:
    assert all(len(files_of(ROOT, area)) > 10 for area in AREAS)
    assert unnamed(ROOT) == []


def test_a_file_is_of_one_area() -> None:
    files = Counter(path for area in AREAS for path in files_of(ROOT, area))
    assert {path for path, times in files.items() if times > 1} == set()
