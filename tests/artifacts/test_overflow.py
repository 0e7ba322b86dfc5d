"""Payloads and outputs above 64 KiB, in a folder and in a bucket, and what sweeps leave of them."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import dibs
from dibs.testing import FakeClock
from tests.artifacts.small_s3 import serving

if TYPE_CHECKING:
    from dibs.sync import SyncQueue

LARGE = "x" * 100_000


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DIBS_ARTIFACTS", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a secret")


def files() -> list[Path]:
    return sorted(path for path in Path("kept").rglob("*") if path.is_file())


def done(queue: SyncQueue, payload: object, output: object) -> str:
    queue.add("job", payload)
    [claim] = queue.claim("ada", types=["job"])
    assert claim.task.payload == payload
    queue.complete(claim, output)
    return claim.task.id


@pytest.mark.parametrize("how", ["told", "environment", "settings"])
def test_bytes_go_where_somebody_said_and_equal_ones_once(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "environment":
        monkeypatch.setenv("DIBS_ARTIFACTS", "file:kept")
    elif how == "settings":
        Path("dibs.toml").write_text('[artifacts]\nurl = "file:kept"\n')
    with dibs.connect_sync("sqlite:dibs.db", artifacts="file:kept" if how == "told" else None) as queue:
        first, second = done(queue, LARGE, [LARGE]), done(queue, LARGE, LARGE)
        assert [path.stat().st_size for path in files()] in ([100_002, 100_004], [100_004, 100_002])
        assert (queue.get(first).output, queue.get(second).output) == ([LARGE], LARGE)


def test_where_nobody_said_so_the_store_keeps_all_of_it() -> None:
    with dibs.connect_sync("sqlite:dibs.db") as queue:
        known = queue.get(done(queue, LARGE, LARGE))
    assert (known.payload, known.output) == (LARGE, LARGE)
    assert not Path("artifacts").exists()


def test_a_folder_that_cannot_be_read_or_a_mistake_in_the_settings_loses_nothing() -> None:
    Path("dibs.toml").write_text('[artifacts]\nurl = "ftp://x"\n')
    with dibs.connect_sync("sqlite:dibs.db") as queue:
        assert queue.get(done(queue, LARGE, LARGE)).output == LARGE
        with pytest.raises(dibs.Invalid):
            queue.look_at_artifacts()


def test_values_go_into_a_bucket_and_come_back_while_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.artifacts.blobs.RETRY", {"max_retries": 0})

    async def run() -> None:
        with serving() as (endpoint, objects):
            place = f"s3://agents/prefix?endpoint={endpoint}&region=eu-1"
            async with dibs.connect("sqlite:dibs.db", artifacts=place) as queue:
                assert await queue.look_at_artifacts() == "s3://agents/prefix"
                tasks = await queue.add_many([dibs.NewTask("job", [LARGE, number]) for number in range(5)])
                claims = await queue.claim("ada", limit=5)
                assert [claim.task.payload for claim in claims] == [[LARGE, number] for number in range(5)]
                await asyncio.gather(*(queue.complete(claim, {"was": claim.task.payload}) for claim in claims))
                assert len(objects) == 11
        async with dibs.connect("sqlite:dibs.db", artifacts=place) as queue:
            assert [task.output["ref"] for task in (await queue.find()).items] == [
                f"task:{task.id}:output" for task in tasks[::-1]
            ]
            with pytest.raises(dibs.Unavailable) as caught:
                await queue.get(tasks[0].id)
            assert "secret" not in str(caught.value)
            with pytest.raises(dibs.Unavailable):
                await queue.look_at_artifacts()
            late = await queue.add("late", LARGE)
        async with dibs.connect("sqlite:dibs.db") as queue:
            assert (await queue.get(late.id)).payload == LARGE

    asyncio.run(run())


def test_a_sweep_leaves_what_tasks_refer_to_and_frees_what_was_pruned() -> None:
    clock = FakeClock()
    with dibs.connect_sync("sqlite:dibs.db", artifacts="file:kept", clock=clock) as queue:
        id = done(queue, LARGE, [LARGE])
        waiting = queue.add("later", {"text": LARGE})
        for path in files():
            os.utime(path, (time.time() - 90_000, time.time() - 90_000))
        swept = queue.sweep_artifacts()
        assert (swept.deleted, swept.kept) == (0, 3)
        assert (queue.get(id).output, queue.get(waiting.id).payload) == ([LARGE], {"text": LARGE})
        clock.advance(8 * 86_400)
        assert queue.prune() == 1
        swept = queue.sweep_artifacts()
        assert (swept.deleted, swept.kept) == (2, 1)
        assert queue.get(waiting.id).payload == {"text": LARGE}


def test_a_sweep_leaves_bytes_that_were_written_again_after_it_looked() -> None:
    with dibs.connect_sync("sqlite:dibs.db", artifacts="file:kept") as queue:
        blobs = queue.queue._depot.blobs()
        queue.add("job", LARGE)
        [path] = files()
        os.utime(path, (time.time() - 90_000, time.time() - 90_000))
        [[(digest, _)]] = list(blobs.written_before(3_600))
        queue.add("again", LARGE)
        assert blobs.delete([digest], 3_600) == {digest}
        assert path.exists()


def test_damaged_bytes_are_told_of_and_not_handed_out() -> None:
    with dibs.connect_sync("sqlite:dibs.db", artifacts="file:kept") as queue:
        task = queue.add("job", LARGE)
        [path] = files()
        path.write_bytes(b'"' + b"y" * 100_000 + b'"')
        with pytest.raises(dibs.Unavailable) as caught:
            queue.get(task.id)
        assert "damaged" in caught.value.message
        with pytest.raises(dibs.Unavailable):
            queue.claim("ada")
        assert queue.find().items[0].status == "retrying"
        assert queue.why(queue.find().items[0]).blockers[0].detail.startswith("artifacts_away: ")


def test_without_the_library_the_store_keeps_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with dibs.connect_sync("sqlite:dibs.db", artifacts="file:kept") as queue:
        assert queue.get(done(queue, LARGE, LARGE)).output == LARGE
    assert not Path("kept").exists()
