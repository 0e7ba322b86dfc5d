"""Which stores the machines drive: all, or the memory store and those that `--store` asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import selection
from tests.model.worlds import Grounds

if TYPE_CHECKING:
    from collections.abc import Iterator


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "grounds" in metafunc.fixturenames:
        asked = selection.stores_asked_for(metafunc.config) or selection.STORES
        stores = [store for store in selection.STORES if store == "memory" or store in asked]
        metafunc.parametrize("grounds", [stores], ids=["-".join(stores)], indirect=True, scope="module")


@pytest.fixture(scope="module")
def grounds(request: pytest.FixtureRequest) -> Iterator[Grounds]:
    """Without a server that no store needs."""
    stores: list[str] = request.param
    schemas = request.getfixturevalue("postgres_schemas") if "postgres" in stores else None
    namespaces = None
    if "redis" in stores:
        from tests.servers.redis import Namespaces, shared_programs, shared_urls

        namespaces = Namespaces(shared_urls(shared_programs()[0]))
    yield Grounds(stores, schemas, namespaces)
    if namespaces is not None:
        namespaces.close()
