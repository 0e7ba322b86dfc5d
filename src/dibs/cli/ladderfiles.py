"""Ladders written in a file: `dibs.toml`, or the same as YAML or JSON.

    [[escalation.code]]            # the tasks of one type, rung by rung
    after = 2
    do = "reassign"
    model = "opus"
    [[escalation.defaults]]        # every type without a ladder of its own
    after = 3
    do = "ask"
    to = "oncall"

A file that says nothing about escalation is refused, and so is a part that nobody knows.
"""

from __future__ import annotations

from typing import Any

from dibs.cli.breakerfiles import read_content
from dibs.errors import Invalid
from dibs.rules.escalation import EVERY, parse


def read_ladders(path: str) -> dict[str, list[Any]]:
    """The rungs for each type, all of them checked; `*` first."""
    content = read_content(path)
    written = content.get("escalation") if isinstance(content, dict) else None
    if not isinstance(written, dict) or not written:
        raise Invalid(f"{path} says nothing about escalation: write [[escalation.TYPE]] for each rung", field="file")
    ladders: dict[str, list[Any]] = {}
    for name, rungs in written.items():
        type = EVERY if name == "defaults" else str(name)
        if type in ladders:
            raise Invalid(f"{path}: defaults and * are the same; write one of them", field="escalation")
        try:
            parse(rungs)
        except Invalid as error:
            raise Invalid(f"{path}: {name}: {error.message}", field=error.field) from None
        ladders[type] = rungs
    return dict(sorted(ladders.items(), key=lambda item: item[0] != EVERY))
