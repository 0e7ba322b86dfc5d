"""The shell on a Redis server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.servers.redis import RedisServer, private

if TYPE_CHECKING:
    from tests.cli.conftest import Run


def test_a_task_goes_through_its_life(dibs: Run, redis_url: str) -> None:
    id = dibs("add", "work", "--url", redis_url, ok=True).line
    claim = dibs("claim", "--agent", "a", "--url", redis_url, ok=True).json
    assert claim["task"]["id"] == id
    dibs("complete", id, "--fence", claim["fence"], "--output", '"done"', "--url", redis_url, ok=True)
    assert dibs("show", id, "--url", redis_url, "--json", ok=True).json["output"] == "done"


def test_the_doctor_says_what_a_crash_can_lose(dibs: Run, redis_server: RedisServer) -> None:
    report = dibs("doctor", "--url", redis_server.url(), "--json", ok=True).json
    assert report["sound"]
    assert "appendfsync everysec" in report["warnings"][0]
    assert "appendfsync everysec" in dibs("doctor", "--url", redis_server.url(), ok=True).out.replace("\n", " ")


def test_a_server_that_is_not_there_is_exit_6(dibs: Run) -> None:
    refused = dibs("ls", "--url", "redis://127.0.0.1:1", "--json")
    assert (refused.code, refused.error["code"]) == (6, "unavailable")
    assert "is not there: start it" in refused.error["message"]


def test_a_password_is_shown_to_nobody(dibs: Run, redis_program: str) -> None:
    with private(program=redis_program, requirepass="hush") as server:
        report = dibs("doctor", "--url", server.url(user=":hush"), "--json", ok=True)
        assert "hush" not in report.out
        refused = dibs("ls", "--url", server.url(user=":hushhush"), "--json")
        assert (refused.code, "hush" in refused.err) == (6, False)
