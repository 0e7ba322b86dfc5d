"""Async tests run in a loop of their own."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from tests.conftest import USUAL_S

ENDING_S = 10
"""Before pytest ends everything, a test that hangs is told where it does."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test to its end."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments: dict[str, Any] = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    mark = pyfuncitem.get_closest_marker("timeout")
    limit_s = (USUAL_S if mark is None else mark.args[0]) - ENDING_S
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**arguments), limit_s))
    return True
