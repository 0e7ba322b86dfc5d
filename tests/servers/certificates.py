"""Certificates for tests of TLS."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def certificate(folder: Path, host: str) -> Path:
    """A certificate for this host, signed by nobody else, with its key in the file `key` beside it."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    made = folder / "certificate"
    command = (
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={host}"),
        *("-addext", f"subjectAltName=DNS:{host}", "-keyout", str(made.with_name("key")), "-out", str(made)),
    )
    subprocess.run(command, check=True, capture_output=True)
    return made
