"""The dashboard's files: what the build made of `web/`, kept in memory, with the headers that keep a page to itself.

What is in `assets/` is named after its content, so browsers may keep it for good; the page itself is asked for every
time. Pages run no script that is not a file of this server, and are shown in nobody's frame.
"""

from __future__ import annotations

import gzip
import os
from hashlib import sha256

from msgspec import Struct

FOLDER = os.path.join(os.path.dirname(__file__), "web")
INDEX = "index.html"
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        # Libraries place what they draw by inline styles; scripts stay refused.
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
FOR_GOOD = "public, max-age=31536000, immutable"
EVERY_TIME = "no-cache"
_KINDS = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
_PACKED = frozenset({".css", ".html", ".js", ".json", ".svg"})

MISSING = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>dibs</title>
<h1>dibs is running, without its dashboard</h1>
<p>This installation has no built dashboard. From a checkout, <code>make web</code> builds it (it needs Node 20 and
npm's registry); wheels of dibs have it inside. The API is at <code>/v1</code>, and <code>dibs top</code> is a live view
in the terminal.</p>
</html>
"""


class File(Struct):
    """One file: its bytes as they are, and compressed once somebody has asked for that."""

    body: bytes
    kind: str
    tag: str
    keep: str
    packed: bytes | None = None
    packs: bool = False

    def gzipped(self) -> bytes:
        """The bytes, compressed. The same ones every time: a tag stands for them, too."""
        if self.packed is None:
            self.packed = gzip.compress(self.body, 6, mtime=0)
        return self.packed


class Files:
    """The built files of a folder. They are read anew when the page was built anew."""

    def __init__(self, folder: str = FOLDER) -> None:
        self._folder = folder
        self._built: int | None = None
        self._files: dict[str, File] = {}

    def find(self, name: str) -> File | None:
        """The file of this name (`assets/x.js`); None if there is none. Only what is in the folder can be named."""
        built = self._last_built()
        if built != self._built:
            self._files = {} if built is None else dict(self._read())
            self._built = built
        return self._files.get(name)

    def _last_built(self) -> int | None:
        try:
            return os.stat(os.path.join(self._folder, INDEX)).st_mtime_ns
        except OSError:
            return None

    def _read(self) -> list[tuple[str, File]]:
        found = []
        for folder, _, names in os.walk(self._folder):
            for name in names:
                path = os.path.join(folder, name)
                shown = os.path.relpath(path, self._folder).replace(os.sep, "/")
                ending = os.path.splitext(name)[1]
                if ending not in _KINDS or shown.startswith("."):
                    continue
                with open(path, "rb") as file:
                    body = file.read()
                keep = FOR_GOOD if shown.startswith("assets/") else EVERY_TIME
                tag = f'"{sha256(body).hexdigest()[:20]}"'
                found.append((shown, File(body, _KINDS[ending], tag, keep, packs=ending in _PACKED)))
        return found


def is_built(folder: str = FOLDER) -> bool:
    """Whether there is a dashboard to serve."""
    return os.path.exists(os.path.join(folder, INDEX))
