"""Outputs checked against contracts: what satisfies them, what is told of the rest, and that nobody is kept waiting."""

from __future__ import annotations

import sys
import time
from typing import Any

import pytest
from msgspec.json import encode

from dibs import checking
from dibs.errors import Invalid, Unavailable

PATIENCE_S = 60.0
"""Far more than a check may take, far less than the hostile ones would."""


def refused(schema: Any, output: Any) -> str | None:
    """What a JSON Schema has against an output."""
    return checking.refusal({"validation": "json-schema", "schema": schema}, encode(output), b"null")


def unmatched(pattern: str, output: Any, *, full: bool = False) -> str | None:
    """What a pattern has against an output."""
    expects = {"validation": "regex", "pattern": pattern, "full": full}
    return checking.refusal(expects, encode(output), b"null")


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (True, 1, None),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema#", "type": "integer"}, 1, 1.5),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "null"}}}, None, 0),
        ({"$ref": "#n", "$defs": {"n": {"$anchor": "n", "type": "null"}}}, None, 0),
        ({"items": {"$ref": "#"}, "type": "array"}, [[], [[]]], [[], [1]]),
        ({"type": "string", "format": "date"}, "2026-01-31", "2026-02-31"),
        ({"type": "string", "format": "a-word-of-my-own"}, "anything", 1),
        ({"type": "string", "pattern": "^\\d{4}$"}, "2026", "٢٠٢٦"),
        ({"prefixItems": [{"const": 1}], "items": False}, [1], [1, 2]),
        ({"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False}, {"a": 1}, {"b": 1}),
        ({"minimum": 0.5}, 1e300, 0.25),
    ],
)
def test_a_schema_of_2020_12_means_what_it_says(schema: Any, good: Any, bad: Any) -> None:
    assert refused(schema, good) is None
    assert bad is None or refused(schema, bad) is not None


def test_nothing_satisfies_false() -> None:
    assert refused(False, None) == "refused by json-schema: False schema does not allow the value"


def test_a_reason_names_the_place_and_not_the_value() -> None:
    told = refused({"properties": {"a/b": {"items": {"type": "string"}}}}, {"a/b": ["x", {"secret": 1}]})
    assert told == 'refused by json-schema: /a~1b/1: the value is not of type "string"'


def test_alternatives_are_told_with_what_is_wrong_with_each() -> None:
    either = {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"a": {"type": "integer"}}}]}
    told = refused({"items": either}, [{"a": "x"}]) or ""
    first, second = '/0: the value is not of type "string"', '/0/a: the value is not of type "integer"'
    assert told.startswith("refused by json-schema: /0: the value is not valid under any of the schemas")
    assert told.endswith(f"({first}; {second})")


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("https?://", "at https://example.com", "nowhere"),
        ("^# ", "# Title\ntext", "text\n# Title"),
        ("(?m)^# ", "text\n# Title", "text"),
        ("(?i)done$", "All DONE", "done\n"),
        ("\\bé", "é", "aé"),
        ('"ok":true', {"ok": True}, {"ok": False}),
        ("^\\[1,", [1, 2], [2, 1]),
        ("null", None, 0),
    ],
)
def test_a_pattern_is_looked_for_in_the_text(pattern: str, good: Any, bad: Any) -> None:
    assert unmatched(pattern, good) is None
    assert unmatched(pattern, bad) == f"refused by regex: nothing in the text matches `{pattern}`"


