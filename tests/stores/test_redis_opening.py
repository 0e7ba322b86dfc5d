"""Which Redis servers are refused, what is said about the others, and how each trouble is told."""

from __future__ import annotations

import socket
import subprocess
import threading
from typing import TYPE_CHECKING, Any

import pytest
import redis

import dibs
from dibs.stores.redis import trouble
from dibs.stores.redis.address import Address
from dibs.stores.redis.advising import advice
from dibs.stores.redis.engine import Engine
from dibs.stores.redis.opening import (
    Opened,
    Seen,
    check,
    connection_options,
    look,
    opened,
    reasons_against,
    warnings,
)
from tests.servers.redis import RedisCluster, RedisServer, private, private_cluster, program, until
from tests.story.blocks import ROOT, blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HERE = Address.parse("redis://localhost")
SOUND = Seen(
    version=(7, 2, 4),
    facts={"maxmemory_policy": "noeviction", "aof_enabled": 1, "connected_slaves": 0, "maxmemory": 1000},
    settings={"appendfsync": "always", "save": "", "no-appendfsync-on-rewrite": "no"},
)
SCRIPT = "return redis.call('SET', KEYS[1], 'x')"


def open_at(url: str, **options: Any) -> Opened:
    address = Address.parse(url)
    found = opened(address, meta=f"{address.tag}:meta", **options)
    found.client.close()
    return found


def refusal(url: str, **options: Any) -> str:
    """What opening it is refused with."""
    with pytest.raises(dibs.Unavailable) as caught:
        open_at(url, **options)
    assert caught.value.exit_code == 6
    return caught.value.message


def called(server: RedisServer) -> str:
    """What people are told that it is, and where."""
    return f"{open_at(server.url()).seen.name} at 127.0.0.1:{server.port}/0"


@pytest.fixture(scope="module")
def server(redis_program: str) -> Iterator[RedisServer]:
    """One that no test changes for long."""
    with private(program=redis_program, appendfsync="always", maxmemory="100mb") as server:
        yield server


@pytest.fixture(scope="module")
def cluster(redis_program: str) -> Iterator[RedisCluster]:
    with private_cluster(program=redis_program) as cluster:
        yield cluster


# What is refused


def test_a_server_that_writes_everything_at_once_is_taken_without_a_word(server: RedisServer) -> None:
    found = open_at(server.url("team"))
    assert found.warnings == ()
    assert found.host == ("127.0.0.1", server.port)
    assert found.seen.version is not None
    assert found.seen.version >= (6, 2)
    assert (found.seen.layout, found.seen.is_cluster, found.seen.is_replica) == (None, False, False)


def test_opening_changes_nothing(redis_server: RedisServer) -> None:
    open_at(redis_server.url())
    assert redis_server.execute("DBSIZE") == 0


def test_opening_asks_once(server: RedisServer) -> None:
    address = Address.parse(server.url())
    with opened(address, meta="{dibs:dibs}:meta").client as client:
        commands = [each for each in client.info("commandstats") if "setinfo" in each or "hello" in each]
    assert commands == ["cmdstat_hello"]


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-random", "volatile-ttl", "volatile-lfu"])
def test_a_server_that_throws_keys_away_is_refused(server: RedisServer, policy: str) -> None:
    server.execute("CONFIG", "SET", "maxmemory-policy", policy)
    try:
        message = refusal(server.url())
    finally:
        server.execute("CONFIG", "SET", "maxmemory-policy", "noeviction")
    assert message == (
        f"{called(server)} throws keys away when its memory is full (maxmemory-policy {policy}), and"
        " tasks with them: set maxmemory-policy to noeviction, or connect to another server."
    )


def test_a_replica_is_refused_and_of_several_hosts_the_primary_is_taken(
    redis_server: RedisServer, redis_program: str
) -> None:
    with private(program=redis_program) as replica:
        replica.follow(redis_server)
        assert "is a replica, which cannot be written to" in refusal(replica.url())
        both = f"redis://127.0.0.1:{replica.port},127.0.0.1:{redis_server.port}/0"
        assert open_at(both).host == ("127.0.0.1", redis_server.port)


