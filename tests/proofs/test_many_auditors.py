"""Many processes write to one audit, and some are killed while they do: one chain, no entry twice, none lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import dibs

if TYPE_CHECKING:
    from pathlib import Path

    from dibs.model.audit import AuditEntry

PROGRAM = """
import sys
import dibs
with dibs.connect_sync(sys.argv[1]) as queue:
    for number in range(int(sys.argv[3])):
        queue.record_act("act", f"{sys.argv[2]}-{number}", by=sys.argv[2])
        print(number, flush=True)
"""
WRITERS = 4
EACH = 10


def _start(url: str, name: str, count: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", PROGRAM, url, name, str(count)], stdout=subprocess.PIPE)


def _written(url: str) -> list[str]:
    with dibs.connect_sync(url) as queue:
        verdict = queue.verify_audit()
        assert verdict.sound, verdict.faults
        found: list[AuditEntry] = []
        while page := queue.audit(len(found), limit=1000):
            found += page
    assert [entry.number for entry in found] == list(range(1, len(found) + 1))
    return [entry.target for entry in found]


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_processes_share_one_chain(store: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = f"sqlite:{tmp_path / 'work.db'}" if store == "sqlite" else request.getfixturevalue("postgres_url")
    with dibs.connect_sync(url):
        pass
    writers = [_start(url, f"p{number}", EACH) for number in range(WRITERS)]
    for writer in writers:
        writer.communicate(timeout=100)
        assert writer.returncode == 0
    written = _written(url)
    assert sorted(written) == sorted(f"p{number}-{each}" for number in range(WRITERS) for each in range(EACH))


def test_a_writer_that_is_killed_leaves_a_sound_chain_with_all_it_was_told_of(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'work.db'}"
    with dibs.connect_sync(url):
        pass
    told = []
    for round in range(4):
        with _start(url, f"r{round}", 1000) as writer:
            assert writer.stdout is not None
            told += [f"r{round}-{int(writer.stdout.readline())}" for _ in range(5)]
            time.sleep(0.003 * round)
            writer.send_signal(signal.SIGKILL)
            told += [f"r{round}-{int(line)}" for line in writer.stdout.read().splitlines() if line.isdigit()]
    written = _written(url)
    assert len(set(written)) == len(written)
    assert set(told) <= set(written)
    # At most the one that each was about to tell of.
    assert len(written) <= len(told) + 4
