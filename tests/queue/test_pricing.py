"""Where prices come from: the operator's table, then the library, found when they are first needed."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.pricing import Library, Prices
from dibs.rules.pricing import Price, Rate, Table, Tokens

if TYPE_CHECKING:
    from pathlib import Path

    from dibs.model.attempt import Attempt

MILLION = 1_000_000
PATHS = [os.path.abspath(path) for path in sys.path if path]
OWN = '[prices."claude-sonnet-4"]\ninput = 1\noutput = 2\n[prices."local-*"]\ninput = 0\noutput = 0\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without a table."""
    monkeypatch.delenv("DIBS_PRICES", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def usd(prices: Prices, model: str | None, **tokens: int) -> float | None:
    price = prices.price(model, Tokens(**tokens))
    return None if price is None else price.usd


def test_the_library_knows_models_also_after_their_provider() -> None:
    prices = Prices()
    plain = prices.price("claude-sonnet-4", Tokens(read=MILLION, written=MILLION))
    assert plain is not None
    assert plain.usd > 0
    assert plain.version.startswith("genai-prices ")
    for name in ("anthropic/claude-sonnet-4", "anthropic:claude-sonnet-4", "Claude-Sonnet-4"):
        assert prices.price(name, Tokens(read=MILLION, written=MILLION)) == plain


def test_the_library_knows_what_caches_save() -> None:
    prices = Prices()
    plain = usd(prices, "claude-sonnet-4", read=1000)
    cached = usd(prices, "claude-sonnet-4", read=1000, cached=900)
    written = usd(prices, "claude-sonnet-4", read=1000, cache_written=900)
    assert plain is not None
    assert cached is not None
    assert written is not None
    assert cached < plain < written


def test_unknown_models_have_no_price() -> None:
    for model in ("nobody-knows-this", "nobody/knows", "nobody:knows", "/", ":", "", None):
        assert usd(Prices(), model, read=5) is None


def test_the_library_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("no network")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert usd(Prices(Library()), "gpt-4o", read=1000, written=10)


def test_an_own_table_comes_first(folder: Path) -> None:
    (folder / "dibs.toml").write_text(OWN)
    prices = Prices()
    assert usd(prices, "claude-sonnet-4", read=MILLION, written=MILLION) == 3
    assert usd(prices, "local-llama", read=MILLION) == 0
    assert usd(prices, "gpt-4o", read=MILLION) is not None
    own, library = prices.versions
    assert own.startswith("prices ")
    assert library.startswith("genai-prices ")


def test_the_nearest_file_above_is_used_and_another_can_be_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "dibs.toml").write_text(OWN)
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert usd(Prices(), "local-llama", read=5) == 0
    (folder / "other.toml").write_text('[prices."local-*"]\ninput = 5\noutput = 0\n')
    monkeypatch.setenv("DIBS_PRICES", str(folder / "other.toml"))
    assert usd(Prices(), "local-llama", read=MILLION) == 5


def test_a_file_about_other_things_is_no_table(folder: Path) -> None:
    (folder / "dibs.toml").write_text("[breakers]\nthreshold = 5\n")
    (library,) = Prices().versions
    assert library.startswith("genai-prices ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[prices", "is not TOML"),
        ("prices = 3", "prices must be a table"),
        ("[prices.m]\ninput = 1\n", "prices.m needs output"),
        ("[prices.m]\ninput = 1\noutput = -1\n", "prices.m.output must be USD"),
    ],
)
def test_with_a_mistake_in_the_table_nothing_is_priced_and_it_is_said_once(
    folder: Path, caplog: pytest.LogCaptureFixture, text: str, said: str
) -> None:
    (folder / "dibs.toml").write_text(text)
    prices = Prices()
    assert usd(prices, "claude-sonnet-4", read=5) is None
    assert usd(prices, "gpt-4o", read=5) is None
    assert prices.trouble is not None
    assert said in prices.trouble
    assert str(folder / "dibs.toml") in prices.trouble
    assert len(caplog.records) == 1


def test_a_named_file_that_is_not_there_is_a_mistake(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIBS_PRICES", str(folder / "missing.toml"))
    prices = Prices()
    assert prices.versions == []
    assert "cannot be read" in (prices.trouble or "")


def test_without_the_library_only_the_table_knows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert usd(Prices(), "gpt-4o", read=5) is None
    assert Prices().trouble is None
    (folder / "dibs.toml").write_text(OWN)
    assert usd(Prices(), "local-llama", read=5) == 0


def test_a_source_that_breaks_refuses_no_work(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        version = "broken"

        def price(self, model: str, tokens: Tokens) -> Price | None:
            raise ZeroDivisionError(model)

    prices = Prices(Broken())
    assert usd(prices, "m", read=5) is None
    assert usd(prices, "m", read=5) is None
    assert "ZeroDivisionError" in (prices.trouble or "")
    assert len(caplog.records) == 1


async def complete(**told: Any) -> Attempt:
    """One attempt that ends with this report, as it is recorded."""
    async with dibs.connect("memory:") as queue:
        task = await queue.add("job")
        (claim,) = await queue.claim("ada")
        await queue.complete(claim, **told)
        (attempt,) = await queue.history(task.id)
        return attempt


def test_a_broken_table_does_not_keep_work_from_being_completed(folder: Path) -> None:
    (folder / "dibs.toml").write_text("[prices")
    attempt = asyncio.run(complete(tokens_in=5, tokens_out=5, model="gpt-4o"))
    assert (attempt.outcome, attempt.cost_usd, attempt.tokens_in) == ("completed", None, 5)


def test_the_library_prices_what_an_agent_tells() -> None:
    attempt = asyncio.run(complete(tokens_in=1000, tokens_out=200, model="claude-sonnet-4"))
    assert attempt.cost_usd
    assert (attempt.price or "").startswith("genai-prices ")


def test_blocking_verbs_price_too() -> None:
    with dibs.connect_sync("memory:") as queue:
        queue.queue.prices = Prices(Table({"m": Rate(1, 1)}))
        task = queue.add("job")
        (claim,) = queue.claim("ada")
        queue.complete((claim.task.id, claim.fence), tokens_in=MILLION, tokens_out=0, model="m")
        (attempt,) = queue.history(task.id)
    assert attempt.cost_usd == 1


def test_nothing_is_imported_before_it_is_needed() -> None:
    program = """
import sys, dibs
with dibs.connect_sync("memory:") as queue:
    queue.add("job"); queue.add("job")
    for told in ({}, {"cost": 0.5, "tokens_in": 5, "tokens_out": 5, "model": "gpt-4o"}):
        (claim,) = queue.claim("ada")
        queue.complete(claim, **told)
print("genai_prices" in sys.modules, "tomllib" in sys.modules)
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env)
    assert done.stdout == "False False\n"
