"""Artifacts: bytes that tasks leave behind. Put them under a claim, get them back, see which there are."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from dibs.cli.commands.claim import held
from dibs.cli.connecting import looked_into, opened
from dibs.cli.output import on_terminal, print_json
from dibs.cli.parsing import Command, given, moment

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable
    from typing import IO

STREAM = "-"


def put_arguments(parser: ArgumentParser) -> None:
    held(parser)
    add = parser.add_argument
    add("name", metavar="NAME", help="what to call it; the same name again takes the place of the one before")
    add("file", metavar="FILE|-", help="where the bytes are")
    add("--media-type", metavar="T", help="what they are: text/markdown, image/png …")


def put(args: Namespace) -> int:
    from pathlib import Path

    from dibs.errors import Invalid

    if args.file == STREAM and sys.stdin is None:
        raise Invalid("file: standard input is closed.", field="file")
    data = sys.stdin.buffer if args.file == STREAM else Path(args.file)
    with opened(args) as queue:
        artifact = queue.put_artifact((args.id, args.fence), args.name, data, **given(args, "media_type"))
    if args.json:
        print_json(artifact)
    else:
        print(artifact.digest)
    return 0


def get_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("ref", metavar="REF", help="sha256:…, task:ID:artifact:NAME, or artifact:NAME with --dag")
    add("--dag", metavar="ID", help="where artifact:NAME is looked for: the newest of that name")
    add("-o", "--output", metavar="FILE", help="where to write the bytes; default standard output")


def get(args: Namespace) -> int:
    from dibs.errors import Invalid

    path = None if "output" not in args or args.output == STREAM else args.output
    if args.json and path is None:
        raise Invalid("with --json the bytes need a file of their own: -o FILE.", field="output")
    with looked_into(args) as queue:
        stream = queue.open_artifact(args.ref, **given(args, "dag"))
        if path is None:
            _copy(stream, sys.stdout.buffer)
        else:
            _write(stream, path)
    if args.json:
        print_json({"file": path, "digest": stream.digest, "size": stream.size})
    return 0


def _write(stream: Iterable[bytes], path: str) -> None:
    """Write a file, whole or not at all: bytes that turn out to be damaged must not look like the artifact."""
    from dibs.errors import Invalid

    partial = f"{path}.{os.urandom(4).hex()}.part"
    try:
        with open(partial, "xb") as file:
            try:
                _copy(stream, file)
            except BaseException:
                os.unlink(partial)
                raise
        os.replace(partial, path)
    except OSError as error:
        raise Invalid(f"output: {path!r} cannot be written: {error.strerror}.", field="output") from None


def _copy(stream: Iterable[bytes], file: IO[bytes]) -> None:
    for chunk in stream:
        file.write(chunk)
    file.flush()


def ls_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="TASK|DAG", help="whose artifacts")


def ls(args: Namespace) -> int:
    with looked_into(args) as queue:
        found = queue.artifacts(args.id)
    if args.json:
        print_json(found)
        return 0
    from dibs.cli.commands.look import when
    from dibs.cli.render import Column, hint, print_table

    if on_terminal() and not found:
        hint("There are no artifacts. An agent puts one: dibs artifact put ID --fence N NAME FILE")
        return 0
    instant = when()
    columns = (
        Column("NAME"),
        Column("SIZE", right=True),
        Column("MEDIA TYPE", spare=True),
        Column("DIGEST", wide=True),
        Column("TASK", spare=True),
        Column("PUT", spare=True, style="bright_black"),
    )
    print_table(
        columns,
        (
            (
                artifact.name,
                str(artifact.size),
                artifact.media_type or "",
                artifact.digest,
                artifact.task_id,
                instant(artifact.put_at),
            )
            for artifact in found
        ),
    )
    return 0


def sweep_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--older-than", metavar="T", type=moment, help="default 1d, at least 1h")


def sweep(args: Namespace) -> int:
    with opened(args) as queue:
        swept = queue.sweep_artifacts(**given(args, "older_than"))
    if args.json:
        print_json(swept)
    else:
        print(f"{swept.deleted} deleted, {swept.bytes} bytes")
    return 0


COMMANDS = {
    "artifact put": Command(
        put_arguments,
        put,
        about="""
Keeps the bytes and lists them on the task, if you still hold it. Prints their digest, by which anybody gets them back.
They are kept in a folder beside the database, or where $DIBS_ARTIFACTS says.
""",
        example="dibs artifact put task_01j… --fence 1 report report.md --media-type text/markdown",
    ),
    "artifact get": Command(
        get_arguments,
        get,
        about="Writes the bytes, once they were compared with their digest; to a file whole or not at all.",
        example="dibs artifact get task:task_01j…:artifact:report -o report.md\n"
        "dibs artifact get artifact:report --dag dag_01j…",
    ),
    "artifact ls": Command(
        ls_arguments,
        ls,
        about="In the order they were put. In a pipe, between tabs: name, size, media type, digest, task, put.",
        example="dibs artifact ls dag_01j…",
    ),
    "artifact sweep": Command(
        sweep_arguments,
        sweep,
        about="""
Bytes stay when their task is pruned, or when their agent lost the task while it sent them. This deletes those that no
task of this store refers to: never run it where two stores keep their artifacts in one place.
""",
        example="dibs artifact sweep --older-than 7d",
    ),
}
