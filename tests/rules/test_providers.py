"""The gates of providers: whose they are, how long they stay closed, and whom they stop."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.model.attempt import Limited
from dibs.model.instants import seconds, to_micros
from dibs.rules import providers
from dibs.rules.providers import Backoff

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOW = to_micros(NOON)
CLAUDE, GPT, HOUSE = "claude-sonnet-4", "gpt-5", "house-model"
SILENT = Limited(None, 0.0)


def said(wait_s: float) -> Limited:
    return Limited(wait_s, 0.5)


def backoff(limits: int = 1, ago_s: float = 0, for_s: float = 60, *, shut: bool = True) -> Backoff:
    since = NOW - seconds(ago_s)
    return Backoff(limits=limits, since=since, until=since + seconds(for_s), shut=shut)


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("claude-sonnet-4", "anthropic"),
        ("gpt-5-mini", "openai"),
        ("o3", "openai"),
        ("gemini-2.5-pro", "google"),
        ("codestral-latest", "mistral"),
        ("command-r", "cohere"),
        ("deepseek-chat", "deepseek"),
        ("grok-4", "xai"),
        ("bedrock/anthropic.claude-sonnet-4", "bedrock"),
        ("openrouter/openai/gpt-5", "openrouter"),
        ("openai:gpt-5", "openai"),
        ("llama3:8b", None),
        ("/gpt-5", None),
        ("gpt", None),
        ("large", None),
    ],
)
def test_a_models_name_tells_its_provider_or_not(model: str, provider: str | None) -> None:
    assert providers.provider_of(model) == provider


def test_the_gate_is_of_the_named_provider_else_the_models_else_the_type() -> None:
    assert providers.gate_of("acme", CLAUDE, "code") == "provider:acme"
    assert providers.gate_of(None, CLAUDE, "code") == "provider:anthropic"
    assert providers.gate_of(None, HOUSE, "code") == "limit:code"
    assert providers.gate_of(None, None, "code") == "limit:code"


def opens(
    closed: dict[str, int], models: tuple[str, ...] = (), offered: tuple[str, ...] = (), provider: str | None = None
) -> int | None:
    return providers.opens_at(closed, provider=provider, models=models, type="code", offered=offered)


def test_a_lane_waits_while_all_that_its_agent_could_use_is_closed() -> None:
    closed = {"provider:anthropic": 5, "provider:openai": 3, "provider:acme": 9}
    assert opens(closed, (CLAUDE,)) == 5
    assert opens(closed, (CLAUDE, GPT)) == 3
    assert opens(closed, (CLAUDE, GPT), offered=(CLAUDE,)) == 5
    assert opens(closed, (CLAUDE, HOUSE)) is None
    assert opens(closed, (CLAUDE, HOUSE), offered=(CLAUDE, "other")) == 5
    assert opens(closed, (CLAUDE,), provider="acme") == 9
    assert opens(closed, (CLAUDE,), provider="other") is None
    assert opens(closed) is None
    assert opens({"limit:code": 7}) == 7
    assert opens({"limit:lint": 7}) is None


def test_what_is_closed_is_not_chosen() -> None:
    def left(closed: dict[str, int], provider: str | None = None) -> tuple[str, ...]:
        return providers.open_models(closed, provider=provider, models=(CLAUDE, GPT), type="code")

    assert left({}) == (CLAUDE, GPT)
    assert left({"provider:anthropic": 1}) == (GPT,)
    assert left({"provider:anthropic": 1}, provider="acme") == (CLAUDE, GPT)


def test_agents_are_told_to_wait_half_of_what_is_left() -> None:
    assert providers.slow_down_s(NOW + seconds(30), NOW) == 15
    assert providers.slow_down_s(NOW, NOW) is None
    assert providers.slow_down_s(None, NOW) is None


def test_the_first_limit_closes_it_for_as_long_as_was_said_else_a_minute() -> None:
    assert providers.turned_away(None, said(20), NOW) == backoff(for_s=20)
    assert providers.turned_away(None, SILENT, NOW) == backoff(for_s=60)
    assert providers.turned_away(None, said(0), NOW) == backoff(for_s=1)
    assert providers.turned_away(None, said(1e9), NOW) == backoff(for_s=86_400)


@pytest.mark.parametrize(("limits", "wait"), [(1, 120), (2, 240), (5, 1920), (6, 3600), (5_000, 3600)])
def test_limits_in_a_row_close_it_for_longer_and_longer(limits: int, wait: float) -> None:
    before = backoff(limits, ago_s=61, shut=False)
    assert providers.turned_away(before, SILENT, NOW) == backoff(limits + 1, for_s=wait)


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 40))
def test_chance_adds_at_most_a_tenth(draw: float, limits: int) -> None:
    before = backoff(limits, ago_s=61)
    least = providers.turned_away(before, SILENT, NOW)
    after = providers.turned_away(before, Limited(None, draw), NOW)
    assert 0 <= after.until - least.until <= (least.until - NOW) / 10


def test_limits_are_forgotten_after_an_hour() -> None:
    assert providers.turned_away(backoff(4, ago_s=3_659), SILENT, NOW).limits == 5
    assert providers.turned_away(backoff(4, ago_s=3_660), SILENT, NOW).limits == 1


def test_a_limit_while_it_is_closed_is_the_same_one_unless_it_says_to_wait_longer() -> None:
    before = backoff(ago_s=10)
    for limit in (SILENT, said(0), said(50), said(51)):
        assert providers.turned_away(before, limit, NOW) is before
    assert providers.turned_away(before, said(52), NOW) == Backoff(
        limits=1, since=before.since, until=NOW + seconds(52)
    )
    assert providers.turned_away(before, said(1e9), NOW).until == NOW + seconds(86_400)


def test_a_success_forgets_the_limits_once_it_is_open() -> None:
    closed = backoff(ago_s=59)
    assert providers.succeeded(closed, NOW) is closed
    assert providers.succeeded(backoff(ago_s=60), NOW) is None


def test_people_see_whose_gate_it_is_and_when_it_opens() -> None:
    closure = providers.told("provider:acme", backoff())
    assert (closure.gate, closure.kind, closure.provider, closure.type) == ("provider:acme", "limit", "acme", None)
    assert (closure.since, closure.reason) == (NOON, "rate limit")
    closure = providers.told("limit:code", backoff(3))
    assert (closure.provider, closure.type, closure.reason) == (None, "code", "rate limit, 3 times in a row")


def test_events_name_the_gate_and_one_that_closes_until_when() -> None:
    assert providers.event_data("provider:acme", None) == {"gate": "provider:acme"}
    assert providers.event_data("provider:acme", backoff(2)) == {
        "gate": "provider:acme",
        "until": "2026-01-01T12:01:00+00:00",
        "limits": 2,
    }
