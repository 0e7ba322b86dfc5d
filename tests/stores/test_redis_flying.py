"""A connection of an event loop to Redis: what is asked leaves at once, as a whole and in its order."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any, cast

import pytest
from redis import exceptions

from dibs.stores.redis.flying import Flight
from dibs.stores.redis.talking import packed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.stores.redis.talking import Talk


class _Given:
    """A socket where a connection of the driver would be."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def hand_over(self) -> socket.socket:
        self._end.setblocking(False)
        return self._end


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    here, there = socket.socketpair()
    there.setblocking(False)
    yield here, there
    here.close()
    there.close()


async def _flight(end: socket.socket) -> Flight:
    return await Flight(60.0).take_over(cast("Talk", _Given(end)))


async def _read(end: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        found += await asyncio.get_running_loop().sock_recv(end, 1 << 20)
    return found


def test_what_is_asked_alone_leaves_before_anybody_waits(ends: tuple[socket.socket, socket.socket]) -> None:
    here, there = ends

    async def story() -> None:
        flight = await _flight(here)
        answer = flight.ask(packed(("PING",)))
        assert there.recv(1000) == packed(("PING",)), "no turn of the loop was needed"
        await asyncio.get_running_loop().sock_sendall(there, b"+PONG\r\n")
        assert await answer == b"PONG"
        flight.close()

    asyncio.run(story())


def test_what_does_not_fit_is_sent_as_a_whole_and_before_what_comes_after(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    here, there = ends
    here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    commands: list[tuple[Any, ...]] = [("SET", "a", b"x" * 3_000_000), ("SET", "b", b"y" * 100), ("PING",)]
    wanted = b"".join(map(packed, commands))

    async def story() -> None:
        flight = await _flight(here)
        answers = [flight.ask(packed(command)) for command in commands]
        assert await _read(there, len(wanted)) == wanted
        await asyncio.get_running_loop().sock_sendall(there, b"+1\r\n+2\r\n+3\r\n")
        assert await asyncio.gather(*answers) == [b"1", b"2", b"3"]
        flight.close()

    asyncio.run(story())


def test_a_connection_that_is_gone_answers_so(ends: tuple[socket.socket, socket.socket]) -> None:
    here, there = ends

    async def story() -> None:
        flight = await _flight(here)
        there.close()
        for _ in range(2):
            with pytest.raises(exceptions.ConnectionError):
                await flight.ask(packed(("PING",)))
            assert flight.is_lost

    asyncio.run(story())
