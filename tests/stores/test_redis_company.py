"""A Redis store when its server is killed, hangs, hands over to a replica, is full, or has to wait for others."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.stores.redis.address import Address
from dibs.stores.redis.engine import Engine
from dibs.stores.redis.keys import Keys
from dibs.sync import drive
from tests.servers.redis import RedisServer, private, private_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def replica(redis_server: RedisServer, redis_program: str) -> Iterator[RedisServer]:
    with private(program=redis_program) as replica:
        replica.follow(redis_server)
        yield replica


def test_while_the_server_is_away_verbs_wait_for_it(redis_program: str) -> None:
    with private(program=redis_program, appendfsync="always") as server, dibs.connect_sync(server.url()) as queue:
        task = queue.add("work")
        server.kill()
        back = threading.Timer(0.5, server.start)
        back.start()
        assert queue.get(task.id).status == "ready"
        back.join()
        assert [claim.task.id for claim in queue.claim("a")] == [task.id]


def test_of_several_servers_the_one_that_took_over_is_found(redis_server: RedisServer, replica: RedisServer) -> None:
    url = f"redis://127.0.0.1:{redis_server.port},127.0.0.1:{replica.port}/0"
    with dibs.connect_sync(url) as queue, dibs.connect_sync(f"{url}?wait=1&wait_ms=30000") as careful:
        task = careful.add("work")
        redis_server.kill()
        took_over = threading.Timer(0.5, replica.execute, ("REPLICAOF", "NO", "ONE"))
        took_over.start()
        # Meanwhile one is not there, and the other cannot be written to.
        [claim] = queue.claim("a")
        took_over.join()
        assert claim.task.id == task.id
        queue.complete(claim, "done")
        assert queue.get(task.id).output == "done"


def test_a_server_that_was_made_a_replica_is_left_for_the_new_primary(
    redis_server: RedisServer, replica: RedisServer
) -> None:
    url = f"redis://127.0.0.1:{redis_server.port},127.0.0.1:{replica.port}/0"
    with dibs.connect_sync(url) as queue:
        queue.add("work")
        replica.execute("REPLICAOF", "NO", "ONE")
        redis_server.follow(replica)
        queue.add("work")
        assert replica.execute("DBSIZE") > 0
        assert len(queue.claim("a", limit=10)) == 2


def test_keys_that_move_to_another_node_of_the_cluster_are_followed(redis_program: str) -> None:
    with private_cluster(program=redis_program) as cluster, dibs.connect_sync(cluster.url("team")) as queue:
        task = queue.add("work")
        tag = Address.parse(queue.url).tag
        taker = next(node for node in cluster.nodes if node is not cluster.owner(tag))
        with ExitStack() as moving:
            moving.enter_context(cluster.hand_over(tag, taker))
            # Neither node answers now as if the keys were there for good.
            arrived = threading.Timer(0.3, moving.pop_all().close)
            arrived.start()
            [claim] = queue.claim("a")
            arrived.join()
        assert claim.task.id == task.id
        assert taker.execute("DBSIZE") > 0
        queue.complete(claim)
        assert queue.get(task.id).status == "completed"


def test_with_wait_a_write_that_no_replica_has_is_told(redis_server: RedisServer, replica: RedisServer) -> None:
    url = redis_server.url(wait="1", wait_ms="30000")
    with dibs.connect_sync(url) as patient, dibs.connect_sync(url.replace("30000", "200")) as queue:
        patient.add("work")
        replica.freeze()
        try:
            with pytest.raises(dibs.Unavailable, match="within 200 ms that a replica had it") as caught:
                queue.add("work")
        finally:
            replica.thaw()
        assert caught.value.code == "outcome_unknown"
        patient.add("work")


def test_with_aof_a_server_says_that_a_write_is_on_disk_or_is_refused(redis_server: RedisServer) -> None:
    with redis_server.client() as client:
        can_tell = "waitaof" in client.command_list() if client.info()["redis_version"] >= "7" else False
    if can_tell:
        with dibs.connect_sync(redis_server.url(aof="on", wait_ms="30000")) as queue:
            task = queue.add("work")
            redis_server.kill()
            redis_server.start()
            assert queue.get(task.id).status == "ready"
    else:
        with pytest.raises(dibs.Unavailable, match="cannot say when a write is on its disk"):
            dibs.connect_sync(redis_server.url(aof="on"))


@pytest.mark.parametrize(("answer", "is_enough"), [([1, 0], True), ([0, 2], False)])
def test_with_aof_a_write_that_is_not_on_disk_is_told(answer: list[int], is_enough: bool) -> None:
    asked = []

    class Answering:
        def send(self, commands: list[Any]) -> list[Any]:
            asked.extend(commands)
            return [answer]

    address = Address.parse("redis://localhost?aof=on&wait_ms=7")
    engine = Engine(address, Keys(address.tag))
    line: Any = Answering()
    if is_enough:
        engine.confirm(line)
    else:
        with pytest.raises(dibs.Unavailable, match="within 7 ms that its disk had it"):
            engine.confirm(line)
    assert asked == [("WAITAOF", 1, 0, 7)]


def test_memory_that_is_full_refuses_what_is_new_and_changes_nothing(redis_server: RedisServer) -> None:
    with dibs.connect_sync(redis_server.url()) as queue:
        task = queue.add("work")
        redis_server.execute("CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(dibs.Unavailable, match="has no memory left and wrote nothing") as caught:
            queue.add("work")
        assert caught.value.exit_code == 6
        with pytest.raises(dibs.Unavailable):
            queue.claim("a")
        assert [each.id for each in queue.find().items] == [task.id]
        assert queue.get(task.id).status == "ready"
        with dibs.connect_sync(redis_server.url()) as other:
            assert other.get(task.id).status == "ready"
        redis_server.execute("CONFIG", "SET", "maxmemory", "0")
        assert len(queue.claim("a")) == 1


def test_a_full_server_that_was_started_again_can_be_read(redis_server: RedisServer) -> None:
    with dibs.connect_sync(redis_server.url()) as queue:
        task = queue.add("work")
    redis_server.restart(maxmemory="1")
    with dibs.connect_sync(redis_server.url()) as queue:
        assert queue.get(task.id).status == "ready"
        with pytest.raises(dibs.Unavailable, match="has no memory left and wrote nothing"):
            queue.add("work")


def test_the_doctor_sees_the_server_as_it_is_now(redis_server: RedisServer) -> None:
    with dibs.connect_sync(redis_server.url()) as queue:
        store = queue.queue.store
        assert drive(store.check()) == []
        assert "appendfsync everysec" in drive(store.advise())[0]
        redis_server.execute("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        redis_server.execute("CONFIG", "SET", "appendfsync", "always")
        redis_server.execute("CONFIG", "SET", "maxmemory", "1gb")
        [finding] = drive(store.check())
        assert "throws keys away" in finding
        assert drive(store.advise()) == []


def test_scripts_that_the_server_forgot_are_sent_again(redis_server: RedisServer) -> None:
    with dibs.connect_sync(redis_server.url()) as queue:
        queue.add("work")
        redis_server.execute("SCRIPT", "FLUSH")
        queue.add("work")
        assert len(queue.claim("a", limit=10)) == 2
