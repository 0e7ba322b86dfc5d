"""One mutation, tried: a copy of the tree with the change in it, and the tests of its topic run there.

The working tree is never touched. A copy serves many mutations, one after another.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.mutations import chosen
from tests.mutations.areas import topics_of
from tests.mutations.site import changed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from tests.mutations.areas import Area, Mutation
    from tests.servers.postgres import Server

LIMIT_S = 60.0
"""What the tests of one mutation may take."""
_HANGS_S = 25.0
"""A test of ours that takes longer hangs."""
_UNCHANGED_S = 1_200.0
_TESTS = ("tests", "src/dibs/testing")
_NOT_COPIED = (".git", ".venv", "node_modules", "__pycache__", ".*_cache", "dist", ".hypothesis", ".coverage")


class Ran(NamedTuple):
    """How a run of tests ended: what failed in it, with why, in order."""

    failed: dict[str, str]
    hung: str
    """The test that did not come to an end."""
    code: int | None
    """None: its time was over."""
    seconds: float


class Copy:
    """A copy of the tree, to be changed. With `ref`, its tests are those of that commit."""

    def __init__(self, root: Path, folder: Path, ref: str = "") -> None:
        self.root = folder
        shutil.copytree(root, folder, ignore=shutil.ignore_patterns(*_NOT_COPIED))
        if ref:
            _put_tests_of(root, folder, ref)

    @contextmanager
    def with_change(self, mutation: Mutation) -> Iterator[None]:
        """The tree with this change, as long as it is needed."""
        path = self.root / mutation.path
        source = path.read_text()
        try:
            self._write(path, changed(source, mutation.site))
            yield
        finally:
            self._write(path, source)

    def _write(self, path: Path, source: str) -> None:
        path.write_text(source)
        # Python takes what it compiled for current when time and size agree, to the second.
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()


def unchanged(copy: Copy, area: Area, mutations: Iterable[Mutation], server: Server | None) -> Ran:
    """All tests that the mutations of an area are tried on, without any of them."""
    topics = dict.fromkeys(topic for each in mutations for topic in topics_of(area, each.path))
    return _run(copy, area, list(topics), server, limit_s=_UNCHANGED_S)


def attempt(copy: Copy, area: Area, mutation: Mutation, server: Server | None, limit_s: float = LIMIT_S) -> Ran:
    """The tests of a mutation's topic, until one finds it."""
    with copy.with_change(mutation):
        return _run(copy, area, list(topics_of(area, mutation.path)), server, "-x", limit_s=limit_s)


def _run(copy: Copy, area: Area, topics: list[str], server: Server | None, *options: str, limit_s: float) -> Ran:
    with tempfile.TemporaryDirectory(prefix="dibs-mutation-") as folder, _database(server) as url:
        notes = Path(folder) / "notes"
        notes.touch()
        # We may be run by a test ourselves.
        env = {name: value for name, value in os.environ.items() if not name.startswith(("DIBS_TEST_", "PYTEST_"))}
        env |= {chosen.TOPICS: " ".join(topics), chosen.STORE: area.store, chosen.NOTES: str(notes)}
        env |= {"PYTHONPATH": f"{copy.root}{os.pathsep}{copy.root / 'src'}", "PYTEST_DEBUG_TEMPROOT": folder}
        env |= {"DIBS_TEST_POSTGRES_URL": url} if url else {}
        paths = [path for path in area.tests if (copy.root / path).exists()]
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-p", "tests.mutations.chosen", "-p", "no:cacheprovider"),
            *("-m", "not alone", "--timeout", str(_HANGS_S), *options, *paths),
        ]
        began = time.time()
        with open(Path(folder) / "said", "wb") as said:
            process = subprocess.Popen(
                command, cwd=copy.root, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                start_new_session=True,
            )  # fmt: skip
            code = _ended(process, limit_s)
        return _ran(notes, code, began)


def _ended(process: subprocess.Popen[bytes], limit_s: float) -> int | None:
    """Its exit code; None if its time was over, or if we are to stop. Nobody of its group is left."""
    code: int | None = None
    try:
        code = process.wait(limit_s)
    except subprocess.TimeoutExpired:
        pass
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    return code


def _ran(notes: Path, code: int | None, began: float) -> Ran:
    now = time.time()
    failed: dict[str, str] = {}
    last, since = "", began
    for line in notes.read_text().splitlines():
        note = json.loads(line)
        if "failed" in note:
            failed.setdefault(note["failed"], note["error"])
        else:
            last, since = note["began"], note["at"]
    hung = next((test for test, error in failed.items() if error.startswith("Failed: Timeout")), "")
    if code is None and now - since >= _HANGS_S:
        hung = last or "(before the first test)"
    return Ran(failed, hung, code, now - began)


def _database(server: Server | None) -> AbstractContextManager[str]:
    return _own_database(server) if server is not None else nullcontext("")


@contextmanager
def _own_database(server: Server) -> Iterator[str]:
    """The URL of a database that goes with all who are connected to it, whatever they hang in."""
    name = f"mutation_{os.urandom(5).hex()}"
    server.execute(f"CREATE DATABASE {name}")
    try:
        yield server.url(name)
    finally:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _put_tests_of(root: Path, folder: Path, ref: str) -> None:
    """Put the tests of a commit in the place of those of the tree; not this tool and what it selects tests with, which
    that commit may not have."""
    packed = subprocess.run(["git", "archive", ref, *_TESTS], cwd=root, check=True, capture_output=True).stdout
    for name in _TESTS:
        shutil.rmtree(folder / name)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    own = Path("tests") / "mutations"
    shutil.rmtree(folder / own, ignore_errors=True)
    shutil.copytree(root / own, folder / own, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "tests" / "selection.py", folder / "tests" / "selection.py")
