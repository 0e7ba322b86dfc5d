"""Talking to a server over a connection that the driver has opened: it logs in, and is not asked again.

A call costs the driver more than the network: it waits twice, once for the socket to be ready and once for what comes.
Here the system waits, once; hiredis packs and reads.
"""

from __future__ import annotations

import os
import socket
import struct
from typing import TYPE_CHECKING, Any, cast

import hiredis
from redis import exceptions
from redis.connection import DefaultParser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.stores.redis.reading import Command

_CHUNK = 65536
UNFINISHED = object()
"""What a reader gives while an answer has not arrived as a whole."""

packed: Callable[[Command], bytes] = cast("Any", hiredis.pack_command)
"""A command as it is sent."""


def new_reader() -> Any:
    """Reads answers from bytes; an error is an answer, too."""
    return hiredis.Reader(
        protocolError=exceptions.InvalidResponse, replyError=DefaultParser.parse_error, notEnoughData=UNFINISHED
    )


class Talk:
    """One connection, which the driver has opened and nobody uses."""

    def __init__(self, connection: Any, answer_s: float) -> None:
        self._connection = connection
        self._socket: socket.socket = connection._sock
        self._reader = new_reader()
        if os.name == "posix" and type(self._socket) is socket.socket:
            # Python's own time limits cost a call to the system before each of ours.
            limit = struct.pack("@ll", int(answer_s), int(answer_s % 1 * 1_000_000))
            self._socket.settimeout(None)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)

    def ask(self, commands: Sequence[Command]) -> list[Any]:
        """The answers to several commands, in one round trip; errors are among them."""
        message = packed(commands[0]) if len(commands) == 1 else b"".join(map(packed, commands))
        try:
            self._socket.sendall(message)
            return [self._answer() for _ in commands]
        except OSError as error:
            raise _in_words(error) from error

    def hear(self) -> Any:
        """The next thing that the server says by itself. After a TimeoutError one can go on, and misses nothing."""
        try:
            return self._answer()
        except OSError as error:
            raise _in_words(error) from error

    def _answer(self) -> Any:
        reader = self._reader
        while (answer := reader.gets()) is UNFINISHED:
            arrived = self._socket.recv(_CHUNK)
            if not arrived:
                raise exceptions.ConnectionError("the server closed the connection")
            reader.feed(arrived)
        return answer

    def hand_over(self) -> socket.socket:
        """The socket, for somebody else to use and close."""
        self._connection._sock = None
        self._socket.setblocking(False)
        return self._socket

    def close(self) -> None:
        self._connection.disconnect()


def _in_words(error: OSError) -> Exception:
    """The system's trouble as the driver would tell it."""
    if isinstance(error, BlockingIOError | TimeoutError):
        return exceptions.TimeoutError("no answer came in time")
    return exceptions.ConnectionError(f"the connection was lost: {error}")
