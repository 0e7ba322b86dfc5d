"""A line for event loops, on aiohttp: one pool of connections that are kept alive."""

from __future__ import annotations

import asyncio  # noqa: TID253 - nobody imports this without an event loop
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING

from dibs.errors import Unavailable
from dibs.remote.blocking import CONNECT_S, IDLE_S
from dibs.remote.exchange import Answer, Request, Unanswered, Unheard

if TYPE_CHECKING:
    import aiohttp

    from dibs.remote.address import Address

MAX_AT_ONCE = 1_000
LONG_BYTES = 1 << 18


class LoopingLine:
    """Connections of one event loop, opened by the first request."""

    def __init__(self, address: Address) -> None:
        if find_spec("aiohttp") is None:
            raise Unavailable(
                "A server in an event loop needs the library aiohttp: install it with `pip install 'dibs[http]'`."
            )
        self._address = address
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    async def send(self, request: Request) -> Answer:
        import aiohttp
        from yarl import URL

        session = self._opened()
        # What is in the path was quoted by whoever knows its parts.
        url = URL(f"{self._address.place}{request.path}", encoded=True)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=request.patience_s)
        try:
            async with session.request(
                request.method,
                url,
                data=_body(request.body),
                headers=request.headers,
                timeout=timeout,
                allow_redirects=False,
            ) as response:
                body = await response.read()
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise Unheard from getattr(error, "os_error", None) or error
        except (aiohttp.ClientError, OSError) as error:
            raise Unanswered from error
        return Answer(response.status, {name.lower(): value for name, value in response.headers.items()}, body)

    def _opened(self) -> aiohttp.ClientSession:
        if self._closed:
            raise Unavailable("This queue was closed: connect again.")
        if self._session is None:
            import aiohttp

            connector = aiohttp.TCPConnector(limit=MAX_AT_ONCE, keepalive_timeout=IDLE_S)
            self._session = aiohttp.ClientSession(
                connector=connector, auto_decompress=True, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False
            )
        return self._session

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        self._closed = True
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def _body(content: bytes | None) -> BytesIO | bytes | None:
    """What is long is sent piece by piece, so that the loop goes on meanwhile."""
    return BytesIO(content) if content is not None and len(content) > LONG_BYTES else content