def test_of_several_hosts_one_that_is_away_is_left_out(server: RedisServer) -> None:
    assert open_at(f"redis://127.0.0.1:1,127.0.0.1:{server.port}").host[1] == server.port
    assert "is not there" in refusal("redis://127.0.0.1:1,127.0.0.1:2")


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (Seen(version=(6, 0, 16)), "dibs needs Redis 6.2 or newer, or Valkey; the one at localhost:6379/0 is 6.0.16"),
        (Seen(version=(5,)), "dibs needs Redis 6.2 or newer, or Valkey; the one at localhost:6379/0 is 5"),
        (Seen(is_replica=True), "is a replica"),
        (Seen(settings={"maxmemory-policy": "allkeys-lru"}), "throws keys away"),
        (Seen(layout=2), "was written by a newer dibs (layout 2; this one knows 1): upgrade dibs"),
    ],
)
def test_each_reason_suffices(seen: Seen, reason: str) -> None:
    with pytest.raises(dibs.Unavailable) as caught:
        check(seen, HERE)
    assert reason in caught.value.message


@pytest.mark.parametrize(
    "seen", [Seen(), SOUND, Seen(version=(6, 2)), Seen(version=(10, 0)), Seen("Valkey", (8, 0, 1)), Seen(layout=1)]
)
def test_what_cannot_be_known_is_no_reason_to_refuse(seen: Seen) -> None:
    assert list(reasons_against(seen, HERE)) == []


def test_a_namespace_that_a_newer_dibs_wrote_is_refused(server: RedisServer) -> None:
    server.execute("HSET", "{dibs:newer}:meta", "layout", "7")
    assert open_at(server.url("newer"), layout=7).seen.layout == 7
    assert refusal(server.url("newer"), layout=6) == (
        f"The namespace newer of {called(server)} was written by a newer dibs (layout 7; this one"
        " knows 6): upgrade dibs."
    )


@pytest.mark.parametrize("command", [("SET", "{dibs:theirs}:meta", "x"), ("HSET", "{dibs:theirs}:meta", "layout", "x")])
def test_keys_of_somebody_else_are_not_ours(server: RedisServer, command: tuple[str, ...]) -> None:
    server.execute("DEL", "{dibs:theirs}:meta")
    server.execute(*command)
    assert "that are not from dibs: name another one in the URL" in refusal(server.url("theirs"))