@pytest.mark.parametrize(
    ("pattern", "good", "bad"), [("a|bc", "bc", "abc"), ("[a-z]+", "abc", "abc\n"), ("(?s).*", "a\nb", None)]
)
def test_a_full_match_is_one_of_all_of_it(pattern: str, good: str, bad: str | None) -> None:
    assert unmatched(pattern, good, full=True) is None
    if bad is not None:
        told = unmatched(pattern, bad, full=True)
        assert told == f"refused by regex: the text as a whole does not match `{pattern}`"


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("pattern", ["(", "a)|(b", "(?=a)b", "(?<!a)b", "(a)\\1", "[z-a]", "a{1000}{1000}{1000}"])
def test_a_pattern_that_is_none_is_refused_when_the_task_is_added(pattern: str, full: bool) -> None:
    for expects in (
        {"validation": "regex", "pattern": pattern, "full": full},
        {"validation": "json-schema", "schema": {"items": {"pattern": pattern}}},
        {"validation": "json-schema", "schema": {"patternProperties": {pattern: {}}}},
    ):
        with pytest.raises(Invalid, match=r"the pattern .* is wrong, too large, or has look-around") as caught:
            checking.accepted(expects)
        assert caught.value.field == "expects"


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "strnig"}, "not one of 2020-12: /type: "),
        ({"properties": {"a": {"minLength": -1}}}, "not one of 2020-12: /properties/a/minLength: "),
        ({"required": "name"}, '/required: "name" is not of type "array"'),
        ({"$id": "http://["}, "cannot be used"),
        ({"patternProperties": {f"{number:x}": {} for number in range(5_000)}}, "too many patterns"),
    ],
)
def test_a_schema_that_is_none_is_refused_when_the_task_is_added(schema: Any, why: str) -> None:
    with pytest.raises(Invalid) as caught:
        checking.accepted({"validation": "json-schema", "schema": schema})
    assert why in caught.value.message
    assert caught.value.field == "expects"


def test_what_is_not_json_or_too_large_is_refused_when_the_task_is_added() -> None:
    for expects in ({"validation": "none", "type": "\0"}, {"validation": object()}, {"validation": ["x" * 70_000]}):
        with pytest.raises(Invalid) as caught:
            checking.accepted(expects)
        assert caught.value.field == "expects"


