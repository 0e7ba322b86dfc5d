"""`check` on Redis: of a store in the middle of everything nothing is wrong, and each kind of damage is told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import redis

from dibs.stores.redis import RedisStore
from dibs.stores.redis.keys import FAMILIES, Keys
from dibs.sync import drive
from tests.proofs.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.testing import FakeClock


class Furnished(NamedTuple):
    """A namespace with something of everything in it."""

    scene: Scene
    keys: Keys
    client: Any

    def task(self, name: str) -> str:
        return self.scene.tasks[name].id

    def check(self) -> list[str]:
        return drive(self.scene.store.check())

    def first(self, order: str) -> bytes:
        found: list[bytes] = self.client.zrange(self.keys.order(order), 0, 0)
        return found[0]


@pytest.fixture
def here(redis_url: str) -> Iterator[Furnished]:
    def opened(clock: FakeClock) -> RedisStore:
        store = RedisStore(redis_url, clock=clock, blocking=True)
        drive(store.connect())
        return store

    scene = Scene("redis", opened)
    for type in ("spent", "plain_one"):
        scene.queue.add(type, key=f"key of {type}")
    scene.queue.complete(scene.take("spent", "spent"), cost=0.5)
    scene.queue.claim("ada", types=["plain_one"], claim_id="the claim")
    drive(scene.store.write_document("p", "note", "a", b"1"))
    assert isinstance(scene.store, RedisStore)
    with redis.Redis.from_url(redis_url.partition("?")[0]) as client:
        yield Furnished(scene, scene.store._keys, client)
    scene.close()


def test_nothing_is_wrong_in_the_middle_of_everything(here: Furnished) -> None:
    assert here.check() == []
    there = {key.decode() for key in here.client.scan_iter(here.keys.prefix + "*", count=1000)}
    families = {name.removeprefix(here.keys.prefix).partition(":")[0] for name in there}
    assert set(FAMILIES) - families == {"ch"}, "what is not there cannot be looked at"


def _lane(here: Furnished) -> str:
    stats = drive(here.scene.store.stats("default"))
    assert stats.lanes
    names: list[str] = [key.decode() for key in here.client.scan_iter(here.keys.order("lane:*"))]
    return min(names).removeprefix(here.keys.order(""))


def _short(here: Furnished) -> str:
    """A task that only quick scripts have touched."""
    here.scene.queue.add("short")
    return here.scene.queue.add("short").id


def _join(here: Furnished, parent: str, child: str) -> None:
    here.client.hset(here.keys.edges_into(child), f"after:{parent}", "99:1")
    here.client.hset(here.keys.edges_out_of(parent), f"after:{child}", "99:1")


def _unlisted(here: Furnished) -> None:
    name = here.client.srandmember(here.keys.locks)
    here.client.srem(here.keys.locks, name)


def _forget_event(here: Furnished) -> None:
    [_, (entry, _), *_] = here.client.xrange(here.keys.events, count=3)
    here.client.xdel(here.keys.events, entry)


NOTES = '["p","note"]'

DAMAGES: dict[str, tuple[Callable[[Furnished], Any], str]] = {
    "documents of nobody": (
        lambda here: here.client.srem(here.keys.documents, NOTES),
        r'The documents \["p","note"\] are not listed\.',
    ),
    "a kind without documents": (
        lambda here: here.client.sadd(here.keys.documents, '["p","other"]'),
        r'The documents \["p","other"\] are listed, but not there\.',
    ),
    "a document without a name": (
        lambda here: here.client.hset(here.keys.documents_of(NOTES), "b", "1 1 x"),
        r"Document b of \S+ is not listed\.",
    ),
    "a name without a document": (
        lambda here: here.client.zadd(here.keys.document_names(NOTES), {"b": 0}),
        r"Document b of \S+ is listed, but not there\.",
    ),
    "a stranger's key": (lambda here: here.client.set(here.keys.prefix + "mine", 1), r":mine is none of dibs"),
    "a stranger's family": (lambda here: here.client.set(here.keys.prefix + "x:1", 1), r":x:1 is none of dibs"),
    "a key named as the channel": (lambda here: here.client.set(here.keys.channel, 1), r":news is none of dibs"),
    "half a task": (
        lambda here: here.client.hdel(here.keys.task(here.task("parked-0")), "spec"),
        r"Task \S+ cannot be read: KeyError",
    ),
    "a lost task": (lambda here: here.client.delete(here.keys.task(here.task("done"))), r"but does not exist"),
    "a lost number": (
        lambda here: here.client.zrem(here.keys.all, here.task("done")),
        r"Task \S+ has the number \d+, but is found under None",
    ),
    "another number": (
        lambda here: here.client.zincrby(here.keys.all, 1000, here.task("done")),
        r"but is found under 1\d\d\d",
    ),
    "a number of the future": (
        lambda here: here.client.hset(here.keys.meta, "number", 3),
        r"which was not given to anybody yet",
    ),
    "out of its lane": (
        lambda here: here.client.zpopmin(here.keys.order(_lane(here))),
        r"Task \S+ does not stand in lane:\d+\.",
    ),
    "without a lease": (lambda here: here.client.delete(here.keys.order("leases")), r"does not stand in leases"),
    "twice": (
        lambda here: here.client.zadd(here.keys.order("due"), {here.first("leases"): 1}),
        r"Task \S+ stands in due, but does not belong there",
    ),
    "something else in an order": (
        lambda here: here.client.zadd(here.keys.order("due"), {"what": 1}),
        r"Something \(what\) stands in due",
    ),
    "at another time": (
        lambda here: here.client.zincrby(here.keys.order("leases"), 5, here.first("leases")),
        r"Task \S+ stands in leases at \S+, not at \S+\.",
    ),
    "miscounted": (
        lambda here: here.client.hincrby(here.keys.counts, '["default","done","completed"]', 1),
        r"2 tasks of type done of default are counted as completed; it is 1\.",
    ),
    "counted where none is": (
        lambda here: here.client.hset(here.keys.counts, '["default","none","running"]', 2),
        r"2 tasks of type none of default are counted as running; it is 0\.",
    ),
    "costs": (
        lambda here: here.client.hset(here.keys.costs, '["default","usd"]', "7.5"),
        r"The costs of default are added up to 7\.5 of \d tasks; it is 0\.5 of 1\.",
    ),
    "half an edge": (
        lambda here: here.client.delete(here.keys.edges_out_of(here.task("unanswered"))),
        r"is not kept alike at both ends",
    ),
    "an edge to nowhere": (
        lambda here: (
            here.client.hset(here.keys.edges_into(here.task("done")), "after:nobody", "99:1"),
            here.client.hset(here.keys.edges_out_of("nobody"), f"after:{here.task('done')}", "99:1"),
        ),
        r"joins nobody, which does not exist",
    ),
    "tied, and kept in short": (
        lambda here: _join(here, _short(here), _short(here)),
        r"Task \S+ is kept in short, and something hangs on it",
    ),
    "out of its dag": (
        lambda here: here.client.zrem(here.keys.members(here.scene.dag.id), here.task("leaf")),
        r"Task \S+ is missing among the tasks of dag",
    ),
    "a strange child": (
        lambda here: here.client.zadd(here.keys.children(here.task("parent")), {here.task("done"): 1}),
        r"Task \S+ is named among the children of task \S+, but is none",
    ),
    "a dag that miscounts": (
        lambda here: here.client.hincrby(here.keys.dag(here.scene.dag.id), "c:0:pending", 1),
        r"Dag \S+ counts 2 tasks that are pending; it is 1",
    ),
    "a key of nobody": (
        lambda here: here.client.hset(here.keys.keys, '["default","k"]', '"nobody"'),
        r"Key k of default belongs to task nobody, which does not have it",
    ),
    "a key that is lost": (lambda here: here.client.delete(here.keys.keys), r"is not found by its key key of spent"),
    "a dag's key of nobody": (
        lambda here: here.client.hset(here.keys.dag_keys, '["default","k"]', '"dag_nobody"'),
        r"belongs to dag \"dag_nobody\", which does not exist",
    ),
    "a lost question": (
        lambda here: here.client.hdel(here.keys.questions, f'"{here.scene.questions["choice"]}"'),
        r"Question \S+ is said to be of task None; it is of",
    ),
    "a lock that is not listed": (_unlisted, r"Lock \S+ is not listed"),
    "a budget that is not there": (
        lambda here: here.client.sadd(here.keys.budgets, '["default","none"]'),
        r"Budget \S+ is listed, but not there",
    ),
    "a claim id without its time": (
        lambda here: here.client.delete(here.keys.claimed),
        r"Claim id \S+the claim\S* is not listed",
    ),
    "a write that nobody knows": (
        lambda here: here.client.hset(here.keys.taken, "x", "[]"),
        r"Write x took something, but is not known",
    ),
    "a lost event": (_forget_event, r"Event \d+ does not follow on event \d+"),
    "lost last events": (
        lambda here: here.client.hincrby(here.keys.meta, "seq", 3),
        r"The last event is \d+, but \d+ were told",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_told(here: Furnished, damage: str) -> None:
    harm, sentence = DAMAGES[damage]
    harm(here)
    found = here.check()
    assert found
    assert any(re.search(sentence, each) for each in found), found


def test_of_much_that_is_wrong_the_beginning_is_told(here: Furnished) -> None:
    for number in range(30):
        here.client.set(f"{here.keys.prefix}strange{number:02d}", 1)
    found = here.check()
    assert len(found) == 21
    assert found[-1] == "… and 10 more of that kind."
