"""The document is current, and the server keeps what it promises."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from dibs import wire
from dibs.server.openapi import document
from dibs.server.settings import Settings
from tests.server.running import ADMIN, running

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "allow_header_conformance",
)
COMMITTED = Path(__file__).parents[2] / "docs" / "openapi.json"


def test_the_document_in_docs_is_current() -> None:
    assert COMMITTED.read_bytes() == document(), "python -m dibs.server.openapi > docs/openapi.json"


def test_every_verb_is_in_it() -> None:
    paths = msgspec.json.decode(document())["paths"]
    assert {(verb.method.lower(), verb.path) for verb in wire.every()} == {
        (method, path) for path, methods in paths.items() for method in methods
    }


def test_no_two_operations_have_one_name() -> None:
    paths = msgspec.json.decode(document())["paths"]
    names = [operation["operationId"] for methods in paths.values() for operation in methods.values()]
    assert len(names) == len(set(names))


@pytest.mark.timeout(200)
def test_whatever_the_document_allows_is_answered_and_never_with_an_error_of_ours(tmp_path: Path) -> None:
    """schemathesis asks for everything, in the way it is described and in others. DIBS_FUZZ_S: how long."""
    quick = Settings(max_wait_s=0.05)
    with running(f"sqlite:{tmp_path}/queue.db", artifacts=f"file:{tmp_path}/artifacts", settings=quick) as server:
        done = subprocess.run(
            [
                *(str(Path(sys.executable).with_name("schemathesis")), "run", str(COMMITTED)),
                *("--url", server.url, "--header", f"Authorization: Bearer {ADMIN}"),
                *("--phases", "coverage,fuzzing", "--max-time", os.environ.get("DIBS_FUZZ_S", "40")),
                *("--checks", ",".join(CHECKS), "--workers", "1", "--request-timeout", "60", "--seed", "1"),
                *("--suppress-health-check", "all", "--warnings", "off", "--generation-database", ":memory:"),
                # A stream does not end unless it is asked to.
                *("--exclude-path", "/v1/events"),
            ],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=180,
            check=False,
        )
        assert server.ask("GET", "/v1/about").status == 200
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
