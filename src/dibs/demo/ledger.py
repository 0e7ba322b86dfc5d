"""The count outside the store: a file to which agents append one line for each piece of work they carried out.

A line is one `write` in append mode, so processes cannot tear each other's lines, and a killed one leaves none half
done.
"""

from __future__ import annotations

import os
from typing import NamedTuple

DONE = "done"
STEP = "step"


class Line(NamedTuple):
    """Something that was carried out: a whole task (`done`) or a durable step of one."""

    what: str
    task_id: str
    fence: int
    agent: str


def write(path: str, line: Line) -> None:
    """Append a line."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, ("\t".join(map(str, line)) + "\n").encode())
    finally:
        os.close(file)


def read(path: str) -> list[Line]:
    """All lines so far; none if nothing was done yet."""
    try:
        with open(path, encoding="utf-8") as file:
            rows = [row.rstrip("\n").split("\t") for row in file]
    except FileNotFoundError:
        return []
    return [Line(what, task_id, int(fence), agent) for what, task_id, fence, agent in rows]
