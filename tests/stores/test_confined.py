"""What is confined is denied by default: every verb of the contract is written down, and no other can be reached."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.queue import Queue
from dibs.rules.access import Rights
from dibs.stores.confined import NOBODY, Confined
from dibs.stores.contract import Store
from dibs.stores.homes import Homes, Stretches
from dibs.stores.memory import MemoryStore
from dibs.stores.values import Filter


def members(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")} | {"url", "late_drafts"}


def test_every_verb_of_the_contract_says_what_it_is_for_whoever_is_confined() -> None:
    assert members(Confined) == members(Store)


def test_what_is_not_written_down_cannot_be_called() -> None:
    store: Any = MemoryStore()
    confined: Any = Confined(store, Rights(), Homes(store))
    store.a_new_verb = lambda: "done"
    with pytest.raises(AttributeError):
        confined.a_new_verb()


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12))))
def test_stretches_lead_past_what_is_in_none_of_them_and_no_further(added: list[tuple[int, int]]) -> None:
    stretches = Stretches()
    silent: set[int] = set()
    for begin, length in added:
        stretches.add(begin, begin + length)
        silent |= set(range(begin + 1, begin + length + 1))
    for after in range(60):
        wanted = after
        while wanted + 1 in silent:
            wanted += 1
        assert stretches.past(after) == wanted


def test_events_of_others_are_read_once_however_few_are_asked_for_and_wherever_one_begins() -> None:
    async def scene() -> None:
        store = MemoryStore()
        queue = Queue(store)
        for number in range(1_500):
            await queue.add("theirs", number)
        reads = 0
        events = store.events

        async def counted(after: int, limit: int) -> list[Any]:
            nonlocal reads
            reads += 1
            return await events(after, limit)

        store.events = counted  # type: ignore[method-assign]
        confined = Confined(store, Rights(project="b"), Homes(store))
        assert await confined.events(0, 1) == []
        assert reads == 7
        for after in range(0, 3_000, 7):
            assert await confined.events(after, 1) == []
        # One look each at whether there is something new.
        assert reads == 7 + 429

    asyncio.run(scene())


def test_a_dag_or_a_parent_of_others_is_not_even_looked_for() -> None:
    """A page of ten thousand of its tasks, none of which may be seen, would end with a cursor."""

    async def scene() -> None:
        store = MemoryStore()
        queue = Queue(store)
        task = await queue.add("theirs")
        asked: list[Filter] = []
        find = store.find

        async def noted(filter: Filter, limit: int, cursor: str | None) -> Any:
            asked.append(filter)
            return await find(filter, limit, cursor)

        store.find = noted  # type: ignore[method-assign]
        homes = Homes(store)
        for project in ("b", "default"):
            for named in (Filter(project=project, dag=task.dag_id), Filter(project=project, parent=task.id)):
                await Confined(store, Rights(project=project), homes).find(named, 10, None)
        assert [filter.dag or filter.parent for filter in asked] == [NOBODY, NOBODY, task.dag_id, task.id]

    asyncio.run(scene())
