"""`dibs mcp` from the shell: what it refuses, and what it costs those who do not use it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("argv", "field"),
    [
        (["--agent", ""], "agent"),
        (["--lease", "0.1"], "lease"),
        (["--lease", "soon"], "lease"),
        (["--type", ""], "types"),
        (["--can", "a,,b"], "capabilities"),
    ],
)
def test_what_makes_no_sense_is_refused_before_a_client_waits(dibs: Run, argv: list[str], field: str) -> None:
    done = dibs("mcp", *argv)
    assert done.code == 2
    assert f"--{ {'types': 'type', 'capabilities': 'can'}.get(field, field) }" in done.err


def test_it_speaks_json_anyway(dibs: Run) -> None:
    assert dibs("mcp", "--json").code == 2


def test_without_the_package_it_says_what_to_install() -> None:
    program = (
        "import sys\n"
        "import importlib.util; found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == 'mcp_types' else found(name, *a)\n"
        "from dibs.cli import main; sys.exit(main(['mcp', '--url', 'memory:']))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 6
    assert "pip install 'dibs[mcp]'" in done.stderr


def test_its_help_imports_nothing_of_it() -> None:
    program = (
        "import sys\nfrom dibs.cli import main\ncode = main(['mcp', '--help'])\n"
        "heavy = {'mcp', 'mcp_types', 'pydantic', 'anyio', 'asyncio'} & set(sys.modules)\n"
        "print(heavy, file=sys.stderr); sys.exit(code or bool(heavy))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "set()\n")


@pytest.mark.parametrize("patience", ["0", "soon", "2d"])
def test_a_patience_that_makes_no_sense_is_refused(dibs: Run, patience: str) -> None:
    done = dibs("up", "--port", "0", "--mcp-patience", patience)
    assert done.code == 2
    assert "--mcp-patience" in done.err
