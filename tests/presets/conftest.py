"""The stand-ins are on the PATH under the names of their programs."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

STANDINS = Path(__file__).parent / "standins"
ROOT = Path(__file__).parents[2]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test to its end."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = pyfuncitem._fixtureinfo.argnames
    arguments: dict[str, Any] = {name: pyfuncitem.funcargs[name] for name in wanted}
    asyncio.run(pyfuncitem.obj(**arguments))
    return True


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all of them, first on the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for script in STANDINS.glob("*.py"):
        if script.stem != "acting":
            program = folder / script.stem
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
            program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, sys.path)]))
    # Their own state must not come into the test's folder.
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    return folder


@pytest.fixture
def repository(tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository with one commit, and the working directory in it."""
    place = tmp_path / "repository"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    git(place, "init", "--quiet", "--initial-branch=main")
    (place / "list.txt").write_text("".join(f"line {number}\n" for number in range(200)))
    git(place, "add", "--all")
    git(place, "-c", "user.name=Grace", "-c", "user.email=grace@example.org", "commit", "--quiet", "-m", "First")
    return place


def git(folder: Path, *arguments: str) -> str:
    """What git answers there."""
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\n")
