"""Select tests: by store and topic (`--store postgres --topic budgets`), and the cases of the suite that a target runs.

A test is of a topic when the file it is written in has the topic in its name, a story of the doors when the story's
file has; of a store when its file, class, fixtures or parameters name the store. The conformance suite runs in full on
each store and over HTTP on SQLite. Over HTTP on the other stores, and on a cluster, it runs the cases that can fail
there although the others pass: those marked `door` (a server stands between client and store) and `routing` (a cluster
decides where a key lies).
`--matrix` runs every case on every target.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Collection

STORES = ("memory", "sqlite", "postgres", "redis")
TESTS = Path(__file__).parent
SUITE = TESTS.parent / "src" / "dibs" / "testing" / "conformance"
DOORS = TESTS / "doors" / "test_doors.py"
STORIES = TESTS / "doors" / "stories"


def add_options(parser: pytest.Parser) -> None:
    """Add --store, --topic and --matrix to pytest."""
    group = parser.getgroup("dibs")
    group.addoption("--store", default="", metavar="A,B", help=f"only tests on these stores: {', '.join(STORES)}")
    group.addoption("--topic", default="", metavar="WORD", help="only tests whose file has this word in its name")
    group.addoption("--matrix", action="store_true", help="every conformance case on every target")


def check_options(config: pytest.Config) -> None:
    """Refuse a store or topic that no test has."""
    unknown = [store for store in stores_asked_for(config) if store not in STORES]
    if unknown:
        raise pytest.UsageError(f"--store: no {', '.join(unknown)}; there are {', '.join(STORES)}")
    topic = config.getoption("--topic")
    if topic and not any(topic in stem for stem in topics()):
        near = ", ".join(sorted(stem for stem in topics() if stem[:3] == topic[:3])) or "budgets, claiming, locks …"
        raise pytest.UsageError(f"--topic: no test file has '{topic}' in its name; try {near}")


def stores_asked_for(config: pytest.Config) -> list[str]:
    """The stores that --store names."""
    return [store.strip() for store in str(config.getoption("--store")).split(",") if store.strip()]


def topics() -> set[str]:
    """Names of test files without `test_`, those of the conformance suite and of stories among them."""
    files = {path.stem.removeprefix("test_") for path in TESTS.rglob("test_*.py")}
    return files | suite_topics() | story_topics()


def suite_topics() -> set[str]:
    """Names of the files of the conformance suite."""
    return {path.stem for path in SUITE.glob("*.py")} - {"__init__", "suite", "topic"}


def story_topics() -> set[str]:
    """Names of the files of stories."""
    return {path.stem for path in STORIES.glob("*.py")}


def is_left_out(path: Path, topic: str) -> bool:
    """Whether no test of this file can be of the topic."""
    if not topic or path.suffix != ".py" or not path.name.startswith("test_") or topic in path.stem:
        return False
    if path == DOORS:
        return not any(topic in each for each in story_topics())
    has_suite = path.stem.startswith("test_conformance")
    return not (has_suite and any(topic in each for each in suite_topics()))


def is_of_topic(path: Path, function: object, topic: str) -> bool:
    """Whether a test is written in a file of the topic."""
    if path == DOORS:
        return any(topic in each for each in story_topics())
    return topic in path.stem or topic in str(getattr(function, "__module__", "")).rpartition(".")[2]


def is_story_of_another(item: pytest.Item, topics: Collection[str]) -> bool:
    """Whether a test is a story, and of none of these topics: its id begins with the name of its file."""
    name = getattr(getattr(item, "callspec", None), "id", "").partition("-")[0]
    return item.path == DOORS and not any(topic in name for topic in topics)


def stores_in(*names: str) -> set[str]:
    """Return the stores that these names contain."""
    words = " ".join(names).lower()
    return {store for store in STORES if store in words}


def stores_of(item: pytest.Item) -> set[str]:
    """Return the stores that a test's file, class, fixtures and parameters name."""
    cls = getattr(item, "cls", None)
    parameters = getattr(getattr(item, "callspec", None), "id", "")
    return stores_in(item.path.stem, cls.__name__ if cls else "", parameters, *getattr(item, "fixturenames", ()))


def is_selected(item: pytest.Item) -> bool:
    """Whether a test is of the store and topic that were asked for."""
    stores, topic = set(stores_asked_for(item.config)), item.config.getoption("--topic")
    is_wanted = not topic or (
        is_of_topic(item.path, getattr(item, "function", None), topic) and not is_story_of_another(item, [topic])
    )
    return is_wanted and (not stores or bool(stores & stores_of(item)))


def is_passed_over(collector: Any, name: str, found: object) -> bool:
    """Whether nothing need be made of a class or function: it is of another store or topic, or left to other targets.

    The suite has over a thousand cases for each target, and making a test of each takes seconds.
    """
    config = collector.config
    if isinstance(found, type):
        stores, named = stores_asked_for(config), stores_in(name)
        return name.startswith("Test") and bool(stores and named) and not named & set(stores)
    if not name.startswith("test_") or not callable(found):
        return False
    topic = config.getoption("--topic")
    if topic and not is_of_topic(collector.path, found, topic):
        return True
    cases = None if config.getoption("--matrix") else getattr(collector.obj, "cases", None)
    return cases is not None and all(mark.name != cases for mark in getattr(found, "pytestmark", ()))
