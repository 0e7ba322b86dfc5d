"""Where artifacts are kept: who decides, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.artifacts.place import Place, place_of, read
from dibs.errors import Invalid
from dibs.rules.artifacts import MAX_BYTES

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DIBS_ARTIFACTS", raising=False)
    return tmp_path


def test_beside_an_sqlite_file_there_is_a_folder(nowhere: Path) -> None:
    assert place_of(None, "sqlite:/a/.dibs/dibs.db") == Place("file", "/a/.dibs/artifacts")
    assert place_of(None, "sqlite:/a/work.db") == Place("file", "/a/work.artifacts")


def test_what_is_in_memory_has_its_artifacts_in_memory() -> None:
    assert place_of(None, "memory:") == Place("memory", "")
    assert place_of(None, "memory:name") == Place("memory", "name")


def test_for_postgresql_somebody_must_say_where() -> None:
    with pytest.raises(Invalid, match="say where artifacts are kept") as caught:
        place_of(None, "postgresql://db/app")
    assert caught.value.field == "artifacts"


def test_what_is_told_wins_over_the_environment_and_that_over_the_settings(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (nowhere / "dibs.toml").write_text('[artifacts]\nurl = "memory:settings"\n')
    assert place_of(None, "sqlite:/a/dibs.db").rest == "settings"
    monkeypatch.setenv("DIBS_ARTIFACTS", "memory:environment")
    assert place_of(None, "sqlite:/a/dibs.db").rest == "environment"
    assert place_of("memory:told", "sqlite:/a/dibs.db").rest == "told"


@pytest.mark.parametrize(
    "settings", ["[artifacts]\nurl = 7\n", '[artifacts]\nfolder = "x"\n', "artifacts = 1\n", "[artifacts\n"]
)
def test_settings_with_a_mistake_in_them_are_refused(nowhere: Path, settings: str) -> None:
    (nowhere / "dibs.toml").write_text(settings)
    with pytest.raises(Invalid) as caught:
        place_of(None, "memory:")
    assert caught.value.field == "artifacts"


def test_settings_about_other_things_say_nothing(nowhere: Path) -> None:
    (nowhere / "dibs.toml").write_text("[prices]\n")
    assert place_of(None, "memory:") == Place("memory", "")


def test_a_folder_may_be_written_in_every_way(nowhere: Path) -> None:
    assert read("file:a/b") == read(f"file://{nowhere}/a/b") == Place("file", f"{nowhere}/a/b")
    assert read("file:a?max_bytes=10").max_bytes == 10
    assert read("file:a").max_bytes == MAX_BYTES


def test_a_bucket_has_a_prefix_and_options() -> None:
    place = read("s3://agents/some/prefix?endpoint=http://127.0.0.1:9000&region=eu-1&max_bytes=5")
    assert (place.scheme, place.rest, place.max_bytes) == ("s3", "//agents/some/prefix", 5)
    assert dict(place.options) == {"endpoint": "http://127.0.0.1:9000", "region": "eu-1"}


@pytest.mark.parametrize(
    "url",
    [
        7,
        "",
        "artifacts",
        "/tmp/artifacts",
        "http://host/x",
        "ftp:x",
        "file:",
        "file://",
        "s3:",
        "s3://",
        "s3:///prefix",
        "file:a?max_bytes=0",
        "file:a?max_bytes=-1",
        "file:a?max_bytes=1e3",
        "file:a?max_bytes=",
        "file:a?endpoint=x",
        "s3://b?secret_access_key=x",
    ],
)
def test_a_place_that_makes_no_sense_is_refused(url: Any) -> None:
    with pytest.raises(Invalid) as caught:
        read(url)
    assert caught.value.field == "artifacts"