@pytest.mark.parametrize("word", ["the connection was lost", "LOADING Redis is loading the dataset in memory"])
def test_a_server_that_is_lost_while_it_is_greeted_is_away(
    redis_server: RedisServer, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss = redis.BusyLoadingError if word.startswith("LOADING") else redis.ConnectionError

    def greet(*_: Any) -> None:
        raise loss(word)

    monkeypatch.setattr(Engine, "_greet", greet)
    with pytest.raises(dibs.Unavailable) as caught, dibs.connect_sync(redis_server.url()):
        pass
    assert redis_server.url().split("/")[2].rpartition("@")[2] in caught.value.message


def test_a_sentinel_is_no_server(redis_program: str, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = tmp_path / "sentinel.conf"
    config.write_text(f"port {port}\nbind 127.0.0.1\n")
    with subprocess.Popen([program(redis_program), config, "--sentinel"], stdout=subprocess.DEVNULL) as sentinel:
        try:
            until(lambda: _connects(port), "the Sentinel answers")
            assert "is a Sentinel, which keeps no tasks" in refusal(f"redis://127.0.0.1:{port}")
        finally:
            sentinel.kill()


# Passwords and rights


def test_a_wrong_password_and_a_missing_one_are_told_apart(redis_program: str) -> None:
    with private(program=redis_program, requirepass="right") as server:
        assert "asks for a password: write it into the URL" in refusal(server.url())
        message = refusal(server.url(user="ada:hush"))
        assert "refuses the user or the password: correct them in the URL" in message
        assert "hush" not in message
        assert open_at(server.url(user=":right")).seen.version


def test_a_password_that_nobody_asked_for_is_to_be_left_out(server: RedisServer) -> None:
    assert "has no password, and the URL gives one: leave it out" in refusal(server.url(user=":hush"))


def test_the_rights_that_dibs_asks_for_suffice(server: RedisServer) -> None:
    server.execute("ACL", "SETUSER", "ada", "on", ">secret", "~{dibs:none}*")
    refused = refusal(server.url("team", user="ada:secret"))
    assert "denies ada a right that dibs needs" in refused
    command = refused.partition("`")[2].partition("`")[0]
    server.execute(*command.split())
    found = open_at(server.url("team", user="ada:secret"))
    assert found.warnings == ()
    assert "denies ada a right" in refusal(server.url("others", user="ada:secret"))


def test_a_server_that_may_not_be_asked_is_warned_about_and_taken(server: RedisServer) -> None:
    server.execute("ACL", "SETUSER", "managed", "on", ">x", "~*", "&*", "+@all", "-@dangerous")
    found = open_at(server.url(user="managed:x"))
    there = called(server)
    assert found.warnings == (
        f"{there} does not say whether it throws keys away when its memory is full: make sure that its"
        " maxmemory-policy is noeviction, or tasks can vanish.",
        f"{there} does not say how it writes to its disk, so what a crash of it can lose is unknown: ask whoever runs"
        " it for appendonly yes and appendfsync everysec or always.",
    )
    assert found.seen.version is not None  # that, it says by itself


def test_without_config_the_memory_is_still_known(server: RedisServer) -> None:
    server.execute("ACL", "SETUSER", "managed", "reset", "on", ">x", "~*", "&*", "+@all", "-config", "-hello")
    found = open_at(server.url(user="managed:x"))
    assert [sentence for sentence in found.warnings if "maxmemory-policy" in sentence] == []
    assert len(found.warnings) == 1
    assert found.seen.version is not None


# What can be lost


@pytest.mark.parametrize(
    ("settings", "lost"),
    [
        (
            {"appendonly": "no", "save": '""'},
            "keeps everything in memory only (appendonly no, no snapshots): when it stops, every task is lost;"
            " set appendonly to yes.",
        ),
        (
            {"appendonly": "no", "save": "3600 1"},
            "writes nothing but snapshots (appendonly no): when it crashes, everything since its last snapshot (up to"
            " 3600 seconds ago, or longer if they fail) is lost; set appendonly to yes.",
        ),
        (
            {"appendfsync": "no"},
            "leaves it to its system when the log reaches the disk (appendfsync no): when its machine crashes, what was"
            " answered in the last 30 seconds or so can be lost; set appendfsync to everysec or always.",
        ),
        (
            {"appendfsync": "everysec"},
            "brings its log to the disk once a second (appendfsync everysec): when its machine crashes, what was"
            " answered in the last 2 seconds can be lost, and when it is killed while its disk is slow, too; set"
            " appendfsync to always if none of it may be.",
        ),
        (
            {"appendfsync": "always", "no_appendfsync_on_rewrite": "yes"},
            "does not bring its log to the disk while it rewrites it (no-appendfsync-on-rewrite yes): when its machine"
            " crashes meanwhile, what was answered in the last 30 seconds or so can be lost; set it to no.",
        ),
    ],
    ids=["memory", "snapshots", "no", "everysec", "rewrites"],
)
def test_what_a_crash_can_lose_is_said(redis_program: str, settings: dict[str, str], lost: str) -> None:
    with private(program=redis_program, **settings) as server:
        [warning] = open_at(server.url()).warnings
        assert warning == f"{called(server)} {lost}"


def test_of_several_times_for_snapshots_the_longest_counts() -> None:
    seen = Seen(facts=SOUND.facts | {"aof_enabled": 0}, settings={"save": "60 10000 900 1 300 10"})
    [warning] = warnings(seen, HERE)
    assert "(up to 900 seconds ago" in warning
    [unknown] = warnings(Seen(facts=seen.facts), HERE)
    assert "everything since its last snapshot is lost" in unknown


def test_what_a_replica_that_takes_over_can_lose_is_said(redis_server: RedisServer, redis_program: str) -> None:
    redis_server.execute("CONFIG", "SET", "appendfsync", "always")
    with private(program=redis_program) as replica:
        replica.follow(redis_server)
        [warning] = open_at(redis_server.url()).warnings
        assert "has 1 replica, to which writes go only after they were answered" in warning
        assert open_at(redis_server.url(wait="1")).warnings == ()
        assert "has 1 replica, and wait=2 asks for 2: connect more, or lower wait" in refusal(
            redis_server.url(wait="2")
        )


def test_waiting_for_replicas_is_answered_by_how_many_have_it(redis_server: RedisServer, redis_program: str) -> None:
    address = Address.parse(redis_server.url(wait="1", wait_ms="100"))
    patient = Address.parse(redis_server.url(wait="1", wait_ms="30000"))
    assert "has no replica, and wait=1 asks for 1" in refusal(address.url)
    assert address.confirmation is not None
    assert patient.confirmation is not None
    with private(program=redis_program) as replica, redis_server.client() as client:
        replica.follow(redis_server)
        client.set("a", 1)
        run: Any = client.execute_command
        assert patient.is_confirmed(run(*patient.confirmation))
        replica.freeze()
        client.set("a", 2)
        assert not address.is_confirmed(run(*address.confirmation))
        replica.thaw()
    assert "could not say within 100 ms that a replica had it" in trouble.unconfirmed(address).message
    assert trouble.unconfirmed(address).code == "outcome_unknown"


def test_waiting_for_the_disk_needs_a_server_that_can_tell() -> None:
    wanted = Address.parse("redis://localhost?aof=on")
    assert list(reasons_against(SOUND, wanted)) == []
    [old] = reasons_against(Seen(version=(7, 0, 15)), wanted)
    assert "upgrade it to Redis 7.2 or newer" in old
    [without] = reasons_against(Seen(version=(7, 2), facts={"aof_enabled": 0}), wanted)
    assert "aof=on would wait in vain" in without
    everysec = Seen(version=(7, 2), facts=SOUND.facts, settings={"appendfsync": "everysec"})
    assert warnings(everysec, wanted) == []
    assert len(warnings(everysec, HERE)) == 1


# For the doctor


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"maxmemory": 0}, "has no limit to its memory (maxmemory 0)"),
        ({"maxmemory": 1000, "used_memory": 800, "maxmemory_human": "1K"}, "uses 80% of its memory (maxmemory 1K)"),
        ({"evicted_keys": 1200}, "has thrown away 1,200 keys since it was started"),
        ({"aof_last_write_status": "err"}, "could not write its log"),
        ({"aof_last_bgrewrite_status": "err"}, "could not write its log"),
        ({"rdb_last_bgsave_status": "err"}, "could not write its last snapshot"),
        ({"latest_fork_usec": 1_500_000}, "stood still for 1.5 s"),
        ({"maxclients": 100, "connected_clients": 80}, "has 80 of at most 100 connections"),
    ],
)
def test_what_will_hurt_soon_is_said(facts: dict[str, Any], said: str) -> None:
    [sentence] = advice(Seen(facts=SOUND.facts | facts, settings=SOUND.settings), HERE)
    assert sentence.startswith(f"Redis at localhost:6379/0 {said}")
    assert sentence.endswith(".")


