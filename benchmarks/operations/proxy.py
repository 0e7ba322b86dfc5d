"""A server that is further away: a TCP proxy that hands on all bytes, each way a little later.

Two threads for each direction of a connection: one notes when bytes came, the other waits until they are due. So bytes
that follow each other closely are late by the delay once, not once each.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

CHUNK = 1 << 16
END = b""


class Proxy:
    """Listens at `port` on the loopback address while the block runs. A round trip takes `round_trip_s` more."""

    def __init__(self, host: str, port: int, round_trip_s: float) -> None:
        self._target = host, port
        self._delay_s = round_trip_s / 2
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Proxy:
        self._start(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for line in (self._listener, *self._open):
            # A thread that waits in it wakes up only when it is shut down.
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._target)
            except OSError:
                near.close()
                continue
            for line in (near, far):
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open += [near, far]
            self._carry(near, far)
            self._carry(far, near)

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        under_way: SimpleQueue[tuple[float, bytes]] = SimpleQueue()
        self._start(self._receive, source, under_way)
        self._start(self._send, sink, under_way)

    def _receive(self, source: socket.socket, under_way: SimpleQueue[tuple[float, bytes]]) -> None:
        while True:
            try:
                data = source.recv(CHUNK)
            except OSError:
                data = END
            under_way.put((time.monotonic() + self._delay_s, data))
            if data == END:
                return

    def _send(self, sink: socket.socket, under_way: SimpleQueue[tuple[float, bytes]]) -> None:
        with suppress(OSError):
            while True:
                due, data = under_way.get()
                time.sleep(max(0.0, due - time.monotonic()))
                if data == END:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(data)

    @staticmethod
    def _start(target: object, *arguments: object) -> None:
        threading.Thread(target=target, args=arguments, daemon=True).start()  # type: ignore[arg-type]
