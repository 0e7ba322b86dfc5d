"""The Redis servers that tests are run with do what tests expect of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import redis

from tests.servers.redis import Namespaces, RedisCluster, RedisServer, private, private_cluster, until

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def cluster(redis_program: str) -> Iterator[RedisCluster]:
    with private_cluster(program=redis_program) as cluster:
        yield cluster


def test_what_was_written_survives_a_stop(redis_server: RedisServer) -> None:
    redis_server.execute("SET", "kept", "yes")
    redis_server.restart()
    assert redis_server.execute("GET", "kept") == "yes"


def test_with_a_log_that_is_always_on_disk_what_was_written_survives_a_kill(redis_program: str) -> None:
    with private(program=redis_program, appendfsync="always") as server:
        for number in range(20):
            server.execute("INCRBY", "sum", number)
        server.kill()
        assert not server.is_running()
        with pytest.raises(redis.ConnectionError):
            server.execute("PING")
        server.start()
        assert server.execute("GET", "sum") == str(sum(range(20)))


def test_settings_can_be_chosen_and_changed_with_a_restart(redis_program: str) -> None:
    with private(program=redis_program, maxmemory="5mb", appendfsync="always") as server, server.client() as client:
        assert client.config_get("maxmemory") == {"maxmemory": str(5 * 1024 * 1024)}
        assert client.config_get("appendfsync") == {"appendfsync": "always"}
        server.restart(appendfsync="no")
        assert client.config_get("appendfsync") == {"appendfsync": "no"}
        assert client.config_get("maxmemory") == {"maxmemory": str(5 * 1024 * 1024)}


def test_a_server_with_a_password_can_be_started_and_used(redis_program: str) -> None:
    with private(program=redis_program, requirepass="hush") as server:
        assert server.execute("PING")
        with redis.Redis.from_url(server.url()) as stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()
        with redis.Redis.from_url(server.url(user=":hush")) as friend:
            assert friend.ping()


def test_a_setting_that_does_not_exist_is_told(redis_program: str) -> None:
    with pytest.raises(RuntimeError, match="colour"), private(program=redis_program, colour="red"):
        pass


def test_a_port_that_somebody_else_took_is_left_to_him(
    redis_server: RedisServer, redis_program: str, tmp_path: Path
) -> None:
    other = RedisServer(tmp_path / "other", program=redis_program)
    other.port = redis_server.port
    try:
        other.start()
        assert other.port != redis_server.port
        assert other.pid != redis_server.pid
        assert other.execute("INFO", "server")["process_id"] == other.pid
    finally:
        other.destroy()


def test_a_frozen_server_answers_when_it_is_thawed(redis_server: RedisServer) -> None:
    redis_server.freeze()
    with redis_server.client(socket_timeout=0.2, retry=None) as client, pytest.raises(redis.TimeoutError):
        client.ping()
    redis_server.thaw()
    assert redis_server.execute("PING")


def test_a_server_can_follow_another(redis_server: RedisServer, redis_program: str) -> None:
    redis_server.execute("SET", "known", "yes")
    with private(program=redis_program) as replica:
        replica.follow(redis_server)
        assert replica.execute("GET", "known") == "yes"
        assert replica.execute("ROLE")[0] == "slave"


def test_nothing_of_a_server_stays_behind(redis_program: str) -> None:
    with private(program=redis_program) as server:
        pid, folder = server.pid, server.folder
    assert not folder.exists()
    assert not server.is_running()
    assert _has_ended(pid)


def test_nothing_stays_behind_of_whoever_is_killed(redis_program: str) -> None:
    program = f"""
from tests.servers.redis import private
with private(program={redis_program!r}) as server:
    print(server.pid, server.folder, flush=True)
    input()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as process:
        assert process.stdout is not None
        pid, folder = process.stdout.readline().split()
        process.kill()
    until(lambda: not Path(folder).exists() and _has_ended(int(pid)), "server and folder are gone")


def test_each_test_gets_a_namespace_of_its_own(redis_namespaces: Namespaces) -> None:
    with redis_namespaces.lend() as one, redis_namespaces.lend() as two:
        assert one != two
        name = one.rpartition("=")[2]
        with redis.Redis.from_url(one.partition("?")[0]) as client:
            client.set(f"dibs:{{{name}}}:a", 1)
        assert redis_namespaces.keys(one) == [f"dibs:{{{name}}}:a"]
        assert redis_namespaces.keys(two) == []
    assert redis_namespaces.keys(one) == []


def test_a_cluster_serves_every_key_from_the_node_that_owns_it(cluster: RedisCluster) -> None:
    owners = set()
    for number in range(50):
        owner = cluster.owner(f"key-{number}")
        assert owner.execute("SET", f"key-{number}", "1")
        owners.add(owner.port)
    assert len(owners) == 3


def test_a_cluster_tells_whoever_asks_the_wrong_node(cluster: RedisCluster) -> None:
    owner = cluster.owner("some-key")
    other = next(node for node in cluster.nodes if node is not owner)
    with pytest.raises(redis.exceptions.MovedError) as caught:
        other.execute("GET", "some-key")
    assert caught.value.port == owner.port


def test_the_runs_cluster_lends_namespaces(redis_cluster_url: str) -> None:
    place, _, namespace = redis_cluster_url.partition("?namespace=")
    assert namespace.startswith("test_")
    with redis.Redis.from_url(place) as client:
        assert client.execute_command("CLUSTER INFO")["cluster_state"] == "ok"


def _has_ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    # One that was not collected yet has ended, too.
    return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text() if Path("/proc").exists() else False