def test_nothing_is_said_about_a_server_that_is_well(server: RedisServer) -> None:
    assert advice(open_at(server.url()).seen, HERE) == []


def test_what_a_crash_can_lose_is_said_to_the_doctor_too(redis_server: RedisServer) -> None:
    said = advice(open_at(redis_server.url()).seen, Address.parse(redis_server.url()))
    assert ["appendfsync everysec" in said[0], "maxmemory 0" in said[1], len(said)] == [True, True, 2]


def test_the_settings_that_the_documentation_advises_give_no_cause_for_advice(redis_program: str) -> None:
    [text] = blocks(ROOT / "docs" / "redis.md", "conf")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    with private(program=redis_program, **dict(lines)) as server:
        address = Address.parse(server.url())
        assert advice(open_at(address.url).seen, address) == []
        server.execute("SET", "kept", "yes")
        server.kill()
        server.start()
        assert server.execute("GET", "kept") == "yes"


def test_the_rights_in_the_documentation_suffice(server: RedisServer) -> None:
    page = (ROOT / "docs" / "redis.md").read_text()
    [command] = [line for line in page.splitlines() if line.startswith("ACL SETUSER")]
    server.execute(*command.split())
    assert open_at(server.url("team", user="worker:secret")).warnings == ()
    assert "denies worker a right" in refusal(server.url("dibs", user="worker:secret"))


