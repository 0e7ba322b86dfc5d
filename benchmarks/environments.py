"""One environment per peer, because they conflict: made once, kept in `benchmarks/.envs`, and made again when what it
needs changes. Everything comes from the package registries that pip and npm are set up for.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HOME = Path(os.environ.get("DIBS_BENCH_ENVS") or Path(__file__).resolve().parent / ".envs")
INSTALL_LIMIT_S = 900


class Missing(Exception):
    """Something that this machine does not have; says what."""


@dataclass(frozen=True)
class Environment:
    """Where a peer's packages are and how its scripts are started."""

    runs: tuple[str, ...]
    variables: tuple[tuple[str, str], ...] = ()
    versions: tuple[str, ...] = ()


def of_python(
    name: str, packages: tuple[str, ...], at_least: tuple[int, int], say: Callable[[str], None]
) -> Environment:
    """A virtual environment with `packages`, of a Python that is new enough."""
    python = find_python(at_least)
    folder = HOME / f"{name}-{_digest(python, *packages)}"
    executable = folder / "bin" / "python"
    if not (folder / "complete").exists():
        say(f"installing {name}: {', '.join(packages)}")
        shutil.rmtree(folder, ignore_errors=True)
        _run([python, "-m", "venv", str(folder)])
        _run([str(executable), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
        (folder / "complete").touch()
    listed = json.loads(_run([str(executable), "-m", "pip", "list", "--format=json", "--disable-pip-version-check"]))
    versions = tuple(f"{package['name']} {package['version']}" for package in listed)
    # What this process imports from must not leak into the peer's.
    return Environment((str(executable),), (("PYTHONPATH", ""),), versions)


def of_node(packages: tuple[str, ...], say: Callable[[str], None]) -> Environment:
    """A folder with `packages` in its node_modules."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        raise Missing("needs Node: `node` and `npm` are not in PATH")
    folder = HOME / f"node-{_digest(node, *packages)}"
    if not (folder / "complete").exists():
        say(f"installing for Node: {', '.join(packages)}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "package.json").write_text('{"private": true}\n')
        _run([npm, "install", "--no-audit", "--no-fund", "--loglevel=error", *packages], folder)
        (folder / "complete").touch()
    modules = folder / "node_modules"
    versions = []
    for package in packages:
        title = package.rsplit("@", 1)[0] if "@" in package[1:] else package
        versions.append(f"{title} {json.loads((modules / title / 'package.json').read_text())['version']}")
    node_version = _run([node, "--version"]).strip()
    return Environment((node,), (("NODE_PATH", str(modules)),), (*versions, f"Node {node_version}"))


def find_python(at_least: tuple[int, int]) -> str:
    """This interpreter if it is new enough, else the newest one in PATH or under pyenv."""
    if sys.version_info[:2] >= at_least:
        return sys.executable
    found = [(version, path) for path in _pythons() if (version := _version_of(path)) >= at_least]
    if not found:
        raise Missing(f"needs Python {at_least[0]}.{at_least[1]}: none in PATH or under pyenv")
    # The oldest that will do has wheels for everything.
    return min(found)[1]


def _pythons() -> Iterator[str]:
    for minor in range(12, 20):
        path = shutil.which(f"python3.{minor}")
        if path:
            yield path
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    yield from sorted(glob.glob(f"{root}/versions/3.*/bin/python"))


def _version_of(python: str) -> tuple[int, int]:
    """(0, 0) if it does not run: a shim of pyenv may point at nothing."""
    try:
        text = _run([python, "-c", "import sys, venv, ensurepip; print(*sys.version_info[:2])"])
        major, minor = map(int, text.split())
    except (RuntimeError, ValueError):
        return 0, 0
    return major, minor


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def _run(argv: list[str], folder: Path | None = None) -> str:
    try:
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=INSTALL_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(str(error)) from error
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise RuntimeError(f"{Path(argv[0]).name} {argv[1]} … ended with {done.returncode}: {lines[-1]}")
    return done.stdout
