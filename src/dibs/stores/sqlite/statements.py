"""SQL lives in files named after what it does; each is read once, when it is first needed."""

from __future__ import annotations

import os

_FOLDER = os.path.join(os.path.dirname(__file__), "sql")
_read: dict[str, str] = {}


def sql(name: str) -> str:
    """The text of `sql/<name>.sql`."""
    text = _read.get(name)
    if text is None:
        with open(os.path.join(_FOLDER, name + ".sql"), encoding="utf-8") as file:
            text = _read[name] = file.read()
    return text
