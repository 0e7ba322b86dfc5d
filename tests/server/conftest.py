from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.server.running import Running, running

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """One server for the tests of a module."""
    with running() as found:
        yield found
