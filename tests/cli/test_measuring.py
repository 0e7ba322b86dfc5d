"""Costs and how it has been going, from the shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

TABLE = '[prices."large"]\ninput = 3\noutput = 15\ncached = 0.5\ncache_write = 4\n'


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of prices, in a folder without any other."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "table.toml"
    path.write_text(TABLE)
    monkeypatch.setenv("DIBS_PRICES", str(path))
    return path


def work(dibs: Run, *told: object, type: str = "t") -> str:
    """One task, done by agent `a` with this report; its id."""
    id = dibs("add", type, ok=True).line
    dibs("claim", "--agent", "a", ok=True)
    dibs("complete", id, "--fence", 1, *told, ok=True)
    return id


def test_tokens_are_priced(dibs: Run) -> None:
    id = work(dibs, "--tokens-in", 1_000_000, "--tokens-out", 1_000_000, "--model", "large")
    (attempt,) = dibs("history", id, "--json", ok=True).json
    assert attempt["cost_usd"] == 18
    assert attempt["price"].startswith("prices ")
    assert "cost\t$18" in dibs("show", id, ok=True).out


def test_tokens_of_the_cache_cost_what_they_cost(dibs: Run) -> None:
    tokens = ("--tokens-in", 1_000_000, "--tokens-cached", 500_000, "--tokens-cache-written", 500_000)
    id = work(dibs, *tokens, "--tokens-out", 0, "--model", "large")
    assert dibs("show", id, "--json", ok=True).json["cost_usd"] == 2.25


def test_more_cached_tokens_than_tokens_are_refused_and_nothing_changes(dibs: Run) -> None:
    id = dibs("add", "t", ok=True).line
    dibs("claim", "--agent", "a", ok=True)
    refused = dibs("complete", id, "--fence", 1, "--tokens-in", 5, "--tokens-cached", 6, "--json")
    assert (refused.code, refused.error["field"]) == (2, "tokens_cached")
    assert dibs("show", id, "--json", ok=True).json["status"] == "running"


def test_what_has_no_price_is_said_to_have_none(dibs: Run) -> None:
    id = work(dibs, "--tokens-in", 5, "--tokens-out", 5, "--model", "nobody-knows")
    assert "cost\t≥ $0, 1 unpriced" in dibs("show", id, ok=True).out
    assert dibs("show", id, "--json", ok=True).json["cost_usd"] is None


def test_stats_by_type_in_a_pipe_and_as_json(dibs: Run) -> None:
    work(dibs, "--cost", 0.5, "--tokens-in", 7, type="b")
    work(dibs, type="a")
    a, b = dibs("stats", "--by", "type", "--json", ok=True).json
    assert (a["name"], a["created"], a["completed"], a["error_rate"]) == ("a", 1, 1, 0)
    assert (b["name"], b["cost_usd"], b["tokens_in"], b["tokens_out"]) == ("b", 0.5, 7, None)
    rows = [row.split("\t") for row in dibs("stats", "--by", "type", ok=True).out.splitlines()]
    assert [row[:3] for row in rows] == [["a", "1", "1"], ["b", "1", "1"]]
    assert [dict(zip(b, row, strict=True))["cost_usd"] for row in rows] == ["", "0.5"]


@pytest.mark.parametrize(("by", "names"), [("agent", ["a"]), ("model", ["large", None]), ("type", ["t"])])
def test_stats_by_other_groups(dibs: Run, by: str, names: list[str | None]) -> None:
    work(dibs, "--model", "large")
    work(dibs)
    assert [one["name"] for one in dibs("stats", "--by", by, "--json", ok=True).json] == names


def test_stats_since_then(dibs: Run) -> None:
    work(dibs)
    assert len(dibs("stats", "--by", "day", "--since", "1h", "--json", ok=True).json) in (1, 2)
    assert dibs("stats", "--by", "agent", "--since", "2199-01-01T00:00:00Z", "--json", ok=True).json == []
    assert dibs("stats", "--by", "agent", "--since", "2199-01-01T00:00:00Z", ok=True).out == ""


def test_bad_questions_are_refused(dibs: Run) -> None:
    dibs("add", "t", ok=True)
    for field, argv in {
        "by": ("--by", "colour"),
        "since": ("--by", "type", "--since", "yesterday"),
    }.items():
        refused = dibs("stats", *argv, "--json")
        assert (refused.code, refused.error["field"]) == (2, field)
    alone = dibs("stats", "--since", "1h", "--json")
    assert (alone.code, alone.error["field"]) == (2, "by")


def test_stats_by_model_on_a_terminal_is_a_table(dibs: Run, terminal: Run) -> None:
    work(dibs, "--tokens-in", 1_000_000, "--tokens-out", 0, "--model", "large")
    work(dibs, "--tokens-in", 5, "--tokens-out", 5, "--model", "nobody-knows")
    work(dibs)
    shown = terminal("stats", "--by", "model").out
    for text in ("MODEL", "large", "$3", "nobody-knows", "≥ $0, 1 unpriced", "–"):
        assert text in shown
    assert "Nothing has happened" in terminal("stats", "--by", "agent", "--since", "2199-01-01T00:00:00Z").out


def test_doctor_says_where_prices_come_from(dibs: Run, table: Path) -> None:
    dibs("add", "t", ok=True)
    report = dibs("doctor", "--json", ok=True).json
    own, library = report["prices"]
    assert own.startswith("prices ")
    assert library.startswith("genai-prices ")
    assert report["warnings"] == []
    assert f"prices\t{own}, then {library}" in dibs("doctor", ok=True).out


def test_doctor_tells_of_a_mistake_in_the_table(dibs: Run, table: Path) -> None:
    dibs("add", "t", ok=True)
    table.write_text("[prices.large]\ninput = 3\n")
    report = dibs("doctor", "--json", ok=True).json
    assert (report["sound"], report["prices"]) == (True, [])
    assert "prices.large needs output" in report["warnings"][0]


def test_doctor_says_what_to_install(dibs: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dibs("add", "t", ok=True)
    table.write_text("")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert dibs("doctor", "--json", ok=True).json["prices"] == []
    assert "pip install 'dibs[cost]'" in dibs("doctor", ok=True).out
