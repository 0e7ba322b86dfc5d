"""A wire between a client and a server that can be cut at the worst moment."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dibs.stores.postgres.portal import Portal

if TYPE_CHECKING:
    from ssl import SSLContext
    from types import TracebackType


PATIENCE_S = 60.0


class Cut(Enum):
    """What happens to a message that the wire was told to look out for."""

    BEFORE = "it never arrives"
    AFTER = "it arrives, and its answer does not"
    LATE = "the client is cut off at once, and it arrives half a second later"
    NEVER = "the client is cut off, and the server is kept waiting"


class Wire:
    """Passes everything on between whoever connects to `url` and the server of the URL it was made with. With `tls`, it
    speaks that with whoever connects."""

    def __init__(self, url: str, tls: SSLContext | None = None) -> None:
        parts = urlsplit(url)
        self._server = (parts.hostname, parts.port)
        self._awaited: list[tuple[bytes, Cut]] = []
        self.cuts = 0
        self._over = 0
        self._portal = Portal()
        self._writers: set[asyncio.StreamWriter] = set()
        self._listening = self._portal.run(asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=tls))
        port = self._listening.sockets[0].getsockname()[1]
        self.url = url.replace(f"{parts.hostname}:{parts.port}", f"127.0.0.1:{port}")

    def cut_at(self, message: bytes, how: Cut) -> None:
        """Cut the first connection on which a client sends this; only once."""
        self._awaited.append((message, how))

    def until_over(self) -> None:
        """Wait until what was cut off, and arrives nevertheless, has arrived and was answered."""
        end = time.monotonic() + PATIENCE_S
        while self._over < self.cuts:
            assert time.monotonic() < end, "it is still on its way"
            time.sleep(0.005)  # it is on its way in another thread

    def close_door(self) -> None:
        """Let nobody in any more; who is in stays."""
        self._portal.run(self._close_door())

    async def _close_door(self) -> None:
        self._listening.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            from_server, to_server = await asyncio.open_connection(*self._server)
            self._writers.add(to_server)
            back = asyncio.create_task(self._pass_back(from_server, writer))
            try:
                await self._pass_on(reader, writer, (from_server, to_server), back)
            finally:
                back.cancel()
                to_server.close()
                self._writers.discard(to_server)
        except OSError:
            pass
        finally:
            writer.close()
            self._writers.discard(writer)

    async def _pass_back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await reader.read(65536):
                writer.write(chunk)
        writer.close()

    async def _pass_on(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        back: asyncio.Task[None],
    ) -> None:
        from_server, to_server = server
        while chunk := await reader.read(65536):
            found = next((each for each in self._awaited if each[0] in chunk), None)
            if found is not None:
                self._awaited.remove(found)
                self.cuts += 1
                how = found[1]
                back.cancel()
                if how is not Cut.AFTER:
                    writer.transport.abort()
                if how in (Cut.AFTER, Cut.LATE):
                    await asyncio.sleep(0.5 if how is Cut.LATE else 0)
                    await asyncio.wait({back})
                    to_server.write(chunk)
                    await _answered(from_server)
                elif how is Cut.NEVER:
                    await asyncio.sleep(60)
                writer.transport.abort()
                self._over += 1
                return
            to_server.write(chunk)
            await to_server.drain()

    def __enter__(self) -> Wire:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async def end() -> None:
            self._listening.close()
            for writer in list(self._writers):
                writer.transport.abort()
            await asyncio.sleep(0)

        self._portal.run(end())
        self._portal.close()


async def _answered(server: asyncio.StreamReader) -> None:
    """Until the server has done it: before that, it must not notice that nobody is there. Its answer is lost."""
    with suppress(OSError):
        async with asyncio.timeout(PATIENCE_S):
            await server.read(65536)
