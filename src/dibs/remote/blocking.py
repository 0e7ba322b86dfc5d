"""A line whose coroutines never suspend, on the standard library alone: for the shell, scripts and threads."""

from __future__ import annotations

import select
import time
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import IO, TYPE_CHECKING, Any

from dibs.remote.exchange import Answer, Request, Unanswered, Unheard

if TYPE_CHECKING:
    from dibs.remote.address import Address

CONNECT_S = 10.0
IDLE_S = 4.0
"""Servers close connections that were idle for five seconds; a request must not meet that."""


class BlockingLine:
    """Connections that any thread may use, each by one at a time."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._idle: list[tuple[HTTPConnection, float]] = []

    async def send(self, request: Request) -> Answer:
        connection = self._connected(request.patience_s)
        try:
            response = self.ask(connection, request)
            body = response.read()
        except BaseException as error:
            connection.close()
            if isinstance(error, OSError | HTTPException):
                raise Unanswered from error
            raise
        if response.will_close:
            connection.close()
        else:
            self._idle.append((connection, time.monotonic()))
        return Answer(response.status, headers_of(response), body)

    def ask(self, connection: HTTPConnection, request: Request, body: IO[bytes] | bytes | None = None) -> HTTPResponse:
        """Send a request and read the head of its answer. `body`: in the place of the request's own."""
        content: Any = request.body if body is None else body
        connection.request(request.method, self._address.prefix + request.path, content, request.headers)
        return connection.getresponse()

    def open(self, patience_s: float) -> HTTPConnection:
        """A new connection, for whoever reads its answer piece by piece. Raises Unheard."""
        secure = self._address.scheme == "https"
        kind = HTTPSConnection if secure else HTTPConnection
        connection = kind(self._address.host, self._address.port, timeout=CONNECT_S)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise Unheard from error
        connection.sock.settimeout(patience_s)
        return connection

    def _connected(self, patience_s: float) -> HTTPConnection:
        while self._idle:
            connection, since = self._idle.pop()
            if time.monotonic() - since < IDLE_S and _is_open(connection):
                connection.sock.settimeout(patience_s)
                return connection
            connection.close()
        return self.open(patience_s)

    async def pause(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251 - to block is what this line is for

    async def close(self) -> None:
        while self._idle:
            self._idle.pop()[0].close()


def headers_of(response: HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}


def _is_open(connection: HTTPConnection) -> bool:
    """Whether the server has neither closed an idle connection nor said anything on it."""
    if connection.sock is None:
        return False
    looking = select.poll()
    looking.register(connection.sock, select.POLLIN)
    return not looking.poll(0)