# Clusters


def test_in_a_cluster_the_node_that_has_the_keys_is_found(cluster: RedisCluster) -> None:
    taken = set()
    for number in range(12):
        address = Address.parse(cluster.url(f"team-{number}"))
        found = open_at(address.url)
        assert found.host[1] == cluster.owner(f"{address.tag}:task:1").port
        assert found.seen.is_cluster
        taken.add(found.host[1])
    assert len(taken) == 3


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("MOVED 3999 10.0.0.7:6381", ("10.0.0.7", 6381)),
        ("MOVED 3999 ::1:6381", ("::1", 6381)),
        ("MOVED 3999 node.example:6381", ("node.example", 6381)),
        ("MOVED 3999 :6381", ("", 6381)),
        ("ASK 3999 10.0.0.7:6381", None),
        ("MISCONF no", None),
    ],
)
def test_where_a_node_sends_us_is_read(text: str, node: tuple[str, int] | None) -> None:
    assert trouble.moved_to(redis.ResponseError(text)) == node


def test_a_cluster_has_one_database(cluster: RedisCluster) -> None:
    # Valkey's may be told to have more.
    message = refusal(cluster.url("team").replace("/0", "/1"))
    assert "has only database 0" in message or "has no database 1" in message


def test_a_cluster_with_slots_that_nobody_serves_is_told(redis_program: str) -> None:
    with private(program=redis_program, cluster_enabled="yes") as alone:
        assert "does not serve all its slots" in refusal(alone.url())


# Troubles, as the server words them


def test_who_is_not_there_is_told_with_what_to_do(server: RedisServer) -> None:
    assert "is not there: start it, or check host and port in the URL" in refusal("redis://127.0.0.1:1")
    assert "the host name is unknown" in refusal("redis://no.such.host.invalid")
    assert "has no database 99" in refusal(server.url().replace("/0", "/99"))


def test_a_server_that_does_not_answer_is_given_up(redis_server: RedisServer) -> None:
    redis_server.freeze()
    message = refusal(redis_server.url(connect_timeout="1"))
    redis_server.thaw()
    assert "did not answer within 1 s" in message


def test_what_is_no_redis_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        message = refusal(f"redis://127.0.0.1:{listening.getsockname()[1]}")
        thread.join()
    assert "does not speak as Redis does" in message


def test_a_server_without_tls_cannot_be_spoken_to_over_tls() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"-ERR what\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        message = refusal(f"rediss://127.0.0.1:{listening.getsockname()[1]}")
        thread.join()
    assert "cannot be spoken to over TLS" in message


def test_a_server_that_reads_its_files_is_told_and_waited_for(redis_server: RedisServer) -> None:
    with redis_server.client() as client:
        client.eval("for i = 1, 40000 do redis.call('SET', 'key' .. i, i) end", 0)
    redis_server.stop()
    starting = threading.Thread(target=redis_server.start, kwargs={"key_load_delay": "50"})
    starting.start()
    found: list[Exception] = []

    def is_loading() -> bool:
        try:
            with client_of(redis_server) as client:
                client.get("a")
        except (redis.RedisError, OSError) as error:
            found.append(error)
            return trouble.word_of(error) == "LOADING"
        return False

    until(is_loading, "the server reads its files")
    assert "is still reading its files" in refusal(redis_server.url())
    assert trouble.is_passing(found[-1])
    starting.join()
    assert open_at(redis_server.url()).seen.facts["loading"] == 0


