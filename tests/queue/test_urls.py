"""Which store a URL opens."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.stores import nearest_file, open_store

if TYPE_CHECKING:
    from pathlib import Path


def test_without_a_url_the_environment_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIBS_URL", f"sqlite:{tmp_path / 'named.db'}")
    with dibs.connect_sync() as queue:
        queue.add("work")
    assert (tmp_path / "named.db").exists()


def test_without_anything_a_file_is_made_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIBS_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    with dibs.connect_sync() as queue:
        queue.add("work")
    assert (tmp_path / ".dibs" / "dibs.db").exists()


def test_the_nearest_file_upwards_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".dibs").mkdir()
    (tmp_path / ".dibs" / "dibs.db").touch()
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert nearest_file() == str(tmp_path / ".dibs" / "dibs.db")


def test_both_spellings_of_a_file_mean_the_same_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with dibs.connect_sync("sqlite:a.db") as queue:
        task = queue.add("work")
    with dibs.connect_sync(f"sqlite://{tmp_path}/a.db") as queue:
        assert queue.get(task.id).id == task.id


@pytest.mark.parametrize(
    ("url", "driver", "extra"),
    [
        ("postgresql://localhost/x", "asyncpg", "dibs[postgres]"),
        ("redis://localhost", "redis", "dibs[redis]"),
        ("rediss://localhost", "redis", "dibs[redis]"),
    ],
)
def test_without_its_driver_a_store_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, url: str, driver: str, extra: str
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == driver else found(name))
    with pytest.raises(dibs.Unavailable) as caught:
        dibs.connect_sync(url)
    assert f"pip install '{extra}'" in caught.value.message


def test_a_redis_url_leads_to_its_namespace(redis_url: str) -> None:
    with dibs.connect_sync(redis_url) as queue:
        task = queue.add("work")
    with dibs.connect_sync(redis_url) as queue:
        assert queue.get(task.id).id == task.id
    with dibs.connect_sync(f"{redis_url}x") as queue, pytest.raises(dibs.NotFound):
        queue.get(task.id)


@pytest.mark.parametrize("url", ["http://localhost:3427", "https://example.com", "HTTP://host"])
def test_the_url_of_a_server_is_no_store_but_a_queue(url: str) -> None:
    with dibs.connect_sync(url) as queue:
        assert queue.queue.far
        assert queue.url == url.lower()
    with pytest.raises(dibs.Invalid, match="the way to a server") as caught:
        open_store(url.lower())
    assert caught.value.field == "url"


@pytest.mark.parametrize(
    "url",
    [
        "work.db",
        "mysql://x",
        "sqlite:",
        "sqlite:folder/",
        "postgresql://localhost",
        "postgres:x",
        "redis:x",
        "rediss://host/tasks",
    ],
)
def test_a_url_that_makes_no_sense_is_refused(url: str) -> None:
    with pytest.raises(dibs.Invalid) as caught:
        dibs.connect_sync(url)
    assert caught.value.field == "url"


def test_who_forgets_to_open_a_queue_is_told_how() -> None:
    unopened: Any = dibs.connect("memory:")
    with pytest.raises(AttributeError, match=r"await dibs\.connect.*before \.add"):
        unopened.add("t")
    with pytest.raises(TypeError, match=r"with dibs\.connect_sync"), unopened:
        pass
    assert not hasattr(unopened, "store")
