"""The one way in which this server sends something to an address that somebody else chose.

Every address is judged at the moment of connecting, and it is that address that is connected to: a name whose answer
changes between looking and connecting gains nothing. Names and certificates stay those of the URL. No redirect is
followed, no proxy used, no cookie kept; of the answer little is read, and nothing is waited for long.
"""

from __future__ import annotations

import asyncio
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from msgspec import Struct
from yarl import URL

from dibs.rules.addresses import objection

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from dibs.rules.addresses import Target

    Resolve = Callable[[str, int], Awaitable[list[str]]]

TIMEOUT_S = 15.0
CONNECT_S = 5.0
MAX_ANSWER_BYTES = 4 << 10
MAX_HEADER_BYTES = 8 << 10
SHOWN_CHARS = 200
"""How much of a refusal's text is kept for people."""
MOST_AT_ONCE = 100
MOST_TO_ONE_HOST = 20
MOST_LOOKED_UP = 8


class Answer(Struct, frozen=True):
    """How sending went. Without a `code` nobody answered; `error` says why it was in vain."""

    code: int | None = None
    error: str | None = None
    retry_after: float | None = None
    took_s: float = 0.0


class Refused(OSError):
    """This server does not connect to there."""


class Where(NamedTuple):
    """What a connection is wanted for."""

    host: str
    port: int
    secure: bool


class Sender:
    """Sends to whoever may be sent to: anybody on the internet over TLS, and the `targets`.

    `resolve` and `trust` are for tests: what a name stands for, and whose certificates are believed.
    """

    def __init__(
        self,
        targets: Sequence[Target] = (),
        *,
        resolve: Resolve | None = None,
        trust: ssl.SSLContext | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._targets = tuple(targets)
        self._resolve = resolve or addresses_of
        self._trust = trust
        self._timeout_s = timeout_s
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Send a body. Whatever goes wrong is in the answer."""
        begun = time.monotonic()
        try:
            # Read by whoever connects, so that there is one understanding of it.
            to = URL(url)
            _where.set(Where(to.host or "", to.port or 0, to.scheme == "https"))
            async with self._opened().post(to, data=body, headers=dict(headers), allow_redirects=False) as response:
                text = await response.content.read(MAX_ANSWER_BYTES)
                if not response.content.at_eof():
                    # Whatever else it has to say stays unread.
                    response.close()
                answer = _judged(response, text)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            answer = Answer(error=_reason(error))
        return Answer(answer.code, answer.error, answer.retry_after, round(time.monotonic() - begun, 3))

    async def close(self) -> None:
        """Let go of connections that are kept for the next time."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                resolver=_Resolver(self._resolve, self._targets),
                use_dns_cache=False,
                socket_factory=self._socket,
                limit=MOST_AT_ONCE,
                limit_per_host=MOST_TO_ONE_HOST,
                ssl=True if self._trust is None else self._trust,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=self._timeout_s, sock_connect=CONNECT_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                max_line_size=MAX_HEADER_BYTES,
                max_field_size=MAX_HEADER_BYTES,
                skip_auto_headers=("Accept-Encoding",),
                headers={"User-Agent": "dibs"},
            )
        return self._session

    def _socket(self, found: Any) -> socket.socket:
        """A socket for an address that is about to be connected to, whoever found it: also one in the URL itself."""
        family, kind, proto, _, address = found
        host, port, secure = _where.get()
        if port != address[1]:
            raise Refused(f"port {address[1]} was not asked for")
        why = objection(self._targets, host, address[0], port, secure=secure)
        if why is not None:
            raise Refused(why)
        return socket.socket(family, kind, proto)


_where: ContextVar[Where] = ContextVar("where")


class _Resolver(AbstractResolver):
    """Finds the addresses of a name; if one of them is not to be sent to, none is."""

    def __init__(self, resolve: Resolve, targets: tuple[Target, ...]) -> None:
        self._resolve = resolve
        self._targets = targets

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._resolve(host, port)
        for address in found:
            why = self._objects_to(host, address, port)
            if why is not None:
                raise Refused(f"{host}: {why}")
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in found
        ]

    def _objects_to(self, host: str, address: str, port: int) -> str | None:
        return objection(self._targets, host, address, port, secure=_where.get().secure)

    async def close(self) -> None:
        """There is nothing to close."""


_looking = ThreadPoolExecutor(MOST_LOOKED_UP, "dibs-names")
"""Threads of their own: a name service that does not answer must not keep others from theirs."""


async def addresses_of(host: str, port: int) -> list[str]:
    """Every address that the system knows for a name."""
    look = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await asyncio.get_running_loop().run_in_executor(_looking, look)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _judged(response: aiohttp.ClientResponse, text: bytes) -> Answer:
    code = response.status
    if 200 <= code < 300:
        return Answer(code)
    said = " ".join("".join(c if c.isprintable() else " " for c in text.decode("utf-8", "replace")).split())
    why = f"it answered {code}"
    if 300 <= code < 400:
        why += ", and redirects are not followed: set the URL itself"
    elif said:
        why += f": {said[:SHOWN_CHARS]}"
    return Answer(code, why, _seconds(response.headers.get("Retry-After")))


def _seconds(written: str | None) -> float | None:
    """What a `Retry-After` asks for, in seconds; dates are left to the backoff."""
    return float(written) if written is not None and written.isascii() and written.isdecimal() else None


def _reason(error: BaseException) -> str:
    """What went wrong, in a sentence; ours before what the library made of it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, Refused):
            return str(cause)
        cause = getattr(cause, "os_error", None) or cause.__cause__
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    return str(error) or type(error).__name__
