"""The outbox of a Redis store, read by groups of consumers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs.errors import Invalid
from dibs.queue import Queue
from dibs.stores.redis import RedisStore
from dibs.sync import drive
from dibs.testing import FakeClock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.stores.redis.consuming import Consumer

DAY_S = 86_400


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(redis_url: str, clock: FakeClock) -> Iterator[RedisStore]:
    store = RedisStore(redis_url, clock=clock, blocking=True)
    drive(store.connect())
    yield store
    drive(store.close())


@pytest.fixture
def queue(store: RedisStore) -> Queue:
    return Queue(store, blocking=True)


def types(consumer: Consumer, limit: int = 100) -> list[str]:
    """What a consumer reads and acknowledges now."""
    found = consumer.read(limit)
    consumer.acknowledge(found)
    return [event.type for delivery in found for event in delivery.events]


def test_a_group_begins_with_the_first_event_and_reads_each_once(store: RedisStore, queue: Queue) -> None:
    drive(queue.add("poem"))
    ann, bob = store.consumer("mail", "ann"), store.consumer("mail", "bob")
    assert types(ann) == ["task.added", "task.ready"]
    drive(queue.claim("coder"))
    assert types(bob) == ["agent.registered", "task.claimed", "task.started"]
    assert types(ann) == []


def test_groups_do_not_disturb_each_other(store: RedisStore, queue: Queue) -> None:
    drive(queue.add("poem"))
    assert types(store.consumer("mail", "ann")) == types(store.consumer("log", "ann")) == ["task.added", "task.ready"]


def test_what_a_dead_consumer_left_is_taken_over(store: RedisStore, queue: Queue) -> None:
    drive(queue.add("poem"))
    store.consumer("mail", "ann").read(10)
    bob = store.consumer("mail", "bob")
    assert bob.read(10) == []
    assert bob.take_over(60, 10) == []
    (left,) = bob.take_over(0, 10)
    assert [event.type for event in left.events] == ["task.added", "task.ready"]
    assert bob.acknowledge([left]) == 1
    assert bob.take_over(0, 10) == []


def test_who_fell_behind_the_retention_is_told_of_the_gap(store: RedisStore, queue: Queue, clock: FakeClock) -> None:
    ann = store.consumer("mail", "ann")
    drive(queue.add("poem"))
    assert types(ann) == ["task.added", "task.ready"]
    (claim,) = drive(queue.claim("coder"))
    drive(queue.complete(claim))
    clock.advance(10 * DAY_S)
    drive(store.prune(7 * DAY_S, 100))
    drive(queue.add("poem"))
    gap, *rest = ann.read(10)
    assert [(event.type, event.seq) for event in gap.events] == [("gap", rest[0].events[0].seq - 1)]
    assert [event.type for delivery in rest for event in delivery.events] == ["task.added", "task.ready"]
    assert ann.acknowledge([gap, *rest]) == len(rest)


def test_what_was_pruned_while_somebody_had_it_is_given_up(store: RedisStore, queue: Queue, clock: FakeClock) -> None:
    ann = store.consumer("mail", "ann")
    drive(queue.add("poem"))
    ann.read(10)
    clock.advance(10 * DAY_S)
    drive(store.prune(7 * DAY_S, 100))
    assert ann.take_over(0, 10) == []
    assert ann.take_over(0, 10) == []


def test_events_are_the_same_as_those_of_the_queue(store: RedisStore, queue: Queue) -> None:
    for number in range(5):
        drive(queue.add("poem", {"number": number}))
    claims = drive(queue.claim("coder", limit=5))
    for claim in claims:
        drive(queue.complete(claim, {"done": claim.task.payload}))
    found = store.consumer("mail", "ann").read(1000)
    assert [event for delivery in found for event in delivery.events] == drive(store.events(0, 1000))


@pytest.mark.parametrize(("group", "name", "field"), [("", "ann", "group"), ("mail", "", "name")])
def test_names_are_needed(store: RedisStore, group: str, name: str, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        store.consumer(group, name)
    assert refused.value.field == field
