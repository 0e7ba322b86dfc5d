"""The house does not grow: each figure is at most its bound and what was granted. And this net holds something back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from textwrap import dedent
from typing import TYPE_CHECKING, Protocol

import pytest

from tests.architecture import bounds, house

if TYPE_CHECKING:
    from pathlib import Path


@cache
def today() -> dict[str, int]:
    return {**house.figures(), "store_methods": len(house.store_methods())}


@pytest.mark.parametrize("figure", house.FIGURES)
def test_no_figure_is_above_its_bound_and_grants(figure: str) -> None:
    above = bounds.excesses({figure: today()[figure]}, bounds.read())
    assert not above, "\n".join(above)


def test_no_bound_is_above_the_figure_of_november() -> None:
    """What a capability needs is granted, with its row; a bound is never raised."""
    found = bounds.read().bounds
    assert {name: about.november for name, about in house.FIGURES.items() if found[name] > about.november} == {}


# A small package that somebody made up


@pytest.fixture
def package(tmp_path: Path) -> Path:
    files = {
        "__init__.py": '"""A package."""\n',
        "claiming.py": '"""Claims."""\n\nLIMIT = 3\n"""How many."""\n\n\nclass Line:\n    """A line."""\n\n    x = 1\n',
        "rates.py": "class Rate:\n    class Line:\n        pass\n\n\ndef set_rate():\n    return 1\n",
        "stores/claim.sql": "SELECT 1;\nSELECT 2;\n",
        "stores/claim.lua": "return 1\n",
        "testing/conformance/kit.py": "class Rate:\n    x = 1\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_figures_of_a_package_leave_out_prose_and_what_is_for_tests(package: Path) -> None:
    assert house.figures(package) == {
        "statements": 3 + 5,
        "lines": 1 + 10 + 7,
        "files": 3,
        "small_files": 2,
        "class_names_twice": 1,
        "modules_in_ing": 1,
        "files_naming_set_rate": 1,
        "sql_lines": 2,
        "lua_lines": 1,
    }


def test_a_second_class_of_a_name_is_found(package: Path) -> None:
    allowed = bounds.read("[house]\nclass_names_twice = 1")
    assert excesses(package, allowed, "class_names_twice") == []
    (package / "providers.py").write_text("class Rate: ...\n")
    assert (
        "class_names_twice is 2, which is 1 above its bound of 1" in excesses(package, allowed, "class_names_twice")[0]
    )


def test_what_is_above_its_bound_is_told_what_to_do(package: Path) -> None:
    [told] = excesses(package, bounds.read("[house]\nstatements = 6"), "statements")
    assert told.startswith("statements is 8, which is 2 above its bound of 6. Make it smaller; or")
    assert told.endswith('[[grants]]\nfigure = "statements"\nby = 2\nfor = "NNN §x.y what"')


def test_a_grant_allows_as_much_as_it_says(package: Path) -> None:
    [told] = excesses(package, granting(1), "statements")
    assert told.startswith("statements is 8, which is 1 above its bound of 6 and the 1 granted.")
    assert excesses(package, granting(2), "statements") == []
    assert excesses(package, granting(1, 1), "statements") == []


def test_a_figure_without_a_bound_is_above_it(package: Path) -> None:
    assert excesses(package, bounds.read(""), "files") == ["files is 3 and has no bound: write it into bounds.toml."]


@pytest.mark.parametrize(
    "entry",
    [
        'figure = "statements"\nby = 2',
        'figure = "statements"\nby = 2\nfor = " "',
        'figure = "statements"\nby = -2\nfor = "001 §1 a"',
        'figure = "statements"\nby = 2\nfor = "001 §1 a"\nuntil = "December"',
        'figure = "statments"\nby = 2\nfor = "001 §1 a"',
    ],
)
def test_a_grant_needs_a_figure_a_number_and_a_row(entry: str) -> None:
    with pytest.raises(ValueError, match=r"bounds\.toml: a grant is"):
        bounds.read(f"[house]\nstatements = 6\n[[grants]]\n{entry}")


def excesses(package: Path, allowed: bounds.Bounds, figure: str) -> list[str]:
    return bounds.excesses({figure: house.figures(package)[figure]}, allowed)


def granting(*grants: int) -> bounds.Bounds:
    entries = [f'[[grants]]\nfigure = "statements"\nby = {by}\nfor = "001 §{by} a row"\n' for by in grants]
    return bounds.read("[house]\nstatements = 6\n" + "".join(entries))


# Tightening

LOOSE = dedent("""\
    # Files = 3 is not a bound.
    [house]
    statements = 10_000  # of code
    files = 7

    [entered.add]
    memory = { files = 27, functions = 70 }

    [[grants]]
    figure = "files"
    by = 2
    for = "001 §1 more"
    """)


def test_bounds_fall_to_the_figures_and_comments_stay() -> None:
    found = bounds.tightened(LOOSE, {"statements": 9_999, "add.memory.files": 20, "add.memory.functions": 70})
    assert found == LOOSE.replace("10_000", "9_999").replace("files = 27", "files = 20")


def test_bounds_never_rise() -> None:
    assert bounds.tightened(LOOSE, {"statements": 10_001, "files": 9, "add.memory.files": 28}) == LOOSE


def test_what_was_granted_is_not_in_the_bound() -> None:
    assert bounds.tightened(LOOSE, {"files": 6}) == LOOSE.replace("files = 7", "files = 4")


# What a store must implement


class Contract(Protocol):
    @property
    def clock(self) -> int: ...
    async def claim(self) -> int: ...
    async def news(self) -> int: ...


class Engine(ABC):
    @abstractmethod
    def _step(self) -> int: ...

    async def claim(self) -> int:
        return self._step()


class Memory(Engine):
    clock = 1

    def _step(self) -> int:
        return 1

    async def news(self) -> int:
        return 1


class Redis(Memory):
    async def claim(self) -> int:
        return 2


class Alone:
    clock = 1

    async def claim(self) -> int:
        return 1

    async def news(self) -> int:
        return 1


def test_stores_that_share_no_base_implement_the_whole_contract() -> None:
    assert house.to_implement(Contract, [Memory, Alone]) == {"clock", "claim", "news"}


def test_stores_on_one_base_implement_its_abstract_methods_and_what_it_lacks() -> None:
    class Other(Engine):
        def _step(self) -> int:
            return 3

    assert house.to_implement(Contract, [Memory, Redis, Other]) == {"_step", "clock", "news"}


def test_a_contract_that_is_the_base_asks_for_its_abstract_methods() -> None:
    assert house.to_implement(Engine, [Memory, Redis]) == set()
    assert house.to_implement(Engine, [type("One", (Engine,), {}), type("Two", (Engine,), {})]) == {"_step"}
