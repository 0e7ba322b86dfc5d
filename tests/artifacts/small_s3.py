"""Just enough of S3 to keep artifacts in: objects and multipart uploads below one bucket, in memory, over HTTP."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    objects: dict[str, bytes]
    parts: dict[str, dict[int, bytes]]

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        path, query = self._where()
        if "partNumber" in query:
            self.parts[path][int(query["partNumber"][0])] = body
        else:
            self.objects[path] = body
        self._say(200, headers={"ETag": '"x"'})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, query = self._where()
        if "uploads" in query:
            self.parts[path] = {}
            self._say(200, b"<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
        else:
            self.objects[path] = b"".join(part for _, part in sorted(self.parts.pop(path).items()))
            self._say(200, b"<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path, _ = self._where()
        found = self.objects.get(path)
        if found is None:
            self._say(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        last = len(found)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        headers = {"Last-Modified": formatdate(usegmt=True), "ETag": '"x"'}
        if wanted is None:
            self._say(200, found, headers)
            return
        start, end = int(wanted[1]), min(int(wanted[2]) + 1, last) if wanted[2] else last
        self._say(206, found[start:end], {**headers, "Content-Range": f"bytes {start}-{end - 1}/{last}"})

    def _where(self) -> tuple[str, dict[str, list[str]]]:
        parts = urlsplit(self.path)
        return unquote(parts.path), parse_qs(parts.query, keep_blank_values=True)

    def _say(self, code: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(code)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


@contextmanager
def serving() -> Iterator[tuple[str, dict[str, bytes]]]:
    """The endpoint of a server, and the objects that it holds, by path."""
    objects: dict[str, bytes] = {}
    handler = type("Handler", (_Handler,), {"objects": objects, "parts": {}})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", objects
        finally:
            server.shutdown()
            thread.join()
