"""Handlers that leave something behind, in a module that child processes can import."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import dibs

app = dibs.App()

CONTENT = b"a report" * 1000


def write(ctx: Any, folder: str) -> list[str]:
    """Leave the same bytes behind in every way there is."""
    path = Path(folder) / "report"
    path.write_bytes(CONTENT)
    artifacts = [
        ctx.artifact("bytes", CONTENT, media_type="text/plain"),
        ctx.artifact("path", path),
        ctx.artifact("file", io.BytesIO(CONTENT)),
        ctx.artifact("pieces", (CONTENT[place : place + 100] for place in range(0, len(CONTENT), 100))),
    ]
    return [artifact.digest for artifact in artifacts]


def read(ctx: Any) -> int:
    """Read what another task of the dag left behind, by every name it has."""
    found = ctx.context["refs"]["artifact:path"]
    sizes = set()
    for ref in ("artifact:path", found, found["digest"], f"task:{found['task_id']}:artifact:path"):
        with ctx.open_artifact(ref) as file:
            content = file.read()
        assert content == CONTENT
        sizes.add(len(content))
    [size] = sizes
    return size


def misuse(ctx: Any) -> list[str | None]:
    """What is refused is refused here, by its field."""
    fields = []
    for name, data in (("", b"x"), ("a", "text"), ("a", Path("/nowhere/at/all"))):
        try:
            ctx.artifact(name, data)
        except dibs.Invalid as error:
            fields.append(error.field)
    try:
        ctx.open_artifact("artifact:nothing")
    except dibs.NotFound as error:
        fields.append(error.field)
    return fields


for executor in ("thread", "process"):
    for function in (write, read, misuse):
        app.handler(f"{function.__name__} in a {executor}", executor=executor)(function)
