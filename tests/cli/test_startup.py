"""A command imports what it needs and no more: `dibs add` costs about as much as starting Python."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run

HEAVY = {
    "asyncio",
    "concurrent.futures",
    "dataclasses",
    "difflib",
    "email",
    "genai_prices",
    "importlib.metadata",
    "inspect",
    "json",
    "jsonschema_rs",
    "logging",
    "multiprocessing",
    "pathlib",
    "random",
    "rich",
    "socket",
    "sqlite3",
    "subprocess",
    "tempfile",
    "typing_extensions",
    "tomllib",
    "uuid",
    "yaml",
    "dibs.checking",
    "dibs.rules.metrics",
    "dibs.rules.why",
    "dibs.worker",
    "dibs.cli.render",
    "dibs.keeper",
}

PROGRAM = """
import sys
# -S leaves out what .pth files of the environment import; they are not ours.
sys.path[:0] = PATHS
from dibs.cli import main
code = main(sys.argv[1:])
print("\\n" + " ".join(sys.modules), file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def unavoidable() -> set[str]:
    """What the libraries of the shortest path import themselves: msgspec asks for typing_extensions if it is there."""
    program = "import sys; sys.path[:0] = PATHS; import apsw, argparse, datetime, hashlib, msgspec; print(*sys.modules)"
    program = program.replace("PATHS", repr([path for path in sys.path if path]))
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def imported_by(*argv: str) -> set[str]:
    """The modules in a process after one command."""
    program = PROGRAM.replace("PATHS", repr([path for path in sys.path if path]))
    command = [sys.executable, "-S", "-c", program, *argv]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, 3), done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "argv",
    [
        ["add", "t", "--payload", '{"topic": "CORS"}'],
        ["claim", "--agent", "a"],
        ["cancel", "ID"],
    ],
    ids=lambda argv: argv[0],
)
def test_short_commands_import_nothing_heavy(dibs: Run, unavoidable: set[str], argv: list[str]) -> None:
    id = dibs("add", "t", ok=True).line
    assert imported_by(*(id if part == "ID" else part for part in argv)) & (HEAVY - unavoidable) == set()


def test_completing_imports_nothing_heavy(dibs: Run, unavoidable: set[str]) -> None:
    id = dibs("add", "t", ok=True).line
    dibs("claim", "--agent", "a", ok=True)
    assert imported_by("complete", id, "--fence", "1", "--output", '{"n": 1}') & (HEAVY - unavoidable) == set()


def test_lists_in_a_pipe_do_not_import_rich(dibs: Run) -> None:
    id = dibs("add", "t", ok=True).line
    for argv in (["ls"], ["show", id], ["tree", id], ["why", id], ["tail", "--no-follow"]):
        assert not {"rich", "asyncio", "yaml"} & imported_by(*argv)


def test_the_overview_imports_not_even_argparse() -> None:
    assert not {"argparse", "msgspec", "apsw"} & imported_by()
