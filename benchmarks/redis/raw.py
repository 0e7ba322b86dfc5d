"""The limit of the server itself: two small scripts claim rows and complete them, called by a client that does nothing
else, with its replies parsed in C. A queue in any language does more than this for each task.

Without pipelining each connection has one call under way; with it, sixteen. All connections send, then all are read,
so that the server always has something to do.
"""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import hiredis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.redis.server import Server

HERE = Path(__file__).resolve().parent
KEYS = ("raw:waiting", "raw:held", "raw:row:")
CHUNK = 10_000
READ_BYTES = 1 << 16
CLIENTS = {1: 50, 100: 4}
"""Connections, by rows per call: enough that the server never waits for one of them."""


def claims_per_second(server: Server, rows: int, *, at_once: int, depth: int) -> float:
    """Rows per second that are claimed and completed, `at_once` per call, `depth` calls in a pipeline."""
    url = server.fresh()
    rounds = max(1, rows // (CLIENTS[at_once] * depth * at_once))
    total = rounds * CLIENTS[at_once] * depth * at_once
    with server.connect(url) as connection:
        fill = connection.register_script((HERE / "raw_fill.lua").read_text())
        for first in range(1, total + 1, CHUNK):
            fill(keys=KEYS, args=[first, min(total, first + CHUNK - 1)])
        claim, complete = (
            str(connection.script_load((HERE / f"raw_{name}.lua").read_text())) for name in ("claim", "complete")
        )
    server.tidy(url)
    lines = [Line(url) for _ in range(CLIENTS[at_once])]
    try:
        now = str(int(time.time()))
        claims = depth * [call(claim, at_once, now)]
        started = time.perf_counter()
        done = 0
        for _ in range(rounds):
            for line in lines:
                line.send(claims)
            for line in lines:
                line.send([call(complete, now, *numbers) for numbers in line.receive(depth)])
            for line in lines:
                done += sum(line.receive(depth))
        elapsed = time.perf_counter() - started
    finally:
        for line in lines:
            line.close()
    server.drop()
    if done != total:
        raise RuntimeError(f"{done:,} of {total:,} rows were completed")
    return total / elapsed


def call(sha: str, *arguments: str | int | bytes) -> bytes:
    """One call of a script."""
    return packed("EVALSHA", sha, len(KEYS), *KEYS, *arguments)


def packed(*words: str | int | bytes) -> bytes:
    """A command as it goes over the line."""
    command: Any = words
    line: bytes = hiredis.pack_command(command)
    return line


class Line:
    """One connection."""

    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        self._socket = socket.create_connection((where.hostname or "127.0.0.1", where.port or 6379))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = hiredis.Reader()
        login = (
            [packed("AUTH", unquote(where.username or "default"), unquote(where.password))] if where.password else []
        )
        self.send([*login, packed("SELECT", where.path.strip("/") or "0")])
        self.receive(len(login) + 1)

    def send(self, calls: Sequence[bytes]) -> None:
        self._socket.sendall(b"".join(calls))

    def receive(self, count: int) -> list[Any]:
        replies: list[Any] = []
        while len(replies) < count:
            reply = self._reader.gets()
            if reply is False:
                read = self._socket.recv(READ_BYTES)
                if not read:
                    raise ConnectionError("the server closed the connection")
                self._reader.feed(read)
            elif isinstance(reply, hiredis.ReplyError):
                raise RuntimeError(str(reply))
            else:
                replies.append(reply)
        return replies

    def close(self) -> None:
        self._socket.close()
