"""`circuit-breakers.yaml`: what it says is told and set, and written again."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.cli.taskfiles import parse_yaml
from dibs.errors import Invalid
from dibs.loki.breakers import in_words, read_breakers, settings_of, written
from dibs.model.closures import Breaker

SAID = {
    "defaults": {"failureThreshold": 5, "cooldownSeconds": 300, "halfOpenAfter": 60},
    "overrides": {"ops-security": {"failureThreshold": 3}, "biz-marketing": {"failureThreshold": 10}},
}


def test_defaults_and_overrides_are_read() -> None:
    assert read_breakers(SAID, "x.yaml") == SAID
    assert in_words(SAID) == "5 failures, ops-security: 3 failures, biz-marketing: 10 failures"


def test_it_becomes_what_is_set_for_each_type() -> None:
    assert settings_of(SAID, "x.yaml") == {
        "*": {"failure_threshold": 5, "cooldown_s": 300, "half_open_after_s": 60},
        "ops-security": {"failure_threshold": 3},
        "biz-marketing": {"failure_threshold": 10},
    }
    with pytest.raises(Invalid) as refused:
        settings_of({"defaults": {"cooldownSeconds": 0}, "overrides": {}}, "x.yaml")
    assert refused.value.field == "cooldown_s"


def _breaker(type: str, **settings: Any) -> Breaker:
    return Breaker(type=type, **{"own": True, "enabled": True, **settings})


def test_what_is_set_is_written_so_that_it_reads_as_it_was_set() -> None:
    odd = ["yes", "1e3", "a: b", "#", "ops-security", "null", "é", "0x1f"]
    found = [
        _breaker("*", cooldown_s=0.5),
        *(_breaker(type, cooldown_s=0.5, failure_threshold=3, half_open_after_s=90.0) for type in odd),
        _breaker("quiet", enabled=False),
        _breaker("other", own=False),
    ]
    text, off = written(found)
    assert off == ["quiet"]
    assert text is not None
    said = read_breakers(parse_yaml(text), "x.yaml")
    assert said["defaults"] == {"failureThreshold": 5, "cooldownSeconds": 0.5, "halfOpenAfter": 60}
    assert said["overrides"] == {type: {"failureThreshold": 3, "halfOpenAfter": 90} for type in odd}


def test_only_what_somebody_set_is_written() -> None:
    assert written([_breaker("*", own=False), _breaker("quiet", enabled=False)]) == (None, ["quiet"])
    text, off = written([_breaker("*")])
    assert off == []
    assert text is not None
    assert read_breakers(parse_yaml(text), "x.yaml")["overrides"] == {}


@pytest.mark.parametrize("content", [None, {}, {"defaults": None, "overrides": None}], ids=str)
def test_an_empty_file_says_nothing(content: Any) -> None:
    assert read_breakers(content, "x.yaml") == {"defaults": {}, "overrides": {}}
    assert in_words(read_breakers(content, "x.yaml")) == ""


@pytest.mark.parametrize(
    ("content", "field", "words"),
    [
        ([], "defaults", "must hold an object"),
        ({"defaults": 5}, "defaults", "defaults must be an object"),
        ({"overrides": [1]}, "overrides", "overrides must be an object"),
        ({"overrides": {"a": 5}}, "overrides", "overrides.a must be an object"),
        ({"defaults": {"failureThreshold": "five"}}, "failureThreshold", "defaults.failureThreshold must be a number"),
        ({"overrides": {"a": {"halfOpenAfter": -1}}}, "halfOpenAfter", "overrides.a.halfOpenAfter must be a number"),
    ],
    ids=str,
)
def test_a_mistake_is_told_with_the_file_and_the_setting(content: Any, field: str, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_breakers(content, "x.yaml")
    assert refused.value.field == field
    assert refused.value.message.startswith("x.yaml")
    assert words in refused.value.message