def doubled(levels: int) -> dict[str, Any]:
    """Parts that each use the next one twice: checking one value takes 2^levels steps."""
    parts: dict[str, Any] = {f"n{level}": {"anyOf": [{"$ref": f"#/$defs/n{level + 1}"}] * 2} for level in range(levels)}
    return {"$ref": "#/$defs/n0", "$defs": {**parts, f"n{levels}": {"type": "string"}}}


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def beside(levels: int) -> dict[str, Any]:
    """`unevaluatedProperties` inside each other, which checkers look at again and again."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"allOf": [schema], "unevaluatedProperties": False}
    return schema


@pytest.mark.parametrize(
    ("schema", "output"),
    [
        (doubled(60), 1),
        ({"items": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, "not": {"const": 2}}, nested(60)),
        (beside(30), {}),
        ({"allOf": [{"items": {"type": "integer"}}] * 1_500}, [1] * 1_000_000),
        ({"items": {"not": {"enum": [[number] for number in range(5_000)]}}}, [[-1]] * 500_000),
        ({"items": {"allOf": [{"multipleOf": 5e-324}] * 1_500}}, [1e300] * 1_000),
        ({"items": {"allOf": [{"maximum": 1}] * 100}}, [10**4000] * 1_000),
        ({"allOf": [{"pattern": f"[01]*1[01]{{500}}{number}"} for number in range(200)]}, "01" * 50_000),
        ({"uniqueItems": True}, list(range(2**63, 2**63 + 100_000))),
        ({"items": {"dependentRequired": dict.fromkeys(map(str, range(4_000)), ())}}, [{}] * 1_000_000),
        ({"items": {"dependentSchemas": dict.fromkeys(map(str, range(4_000)), False)}}, [{}] * 1_000_000),
    ],
    ids=[
        *("shared", "recursive", "unevaluated", "many", "compared", "fractions", "digits", "patterns"),
        *("unique", "names", "parts"),
    ],
)
def test_a_check_that_could_take_for_ever_is_not_made(schema: Any, output: Any) -> None:
    began = time.monotonic()
    told = refused(schema, output) or ""
    assert told.startswith("refused by json-schema: checking it could take too long: it has ")
    assert time.monotonic() - began < PATIENCE_S


@pytest.mark.parametrize(
    ("schema", "output"),
    [
        (doubled(17), [1] * 100),
        ({"items": {"oneOf": [{"type": "string", "minLength": number} for number in range(1_000)]}}, [1] * 50_000),
        ({"allOf": [{"items": {"type": "integer"}}] * 1_000}, ["x"] * 50_000),
        ({"propertyNames": {"maxLength": 2}}, dict.fromkeys(map(str, range(1_000, 9_999)), 1)),
        ({"items": {"required": list(map(str, range(3_000)))}}, [{}] * 300),
    ],
    ids=["shared", "alternatives", "many", "names", "required"],
)
def test_an_output_with_errors_without_end_is_refused_soon(schema: Any, output: Any) -> None:
    began = time.monotonic()
    assert (refused(schema, output) or "").startswith("refused by json-schema: ")
    assert time.monotonic() - began < PATIENCE_S


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 50_000 + "b"),
        ("(a|aa)+$", "a" * 50_000 + "b"),
        ("(.*,){20}x", "a," * 20_000),
        ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 50_000),
        ("[01]*1[01]{900}x", "01" * 50_000),
    ],
)
def test_a_hostile_pattern_takes_no_longer_than_others(pattern: str, text: str) -> None:
    began = time.monotonic()
    for full in (False, True):
        assert (unmatched(pattern, text, full=full) or "").startswith("refused by regex: ")
    assert refused({"pattern": pattern}, text) is not None
    assert time.monotonic() - began < PATIENCE_S


def test_a_pattern_is_tried_on_texts_of_limited_length() -> None:
    assert unmatched("^x+$", "x" * 1_000_000) is None
    told = unmatched("^x+$", "x" * 16_000_000) or ""
    assert told.startswith("refused by regex: the output has 16,000,002 bytes; `^x+$` can be tried on ")
    assert "can be tried on" in (unmatched("^[xyz]{1,900}$", "x" * 200_000) or "")
    assert unmatched("^[xyz]{1,900}$", "x" * 900) is None


def test_of_large_outputs_the_first_reason_is_told() -> None:
    rows = [{"price": 1}] * 60_000 + [{"price": "x"}] * 60_000
    told = refused({"items": {"properties": {"price": {"type": "number"}}}}, rows)
    assert told == 'refused by json-schema: /60000/price: the value is not of type "number"'
    either = {"items": {"properties": {"price": {"anyOf": [{"type": "number"}, {"type": "null"}]}}}}
    assert (
        refused(either, rows) == "refused by json-schema: it is not what the schema says, and too large to tell where"
    )


def test_ordinary_outputs_of_megabytes_are_checked() -> None:
    row = {"type": "object", "properties": {"id": {"type": "integer", "minimum": 0}, "name": {"type": "string"}}}
    schema = {"type": "array", "items": {**row, "required": ["id", "name"], "additionalProperties": False}}
    assert refused(schema, [{"id": number, "name": "somebody or other"} for number in range(100_000)]) is None


def test_checks_that_need_no_library_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    monkeypatch.setattr(checking, "_prepared", {})
    checking.accepted({"validation": "none"})
    report = checking.accepted({"validation": "decision-report", "fields": ["why"]})
    assert checking.refusal(report, b"null", b'{"why":"because"}') is None
    for expects in ({"validation": "regex", "pattern": "x"}, {"validation": "json-schema", "schema": {}}):
        with pytest.raises(Unavailable) as caught:
            checking.accepted(expects)
        assert "pip install 'dibs[contracts]'" in caught.value.message
        assert (caught.value.field, caught.value.exit_code) == ("expects", 6)


def test_only_some_contracts_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "_prepared", {})
    for number in range(500):
        checking.accepted({"validation": "decision-report", "fields": [f"f{number}"]})
    assert 0 < len(checking._prepared) <= 200
