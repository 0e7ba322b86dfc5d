"""The token that a server leaves for the shell of its own user."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from dibs import localtokens

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "dibs_" + "a" * 49


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def test_a_kept_token_is_found_by_any_name_of_this_machine() -> None:
    localtokens.keep("http://127.0.0.1:3427", SECRET)
    for url in ("http://127.0.0.1:3427", "http://localhost:3427/", "http://[::1]:3427/v1", "http://u@LOCALHOST:3427"):
        assert localtokens.find(url) == SECRET


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:3428", "http://127.0.0.1", "http://example.com:3427", "http://127.0.0.1.example.com:3427", "x"],
)
def test_it_is_not_given_to_others(url: str) -> None:
    localtokens.keep("http://127.0.0.1:3427", SECRET)
    assert localtokens.find(url) is None


def test_nobody_else_can_read_it() -> None:
    path = localtokens.keep("http://127.0.0.1:3427", SECRET)
    assert path is not None
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.listdir(os.path.dirname(path)) == ["localhost-3427"]


def test_one_that_others_can_read_is_not_used() -> None:
    path = localtokens.keep("http://127.0.0.1:3427", SECRET)
    assert path is not None
    os.chmod(path, 0o644)
    assert localtokens.find("http://127.0.0.1:3427") is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    path = localtokens.keep("http://127.0.0.1:3427", SECRET)
    assert path is not None
    os.rename(path, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", path)
    assert localtokens.find("http://127.0.0.1:3427") is None


def test_a_server_elsewhere_leaves_none_here(home: Path) -> None:
    assert localtokens.keep("https://queue.example.com", SECRET) is None
    assert list(home.iterdir()) == []
