"""`python -m tests.compare.perform`: runs programs with the dibs of this interpreter, and writes what they noted.

Each runs in a process of its own, forked from one that has imported everything: an empty store, no thread, no cache
of an earlier one, and no half a second to start. A line of JSON for each: kind, name, store, notes.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from tests.compare.processes import Server, command, server
from tests.compare.program import Note, Program, Scene, play

LIMIT_S = 60.0
"""What one program may take."""
SLOW = tuple(f"dibs.{name}" for name in ("a2a", "adapters", "demo", "mcp", "remote", "server", "testing"))
"""Packages that few programs need, and that are slow to import."""


def main() -> None:
    """Run the programs of the kinds asked for on one store."""
    parser = argparse.ArgumentParser(prog="python -m tests.compare.perform")
    parser.add_argument("--store", required=True)
    parser.add_argument("--server", default="", help="where stores are made, for those that need a server")
    parser.add_argument("--only", default="", help="kinds or names, separated by commas")
    parser.add_argument("--label", default="a", help="keeps the stores of two versions apart on one server")
    parser.add_argument("--out", required=True, type=Path)
    asked = parser.parse_args()
    from tests.compare.programs import chosen

    _warm()
    # What is here stays: no child need copy it to look for garbage.
    gc.collect()
    gc.freeze()
    programs = chosen(asked.store, asked.only)
    with ExitStack() as stack, asked.out.open("w") as out:
        place = Server("", "")
        if any(program.kind == "http" for program in programs):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="dibs-compare-"))
            store = _url(asked.store, asked.server, f"{asked.label}_served").replace("FOLDER", folder)
            place = stack.enter_context(server(store, Path(folder)))
        empty = _empty(stack) if asked.store == "sqlite" else None
        for number, program in enumerate(programs):
            url = _url(asked.store, asked.server, f"{asked.label}{number}")
            notes = perform(program, asked.store, url, place, empty)
            json.dump([program.kind, program.name, asked.store, notes], out)
            out.write("\n")
            out.flush()


def perform(program: Program, store: str, url: str, place: Server, empty: Path | None = None) -> list[Note]:
    """Run one program in a process of its own and return its notes. `empty`: a store that need only be copied."""
    with tempfile.TemporaryDirectory(prefix="dibs-compare-") as folder:
        notes = Path(folder) / "notes.json"
        (work := Path(folder) / "work").mkdir()
        if store == "sqlite" and empty is not None:
            for name in ("dibs.db", "empty.db"):
                shutil.copy(empty, Path(folder) / name)
        child = os.fork()
        if child == 0:
            scene = Scene(store, url.replace("FOLDER", folder), work, program.seed, place.url, place.token)
            _in_child(program, scene, notes)
        if not _ends(child):
            return [Note("ended", f"not within {LIMIT_S:.0f} s")]
        return [Note(*each) for each in json.loads(notes.read_text())] if notes.exists() else [Note("ended", "killed")]


def _empty(stack: ExitStack) -> Path:
    """An empty database as this version makes it: its schema is a lot to write."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="dibs-compare-"))
    program = Program("shell", "empty", lambda scene: scene.note("upgrade", command(scene, "upgrade").code))
    perform(program, "sqlite", f"sqlite:{folder}/dibs.db", Server("", ""))
    return Path(folder) / "dibs.db"


def _in_child(program: Program, scene: Scene, notes: Path) -> None:
    try:
        os.setsid()
        os.chdir(scene.folder)
        os.environ["HOME"] = str(scene.folder)
        seen = play(program, scene)
        notes.write_text(json.dumps(seen, default=repr, ensure_ascii=False))
    finally:
        os._exit(0)


def _ends(child: int) -> bool:
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        if os.waitpid(child, os.WNOHANG)[0]:
            _kill_group(child)
            return True
        time.sleep(0.005)
    _kill_group(child)
    os.waitpid(child, 0)
    return False


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _url(store: str, server: str, name: str) -> str:
    if store == "memory":
        return "memory:compared"
    if store == "sqlite":
        return "sqlite:FOLDER/dibs.db"
    word = "schema" if store == "postgres" else "namespace"
    return f"{server}{'&' if '?' in server else '?'}{word}=compare_{name}"


def _warm() -> None:
    """Import all of dibs once, and what its parts import."""
    import dibs

    for found in walk_packages(dibs.__path__, "dibs."):
        if "__main__" in found.name or found.name.startswith(SLOW):
            continue
        try:
            import_module(found.name)
        except ImportError:
            pass


def plain(value: Any) -> Any:
    """Return an answer of dibs as plain data; bytes as the text that they are."""
    import msgspec

    return _readable(msgspec.to_builtins(value, str_keys=True, builtin_types=(bytes,), enc_hook=repr))


def _readable(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, dict):
        return {name: _readable(each) for name, each in value.items()}
    return [_readable(each) for each in value] if isinstance(value, list | tuple) else value


if __name__ == "__main__":
    # What users may have set says nothing about a version.
    for variable in [name for name in os.environ if name.startswith(("DIBS_", "OTEL_"))]:
        del os.environ[variable]
    os.environ |= {"COLUMNS": "100", "LINES": "40", "TERM": "dumb", "TZ": "UTC", "LC_ALL": "C.UTF-8", "USER": "ada"}
    sys.stdin.close()
    main()
