"""What a schedule or a trigger makes, as it is written in the shell: in a file, in JSON, or in a few options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.cli.parsing import given
from dibs.errors import Invalid

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.model.schedule import Schedule
    from dibs.model.trigger import Trigger


def arguments(parser: ArgumentParser, whole: str) -> None:
    """The options that say what is made. `whole`: what a file may say beside it."""
    add = parser.add_argument
    add("--type", metavar="TYPE", help="make a task of this type")
    add("--title", metavar="TITLE", help="its title")
    add("--payload", metavar="JSON|@file|-", help="what its agent gets")
    add("--task", metavar="JSON|@file|-", help="make a task, with all that `dibs add` knows: {type, payload, …}")
    add("--dag", metavar="FILE", help="make a dag: a file as for `dibs dag submit`, without a key")
    add("--file", metavar="FILE", help=f"all of it from YAML, JSON or TOML: {whole}")


def options(args: Namespace, known: tuple[str, ...], *, written: tuple[str, ...] = ()) -> dict[str, Any]:
    """What the file says, and over it what the options say: `task`, `dag` and the `known` others; `written`: what only
    a file may say."""
    from dibs.cli.breakerfiles import read_content
    from dibs.cli.values import read_json

    said: dict[str, Any] = {}
    wanted = given(args, "type", "title", "payload", "task", "dag", "file")
    if "file" in wanted:
        said = _read(wanted["file"], (*known, *written, "name", "task", "dag"))
    if "task" in wanted:
        said["task"] = read_json(wanted["task"], "task")
    if "dag" in wanted:
        said["dag"] = read_content(wanted["dag"], "dag")
    short = {name: wanted[name] for name in ("type", "title", "payload") if name in wanted}
    if short:
        if "payload" in short:
            short["payload"] = read_json(short["payload"], "payload")
        if not isinstance(said.get("task", {}), dict):
            raise Invalid("task must be an object such as {type: research}", field="task")
        said["task"] = {**said.get("task", {}), **short}
    return {**said, **given(args, *known)}


def named(args: Namespace, said: dict[str, Any]) -> str:
    """What it is called: as the command says, else the file."""
    name = given(args, "name").get("name") or said.pop("name", None)
    said.pop("name", None)
    if not isinstance(name, str):
        raise Invalid("NAME is missing: give one, or write it into the file", field="name")
    return name


def makes(found: Schedule | Trigger) -> str:
    """What is made, in a few words."""
    if found.task is not None:
        return str(found.task["type"])
    assert found.dag is not None
    return f"dag of {len(found.dag['tasks'])}"


def print_made(found: Schedule | Trigger) -> None:
    """What is made, in full."""
    from msgspec import json

    from dibs.cli.render import print_heading, print_json_block

    print_heading("task" if found.task is not None else "dag")
    print_json_block(json.format(json.encode(found.task or found.dag), indent=2).decode())


def _read(path: str, known: tuple[str, ...]) -> dict[str, Any]:
    from dibs.cli.breakerfiles import read_content

    content = read_content(path)
    if not isinstance(content, dict):
        raise Invalid(f"{path} must hold an object: {', '.join(known)}", field="file")
    if True in content:
        # What YAML makes of a plain `on`.
        content["on"] = content.pop(True)
    for name in content:
        if name not in known:
            raise Invalid(f"{path} has {str(name)[:60]!r}, which is none of {', '.join(known)}", field=str(name)[:60])
    return content