def client_of(server: RedisServer, **more: Any) -> redis.Redis:
    address = Address.parse(server.url(**more))
    return redis.Redis(port=server.port, **connection_options(address))


def failure(verb: Callable[[], Any]) -> redis.RedisError:
    with pytest.raises(redis.RedisError) as caught:
        verb()
    return caught.value


def both(client: redis.Redis) -> list[redis.RedisError]:
    """The same trouble, met by a command and by a script."""
    return [failure(lambda: client.set("{dibs:dibs}a", "x")), failure(lambda: client.eval(SCRIPT, 1, "{dibs:dibs}a"))]


def told(error: Exception) -> str:
    message = str(trouble.told(error, HERE))
    assert isinstance(trouble.told(error, HERE), dibs.Unavailable)
    assert message.startswith("Redis at localhost:6379/0 ")
    assert "\n" not in message
    return message


def test_memory_that_is_full_is_told_and_nothing_was_written(redis_program: str) -> None:
    with private(program=redis_program) as server, client_of(server) as client:
        client.config_set("maxmemory", "1")
        for error in both(client):
            assert trouble.word_of(error) == "OOM"
            assert "has no memory left and wrote nothing: raise its maxmemory" in told(error)
            assert not trouble.is_loss(error)
            assert not trouble.is_passing(error)
        assert open_at(server.url()).seen.layout is None  # what is there can still be read
        assert client.dbsize() == 0


def test_a_server_that_became_a_replica_is_looked_for_elsewhere(redis_server: RedisServer, redis_program: str) -> None:
    with private(program=redis_program) as replica, client_of(replica) as client:
        replica.follow(redis_server)
        for error in both(client):
            assert trouble.word_of(error) == "READONLY"
            assert "is a replica" in told(error)
            assert trouble.is_elsewhere(error)


def test_rights_that_are_missing_are_told(redis_server: RedisServer) -> None:
    redis_server.execute("ACL", "SETUSER", "ada", "on", ">x", "~*", "+@all", "-set")
    with client_of(redis_server, user="ada:x") as client:
        for error in both(client):
            assert trouble.word_of(error) == "NOPERM"
            assert "denies default a right that dibs needs" in told(error)
            assert not trouble.is_loss(error)


def test_too_few_replicas_are_told(redis_server: RedisServer) -> None:
    with client_of(redis_server) as client:
        client.config_set("min-replicas-to-write", "1")
        for error in both(client):
            assert trouble.word_of(error) == "NOREPLICAS"
            assert "fewer replicas are connected" in told(error)


def test_a_disk_that_cannot_be_written_to_is_told(redis_program: str) -> None:
    with (
        private(program=redis_program, appendonly="no", save="3600 1", stop_writes_on_bgsave_error="yes") as server,
        client_of(server) as client,
    ):
        (server.folder / "dump.rdb").mkdir()
        client.bgsave()
        until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err", "the snapshot has failed")
        for error in both(client):
            assert trouble.word_of(error) == "MISCONF"
            assert "takes no writes, because it could not write to its disk" in told(error)


def test_a_replica_without_its_primary_is_told(redis_program: str) -> None:
    with (
        private(program=redis_program, replicaof="127.0.0.1 1", replica_serve_stale_data="no") as server,
        client_of(server) as client,
    ):
        error = failure(lambda: client.get("a"))
        assert trouble.word_of(error) == "MASTERDOWN"
        assert trouble.is_passing(error)
        assert "is a replica that has lost its primary" in refusal(server.url())


