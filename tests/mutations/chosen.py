"""What pytest is given with a mutation: only tests of its topics, nearest first, and each noted as it begins and ends.

A plugin of the run that tries a mutation; it is also run with the tests of older commits. The notes are lines of JSON,
written at once, so that they are complete when the run has to be killed.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests import selection

if TYPE_CHECKING:
    from pathlib import Path

TOPICS, STORE, NOTES = "DIBS_MUTATION_TOPICS", "DIBS_MUTATION_STORE", "DIBS_MUTATION_NOTES"

_topics = os.environ.get(TOPICS, "").split()
_store = os.environ.get(STORE, "")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return all(selection.is_left_out(collection_path, topic) for topic in _topics) or None


def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> list[pytest.Item] | None:
    if isinstance(obj, type):
        stores = selection.stores_in(name)
        return [] if name.startswith("Test") and _store and stores and _store not in stores else None
    is_test = name.startswith("test_") and callable(obj)
    return [] if is_test and _nearness(collector.path, obj) == len(_topics) else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    others = [item for item in items if _is_of_another_store(item) or selection.is_story_of_another(item, _topics)]
    if others:
        config.hook.pytest_deselected(items=others)
    items[:] = sorted((item for item in items if item not in others), key=_nearness_of)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _note(failed=report.nodeid, error=_last_line(report.longrepr))


def pytest_runtest_logstart(nodeid: str) -> None:
    _note(began=nodeid, at=time.time())


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _note(failed=report.nodeid, error=_last_line(report.longrepr))


def _nearness_of(item: pytest.Item) -> int:
    return _nearness(item.path, getattr(item, "function", None))


def _nearness(path: Path, function: object) -> int:
    near = (place for place, topic in enumerate(_topics) if selection.is_of_topic(path, function, topic))
    return next(near, len(_topics))


def _is_of_another_store(item: pytest.Item) -> bool:
    stores = selection.stores_of(item)
    return bool(_store and stores and _store not in stores)


def _last_line(words: object) -> str:
    crash = getattr(words, "reprcrash", None)
    return str(crash.message if crash else words).strip().splitlines()[0] if words else ""


def _note(**what: Any) -> None:
    with open(os.environ[NOTES], "a") as notes:
        notes.write(json.dumps(what) + "\n")
