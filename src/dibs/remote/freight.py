"""Artifacts on their way to a server and back. Their bytes go over blocking connections of their own, in a thread where
there is an event loop: they are read and written in files.
"""

from __future__ import annotations

from http.client import HTTPException
from typing import IO, TYPE_CHECKING, Any, TypeVar

from dibs.remote import trouble
from dibs.remote.blocking import BlockingLine, headers_of
from dibs.remote.exchange import Answer, Request, Unanswered
from dibs.wire import verb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from http.client import HTTPConnection, HTTPResponse

    from dibs.artifacts.blobs import Stream
    from dibs.model.artifact import Artifact
    from dibs.remote.server import Server
    from dibs.wire.verbs import Verb

T = TypeVar("T")

CHUNK = 1 << 20
ANSWER_S = 15 * 60.0
"""One request may be a whole artifact on a slow line."""


class Freight:
    """The artifacts of one server."""

    def __init__(self, server: Server, *, blocking: bool) -> None:
        self._server = server
        self._blocking = blocking

    async def run(self, work: Callable[..., T], *args: Any) -> T:
        """Do what blocks: here, where that is what the caller wants, else in a thread."""
        if self._blocking:
            return work(*args)
        import asyncio

        return await asyncio.to_thread(work, *args)

    async def put(self, task_id: str, fence: int, name: str, data: Any, media_type: str | None) -> Artifact:
        """Send bytes as an artifact of a task."""
        parameters = {"task_id": task_id, "name": name, "fence": fence, "media_type": media_type}
        return await self._send(verb("put_artifact", "artifacts"), parameters, name, data, media_type)

    async def keep(self, name: str, data: Any, media_type: str | None) -> Artifact:
        """Send bytes that no task refers to yet."""
        parameters = {"name": name, "media_type": media_type}
        return await self._send(verb("keep_bytes", "artifacts"), parameters, name, data, media_type)

    async def _send(
        self, asked: Verb, parameters: dict[str, Any], name: str, data: Any, media_type: str | None
    ) -> Artifact:
        """Gather the bytes first: they may be there to be read just once, and may have to be sent again."""
        from dibs.artifacts import spool as spools
        from dibs.rules import artifacts

        artifacts.label(name)
        artifacts.media_type(media_type)
        spools.check(data)
        with spools.Spool(artifacts.MAX_BYTES) as spool:
            if hasattr(data, "__aiter__"):
                async for chunk in data:
                    await self.run(spool.write, chunk)
            else:
                await self.run(spool.fill, data)
            request = self._server.request(asked, parameters)
            request.headers |= {"content-type": "application/octet-stream", "content-length": str(spool.size)}
            request.patience_s = ANSWER_S
            truck = _Truck(self, BlockingLine(self._server.address), spool.file)
            answer = await self._server.over(truck).send(request, safe=True)
            return self._server.read(asked, answer)  # type: ignore[no-any-return]

    async def open(self, ref: Any, dag: Any) -> Stream:
        """The bytes of an artifact, to be read by whoever may block."""
        from dibs.artifacts.blobs import Stream
        from dibs.model.artifact import Artifact

        if isinstance(ref, dict):
            ref = ref.get("digest")
        asked = {"ref": ref.digest if isinstance(ref, Artifact) else ref, "dag": dag}
        request = self._server.request(verb("open_artifact", "artifacts"), asked)
        request.patience_s = ANSWER_S
        truck = _Truck(self, BlockingLine(self._server.address), None)
        answer = await self._server.over(truck).send(request, safe=True)
        assert truck.body is not None, "an answer that is no error has a body to be read"
        size = int(answer.headers.get("content-length", 0))
        return Stream(_Pieces(self._server, *truck.body), answer.headers.get("etag", "").strip('"'), size)


class _Truck:
    """A line for one request with a file as its body, or with an answer that is read piece by piece."""

    def __init__(self, freight: Freight, line: BlockingLine, file: IO[bytes] | None) -> None:
        self._freight = freight
        self._line = line
        self._file = file
        self.body: tuple[HTTPConnection, HTTPResponse] | None = None

    async def send(self, request: Request) -> Answer:
        return await self._freight.run(self._sent, request)

    def _sent(self, request: Request) -> Answer:
        connection: HTTPConnection = self._line.open(request.patience_s)
        try:
            if self._file is not None:
                self._file.seek(0)
            response = self._line.ask(connection, request, self._file)
            if self._file is None and response.status < 300:
                self.body = connection, response
                return Answer(response.status, headers_of(response), b"")
            body = response.read()
        except (OSError, HTTPException) as error:
            connection.close()
            raise Unanswered from error
        connection.close()
        return Answer(response.status, headers_of(response), body)

    async def pause(self, seconds: float) -> None:
        await self._freight._server.line.pause(seconds)

    async def close(self) -> None:
        await self._line.close()


class _Pieces:
    """The body of an answer, piece by piece. Its connection is closed at the end, or when nobody wants the rest."""

    def __init__(self, server: Server, connection: HTTPConnection, response: HTTPResponse) -> None:
        self._server = server
        self._connection = connection
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            piece = self._response.read(CHUNK)
        except (OSError, HTTPException) as error:
            self._close()
            raise trouble.unanswered(error, self._server.address) from error
        if not piece:
            self._close()
            raise StopIteration
        return piece

    def _close(self) -> None:
        self._response.close()
        self._connection.close()

    def __del__(self) -> None:
        self._close()
