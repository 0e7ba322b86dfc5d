"""The Lua scripts: a file each, sent once to a server and then called by their digest."""

from __future__ import annotations

import os
from functools import cache
from hashlib import sha1

from msgspec import Struct

WITH_COMMON = frozenset({"add_many", "claim", "renew", "settle"})

_FOLDER = os.path.join(os.path.dirname(__file__), "scripts")


class Script(Struct, frozen=True):
    """A script and the digest that a server knows it by."""

    name: str
    text: str
    digest: str


@cache
def script(name: str) -> Script:
    """The script of this name; before most of the quick ones stands what these have in common."""
    text = _text("common") + _text(name) if name in WITH_COMMON else _text(name)
    return Script(name, text, sha1(text.encode(), usedforsecurity=False).hexdigest())


def _text(name: str) -> str:
    with open(os.path.join(_FOLDER, f"{name}.lua"), encoding="utf-8") as file:
        return file.read()
