"""Searching is bounded by what is read, not only by how many tasks there are."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

import dibs
from dibs.model.task import NewTask
from dibs.stores.ledger import finding as ledger
from dibs.stores.postgres import finding as postgres
from dibs.stores.sqlite import finding as sqlite

if TYPE_CHECKING:
    from pathlib import Path

    from dibs.queue import Queue

TASKS = 450
PAYLOAD = "a" * 1_000


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (ledger, postgres, sqlite):
        monkeypatch.setattr(module, "MAX_TEXT_BYTES", 250_000)


def searched(url: str) -> None:
    async def scene(queue: Queue) -> None:
        wanted = await queue.add("a", {"text": f"{PAYLOAD} needle"})
        await queue.add_many([NewTask("a", PAYLOAD) for _ in range(TASKS)])
        for query in ("needle", "needle -thread", "-aaa"):
            pages, found, cursor = 0, [], None
            while True:
                page = await queue.find(query=query, cursor=cursor)
                found += [task.id for task in page.items]
                pages, cursor = pages + 1, page.cursor
                if cursor is None:
                    break
            assert found == ([] if query == "-aaa" else [wanted.id])
            assert pages > 1, query
            assert pages <= 4 or query.startswith("-"), query
        # Whatever is not searched is not counted, either.
        assert (await queue.find(query="type:b")).cursor is None
        # Five looks, each as far as it may go.
        assert (await queue.count("needle")).count == 1

    async def run() -> None:
        async with dibs.connect(url) as queue:
            await scene(queue)

    asyncio.run(run())


def test_a_page_ends_where_enough_was_searched_in_memory() -> None:
    searched("memory:")


def test_a_page_ends_where_enough_was_searched_on_sqlite(tmp_path: Path) -> None:
    searched(f"sqlite:{tmp_path}/dibs.db")


def test_a_page_ends_where_enough_was_searched_on_postgres(postgres_url: str) -> None:
    searched(postgres_url)


def test_a_page_ends_where_enough_was_searched_on_redis(redis_url: str) -> None:
    searched(redis_url)


def test_a_long_text_is_looked_for_by_its_beginning_and_then_closely(postgres_url: str) -> None:
    """The database compares a pattern letter by letter at every place of a text."""
    needle = "a" * 1_500 + "b"
    like, _, _ = postgres.pattern(needle)
    assert like == f"%{'a' * postgres.MAX_PATTERN_CHARS}%"

    async def run() -> None:
        async with dibs.connect(postgres_url) as queue:
            await queue.add("a", PAYLOAD)
            wanted = await queue.add("a", needle)
            assert [task.id for task in (await queue.find(query=needle)).items] == [wanted.id]

    asyncio.run(run())
