"""The keys of a Redis namespace: none stays behind, none can be hit by a name from outside, none is half-written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
import redis

import dibs
from dibs.queue import Queue
from dibs.stores.redis import RedisStore
from dibs.sync import SyncQueue, drive
from dibs.testing import FakeClock
from tests.servers.redis import contents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.redis import RedisServer

TASKS = int(os.environ.get("DIBS_LEAK_TASKS", "1000"))
"""100,000 is the whole proof; it takes long."""

NAMES = (
    "plain",
    "a:b",
    "{a}",
    "}{",
    "*",
    "[a-z]?",
    "line\nbreak\n",
    "\ttab ",
    'quote"\\back',
    "fox 🦊",
    "ü" * 200,
    "meta",
    "turn",
    "t:1",
    "o:leases",
    "dibs:{plain}",
    "%2A",
    '["default","plain"]',
    "0",
)
"""What people call things. None of it may mean anything to us."""


class Own:
    """A namespace with a clock of its own."""

    def __init__(self, url: str) -> None:
        self.clock = FakeClock()
        self.store = RedisStore(url, clock=self.clock, blocking=True)
        drive(self.store.connect())
        self.queue = SyncQueue(Queue(self.store, blocking=True))
        self.client = redis.Redis.from_url(url.partition("?")[0])
        self.turns = 0

    def claim_id(self) -> str | None:
        """Most who claim have none."""
        self.turns += 1
        return f"claim-{self.turns}" if self.turns % 7 == 0 else None

    def check(self) -> list[str]:
        return drive(self.store.check())

    def sizes(self) -> dict[str, int]:
        """All keys and what memory they use."""
        found = sorted(self.client.scan_iter(self.store._keys.prefix + "*", count=1000))
        usage = self.client.pipeline()
        for key in found:
            usage.memory_usage(key, samples=0)
        return {key.decode(): size for key, size in zip(found, usage.execute(), strict=True)}

    def close(self) -> None:
        self.client.close()
        self.queue.close()


@pytest.fixture
def own(redis_server: RedisServer) -> Iterator[Own]:
    own = Own(redis_server.url())
    yield own
    own.close()


# Nothing stays behind


def _drain(own: Own) -> None:
    """Do all that is there, one way or another."""
    queue = own.queue
    while claims := queue.claim(f"agent-{own.turns % 5}", limit=20, claim_id=own.claim_id()):
        for claim in claims:
            own.turns += 1
            _end(queue, claim, own.turns)
    while questions := queue.inbox(limit=100):
        for question in questions:
            queue.answer(question.id, "yes", by="somebody")


def _end(queue: SyncQueue, claim: dibs.Claim, turn: int) -> None:
    match claim.task.type:
        case "parent" if not claim.children:
            queue.checkpoint(claim, {"turn": turn})
            queue.spawn(claim, [dibs.NewTask("child"), dibs.NewTask("child")], wait=True)
        case "asking" if not claim.answers:
            queue.ask(claim, "Really?")
        case "failing":
            queue.fail(claim, "no", retry=False)
        case "flaky" if not claim.previous_attempts:
            queue.fail(claim, "not yet", retry_after=0)
        case "recalled":
            queue.cancel(claim.task.id)
        case _:
            queue.complete(claim, {"turn": turn}, cost=0.01)


def _live(own: Own, tasks: int) -> None:
    """Tasks of all sorts come and go, and retention passes."""
    queue = own.queue
    queue.set_budget("type:paid", 1_000.0, default_reserve=0.01)
    for start in range(0, tasks, 50):
        queue.add_many([dibs.NewTask("plain", {"n": n}) for n in range(30)])
        for name in (str(start),):
            queue.add("keyed", key=name)
            queue.add("locked", locks=[f"lock-{name}", "shared"])
            queue.add("failing", key=f"failing-{name}")
            queue.add("flaky", tags=[name])
            queue.add("paid", deadline=3600)
            queue.add("parent")
            queue.add("asking")
            queue.add("recalled", locks=[f"recalled-{name}"])
            queue.add("gathered", coalesce_key=f"key-{name}", coalesce_window=0)
        first = queue.add("before")
        queue.add("after", after=[first])
        queue.add_dag("graph", [dibs.NewTask("a", ref="a"), dibs.NewTask("b", after=["a"])], key=f"dag-{start}")
        queue.cancel(queue.add("unwanted", run_after=60).id)
        if start // 50 % 10 == 9 or start + 50 >= tasks:
            for _ in range(4):
                own.clock.advance(1)
                queue.run_duties()
                _drain(own)
    own.clock.advance(2 * 3600)
    for _ in range(3):
        own.clock.advance(60)
        queue.run_duties()
        _drain(own)
    while dead := queue.dead_letter_ids(reviewed=False):
        queue.review_many(dead, "dropped", by="somebody")
    queue.remove_budget("type:paid")
    left = queue.find(status=["ready", "claimed", "running", "waiting", "retrying", "scheduled"]).items
    assert [(task.type, task.status, task.parked_on) for task in left] == []
    assert own.check() == []
    own.clock.advance(8 * 86_400)
    assert queue.prune() >= tasks * 0.8
    queue.prune()
    # The names of writes are remembered for a minute, and each write lets go of ten: pruning was hundreds of them.
    while own.client.zcard(own.store._keys.done) > 10:
        own.clock.advance(61)
        queue.run_duties()
    assert own.check() == []
    assert queue.find(limit=10).items == []


@pytest.mark.timeout(1200)
def test_what_has_ended_and_is_pruned_leaves_nothing_behind(own: Own) -> None:
    _live(own, 50)
    before, memory = own.sizes(), _memory(own)
    _live(own, TASKS)
    after = own.sizes()
    assert after.keys() == before.keys()
    # Counters have more digits; hashes that were large once are kept in another form until they are gone.
    grown = {key: (before[key], size) for key, size in after.items() if size > before[key] + 20_000}
    assert not grown
    assert _memory(own) - memory < 2_000_000
    assert [key for key in after if own.client.ttl(key) != -1] == [], "nothing else ever expires"


def _memory(own: Own) -> int:
    memory: dict[str, Any] = own.client.info("memory")
    return int(memory["used_memory"]) - int(memory.get("mem_clients_normal", 0)) - int(memory.get("mem_aof_buffer", 0))


# Names from outside


def test_names_from_outside_never_meet_our_keys_nor_each_other(own: Own) -> None:
    queue = own.queue
    for name in NAMES:
        queue.add(name, {"name": name}, key=name, locks=[name], tags=[name], user=name, title=name, requires=[name])
        queue.add_dag(name, [dibs.NewTask(name, locks=[name])], key=name)
        queue.set_slots(name, 2)
        queue.set_slots(type=name, slots=5)
    assert own.check() == []
    assert sorted(lock.name for lock in queue.locks()) == sorted(NAMES)
    for name in NAMES:
        assert [task.key for task in queue.find(tag=name).items] == [name]
        assert [task.key for task in queue.find(user=name).items] == [name]
        [claim] = queue.claim(name, types=[name], capabilities=[name], claim_id=name)
        assert claim.task.type == name
        queue.checkpoint(claim, {"name": name})
        queue.renew(claim, note=name)
    assert own.check() == []
    assert {agent.id for agent in queue.agents()} == set(NAMES)
    for name in NAMES:
        [claim] = queue.claim(name, types=[name], capabilities=[name], claim_id=name)
        queue.complete(claim, name)
        assert queue.find(tag=name).items[0].output == name
    assert own.check() == []
    known = own.store._keys
    assert all(known.knows(key) for key in own.sizes())


@pytest.mark.parametrize("name", ["nul\0", "half \ud83e", "x" * 201], ids=["nul", "surrogate", "long"])
def test_names_that_cannot_be_kept_are_refused_and_change_nothing(own: Own, name: str) -> None:
    own.queue.add("plain")
    before = own.client.hgetall(own.store._keys.meta)
    for options in ({"key": name}, {"locks": [name]}, {"tags": [name]}, {"user": name}):
        with pytest.raises(dibs.Invalid) as caught:
            own.queue.add("plain", **options)
        assert caught.value.field
    with pytest.raises(dibs.Invalid):
        own.queue.claim(name)
    assert own.client.hgetall(own.store._keys.meta) == before


def test_namespaces_never_meet_each_other(redis_server: RedisServer) -> None:
    names = [*NAMES, "plain:meta", "plain}", "{plain", "plain*", "nul\0"]
    queues = {name: dibs.connect_sync(redis_server.url(quote(name, safe=""))) for name in names}
    tasks = {name: queue.add("work", key="same") for name, queue in queues.items()}
    for name, queue in queues.items():
        assert [task.id for task in queue.find().items] == [tasks[name].id]
        assert drive(queue.queue.store.check()) == []
    for queue in queues.values():
        queue.close()


# Memory that is full


def test_where_memory_is_full_nothing_is_half_written_and_it_goes_on_when_there_is_more(own: Own) -> None:
    queue = own.queue
    queue.set_budget("type:paid", 1_000.0, default_reserve=0.01)
    _fill(own)
    queue.claim("ada", types=["plain"])  # from now on the quick ways know the way
    held = [
        *queue.claim("ada", types=["plain"], limit=3),
        *queue.claim("ada", types=["locked"]),
        *queue.claim("ada", types=["paid"]),
    ]
    assert len(held) == 5
    before = contents(own.client, "*")
    own.client.config_set("maxmemory", 1)
    first = queue.find(type="child").items[0]
    attempts: list[Any] = [
        lambda: queue.add("plain"),
        lambda: queue.add("new type"),
        lambda: queue.add("plain", key="k", locks=["l"]),
        lambda: queue.add_dag("graph", [dibs.NewTask("a", ref="a"), dibs.NewTask("b", after=["a"])]),
        lambda: queue.claim("ada"),
        lambda: queue.claim("ada", types=["locked"]),
        lambda: queue.cancel(first.id),
        lambda: queue.set_slots("one", 3),
        *[lambda claim=claim: queue.complete(claim) for claim in held],
        *[lambda claim=claim: queue.fail(claim, "no") for claim in held],
        lambda: queue.spawn(held[0], [dibs.NewTask("child")]),
    ]
    for attempt in attempts:
        with pytest.raises(dibs.Unavailable, match="has no memory left and wrote nothing"):
            attempt()
    assert contents(own.client, "*") == before
    assert own.check() == []
    own.client.config_set("maxmemory", 0)
    for claim in held:
        queue.complete(claim)
    assert queue.add("plain").status == "ready"
    assert own.check() == []


def _fill(own: Own) -> None:
    own.queue.add_many([dibs.NewTask("plain") for _ in range(10)])
    own.queue.add("locked", locks=["one", "two"])
    own.queue.add("paid")
    own.queue.add("child", after=[own.queue.add("parent", locks=["nest"])])
