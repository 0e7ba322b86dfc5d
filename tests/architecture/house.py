"""How large the house is: figures of `src/dibs` that are to fall, and what a store must implement.

Counted is what there is at run time: all of `src/dibs` but `src/dibs/testing`, which only tests import. Statements are
nodes of the syntax tree, docstrings and other bare strings left out; so neither prose nor layout counts as code. By
these definitions 18 November had the 49,702 statements, 90,498 lines and 161 files under 60 lines that were written
down then.
"""

from __future__ import annotations

import ast
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, NamedTuple

import dibs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HOME = Path(dibs.__file__).parent
FOR_TESTS = "testing"
SMALL = 60
"""A file with fewer lines is small: half of it is header."""

CONTRACT = "dibs.stores.contract:Store"
STORES = (
    "dibs.stores.memory:MemoryStore",
    "dibs.stores.sqlite:SqliteStore",
    "dibs.stores.postgres:PostgresStore",
    "dibs.stores.redis:RedisStore",
)


class Figure(NamedTuple):
    """What a figure was on 18 November, and what it should become. `bounds.toml` says what it counts."""

    november: int
    goal: int | None = None


FIGURES = {
    "statements": Figure(49_702, 40_000),
    "lines": Figure(90_498, 74_000),
    "files": Figure(664, 330),
    "small_files": Figure(161),
    "class_names_twice": Figure(78, 0),
    "modules_in_ing": Figure(175),
    "files_naming_set_rate": Figure(14, 6),
    "sql_lines": Figure(8_799),
    "lua_lines": Figure(532),
    "store_methods": Figure(95, 16),
}


def figures(home: Path = HOME) -> dict[str, int]:
    """The figures of a package in this folder, all but `store_methods`."""
    found = dict.fromkeys(FIGURES, 0)
    del found["store_methods"]
    classes: Counter[str] = Counter()
    for path in _files(home, "*.py"):
        text = path.read_text("utf-8")
        nodes = list(ast.walk(ast.parse(text)))
        found["files"] += 1
        found["lines"] += text.count("\n")
        found["statements"] += sum(isinstance(node, ast.stmt) and not _is_prose(node) for node in nodes)
        found["small_files"] += text.count("\n") < SMALL and path.name != "__init__.py"
        found["modules_in_ing"] += path.stem.endswith("ing")
        found["files_naming_set_rate"] += "set_rate" in text
        classes.update(node.name for node in nodes if isinstance(node, ast.ClassDef))
    found["class_names_twice"] = sum(count > 1 for count in classes.values())
    for language in ("sql", "lua"):
        found[f"{language}_lines"] = sum(path.read_text("utf-8").count("\n") for path in _files(home, f"*.{language}"))
    return found


def _files(home: Path, pattern: str) -> Iterator[Path]:
    return (path for path in home.rglob(pattern) if path.relative_to(home).parts[0] != FOR_TESTS)


def _is_prose(node: ast.stmt) -> bool:
    """Whether it is a docstring or another string that nobody uses."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def store_methods() -> set[str]:
    """Names of the methods that somebody has to write who adds a store to dibs."""
    return to_implement(_named(CONTRACT), [_named(store) for store in STORES])


def to_implement(contract: type, stores: Iterable[type]) -> set[str]:
    """The methods of a contract that no base class shared by all of its stores gives, and the abstract ones.

    A protocol gives nothing, so all of its methods count. Where the contract is a base class, or the stores share one,
    the abstract methods of it are left, and those of the protocol that it lacks.
    """
    orders = [store.__mro__ for store in stores]
    shared = [cls for cls in orders[0] if cls is not object and all(cls in order for order in orders)]
    is_protocol = getattr(contract, "_is_protocol", False)
    wanted = set(_methods(contract)) if is_protocol else set()
    given: set[str] = set()
    for cls in shared:
        if is_protocol and cls is contract:
            continue
        for name, is_abstract in _methods(cls).items():
            (wanted if is_abstract else given).add(name)
    return wanted - given


def _methods(cls: type) -> dict[str, bool]:
    """The methods and properties that are written in a class, and whether each is abstract."""
    return {
        name: getattr(member, "__isabstractmethod__", False)
        for name, member in vars(cls).items()
        if isinstance(member, FunctionType | property | classmethod | staticmethod) and not name.startswith("__")
    }


def _named(path: str) -> type:
    module, _, name = path.partition(":")
    found: type = getattr(import_module(module), name)
    return found
