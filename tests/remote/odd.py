"""Servers that are no good: they answer something strange, half of it, or nothing."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Odd:
    """Takes connections one after the other and does with each what it is told, remembering the requests."""

    def __init__(self, behave: Callable[[Odd, socket.socket, bytes], None]) -> None:
        self._behave = behave
        self.requests: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._ended = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, suppress(ConnectionError):  # who asked may have given up by now
                request = read(connection)
                if request:
                    self.requests.append(request)
                    self._behave(self, connection, request)

    def close(self) -> None:
        self._ended = True
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(60)


def read(connection: socket.socket) -> bytes:
    """One request, with its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return data
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def answer(status: str, body: bytes = b"", **headers: str) -> bytes:
    """A whole answer, as it goes over the line."""
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


@contextmanager
def odd(behave: Callable[[Odd, socket.socket, bytes], None]) -> Iterator[Odd]:
    server = Odd(behave)
    try:
        yield server
    finally:
        server.close()


@contextmanager
def saying(raw: bytes) -> Iterator[Odd]:
    """One that says the same to everybody."""
    with odd(lambda _, connection, __: connection.sendall(raw)) as server:
        yield server
