"""Putting and opening artifacts, with the real library: in a folder and in memory."""

from __future__ import annotations

import asyncio
import io
import os
import time
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.artifacts.blobs import open_blobs
from dibs.artifacts.place import Place
from dibs.rules import artifacts as rules

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from dibs.model.claim import Claim
    from dibs.queue import Queue
    from dibs.sync import SyncQueue

LARGE = os.urandom(9 << 20)


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DIBS_ARTIFACTS", raising=False)


@pytest.fixture(params=["memory:", "sqlite:dibs.db"])
def queue(request: pytest.FixtureRequest) -> Iterator[SyncQueue]:
    with dibs.connect_sync(request.param) as queue:
        yield queue


def held(queue: SyncQueue, type: str = "job") -> Claim:
    queue.add(type)
    [claim] = queue.claim("ada", types=[type])
    return claim


def digest(content: bytes) -> str:
    return f"sha256:{sha256(content).hexdigest()}"


def content_of(kind: str, content: bytes, folder: Path) -> Any:
    path = folder / "content"
    path.write_bytes(content)
    return {
        "bytes": content,
        "bytearray": bytearray(content),
        "memoryview": memoryview(content),
        "path": path,
        "file": io.BytesIO(content),
        "iterator": (content[place : place + 100_000] for place in range(0, len(content), 100_000)),
    }[kind]


@pytest.mark.parametrize("kind", ["bytes", "bytearray", "memoryview", "path", "file", "iterator"])
@pytest.mark.parametrize("content", [b"", b"hello", LARGE], ids=["empty", "small", "large"])
def test_bytes_come_back_as_they_were_put(queue: SyncQueue, tmp_path: Path, kind: str, content: bytes) -> None:
    claim = held(queue)
    artifact = queue.put_artifact(claim, "report", content_of(kind, content, tmp_path), media_type="text/plain")
    assert (artifact.digest, artifact.size, artifact.media_type) == (digest(content), len(content), "text/plain")
    assert queue.get(claim.task.id).artifacts == (artifact,)
    assert queue.artifacts(claim.task.id) == [artifact]
    stream = queue.open_artifact(artifact)
    assert (stream.size, stream.digest) == (len(content), artifact.digest)
    assert stream.read() == content


def test_in_a_loop_bytes_may_come_from_an_async_iterator_and_go_the_same_way(tmp_path: Path) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for place in range(0, len(LARGE), 1 << 20):
            await asyncio.sleep(0)
            yield LARGE[place : place + (1 << 20)]

    async def run(queue: Queue) -> None:
        await queue.add("job")
        [claim] = await queue.claim("ada")
        artifact = await queue.put_artifact(claim, "report", pieces())
        opened = await queue.open_artifact(artifact)
        assert (opened.size, opened.digest) == (len(LARGE), digest(LARGE))
        assert b"".join([chunk async for chunk in opened]) == LARGE
        assert await (await queue.open_artifact(artifact.digest)).read() == LARGE
        with pytest.raises(dibs.Invalid):
            await queue.put_artifact(claim, "report", tmp_path / "nothing")

    async def both() -> None:
        for url in ("memory:", f"sqlite:{tmp_path}/dibs.db"):
            async with dibs.connect(url) as queue:
                await run(queue)

    asyncio.run(both())


def test_an_artifact_is_found_by_digest_by_task_and_by_name_in_a_dag(queue: SyncQueue) -> None:
    claim = held(queue)
    artifact = queue.put_artifact(claim, "my report", b"hello")
    for ref in (
        artifact,
        artifact.digest,
        {"digest": artifact.digest},
        f"task:{claim.task.id}:artifact:my report",
    ):
        assert queue.open_artifact(ref).read() == b"hello"
    assert queue.open_artifact("artifact:my report", dag=claim.task.dag_id).read() == b"hello"


