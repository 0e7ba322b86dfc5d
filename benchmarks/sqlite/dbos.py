"""DBOS on SQLite, the other peer: in an environment of its own, on a stage like those of the servers.

Its file is durable and at its quickest: `journal_mode=WAL`, which it does not set itself, and `synchronous=FULL`, which
is SQLite's default.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from benchmarks.bench import Bench
from benchmarks.contest.measures import adding, latency
from benchmarks.contest.measures.drain import drain
from benchmarks.contest.sizes import SIZES
from benchmarks.contest.stage import Contest, Contestant
from benchmarks.environments import Missing
from benchmarks.peers import postgres
from benchmarks.peers.peer import Sizes as PeerSizes
from benchmarks.sqlite.sizes import QUICK, Sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from benchmarks.peers.peer import Peer

PEER = postgres.DBOS.variant(
    "dbos",
    {},
    unfinished="SELECT EXISTS (SELECT 1 FROM workflow_status WHERE status IN ('ENQUEUED', 'PENDING'))",
    about="async workflows, worker_concurrency=500, polling every 10 ms (its default is 1 s), WAL, synchronous=FULL;"
    " one worker process",
    sizes=PeerSizes(add=2_000, drain=5_000),
)


class Files:
    """Stands where a contest has a server: a fresh folder for each database."""

    can_restart = False
    version = sqlite3.sqlite_version_info[:2]

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def restart(self) -> None:
        raise NotImplementedError

    def fresh(self, suffix: str = "") -> str:
        self.drop(suffix)
        (self._folder / f"dbos{suffix}").mkdir()
        return f"sqlite:///{self._folder / f'dbos{suffix}' / 'dbos.db'}"

    def drop(self, suffix: str = "") -> None:
        shutil.rmtree(self._folder / f"dbos{suffix}", ignore_errors=True)

    def tidy(self, url: str) -> None:
        with self._connected(url) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def watching(self, url: str, peer: Peer) -> Iterator[Callable[[], bool]]:
        with self._connected(url) as connection:
            yield lambda: bool(connection.execute(peer.unfinished).fetchone()[0])

    def release(self, url: str, peer: Peer) -> None:
        raise NotImplementedError

    def describe(self) -> dict[str, str]:
        return {}

    @contextmanager
    def _connected(self, url: str) -> Iterator[sqlite3.Connection]:
        path = url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as connection:
            yield connection


class Rival:
    """DBOS, where it can be had."""

    def __init__(self, bench: Bench[Sizes]) -> None:
        self._contestant = Contestant(PEER, PEER.prepare(bench.say))
        sizes = SIZES["small" if bench.sizes is QUICK else "full"]
        of_contest = Bench(bench.folder, runs=bench.runs, sizes=sizes)
        self._contest = Contest(of_contest, Files(bench.fresh_folder("dbos")))

    def drain(self) -> float:
        count = self._contest.sizes.of(PEER.sizes.drain)
        return drain(self._contest, self._contestant, 1, count)

    def add(self) -> float:
        return adding.once(self._contest, self._contestant)["add"]

    def latency(self) -> dict[str, float]:
        return latency.once(self._contest, self._contestant)


def rival(bench: Bench[Sizes]) -> Rival | None:
    """None, and why is said, where it cannot be installed: the other figures are worth having without it."""
    try:
        return Rival(bench)
    except (Missing, RuntimeError) as error:
        bench.say(f"without DBOS: {error}")
        return None
