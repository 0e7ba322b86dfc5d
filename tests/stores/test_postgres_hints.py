"""How often a store tells others of its commits, and how often it lets them wake it."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from typing import Any, cast

import pytest

from dibs.stores.postgres import hints
from dibs.stores.postgres.hints import Crowd, Hints, Pace


class Server:
    """Remembers what it is sent, and takes its time for it."""

    def __init__(self, takes_s: float) -> None:
        self.notified = 0
        self.sent: list[str] = []
        self.takes_s = takes_s

    async def attempt(self, sql: str, *args: Any) -> list[Any]:
        await asyncio.sleep(self.takes_s)
        self.sent.append(sql)
        self.notified += 1
        return []


def hints_to(server: Server) -> Hints:
    return Hints(cast("hints.Line", server), "news", listening=False, sending=True)


async def commits(of: Hints, server: Server, at_least: int) -> float:
    """A commit in every turn of the loop, until so many hints have left; how long that took."""
    began = time.monotonic()
    while server.notified < at_least:
        of.changed()
        await asyncio.sleep(0)
    return time.monotonic() - began


def test_among_many_who_hint_each_leaves_room_to_the_others() -> None:
    crowd = Crowd()
    assert crowd.gap_s(0.0005) == hints.SHORTEST_GAP_S
    gaps = [crowd.gap_s(0.004) for _ in range(20)]
    assert gaps == sorted(gaps)
    assert gaps[-1] == hints.LONGEST_GAP_S


def test_when_the_others_have_gone_the_room_is_used_again() -> None:
    crowd = Crowd()
    crowd.gap_s(0.0005)
    for _ in range(20):
        crowd.gap_s(0.004)
    assert [crowd.gap_s(0.0005) for _ in range(20)][-1] == hints.SHORTEST_GAP_S


def test_a_server_far_away_is_no_crowd() -> None:
    crowd = Crowd()
    assert {crowd.gap_s(0.030) for _ in range(100)} == {hints.SHORTEST_GAP_S}


def test_a_store_that_met_a_crowd_sends_fewer_hints() -> None:
    async def story() -> None:
        server = Server(takes_s=0)
        told = hints_to(server)
        await commits(told, server, 1)
        server.takes_s = hints.LONGEST_GAP_S / 10
        # The first few leave before it is known how long one takes now.
        assert await commits(told, server, 7) >= 2 * hints.LONGEST_GAP_S
        await told.close()

    asyncio.run(story())


def test_a_hint_waits_for_no_disk() -> None:
    async def story() -> None:
        server = Server(takes_s=0)
        told = hints_to(server)
        await commits(told, server, 1)
        assert server.sent[0].startswith("SELECT set_config('synchronous_commit', 'off', true), pg_notify(")
        await told.close()

    asyncio.run(story())


def paced(pace: Pace, every_s: float, count: int) -> list[float]:
    """When there is one, if one is asked for so often."""
    went: list[float] = []
    due: float | None = None
    now = 100.0
    while len(went) < count:
        if due is not None and now >= due:
            pace.went(now)
            went.append(now)
            due = None
        if due is None:
            left_s = pace.left_s(now)
            if left_s:
                due = now + left_s
            else:
                pace.went(now)
                went.append(now)
        now += every_s
    return went


def gaps(went: list[float]) -> list[float]:
    return [round(later - earlier, 3) for earlier, later in pairwise(went)]


def test_in_a_stream_they_come_ever_later() -> None:
    assert gaps(paced(Pace(0.005, 0.02), 0.001, 6)) == [0.005, 0.01, 0.02, 0.02, 0.02]


def test_what_comes_rarely_comes_at_once() -> None:
    assert gaps(paced(Pace(0.005, 0.02), 0.006, 4)) == [0.006, 0.006, 0.006]


def test_the_first_after_a_stream_comes_at_once_too() -> None:
    pace = Pace(0.005, 0.02)
    last = paced(pace, 0.001, 6)[-1]
    assert pace.left_s(last + 0.021) == 0
    pace.went(last + 0.021)
    assert pace.left_s(last + 0.021) == pytest.approx(0.005)


def test_what_is_no_part_of_a_stream_ends_it() -> None:
    pace = Pace(0.005, 0.02)
    last = paced(pace, 0.001, 6)[-1]
    pace.begin(last)
    assert pace.left_s(last) == pytest.approx(0.005)


def test_in_a_crowd_all_of_them_are_late() -> None:
    pace = Pace(0.005, 0.05)
    pace.soonest_s = 0.25
    assert gaps(paced(pace, 0.001, 5))[1:] == [0.25, 0.25, 0.25]
