"""The conformance suite: what every store must do, as tests that anybody can run on a store of their own.

    from dibs import Queue
    from dibs.testing.conformance import StoreConformance

    class TestMyStore(StoreConformance):
        @pytest.fixture(autouse=True)
        def storage(self, tmp_path):
            self.path = tmp_path / "store"

        async def open_queue(self, clock):
            return Queue(await MyStore.open(self.path, clock=clock))

`open_queue` is called with the test's clock, more than once in some tests, and must reach the same, at
first empty, storage each time within a test; set `shared = False` where a second client is not possible. The
tests need pytest, and `dibs[contracts]` for what they say of output contracts.
"""

from __future__ import annotations

from pkgutil import iter_modules

import pytest

# Their assertions explain themselves only if pytest rewrites them, which it does by itself for test files alone.
pytest.register_assert_rewrite(*[f"{__name__}.{module.name}" for module in iter_modules(__path__)])

from dibs.testing.conformance.suite import StoreConformance  # noqa: E402 - only now are they rewritten

__all__ = ["StoreConformance"]