def test_a_script_of_somebody_else_that_does_not_end_is_told(redis_server: RedisServer) -> None:
    redis_server.execute("CONFIG", "SET", "lua-time-limit", "10")
    with client_of(redis_server) as client, client_of(redis_server) as theirs:
        thread = threading.Thread(target=lambda: failure(lambda: theirs.eval("while true do end", 0)))
        thread.start()

        def is_busy() -> bool:
            try:
                client.get("a")
            except redis.ResponseError as error:
                return trouble.word_of(error) == "BUSY"
            return False

        until(is_busy, "the script is too slow")
        for error in both(client):
            assert trouble.is_passing(error)
            assert "is busy with a script of somebody's" in told(error)
        client.script_kill()
        thread.join()


def test_more_connections_than_the_server_takes_are_told(redis_server: RedisServer) -> None:
    with client_of(redis_server) as first, client_of(redis_server) as client:
        first.config_set("maxclients", "1")
        error = failure(client.ping)
        # The driver reads what it was told, or only notices that it was told something too early.
        if trouble.word_of(error) == "FULL":
            assert "takes no more connections: raise its maxclients" in told(error)
            assert trouble.is_passing(error)
        else:
            assert "check its maxclients" in told(error)
            assert trouble.is_loss(error)


def test_a_connection_that_is_lost_leaves_open_what_was_done(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    killing = threading.Thread(target=redis_server.kill)
    send: Any = redis.Connection.send_packed_command

    def send_and_kill(*args: Any, **options: Any) -> None:
        send(*args, **options)
        killing.start()

    with client_of(redis_server) as client:
        client.ping()
        redis_server.freeze()
        with monkeypatch.context() as patched:
            # It was sent, and is never answered.
            patched.setattr(redis.Connection, "send_packed_command", send_and_kill)
            error = failure(lambda: client.set("a", 1))
        killing.join()
        assert trouble.is_loss(error)
        assert "broke the connection" in told(error)
        assert trouble.in_doubt(error, HERE).code == "outcome_unknown"
        refused = failure(client.ping)
        assert trouble.is_loss(refused)
        assert "is not there" in told(refused)
        assert trouble.away(refused, HERE).message.startswith("Redis at localhost:6379/0 does not answer: ")


def test_a_connection_that_was_refused_before_anything_was_asked_is_told() -> None:
    error = redis.ConnectionError("Connection not ready")
    assert "ended the connection at once, as it does when it takes no more: check its maxclients" in told(error)


def test_what_redis_7_says_is_understood_as_well() -> None:
    """There, what a script was refused stands first, with the driver's own class or without."""
    said = {
        "NOREPLICAS Not enough good replicas to write. script: 1, on @user_script:1.": "NOREPLICAS",
        "MISCONF Errors writing to the AOF file: No space left on device": "MISCONF",
        "UNBLOCKED force unblock from blocking operation, instance state changed": "UNBLOCKED",
        "DENIED Redis is running in protected mode because protected mode is enabled": "DENIED",
        "wrong number of arguments for 'get' command": None,
    }
    assert {text: trouble.word_of(redis.ResponseError(text)) for text in said} == said
    assert trouble.word_of(redis.exceptions.OutOfMemoryError("command not allowed")) == "OOM"
    assert trouble.word_of(ValueError("OOM ")) is None


def test_what_is_not_the_servers_stays_as_it_is() -> None:
    for error in (ValueError("x"), dibs.Invalid("x"), redis.DataError("x")):
        assert trouble.told(error, HERE) is error
    assert "this is a defect in dibs" in told(redis.ResponseError("value is not an integer"))


def test_what_the_driver_does_is_done_once(server: RedisServer) -> None:
    """A script that was sent may have run: whether it is sent again, is not for the driver to decide."""
    with client_of(server) as client:
        client.ping()
        assert client.get_retry()._retries == 0


def test_looking_again_sees_what_has_changed(redis_server: RedisServer) -> None:
    address = Address.parse(redis_server.url())
    with client_of(redis_server) as client:
        assert list(reasons_against(look(client, address, "meta"), address)) == []
        client.config_set("maxmemory-policy", "allkeys-lru")
        assert len(list(reasons_against(look(client, address, "meta"), address))) == 1


def _connects(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
