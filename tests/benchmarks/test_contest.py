"""What the benchmarks conclude from what they measured, and whom they measure. No figure is taken here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from benchmarks.contest import presenting
from benchmarks.contest.sizes import SIZES
from benchmarks.contest.stage import Contest, Contestant, Unable, last_line
from benchmarks.contest.standings import RAW, Standings
from benchmarks.environments import Environment
from benchmarks.peers import postgres
from benchmarks.peers.peer import SCRIPTS
from benchmarks.redis import peers as redis
from benchmarks.redis.floors import floors

if TYPE_CHECKING:
    from typing import Any

    from benchmarks.peers.peer import Peer

EVERYBODY = [
    *postgres.PEERS.values(),
    *postgres.VARIANTS.values(),
    *redis.PEERS.values(),
    *redis.VARIANTS.values(),
]


def standings(**figures: dict[str, float]) -> Standings:
    """Of dibs and some peers on Redis: a value for each quantity."""
    found = Standings([redis.PEERS[name] for name in figures if name != RAW], SIZES["full"])
    for name, quantities in figures.items():
        for quantity, value in quantities.items():
            found.keep(name, quantity, "/s", [value])
    return found


@pytest.mark.parametrize("peer", EVERYBODY, ids=lambda peer: f"{peer.name}-{peer.script}")
def test_every_peer_has_a_script_and_pinned_packages(peer: Peer) -> None:
    assert (SCRIPTS / peer.script).exists()
    assert all("==" in package or "@" in package for package in peer.packages)


@pytest.mark.parametrize("peer", [peer for peer in EVERYBODY if peer.name != "dibs"], ids=lambda peer: peer.name)
def test_what_is_done_is_asked_of_the_store_not_of_the_peer(peer: Peer) -> None:
    asks_dibs_itself = peer.script == "dibs_peer.py"
    assert peer.unfinished or asks_dibs_itself


def test_a_drain_on_redis_is_held_against_the_fastest_in_python() -> None:
    found = standings(dibs={"drain 1": 8_000}, huey={"drain 1": 2_000}, celery={"drain 1": 900})
    [against_python, against_everybody] = floors(found)
    assert (against_python.name, against_python.value) == ("drain 1 / the fastest in Python (huey)", 4.0)
    assert against_python.met
    assert not against_python.goal
    assert against_everybody.goal


def test_a_faster_queue_in_node_misses_only_a_goal() -> None:
    found = standings(dibs={"drain 1": 8_000}, huey={"drain 1": 2_000}, bullmq={"drain 1": 16_000})
    missed = [floor for floor in floors(found) if not floor.met]
    assert [(floor.name, floor.goal) for floor in missed] == [("drain 1 / the fastest (bullmq)", True)]


def test_latency_on_redis_is_bounded_from_the_call_only() -> None:
    quantities = {"latency p50 from call": 3.0, "latency p50 from return": 0.1, "latency p99 from call": 50.0}
    found = standings(dibs=quantities, huey={"latency p50 from call": 1.0, "latency p50 from return": -0.1})
    [floor] = floors(found)
    assert floor.name == "latency p50 from call / the fastest in Python (huey)"
    assert not floor.met


def test_a_claim_on_redis_may_cost_a_fifth_more_with_a_million_waiting() -> None:
    found = standings(dibs={"claim 1, 1 lane, few waiting": 1.0, "claim 1, 1 lane, many waiting": 1.21})
    [floor] = floors(found)
    assert floor.name == "claim 1, 1 lane: 1,000,000 waiting / 20,000 waiting"
    assert not floor.met


def test_nothing_is_concluded_from_one_side_alone() -> None:
    assert floors(standings(dibs={"drain 1": 8_000, "add": 1.0})) == []
    assert floors(standings(huey={"drain 1": 8_000})) == []


def test_the_report_says_why_a_figure_is_missing() -> None:
    found = standings(dibs={"add": 5_000}, huey={"add": 6_000})
    found.absent["huey", "kill"] = "a task that a worker has taken is nowhere else"
    found.skipped["celery"] = "no wheel"
    text = presenting.markdown(found, floors(found), {"machine": "2 cores"})
    assert "- kill: huey: a task that a worker has taken is nowhere else" in text
    assert "- celery, not run: no wheel" in text


def test_a_peer_that_needs_a_newer_server_is_told_apart_from_one_that_failed() -> None:
    server: Any = SimpleNamespace(version=(6, 2))
    bench: Any = SimpleNamespace()
    contest = Contest(bench, server)
    newer = Contestant(redis.STREAQ, Environment(("python",)))
    with pytest.raises(Unable, match=r"needs a server of version 7\.0"), contest.stage(newer):
        pass


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("Traceback\n  File\nValueError: no\n", "ValueError: no"),
        ("  | redis.exceptions.ConnectionError: gone\n  +-----------\n", "redis.exceptions.ConnectionError: gone"),
        ("one\ntwo\n\n", "two"),
        ("", "no output"),
    ],
)
def test_the_reason_of_a_failure_is_its_last_line_that_names_an_error(text: str, last: str) -> None:
    assert last_line(text) == last
