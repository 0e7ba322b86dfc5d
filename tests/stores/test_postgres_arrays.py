"""Arrays that are written as text come to the server as they were."""

from __future__ import annotations

import asyncio
from typing import Any

from dibs.stores.postgres import PostgresStore, arrays

TEXTS = ["", " ", "NULL", "null", "{}", "a,b", '"', '""', "\\", '\\"', '","', "'", "line\nline\ttab", "ünïcode 🚀", "a"]


def read_back(url: str, array: str, type: str) -> Any:
    async def story() -> Any:
        store = PostgresStore(url)
        await store.connect()
        try:
            return await store._engine.value(f"SELECT $1::text::{type}", array)
        finally:
            await store.close()

    return asyncio.run(story())


def test_texts_arrive_as_they_are(postgres_url: str) -> None:
    assert read_back(postgres_url, arrays.of_texts([*TEXTS, None]), "text[]") == [*TEXTS, None]


def test_names_arrive_as_they_are_whatever_is_in_them(postgres_url: str) -> None:
    assert read_back(postgres_url, arrays.of_names(["task_1", "task_2"]), "text[]") == ["task_1", "task_2"]
    assert read_back(postgres_url, arrays.of_names(TEXTS), "text[]") == TEXTS
    for text in TEXTS:
        assert read_back(postgres_url, arrays.of_names([text]), "text[]") == [text]


def test_numbers_arrive_as_they_are(postgres_url: str) -> None:
    numbers = [0, -1, 2**63 - 1, -(2**63)]
    assert read_back(postgres_url, arrays.of_numbers(numbers), "bigint[]") == numbers


def test_nothing_is_an_empty_array(postgres_url: str) -> None:
    for array, type in (
        (arrays.of_texts([]), "text[]"),
        (arrays.of_names([]), "text[]"),
        (arrays.of_numbers([]), "int[]"),
    ):
        assert read_back(postgres_url, array, type) == []
