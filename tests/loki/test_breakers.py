"""`circuit-breakers.yaml`: what it says is told."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Invalid
from dibs.loki.breakers import in_words, read_breakers

SAID = {
    "defaults": {"failureThreshold": 5, "cooldownSeconds": 300, "halfOpenAfter": 60},
    "overrides": {"ops-security": {"failureThreshold": 3}, "biz-marketing": {"failureThreshold": 10}},
}


def test_defaults_and_overrides_are_read() -> None:
    assert read_breakers(SAID, "x.yaml") == SAID
    assert in_words(SAID) == "5 failures, ops-security: 3 failures, biz-marketing: 10 failures"


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