@pytest.mark.parametrize(
    ("ref", "options", "error", "field"),
    [
        ("artifact:report", {}, dibs.Invalid, "dag"),
        ("artifact:nothing", {"dag": "dag_x"}, dibs.NotFound, "ref"),
        ("task:task_nobody:artifact:report", {}, dibs.NotFound, "task_id"),
        ("task:task_nobody:output", {}, dibs.Invalid, "ref"),
        (digest(b"nothing"), {}, dibs.NotFound, "ref"),
        ("../../etc/passwd", {}, dibs.Invalid, "ref"),
        ("/etc/passwd", {}, dibs.Invalid, "ref"),
        ({"name": "report"}, {}, dibs.Invalid, "ref"),
        (7, {}, dibs.Invalid, "ref"),
    ],
)
def test_what_is_not_there_or_makes_no_sense_is_not_opened(
    queue: SyncQueue, ref: Any, options: dict[str, Any], error: type[dibs.DibsError], field: str
) -> None:
    with pytest.raises(error) as caught:
        queue.open_artifact(ref, **options)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("field", "name", "data", "options"),
    [
        ("name", "", b"x", {}),
        ("name", "a\0b", b"x", {}),
        ("name", "x" * 201, b"x", {}),
        ("name", 7, b"x", {}),
        ("media_type", "a", b"x", {"media_type": "text"}),
        ("data", "a", "text", {}),
        ("data", "a", None, {}),
        ("data", "a", 7, {}),
        ("data", "a", Path("nothing"), {}),
        ("data", "a", Path("."), {}),
        ("data", "a", ["text"], {}),
        ("data", "a", io.StringIO("text"), {}),
    ],
)
def test_what_cannot_be_an_artifact_is_refused_and_nothing_changes(
    queue: SyncQueue, field: str, name: Any, data: Any, options: dict[str, Any]
) -> None:
    claim = held(queue)
    if isinstance(data, io.StringIO):
        data.seek(0)
    with pytest.raises(dibs.Invalid) as caught:
        queue.put_artifact(claim, name, data, **options)
    assert caught.value.field == field
    assert queue.get(claim.task.id).artifacts == ()
    assert not list(Path.cwd().glob("artifacts/sha256/*/*"))


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/../../b", "~/x", "C:\\x", ".."])
def test_a_name_leads_nowhere(name: str, tmp_path: Path) -> None:
    with dibs.connect_sync("sqlite:dibs.db") as queue:
        artifact = queue.put_artifact(held(queue), name, b"hello")
    assert artifact.name == name
    inside = [path for path in tmp_path.rglob("*") if path.is_file() and not path.name.startswith("dibs.db")]
    assert inside == [tmp_path / "artifacts" / rules.key(artifact.digest)]


def test_too_many_bytes_are_refused_wherever_they_come_from(tmp_path: Path) -> None:
    with dibs.connect_sync("memory:", artifacts="file:kept?max_bytes=10") as queue:
        claim = held(queue)
        queue.put_artifact(claim, "fits", b"x" * 10)
        for kind in ("bytes", "path", "file", "iterator"):
            with pytest.raises(dibs.Invalid) as caught:
                queue.put_artifact(claim, "large", content_of(kind, b"y" * 11, tmp_path))
            assert (caught.value.field, caught.value.code) == ("data", "too_large")
        with pytest.raises(dibs.Invalid):
            queue.put_artifact(claim, "endless", Path("/dev/zero"))
        assert [artifact.name for artifact in queue.artifacts(claim.task.id)] == ["fits"]
    assert len(list(tmp_path.glob("kept/sha256/*/*"))) == 1


def test_a_stale_agent_is_refused_before_it_sends_anything(queue: SyncQueue, tmp_path: Path) -> None:
    claim = held(queue)
    queue.complete(claim)

    content: Iterator[bytes] = iter(lambda: pytest.fail("nobody should ask for this"), None)
    with pytest.raises(dibs.LeaseLost):
        queue.put_artifact(claim, "report", content)
    with pytest.raises(dibs.NotFound):
        queue.put_artifact(("task_nobody", 1), "report", b"x")
    assert not (tmp_path / "artifacts").exists()


def test_a_task_that_is_lost_while_its_bytes_are_sent_has_no_artifact(queue: SyncQueue) -> None:
    claim = held(queue)

    def content() -> Iterator[bytes]:
        yield b"hello"
        queue.cancel(claim.task.id)

    with pytest.raises(dibs.LeaseLost):
        queue.put_artifact(claim, "report", content())
    assert queue.get(claim.task.id).artifacts == ()


def test_equal_bytes_are_kept_once(tmp_path: Path) -> None:
    with dibs.connect_sync("sqlite:dibs.db") as queue:
        claim = held(queue)
        one = queue.put_artifact(claim, "one", b"hello")
        two = queue.put_artifact(claim, "two", b"hello")
    assert one.digest == two.digest
    assert len([path for path in (tmp_path / "artifacts").rglob("*") if path.is_file()]) == 1


def test_damaged_bytes_are_not_handed_out_as_the_artifact(tmp_path: Path) -> None:
    with dibs.connect_sync("sqlite:dibs.db") as queue:
        artifact = queue.put_artifact(held(queue), "report", b"hello")
        (tmp_path / "artifacts" / rules.key(artifact.digest)).write_bytes(b"jello")
        with pytest.raises(dibs.Unavailable) as caught:
            queue.open_artifact(artifact).read()
        assert caught.value.code == "damaged"


