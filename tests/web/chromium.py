"""Where the browser for the tests is: from the system, or, as root, installed with the system's package manager.

`python tests/web/chromium.py` sees to it that there is one, once, before tests run side by side; it never fails, but
says in one line why there is none.
"""

from __future__ import annotations

import os
import shutil
import subprocess

# The first draws pages only, no window around them, and takes half the time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_S = 600


def find() -> str | None:
    """The path of a browser that starts; None if there is none."""
    named = os.environ.get("DIBS_CHROMIUM")
    for name in [named] if named else NAMES:
        path = shutil.which(name)
        # Some systems have a command of that name that only says where to get it.
        if path is not None and _starts(path):
            return path
    return None


def _starts(path: str) -> bool:
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def install() -> str | None:
    """Try to get one; why there is none, or None."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return "it is not installed, and only root can install it here (apt-get install chromium)"
    print("== installing Chromium for the tests of the dashboard (apt-get)")
    packages = ("chromium-headless-shell", "chromium")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "timeout": PATIENCE_S, "check": False}
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        if subprocess.run(["apt-get", "update", "-q"], env=env, **quiet).returncode:  # type: ignore[call-overload]
            return "apt-get update failed"
        for package in packages:
            command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", package]
            if subprocess.run(command, env=env, **quiet).returncode == 0:  # type: ignore[call-overload]
                break
        else:
            return "apt-get install failed"
    except (OSError, subprocess.SubprocessError) as error:
        return f"apt-get failed: {error}"
    return None if find() else "what apt-get installed does not start"


if __name__ == "__main__":
    if find() is None and (trouble := install()) is not None:
        print(f"== no Chromium, so the dashboard is not tested: {trouble}")
