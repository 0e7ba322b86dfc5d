"""What only the memory store promises: sharing by name, and that nothing handed out leads back inside."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from dibs.errors import NotFound, Unavailable
from dibs.model.status import Outcome, Status
from dibs.model.task import Task
from dibs.stores.memory import MemoryStore
from dibs.stores.values import ClaimRequest, Draft, Entry, Insertion, LaneKey, Settlement
from dibs.sync import drive

if TYPE_CHECKING:
    from pathlib import Path


def draft(task_id: str, payload: Any = None, **spec: Any) -> Draft:
    task = Task(id=task_id, type="job", payload=payload, **spec)
    return Draft(task=task, payload=msgspec.json.encode(payload), lane=LaneKey("default", "job"))


async def add(store: MemoryStore, *drafts: Draft) -> None:
    await store.insert(Insertion(drafts=list(drafts)))


async def get(store: MemoryStore, task_id: str) -> Task:
    [task] = await store.get([task_id])
    assert task is not None
    return task


@pytest.fixture
def name(tmp_path: Path) -> str:
    return str(tmp_path)


def test_stores_of_one_name_share_their_tasks(name: str) -> None:
    one, other = MemoryStore(name, blocking=True), MemoryStore(name, blocking=True)
    drive(add(one, draft("task_a")))
    assert drive(get(other, "task_a")).status == Status.READY
    assert one.url == other.url == f"memory:{name}"


def test_stores_without_a_name_share_nothing() -> None:
    one, other = MemoryStore(blocking=True), MemoryStore(blocking=True)
    drive(add(one, draft("task_a")))
    assert drive(other.get(["task_a"])) == [None]
    assert one.url == "memory:"


def test_a_name_is_forgotten_when_the_last_store_of_it_is_closed(name: str) -> None:
    one, other = MemoryStore(name, blocking=True), MemoryStore(name, blocking=True)
    drive(add(one, draft("task_a")))
    drive(one.close())
    drive(one.close())
    assert drive(MemoryStore(name, blocking=True).get(["task_a"])) != [None]
    drive(other.close())
    assert drive(MemoryStore(name, blocking=True).get(["task_a"])) == [None]


def test_a_closed_store_says_so() -> None:
    store = MemoryStore(blocking=True)
    drive(store.close())
    with pytest.raises(Unavailable):
        drive(store.get(["task_a"]))


def test_changing_what_was_sent_changes_nothing_inside() -> None:
    store = MemoryStore(blocking=True)
    sent = draft("task_a", {"list": [1]}, context={"goal": ["x"]})
    drive(add(store, sent))
    sent.task.payload["list"].append(2)
    sent.task.context["goal"].append("y")
    sent.task.type = "other"
    task = drive(get(store, "task_a"))
    assert (task.type, task.payload, task.context) == ("job", {"list": [1]}, {"goal": ["x"]})


def test_changing_an_answer_changes_nothing_inside() -> None:
    store = MemoryStore(blocking=True)
    drive(add(store, draft("task_a", {"list": [1]})))
    [claim] = drive(store.claim(ClaimRequest(agent="ada"))).claims
    [entry] = drive(store.write_journal("task_a", 1, [Entry(kind="step", name="s", value=b"1")]))
    claim.task.payload["list"].clear()
    claim.task.status = Status.CANCELLED
    entry.value = b"2"
    settlement = Settlement(
        task_id="task_a",
        fence=1,
        outcome=Outcome.FAILED,
        next=Status.READY,
        digest="d",
        memory={"payload": {"list": [1]}},
    )
    [settled] = drive(store.settle([settlement]))
    before = msgspec.to_builtins(settled)
    settled.outcome = "completed"  # type: ignore[union-attr]
    settlement.memory["payload"]["list"].clear()
    drive(store.events(0, 100))[-1].data.clear()
    drive(store.history("task_a"))[0].agent = "eve"

    task = drive(get(store, "task_a"))
    assert (task.payload, task.status) == ({"list": [1]}, Status.READY)
    assert drive(store.read_journal("task_a"))[0].value == b"1"
    assert msgspec.to_builtins(drive(store.settle([settlement]))[0]) == before
    assert drive(store.events(0, 100))[-1].data == {"payload": {"list": [1]}}
    assert drive(store.history("task_a"))[0].agent == "ada"


def test_a_refused_insertion_adds_nothing() -> None:
    store = MemoryStore(blocking=True)
    lost = Draft(
        task=Task(id="task_b", type="job", dag_id="dag_unknown"),
        payload=b"null",
        lane=LaneKey("default", "job"),
    )
    before = drive(store.news())
    with pytest.raises(NotFound) as caught:
        drive(add(store, draft("task_a"), lost))
    assert caught.value.field == "dag"
    assert drive(store.get(["task_a", "task_b"])) == [None, None]
    assert (drive(store.news()), drive(store.last_seq())) == (before, 0)


def test_reading_is_no_news() -> None:
    store = MemoryStore(blocking=True)
    drive(add(store, draft("task_a")))
    before = drive(store.news())
    drive(store.get(["task_a"]))
    drive(store.stats("default"))
    drive(store.promote(10))
    assert drive(store.news()) == before


def test_a_thread_is_woken_by_another(name: str) -> None:
    waiting, adding = MemoryStore(name, blocking=True), MemoryStore(name, blocking=True)
    since = drive(waiting.news())
    heard: list[int] = []
    thread = threading.Thread(target=lambda: heard.append(drive(waiting.wait_for_news(since, 60))))
    thread.start()
    drive(add(adding, draft("task_a")))
    thread.join()
    assert heard == [since + 1]


def test_an_event_loop_is_woken_by_a_thread(name: str) -> None:
    waiting, adding = MemoryStore(name), MemoryStore(name, blocking=True)

    async def listen() -> int:
        since = await waiting.news()
        waiter = asyncio.ensure_future(waiting.wait_for_news(since, 100))
        await asyncio.sleep(0)
        thread = threading.Thread(target=lambda: drive(add(adding, draft("task_a"))))
        thread.start()
        news = await asyncio.wait_for(waiter, 60)
        thread.join()
        return news - since

    assert asyncio.run(listen()) == 1


def test_waiting_ends_in_time_when_nothing_happens() -> None:
    blocking, loop = MemoryStore(blocking=True), MemoryStore()
    assert drive(blocking.wait_for_news(0, 0.01)) == 0
    assert asyncio.run(loop.wait_for_news(0, 0.01)) == 0


def test_a_loop_that_was_closed_while_waiting_is_no_trouble(name: str) -> None:
    waiting, adding = MemoryStore(name), MemoryStore(name, blocking=True)
    loop = asyncio.new_event_loop()
    waiter = loop.create_task(waiting.wait_for_news(0, 30))
    loop.run_until_complete(asyncio.sleep(0))
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(waiter)
    loop.close()
    drive(add(adding, draft("task_a")))
    assert drive(adding.news()) == 1


def test_threads_claim_each_task_once(name: str) -> None:
    store = MemoryStore(name, blocking=True)
    drive(add(store, *(draft(f"task_{number}") for number in range(400))))
    taken: list[str] = []

    def work(agent: str) -> None:
        mine = MemoryStore(name, blocking=True)
        while claims := drive(mine.claim(ClaimRequest(agent=agent, limit=3))).claims:
            taken.extend(claim.task.id for claim in claims)

    threads = [threading.Thread(target=work, args=(f"agent-{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == len(set(taken)) == 400
    assert drive(store.check()) == []