def test_a_place_that_cannot_be_used_is_unavailable_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with dibs.connect_sync("memory:", artifacts="file:taken/artifacts") as queue:
        claim = held(queue)
        with pytest.raises(dibs.Unavailable) as caught:
            queue.put_artifact(claim, "report", b"hello")
        assert "\n" not in caught.value.message


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with dibs.connect_sync("memory:") as queue, pytest.raises(dibs.Unavailable, match=r"dibs\[artifacts\]"):
        queue.put_artifact(held(queue), "report", b"hello")


def test_memory_with_a_name_is_shared_in_the_process() -> None:
    with dibs.connect_sync("memory:shared-artifacts") as one, dibs.connect_sync("memory:shared-artifacts") as other:
        artifact = one.put_artifact(held(one), "report", b"hello")
        assert other.open_artifact(artifact).read() == b"hello"
    with dibs.connect_sync("memory:") as stranger, pytest.raises(dibs.NotFound):
        stranger.open_artifact(artifact)


def test_a_completion_passes_artifacts_on(queue: SyncQueue) -> None:
    first = held(queue, "one")
    report = queue.put_artifact(first, "report", b"hello")
    second = held(queue, "two")
    own = queue.put_artifact(second, "own", b"mine")
    queue.complete(second, "out", artifacts=[report])
    task = queue.get(second.task.id)
    assert [(artifact.name, artifact.digest, artifact.task_id) for artifact in task.artifacts] == [
        ("own", own.digest, task.id),
        ("report", report.digest, task.id),
    ]


def test_a_completion_does_not_pass_on_what_is_not_kept(queue: SyncQueue) -> None:
    claim = held(queue)
    for wrong in (
        [dibs.Artifact(name="a", digest=digest(b"nothing"), size=7)],
        [{"name": "a", "digest": "sha256:1", "size": 1}],
        "report",
    ):
        with pytest.raises(dibs.Invalid) as caught:
            queue.complete(claim, artifacts=wrong)
        assert caught.value.field == "artifacts"
    assert queue.get(claim.task.id).status == "running"


def aged(path: Path, seconds: float) -> None:
    os.utime(path, (time.time() - seconds, time.time() - seconds))


def test_a_sweep_deletes_what_no_task_refers_to_once_it_is_old(tmp_path: Path) -> None:
    blobs = open_blobs(Place("file", str(tmp_path / "artifacts")))
    with dibs.connect_sync("sqlite:dibs.db") as queue:
        kept = queue.put_artifact(held(queue), "report", b"hello")
        for content in (b"old", b"new"):
            blobs.put(digest(content), 3, io.BytesIO(content))
        stranger = tmp_path / "artifacts" / "sha256" / "README"
        stranger.write_text("not ours")
        for path in (stranger, *(tmp_path / "artifacts" / rules.key(digest(old)) for old in (b"hello", b"old"))):
            aged(path, 90_000)
        swept = queue.sweep_artifacts()
        assert (swept.deleted, swept.bytes, swept.kept) == (1, 3, 1)
        assert (blobs.size_of(digest(b"old")), blobs.size_of(digest(b"new"))) == (None, 3)
        assert queue.open_artifact(kept).read() == b"hello"
        assert stranger.exists()
        assert queue.sweep_artifacts(older_than="2h").deleted == 0
        with pytest.raises(dibs.Invalid) as caught:
            queue.sweep_artifacts(older_than="5m")
        assert caught.value.field == "older_than"


def test_a_sweep_works_in_a_loop_too(tmp_path: Path) -> None:
    async def run() -> None:
        blobs = open_blobs(Place("file", str(tmp_path / "artifacts")))
        blobs.put(digest(b"old"), 3, io.BytesIO(b"old"))
        aged(tmp_path / "artifacts" / rules.key(digest(b"old")), 7_300)
        async with dibs.connect("sqlite:dibs.db") as queue:
            assert (await queue.sweep_artifacts("2h")).deleted == 1

    asyncio.run(run())


def test_bytes_that_could_be_swept_are_written_again(tmp_path: Path) -> None:
    with dibs.connect_sync("sqlite:dibs.db") as queue:
        claim = held(queue)
        artifact = queue.put_artifact(claim, "report", b"hello")
        path = tmp_path / "artifacts" / rules.key(artifact.digest)
        aged(path, 90_000)
        queue.put_artifact(claim, "report", b"hello")
        assert time.time() - path.stat().st_mtime < 60
