"""Everything dies, on Redis: workers and the server by `kill -9`, and the end of its log with it.

Takes $DIBS_CHAOS_S seconds of trouble (default 20), then as long as the rest takes to drain.
"""

from __future__ import annotations

import os
import random
import time
from typing import TYPE_CHECKING

import pytest

import dibs
from dibs.sync import drive
from tests.proofs.fleet import Fleet, Producer, check, until_all_ended
from tests.servers import redis

if TYPE_CHECKING:
    from pathlib import Path

TROUBLE_S = float(os.environ.get("DIBS_CHAOS_S", "20"))
KILL_EVERY_S = 4.0
CUTS = 12


def _in_trouble(server: redis.RedisServer, fleet: Fleet) -> None:
    """Kill a worker every second and the server every four. Never mind how slow they are to come back."""
    away = 0
    end = time.monotonic() + TROUBLE_S
    kill_at = time.monotonic() + KILL_EVERY_S / 2
    while time.monotonic() < end or away < 3 or len(fleet.killed) < 10:
        time.sleep(1)  # the rhythm of the killing
        fleet.kill_one()
        if time.monotonic() > kill_at:
            kill_at = time.monotonic() + KILL_EVERY_S
            server.kill()
            server.start()
            away += 1


@pytest.mark.timeout(TROUBLE_S + 240)
def test_workers_and_servers_that_die_all_the_time_lose_nothing_and_settle_nothing_twice(
    tmp_path: Path, redis_program: str
) -> None:
    with redis.private(program=redis_program, appendfsync="always") as server:
        url = server.url()
        with dibs.connect_sync(url) as queue:
            queue.stats()
        producer, fleet = Producer(url), Fleet(url, tmp_path)
        producer.start()
        try:
            _in_trouble(server, fleet)
            producer.enough.set()
            producer.join()
            with dibs.connect_sync(url) as queue:
                until_all_ended(queue)
        finally:
            producer.enough.set()
            producer.join()
            fleet.end()
        assert not producer.refused, "a server that is away for a second is waited for"
        with dibs.connect_sync(url) as queue:
            check(queue, set(producer.accepted), fleet)
            assert drive(queue.queue.store.check()) == []


# A log whose end was lost


def _busy(queue: dibs.SyncQueue, draw: random.Random) -> None:
    """A bit of everything, by quick ways and slow ones."""
    queue.set_budget("type:paid", 1_000.0, default_reserve=0.1)
    for n in range(40):
        first = queue.add("plain", {"n": n})
        queue.add("plain", after=[first])
        queue.add("paid", key=f"key-{n}", tags=["a"])
        queue.add("locked", locks=["one", f"lock-{n % 3}"])
        queue.add_dag("graph", [dibs.NewTask("a", ref="a"), dibs.NewTask("b", after=["a"])])
        for claim in queue.claim("ada", limit=3):
            if draw.random() < 0.6:
                queue.complete(claim, {"n": n}, cost=0.01)
            elif draw.random() < 0.5:
                queue.fail(claim, "no", retry=draw.random() < 0.5)
        if n % 7 == 3:
            queue.cancel(first.id)


def _log_of(server: redis.RedisServer) -> Path:
    """The file to which it appends."""
    return max(server.folder.rglob("*.aof"), key=lambda path: path.stat().st_size)


@pytest.mark.timeout(240)
def test_wherever_the_log_of_the_server_ends_no_task_is_in_limbo(redis_server: redis.RedisServer) -> None:
    draw = random.Random(5)
    with dibs.connect_sync(redis_server.url()) as queue:
        _busy(queue, draw)
    redis_server.kill()
    log = _log_of(redis_server)
    whole = log.read_bytes()
    left = []
    for cut in sorted(draw.randrange(len(whole) // 20, len(whole)) for _ in range(CUTS)):
        log.write_bytes(whole[:cut])
        redis_server.start()
        with dibs.connect_sync(redis_server.url()) as queue:
            assert drive(queue.queue.store.check()) == [], f"of a log of {cut} bytes"
            left.append(sum(queue.stats().by_status.values()))
            # It goes on from there.
            queue.add("plain")
            assert queue.claim("bob", types=["plain"])
            assert drive(queue.queue.store.check()) == []
        redis_server.kill()
    assert left == sorted(left)
    assert left[0] < left[-1]


def test_the_fence_of_a_claim_that_the_server_forgot_is_not_given_again(redis_server: redis.RedisServer) -> None:
    with dibs.connect_sync(redis_server.url()) as queue:
        task = queue.add("plain")
        queue.add("locked", locks=["one"], key="slow")
        size = _size_when_written(redis_server)
        [claim] = queue.claim("ada", types=["plain"])
        [other] = queue.claim("ada", types=["locked"])
        redis_server.kill()
        log = _log_of(redis_server)
        log.write_bytes(log.read_bytes()[:size])
        redis_server.start()
        assert queue.get(task.id).status == "ready", "the claims were lost"
        [again] = queue.claim("bob", types=["plain"])
        [once_more] = queue.claim("bob", types=["locked"])
        assert again.task.id == claim.task.id
        assert again.fence > claim.fence
        assert once_more.fence > other.fence
        for lost in (claim, other):
            with pytest.raises(dibs.LeaseLost):
                queue.complete(lost)
        for held in (again, once_more):
            queue.complete(held)
        assert drive(queue.queue.store.check()) == []


def _size_when_written(server: redis.RedisServer) -> int:
    """How long its log is once everything so far is in it."""
    server.execute("CONFIG", "SET", "appendfsync", "always")
    server.execute("SET", "a mark", "1")
    return _log_of(server).stat().st_size
