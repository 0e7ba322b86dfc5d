"""The public surface itself: what users import is there, loads lazily, and is all there is."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dibs

NAMES = [
    "App",
    "Artifact",
    "Attempt",
    "CONTENT",
    "ChildFailed",
    "Claim",
    "Claims",
    "Conflict",
    "Context",
    "CycleDetected",
    "Dag",
    "Denied",
    "DibsError",
    "Event",
    "Fail",
    "IllegalTransition",
    "Invalid",
    "KeyReused",
    "LeaseLost",
    "NewTask",
    "News",
    "NotFound",
    "Page",
    "Question",
    "Queue",
    "Release",
    "Retry",
    "RetryLater",
    "Settled",
    "SyncQueue",
    "Task",
    "Unavailable",
    "Why",
    "Worker",
    "__version__",
    "connect",
    "connect_sync",
]


def test_the_public_names_are_these() -> None:
    assert sorted(dibs.__all__) == sorted(NAMES)
    assert dir(dibs) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_can_be_used(name: str) -> None:
    assert getattr(dibs, name) is not None


def test_a_name_that_does_not_exist_is_an_ordinary_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        dibs.nothing  # noqa: B018


def test_importing_dibs_imports_none_of_what_it_may_need_later() -> None:
    code = "import sys, dibs; print(*[m for m in sys.modules if m.split('.')[0] in ('apsw', 'msgspec', 'asyncio')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


def test_every_error_knows_its_exit_code() -> None:
    codes = {
        "DibsError": 1,
        "Invalid": 2,
        "NotFound": 4,
        "Conflict": 5,
        "LeaseLost": 5,
        "IllegalTransition": 5,
        "CycleDetected": 5,
        "KeyReused": 5,
        "Unavailable": 6,
        "Denied": 7,
    }
    for name, code in codes.items():
        error = getattr(dibs, name)("why", field="type")
        assert isinstance(error, dibs.DibsError)
        assert (error.exit_code, error.field, error.message) == (code, "type", "why")
        assert error.code.isidentifier()
