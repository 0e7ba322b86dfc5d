"""Everything dies, over HTTP: workers and the server between them and their store, by `kill -9`, under load.

Takes $DIBS_CHAOS_S seconds of trouble (default 15), then as long as the rest takes to drain.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

import dibs
from dibs.sync import drive
from tests.proofs.fleet import Fleet, Producer, check, until_all_ended
from tests.servers.process import ServerProcess
from tests.servers.serving import SECRET

if TYPE_CHECKING:
    from pathlib import Path

TROUBLE_S = float(os.environ.get("DIBS_CHAOS_S", "15"))
KILL_EVERY_S = 4.0


def _in_trouble(server: ServerProcess, fleet: Fleet, producer: Producer) -> None:
    """Kill a worker every second and the server every four. Never mind how slow they are to come back."""
    away = 0
    end = time.monotonic() + TROUBLE_S
    kill_at = time.monotonic() + KILL_EVERY_S / 2
    while time.monotonic() < end or away < 2 or len(fleet.killed) < 5 or len(producer.accepted) <= 100:
        time.sleep(1)  # the rhythm of the killing
        fleet.kill_one()
        if time.monotonic() > kill_at:
            server.kill()
            server.start()
            kill_at = time.monotonic() + KILL_EVERY_S
            away += 1


@pytest.mark.timeout(TROUBLE_S + 240)
def test_a_server_that_dies_all_the_time_loses_nothing_and_settles_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIBS_TOKEN", SECRET)
    # How long it takes to come back is up to the machine.
    monkeypatch.setattr("dibs.rules.repeating.PATIENCE_S", 60.0)
    store = f"sqlite:{tmp_path / 'dibs.db'}"
    server = ServerProcess(store, tmp_path / "server.log")
    producer = fleet = None
    try:
        producer, fleet = Producer(server.url), Fleet(server.url, tmp_path)
        producer.start()
        _in_trouble(server, fleet, producer)
        producer.enough.set()
        producer.join()
        with dibs.connect_sync(server.url) as queue:
            until_all_ended(queue)
            assert not producer.refused, "a server that is away for a while is waited for"
            assert len(producer.accepted) > 100
            check(queue, set(producer.accepted), fleet)
            assert drive(queue.queue.store.check()) == []
    finally:
        if producer is not None:
            producer.enough.set()
            producer.join()
        if fleet is not None:
            fleet.end()
        server.kill()
    said = (tmp_path / "server.log").read_text()
    assert "Traceback" not in said, said[said.index("Traceback") :][:3_000]
