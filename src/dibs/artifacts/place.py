"""Where the bytes of artifacts are kept: as told, else as the environment or `dibs.toml` says, else beside the store.

One place belongs to one store: a sweep deletes what no task of its store refers to.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from dibs.errors import Invalid
from dibs.pricing import nearest_file
from dibs.rules.artifacts import MAX_BYTES

SCHEMES = "file:FOLDER, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or memory:NAME"
_REMOTE = ("s3", "gs", "az")
_OPTIONS = {"s3": ("endpoint", "region")}
_FIELD = "artifacts"


class Place(NamedTuple):
    """A place for bytes. `rest` is what follows the scheme: a folder, a name, or a bucket with its prefix."""

    scheme: str
    rest: str
    max_bytes: int = MAX_BYTES
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.scheme}:{self.rest}"


def place_of(told: str | None, store_url: str) -> Place:
    """Where artifacts of the store at this URL are kept. Invalid where nobody has said so and nothing is near."""
    return place_told(told) or _beside(store_url)


def place_told(told: str | None) -> Place | None:
    """Where somebody said that artifacts are kept; None if nobody did."""
    url = told or os.environ.get("DIBS_ARTIFACTS") or _in_settings()
    return read(url) if url else None


def read(url: Any) -> Place:
    """A URL as a place: `file:FOLDER`, `s3://BUCKET/PREFIX` …; `?max_bytes=N` bounds what one artifact may have."""
    if not isinstance(url, str):
        raise Invalid(f"artifacts must be a URL: {SCHEMES}.", field=_FIELD)
    scheme, found, rest = url.partition(":")
    rest, _, query = rest.partition("?")
    if not found or scheme not in ("file", "memory", *_REMOTE):
        raise Invalid(f"artifacts cannot be kept at {url!r:.200}; use {SCHEMES}.", field=_FIELD)
    options = dict(parse_qsl(query, keep_blank_values=True))
    max_bytes = _whole(options.pop("max_bytes", None))
    for name in options:
        if name not in _OPTIONS.get(scheme, ()):
            raise Invalid(f"a {scheme}: URL for artifacts has no option {name!r:.80}.", field=_FIELD)
    if scheme == "file":
        path = rest.removeprefix("//")
        if not path:
            raise Invalid("file: needs a folder, such as file:.dibs/artifacts.", field=_FIELD)
        rest = os.path.abspath(os.path.expanduser(path))
    elif scheme in _REMOTE and not rest.removeprefix("//").partition("/")[0]:
        raise Invalid(f"{scheme}: needs a bucket, such as {scheme}://agents/artifacts.", field=_FIELD)
    return Place(scheme, rest, max_bytes, tuple(options.items()))


def _whole(text: str | None) -> int:
    if text is None:
        return MAX_BYTES
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) < 1 << 50:
        raise Invalid(f"max_bytes must be a whole number of bytes above 0, not {text!r:.80}.", field=_FIELD)
    return int(text)


def _in_settings() -> str | None:
    """`url` of the table `[artifacts]` in the nearest `dibs.toml`, if there is one."""
    path = nearest_file()
    if path is None:
        return None
    import tomllib

    try:
        with open(path, "rb") as file:
            settings = tomllib.load(file).get("artifacts", {})
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"{path} cannot be read: {error}.", field=_FIELD) from None
    if not isinstance(settings, dict) or settings.keys() - {"url"}:
        raise Invalid(f'{path}: [artifacts] takes url = "…" and nothing else.', field=_FIELD)
    url = settings.get("url")
    if url is not None and not isinstance(url, str):
        raise Invalid(f"{path}: url of [artifacts] must be text.", field=_FIELD)
    return url


def _beside(store_url: str) -> Place:
    scheme, _, rest = store_url.partition(":")
    if scheme == "memory":
        return Place("memory", rest)
    if scheme == "sqlite":
        folder, file = os.path.split(rest)
        stem = os.path.splitext(file)[0]
        # Another database in the same folder has a place of its own.
        return Place("file", os.path.join(folder, "artifacts" if stem == "dibs" else f"{stem}.artifacts"))
    raise Invalid(
        "say where artifacts are kept: dibs.connect(…, artifacts=URL), DIBS_ARTIFACTS, or url below [artifacts] in"
        f" dibs.toml; {SCHEMES}.",
        field=_FIELD,
    )
