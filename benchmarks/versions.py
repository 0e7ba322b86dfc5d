"""dibs as it was at a git ref, in an environment of its own: made once for each commit, kept in `.venv/versions`.

It gets the very versions of other packages that this environment has, so that what differs is dibs. Where that commit
depends on the same packages they are not installed again, but looked up here.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".venv" / "versions"
EXTRAS = "a2a,artifacts,contracts,cost,http,mcp,otel,postgres,redis,server,langgraph,openai-agents,pydantic-ai"
INSTALL_LIMIT_S = 900


def python_of(ref: str, say: Callable[[str], None]) -> Path:
    """Return the Python that has dibs as it was at `ref`; installs it unless that was done before."""
    commit = commit_of(ref)
    folder = HOME / f"{commit[:12]}-{sys.version_info.major}.{sys.version_info.minor}"
    python = folder / "environment" / "bin" / "python"
    if not (folder / "complete").exists():
        say(f"building dibs at {ref} ({commit[:12]}), once; some minutes where it depends on other packages")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with tarfile.open(fileobj=io.BytesIO(_git("archive", commit))) as archive:
            archive.extractall(folder / "source", filter="data")
        if _dependencies(folder / "source") == _dependencies(ROOT):
            _run(sys.executable, "-m", "venv", "--without-pip", str(folder / "environment"))
            _look_here(folder)
        else:
            _install(folder, python)
        _run(str(python), "-m", "compileall", "-q", str(folder / "source" / "src"))
        (folder / "complete").touch()
    return python


def _look_here(folder: Path) -> None:
    """Let the environment find the commit's dibs, and after it the packages of this one."""
    [packages] = (folder / "environment" / "lib").glob("python*/site-packages")
    # A folder that stands in a .pth file is searched, but its own .pth files, such as that of our dibs, are not read.
    here = Path(sysconfig.get_path("purelib"))
    (packages / "dibs-at-a-ref.pth").write_text(f"{folder / 'source' / 'src'}\n{here}\n")


def _install(folder: Path, python: Path) -> None:
    constraints = folder / "constraints.txt"
    constraints.write_text(_installed())
    _run(sys.executable, "-m", "venv", str(folder / "environment"))
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run(*install, "--constraint", str(constraints), "--editable", f"{folder / 'source'}[{EXTRAS}]")


def _dependencies(source: Path) -> object:
    """What dibs depends on, with all extras but those of its own tests."""
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    extras = project.get("optional-dependencies", {})
    return project["dependencies"], {name: extras.get(name) for name in EXTRAS.split(",")}


def commit_of(ref: str) -> str:
    """Return the full name of the commit that `ref` names."""
    try:
        return _git("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}").decode().strip()
    except subprocess.CalledProcessError:
        raise SystemExit(f"no commit '{ref}' here: name a branch, a tag or a commit, such as HEAD~1 or main") from None


def _installed() -> str:
    """Return what this environment has, as constraints for pip; without what lies in folders."""
    frozen = subprocess.run(
        [sys.executable, "-m", "pip", "freeze", "--exclude-editable", "--disable-pip-version-check"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return "\n".join(line for line in frozen.splitlines() if "==" in line)


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=True).stdout


def _run(*command: str) -> None:
    # Nobody looks at the dashboard of an old version.
    variables = {**os.environ, "DIBS_WEB": "skip"}
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=INSTALL_LIMIT_S, check=False, env=variables, cwd=ROOT
    )
    if ran.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{ran.stdout}{ran.stderr}")
