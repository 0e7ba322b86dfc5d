"""Everything dies: workers by `kill -9` every second, the server by stopping, crashing and `kill -9`. Nothing is lost.

Takes $DIBS_CHAOS_S seconds of trouble (default 24), then as long as the rest takes to drain.
"""

from __future__ import annotations

import itertools
import os
import time
from typing import TYPE_CHECKING

import pytest

import dibs
from tests.proofs.fleet import Fleet, Producer, check, until_all_ended
from tests.servers import postgres

if TYPE_CHECKING:
    from pathlib import Path

TROUBLE_S = float(os.environ.get("DIBS_CHAOS_S", "24"))
RESTART_EVERY_S = 6.0
ENDINGS = ("fast", "immediate", "kill -9")


def _in_trouble(server: postgres.Server, fleet: Fleet) -> None:
    """Kill a worker every second and the server every six. Never mind how slow they are to come back."""
    endings = itertools.cycle(ENDINGS)
    away = 0
    end = time.monotonic() + TROUBLE_S
    restart_at = time.monotonic() + RESTART_EVERY_S / 2
    while time.monotonic() < end or away < 4 or len(fleet.killed) < 10:
        time.sleep(1)  # the rhythm of the killing
        fleet.kill_one()
        if time.monotonic() > restart_at:
            restart_at = time.monotonic() + RESTART_EVERY_S
            ending = next(endings)
            if ending == "kill -9":
                server.kill()
            else:
                server.stop(ending)
            server.start()
            away += 1


@pytest.mark.timeout(TROUBLE_S + 240)
def test_workers_and_servers_that_die_all_the_time_lose_nothing_and_settle_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # How long it takes to come back is up to the machine.
    monkeypatch.setattr("dibs.stores.postgres.engine.PATIENCE_S", 60.0)
    with postgres.private() as server:
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
