"""`dibs bench`: it measures on every kind of store, and nothing of it stays with anybody's tasks."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from dibs.cli.bench.figures import latency
from dibs.sync import connect_sync
from tests.cli.conftest import COMMAND
from tests.server.process import up

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Run
    from tests.servers.postgres import Server
    from tests.servers.redis import Namespaces

BRIEF = ("--seconds", "120", "--tasks", "20")
"""Few tasks, and time enough for all of them: how long that takes depends on the machine."""


def _is_whole(figures: Any) -> None:
    """Everything was measured, and nothing of it is nothing."""
    assert len(figures["rates"]) == 4
    for rate in figures["rates"]:
        assert rate["tasks"] > 0, rate
        # Seconds are told to four places, which is little of what takes less than a thousandth.
        assert rate["seconds"] == pytest.approx(rate["tasks"] / rate["per_second"], rel=0.05, abs=0.0001)
    assert figures["latency"]["tasks"] > 0
    assert 0 < figures["latency"]["p50_ms"] <= figures["latency"]["p99_ms"]
    assert figures["cores"] >= 1


def test_it_measures_beside_a_file_and_leaves_nothing(
    dibs: Run, tmp_path: Path, snapshot: Callable[[], Any], url: str
) -> None:
    dibs("add", "dibs-bench", "somebody's own", ok=True)
    before = snapshot()
    files = sorted(os.listdir(tmp_path))
    found = dibs("bench", *BRIEF, "--json", ok=True).json
    _is_whole(found)
    assert found["url"] == url
    assert snapshot() == before
    assert sorted(os.listdir(tmp_path)) == files


def test_where_there_is_no_store_it_makes_none(dibs: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIBS_URL")
    monkeypatch.chdir(tmp_path)
    rows = [row.split("\t") for row in dibs("bench", *BRIEF, ok=True).out.splitlines()]
    assert [len(row) for row in rows] == [4] * 5
    assert rows[0][0] == "add, one at a time"
    assert os.listdir(tmp_path) == []


def test_it_measures_in_memory(dibs: Run) -> None:
    _is_whole(dibs("bench", *BRIEF, "--url", "memory:", "--json", ok=True).json)


def test_a_person_sees_tables_and_how_far_it_is(terminal: Run) -> None:
    shown = terminal("bench", *BRIEF)
    assert shown.code == 0
    for text in ("opening a store", "PER SECOND", "claim and complete, by a worker", "MEDIAN", " ms"):
        assert text in shown.out


@pytest.mark.parametrize(
    ("argv", "field"),
    [
        (["--tasks", "9"], "tasks"),
        (["--tasks", "1000001"], "tasks"),
        (["--tasks", "many"], "tasks"),
        (["--seconds", "0.5"], "seconds"),
        (["--seconds", "11m"], "seconds"),
        (["--seconds", "soon"], "seconds"),
        (["--url", "nonsense:"], "url"),
        (["more"], "more"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(dibs: Run, argv: list[str], field: str) -> None:
    refused = dibs("bench", *argv, "--json")
    assert (refused.code, refused.error["field"]) == (2, field)


def test_a_folder_where_nothing_can_be_written_is_unavailable(dibs: Run) -> None:
    refused = dibs("bench", *BRIEF, "--url", "sqlite:/proc/work.db", "--json")
    assert (refused.code, refused.error["code"]) == (6, "unavailable")
    assert "/proc" in refused.error["message"]


def _schemas(server: Server) -> list[str]:
    return [row[0] for row in server.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'dibs_bench_%'")]


def test_on_postgres_it_asks_first_and_drops_its_schema(dibs: Run, postgres_server: Server) -> None:
    postgres_url = postgres_server.url()
    id = dibs("add", "work", "--url", postgres_url, ok=True).line
    refused = dibs("bench", *BRIEF, "--url", postgres_url, "--json")
    assert (refused.code, refused.error["field"]) == (2, "yes")
    assert "a schema of its own" in refused.error["message"]
    _is_whole(dibs("bench", *BRIEF, "--url", postgres_url, "--yes", "--json", ok=True).json)
    assert _schemas(postgres_server) == []
    assert dibs("show", id, "--url", postgres_url, "--json", ok=True).json["status"] == "ready"


def test_on_redis_it_asks_first_and_deletes_its_keys(dibs: Run, redis_url: str, redis_namespaces: Namespaces) -> None:
    dibs("add", "work", "--url", redis_url, ok=True)
    before = redis_namespaces.keys(redis_url)
    refused = dibs("bench", *BRIEF, "--url", redis_url, "--json")
    assert (refused.code, refused.error["field"]) == (2, "yes")
    _is_whole(dibs("bench", *BRIEF, "--url", redis_url, "--yes", "--json", ok=True).json)
    assert redis_namespaces.keys("namespace=dibs_bench_") == []
    assert redis_namespaces.keys(redis_url) == before


def test_through_a_server_it_has_a_project_and_a_token_of_its_own(tmp_path: Path) -> None:
    with up(tmp_path, f"sqlite:{tmp_path / 'work.db'}") as server:

        def ask(*argv: str) -> Any:
            done = server.shell(*argv, "--json")
            assert done.returncode == 0, done.stderr
            return msgspec.json.decode(done.stdout)

        server.shell("add", "dibs-bench", "somebody's own")
        before = ask("stats")["by_status"], ask("token", "ls"), ask("ls")["items"][0]["status"]
        refused = server.shell("bench", *BRIEF)
        assert refused.returncode == 2
        assert "a project of its own" in refused.stderr
        _is_whole(ask("bench", *BRIEF, "--yes"))
        assert (ask("stats")["by_status"], ask("token", "ls"), ask("ls")["items"][0]["status"]) == before
        [ended] = [token for token in ask("token", "ls", "--all") if token["name"].startswith("dibs_bench_")]
        assert ended["project"] == ended["name"]
        # Nothing of it waits for ever for somebody to do it.
        with connect_sync(f"sqlite:{tmp_path / 'work.db'}", project=ended["project"]) as own:
            assert set(own.stats().by_status) <= {"completed", "cancelled"}


def test_through_a_server_it_takes_an_admin(tmp_path: Path) -> None:
    with up(tmp_path, f"sqlite:{tmp_path / 'work.db'}") as server:
        token = server.ask("POST", "/v1/tokens", {"name": "coder"}, token=server.token).json["secret"]
        refused = server.shell("bench", *BRIEF, "--yes", token=token)
        assert refused.returncode == 7
        assert "only admins of the project default" in refused.stderr


def _until(fact: Callable[[], Any]) -> Any:
    end = time.monotonic() + 60
    while not (found := fact()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_removes_what_it_made(tmp_path: Path, url: str, number: int) -> None:
    process = subprocess.Popen([*COMMAND, "bench", "--seconds", "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        _until(lambda: list(tmp_path.glob(".dibs_bench_*/bench.db-wal")))
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out, err) == (130, b"", b"")
    assert os.listdir(tmp_path) == []


def test_interrupted_it_drops_its_schema(url: str, postgres_server: Server) -> None:
    command = [*COMMAND, "bench", "--seconds", "60", "--yes", "--url", postgres_server.url()]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        _until(lambda: _schemas(postgres_server))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert _schemas(postgres_server) == []


def test_percentiles_are_values_that_were_measured() -> None:
    found = latency("", [number / 1000 for number in range(1, 101)])
    assert (found.tasks, found.p50_ms, found.p99_ms) == (100, 50.0, 99.0)
    alone = latency("", [0.004])
    assert (alone.p50_ms, alone.p99_ms) == (4.0, 4.0)
