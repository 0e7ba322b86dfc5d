"""What a question's schema may say, and which answers it takes."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Invalid
from dibs.rules import forms


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (None, object()),
        ({}, {"anything": [1]}),
        ({"type": "string"}, "red"),
        ({"type": "number"}, 1.5),
        ({"type": "integer"}, 3),
        ({"type": "integer"}, 3.0),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
        ({"type": ["integer", "null"]}, None),
        ({"enum": ["red", 1, [True], {"a": 1}]}, 1.0),
        ({"enum": ["red", 1, [True], {"a": 1}]}, [True]),
        ({"enum": ["red", 1, [True], {"a": 1}]}, {"a": 1}),
        ({"const": True}, True),
        ({"minimum": 1, "maximum": 3}, 3),
        ({"minimum": 1}, "not a number, so no bound"),
        ({"minLength": 1, "maxLength": 3}, "abc"),
        ({"minItems": 1, "maxItems": 2, "items": {"type": "integer"}}, [1, 2]),
        ({"type": "array"}, ["whatever", 1]),
        ({"items": {"type": "integer"}}, "no list"),
        ({"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"a": 1, "b": "more"}),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"a": 1}),
        ({"title": "Colour", "description": "of the page", "examples": ["red"], "format": "color"}, "red"),
    ],
)
def test_an_answer_that_fits(schema: Any, value: Any) -> None:
    if schema is not None:
        forms.check(schema)
    assert forms.fault(schema, value) is None


@pytest.mark.parametrize(
    ("schema", "value", "why"),
    [
        ({"type": "string"}, 3, "it must be a text"),
        ({"type": ["integer", "null"]}, "3", "it must be a whole number or null"),
        ({"type": "integer"}, 1.5, "it must be a whole number"),
        ({"type": "integer"}, True, "it must be a whole number"),
        ({"type": "number"}, False, "it must be a number"),
        ({"type": "boolean"}, 1, "it must be true or false"),
        ({"enum": ["red", "blue"]}, "green", "one of 'red', 'blue'"),
        ({"enum": [1]}, True, "one of 1"),
        ({"enum": [[1, 2]]}, [1], "one of [1,2]"),
        ({"enum": [{"a": 1}]}, {"b": 1}, 'one of {"a":1}'),
        ({"const": 0}, False, "it must be 0"),
        ({"minimum": 1}, 0, "at least 1"),
        ({"maximum": 1.5}, 2, "at most 1.5"),
        ({"minLength": 2}, "a", "must have at least 2 characters"),
        ({"maxLength": 2}, "abc", "must have at most 2 characters"),
        ({"minItems": 1}, [], "must have at least 1 elements"),
        ({"maxItems": 1}, [1, 2], "must have at most 1 elements"),
        ({"items": {"type": "integer"}}, [1, "2"], "element 2 must be a whole number"),
        ({"required": ["a"]}, {"b": 1}, "it must have 'a'"),
        ({"type": "object"}, 3, "it must be an object"),
        ({"type": "object", "required": ["a", "b"]}, 3, "it must be an object with 'a' and 'b'"),
        ({"type": ["string", "array"], "required": ["a"]}, 3, "it must be a text or a list"),
        ({"properties": {"a": {"type": "string"}}}, {"a": 1}, "'a' must be a text"),
        ({"properties": {}, "additionalProperties": False}, {"a": 1}, "it must not have 'a'"),
    ],
)
def test_an_answer_that_does_not_fit(schema: Any, value: Any, why: str) -> None:
    forms.check(schema)
    assert why in (forms.fault(schema, value) or "")


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ("string", "schema must be an object"),
        (True, "schema must be an object"),
        ({"type": "text"}, "must be one of string, number"),
        ({"type": [3]}, "must be one of"),
        ({"$ref": "#/$defs/a"}, "'$ref'"),
        ({"pattern": "(a+)+"}, "'pattern'"),
        ({"anyOf": []}, "'anyOf'"),
        ({"enum": "red"}, "enum in schema must be a list"),
        ({"minimum": "1"}, "minimum in schema must be a number"),
        ({"maxLength": True}, "maxLength in schema must be a number"),
        ({"required": "a"}, "required in schema must be a list of names"),
        ({"required": [1]}, "required in schema must be a list of names"),
        ({"additionalProperties": {}}, "additionalProperties in schema must be true or false"),
        ({"properties": []}, "properties in schema must be an object"),
        ({"properties": {"a": {"type": "x"}}}, "schema.properties.a"),
        ({"items": {"items": 5}}, "schema.items.items must be an object"),
    ],
)
def test_a_schema_that_no_form_can_ask_for(schema: Any, why: str) -> None:
    with pytest.raises(Invalid) as caught:
        forms.check(schema)
    assert caught.value.field == "schema"
    assert why in caught.value.message
