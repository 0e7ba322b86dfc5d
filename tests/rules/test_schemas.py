"""What checking against a JSON Schema may cost, and which schemas are refused because nobody could tell."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Invalid
from dibs.rules.schemas import ENDLESS, MAX_DEPTH, Cost, Load, affordable, depth_of, load_of, longest_text, survey

TREE = {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}


def costs(schema: Any) -> list[Cost]:
    return survey(schema).costs


def steps(schema: Any) -> list[int]:
    return [cost.steps for cost in costs(schema)]


@pytest.mark.parametrize("schema", [True, False, {}, {"type": "string"}, {"title": "Anything"}])
def test_a_schema_without_parts_costs_the_same_at_every_depth(schema: Any) -> None:
    found = steps(schema)
    assert set(found) == {found[0]}
    assert found[0] <= 2


def test_lists_of_values_are_looked_through() -> None:
    assert steps({"enum": list(range(1000))})[0] > 1000
    assert steps({"const": [[1, {"a": 2}]]})[0] > 4


def test_members_that_are_looked_for_are_counted() -> None:
    names = [str(number) for number in range(1_000)]
    assert steps({"required": names})[0] > 1_000
    assert steps({"dependentRequired": {"a": names}})[0] > 1_000
    assert steps({"dependentRequired": dict.fromkeys(names, ())})[0] > 1_000
    assert steps({"dependentSchemas": dict.fromkeys(names, True)})[0] > 3_000


def test_what_must_be_unique_and_what_names_must_be_like_is_known() -> None:
    assert [cost.unique for cost in costs({"uniqueItems": True, "items": {"uniqueItems": True}})] == [1, 2]
    assert costs({"uniqueItems": False})[0].unique == 0
    assert survey({"items": {"propertyNames": {"maxLength": 1}}}).names
    assert not survey({"properties": {"propertyNames": True}}).names


def test_comparing_elements_with_each_other_is_dear_and_annotations_are_free() -> None:
    assert steps({"uniqueItems": True})[0] > 50
    assert steps({"uniqueItems": False})[0] < 5
    assert steps({"title": "A", "description": "B", "$comment": "C", "default": [1, 2], "$defs": {}})[0] == 1


def test_deeper_outputs_cost_more_until_the_schema_ends() -> None:
    schema = {"items": {"properties": {"a": {"type": "string"}}}}
    found = steps(schema)
    assert found[0] < found[1] < found[2] == found[-1]
    assert len(found) <= 4


def test_only_the_worst_of_several_members_counts() -> None:
    one = {"properties": {"a": {"enum": list(range(100))}}}
    many = {"properties": {name: {"enum": list(range(100))} for name in "abcdefgh"}}
    assert steps(many)[-1] < steps(one)[-1] + 20
    listed = {"prefixItems": [{"enum": list(range(100))}] * 8, "items": {"enum": list(range(100))}}
    assert steps(listed)[-1] < steps(one)[-1] + 20


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_everything_that_looks_at_the_same_value_counts(keyword: str) -> None:
    assert steps({keyword: [{"enum": list(range(100))}] * 8})[0] > 800


@pytest.mark.parametrize(
    "schema",
    [
        {"not": {"enum": list(range(100))}},
        {"if": {"enum": list(range(50))}, "then": {"enum": list(range(25))}, "else": {"enum": list(range(25))}},
        {"dependentSchemas": {"a": {"enum": list(range(100))}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"enum": list(range(100))}}},
    ],
)
def test_whatever_applies_to_the_value_itself_counts_at_once(schema: Any) -> None:
    assert steps(schema)[0] > 100


@pytest.mark.parametrize(
    "schema",
    [
        {"patternProperties": {"a": {"enum": list(range(100))}, "b": {"enum": list(range(100))}}},
        {"propertyNames": {"enum": list(range(100))}, "additionalProperties": {"enum": list(range(100))}},
        {"contains": {"enum": list(range(100))}, "unevaluatedItems": {"enum": list(range(100))}},
    ],
)
def test_parts_that_meet_at_one_value_below_are_added_up(schema: Any) -> None:
    assert steps(schema)[0] < 20
    assert steps(schema)[-1] > 200


def test_a_tree_costs_a_little_more_at_each_level() -> None:
    found = steps(TREE)
    assert len(found) == MAX_DEPTH + 1
    assert found[-1] < 1000


def test_a_part_that_is_applied_twice_at_each_level_is_endless() -> None:
    twice = {"items": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}
    found = steps(twice)
    assert found[4] < 1000
    assert found[-1] == ENDLESS


def test_parts_that_share_parts_double_the_work() -> None:
    shared: dict[str, Any] = {f"n{level}": {"allOf": [{"$ref": f"#/$defs/n{level + 1}"}] * 2} for level in range(60)}
    assert steps({"$ref": "#/$defs/n0", "$defs": {**shared, "n60": {"type": "string"}}})[0] == ENDLESS


@pytest.mark.parametrize("keyword", ["unevaluatedProperties", "unevaluatedItems"])
def test_what_stands_beside_unevaluated_is_looked_at_again_and_again(keyword: str) -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(20):
        schema = {"allOf": [schema], keyword: False}
    assert steps(schema)[0] > 2**20


def test_patterns_are_counted_apart() -> None:
    plain = costs({"properties": {"a": {"type": "string"}}})
    assert {cost.patterns for cost in plain} == {0}
    assert costs({"pattern": "x"})[0].patterns == 1
    assert costs({"allOf": [{"pattern": "x"}, {"pattern": "y"}]})[0].patterns == 2
    assert costs({"properties": {"a": {"pattern": "x"}, "b": {"pattern": "y"}}})[-1].patterns == 1
    assert costs({"patternProperties": {"x": {"pattern": "y"}, "z": True}})[-1].patterns == 3
    assert costs({"format": "date"})[0].patterns == 1


def test_all_patterns_of_a_schema_are_counted_once() -> None:
    shared = {"items": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}, "$defs": {"a": {"pattern": "x"}}}
    assert survey(shared).patterns == 1
    assert survey({"properties": {name: {"pattern": name} for name in "abc"}}).patterns == 3
    assert survey({"$defs": {"unused": {"pattern": "x"}}}).patterns == 0


def test_numbers_are_counted_apart() -> None:
    assert costs({"type": "integer", "maxLength": 5})[0].numbers == 0
    assert costs({"minimum": 0, "exclusiveMaximum": 1, "multipleOf": 0.1})[0].numbers == 3
    assert costs({"enum": [1, "a", [2.5, None], True]})[0].numbers == 2
    assert costs({"minimum": "not a number"})[0].numbers == 0
    for odd in (1e-300, -5e-324, 1e300, 10**4000):
        assert costs({"multipleOf": odd})[0].numbers == 20
    assert costs({"const": {"a": 7}})[0].numbers == 1
    assert costs({"uniqueItems": True})[0].numbers > 1
    assert costs({"items": {"allOf": [{"minimum": 1}, {"maximum": 2}]}})[-1].numbers == 2


def test_a_schema_has_alternatives_if_any_part_of_it_has() -> None:
    assert survey({"items": {"oneOf": [{"type": "string"}]}}).alternatives
    assert survey({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{}]}}}).alternatives
    assert not survey({"allOf": [{"type": "string"}], "$defs": {"a": {"anyOf": [{}]}}}).alternatives


def test_levels_are_the_longest_way_through_the_schema() -> None:
    assert [cost.levels for cost in costs({"type": "string"})] == [1]
    assert [cost.levels for cost in costs({"allOf": [{"not": {}}, {}], "items": {"items": {}}})] == [3, 3, 3]
    assert costs(TREE)[-1].levels == 2 * MAX_DEPTH + 1


def test_a_schema_of_endless_references_is_refused() -> None:
    chain: dict[str, Any] = {f"n{number}": {"$ref": f"#/$defs/n{number + 1}"} for number in range(1000)}
    with pytest.raises(Invalid, match="more than 1,000 references"):
        survey({"$ref": "#/$defs/n0", "$defs": {**chain, "n1000": {}}})


def test_a_large_schema_that_never_ends_is_followed_only_so_far() -> None:
    found = survey({"properties": {f"p{number}": {"$ref": "#"} for number in range(2_000)}}).costs
    assert 10 < len(found) < MAX_DEPTH
    assert found[-2].steps < 1_000
    assert found[-1].steps == ENDLESS
    wide = survey({"properties": {f"p{number}": {"type": "string"} for number in range(2_000)}}).costs
    assert wide[-1].steps < 10


def test_deep_outputs_cost_as_the_deepest_that_makes_a_difference() -> None:
    found = survey({"items": {"type": "string"}})
    assert found.at(0) == found.costs[0]
    assert found.at(1) == found.at(64) == found.costs[-1]


@pytest.mark.parametrize(
    ("output", "depth"),
    [
        (b"1", 0),
        (b'"[[["', 0),
        (b"[]", 1),
        (b"[1,[2],{}]", 2),
        (b'{"a":{"b":[1]},"c":[]}', 3),
        (b'["\\"[[[","\\\\",[1]]', 2),
        (b"[" * 64 + b"]" * 64, 64),
    ],
)
def test_the_depth_of_an_output_is_told_from_its_brackets(output: bytes, depth: int) -> None:
    assert depth_of(output) == depth


def test_an_output_is_affordable_by_its_values_its_texts_and_the_patterns_tried_on_them() -> None:
    few, many = Load(1_000, 10_000), Load(10_000_000, 16 << 20)
    assert affordable(Cost(steps=10, numbers=1, patterns=1), few, 4 << 10)
    assert affordable(Cost(steps=10), many, 4 << 10)
    assert not affordable(Cost(steps=100), many, 4 << 10)
    assert not affordable(Cost(steps=10, numbers=1), many, 4 << 10)
    assert not affordable(Cost(steps=10, patterns=1), many, 4 << 10)
    assert not affordable(Cost(steps=10, patterns=1), few, 1 << 20)
    assert affordable(Cost(steps=10, numbers=20), few, 4 << 10)
    assert not affordable(Cost(steps=10, numbers=60), Load(1_000, 10_000, odd_numbers=True), 4 << 10)
    big = Load(10_000, 200_000, big_numbers=True)
    assert affordable(Cost(steps=10, unique=1), Load(10_000, 200_000), 4 << 10)
    assert affordable(Cost(steps=10), big, 4 << 10)
    assert not affordable(Cost(steps=10, unique=1), big, 4 << 10)
    assert not affordable(Cost(steps=10, unique=1), Load(100, 400_000, big_numbers=True), 4 << 10)
    assert not affordable(Cost(steps=10, levels=1_001), few, 4 << 10)
    assert not affordable(Cost(steps=ENDLESS), Load(1, 1), 4 << 10)


@pytest.mark.parametrize(
    ("output", "load"),
    [
        (b"null", Load(1, 4)),
        (b"[]", Load(2, 2)),
        (b'[1,{"a":[2,3]}]', Load(6, 15)),
        (b'"a, b"', Load(2, 6)),
        (b"[1.5,-20,3e5]", Load(4, 13)),
        (b"1e-300", Load(1, 6, odd_numbers=True)),
        (b"2E+22", Load(1, 5, odd_numbers=True)),
        (b"1" * 25, Load(1, 25, odd_numbers=True, big_numbers=True)),
        (b"1" * 24, Load(1, 24, big_numbers=True)),
        (b"-" + b"1" * 19, Load(1, 20, big_numbers=True)),
        (b"[1," + b"9" * 19 + b"]", Load(3, 23, big_numbers=True)),
        (b'{"a":' + b"9" * 19 + b"}", Load(2, 25, big_numbers=True)),
        (b"1" * 18, Load(1, 18)),
        (b'"' + b"1" * 20 + b'"', Load(1, 22)),
    ],
)
def test_the_load_of_an_output_is_told_from_its_signs(output: bytes, load: Load) -> None:
    assert load_of(output) == load


def test_large_patterns_are_tried_on_shorter_texts() -> None:
    assert longest_text(4_096) > 1 << 20
    assert 100_000 < longest_text(64 << 10) < 200_000
    assert 5_000 < longest_text(1 << 20) < 10_000


@pytest.mark.parametrize(
    "schema",
    [
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "https://example.com/a",
            "$ref": "#/$defs/a~1b",
        },
        {"$schema": "https://json-schema.org/draft/2020-12/schema#", "$ref": "#/$defs/a%7E1b"},
        {"$ref": "#here"},
        {"$ref": "#there", "items": {"$ref": "#here"}},
        {"$ref": "#/allOf/0", "allOf": [{"enum": list(range(100))}]},
    ],
)
def test_a_reference_may_point_anywhere_inside(schema: Any) -> None:
    parts = {"a/b": {"$anchor": "here", "$dynamicAnchor": "there", "enum": list(range(100))}}
    assert steps({**schema, "$defs": parts})[0] > 100


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$ref": "https://example.com/schema.json"}, "must stay inside it"),
        ({"items": {"$ref": "other.json#/a"}}, "must stay inside it"),
        ({"$ref": "file:///etc/passwd"}, "must stay inside it"),
        ({"$ref": 5}, "must stay inside it"),
        ({"$ref": "#/$defs/a"}, "leads nowhere"),
        ({"$ref": "#nowhere"}, "leads nowhere"),
        ({"$ref": "#/allOf/7", "allOf": [{}]}, "leads nowhere"),
        ({"$ref": "#/allOf/x", "allOf": [{}]}, "leads nowhere"),
        ({"$ref": "#/type/x", "type": "string"}, "leads nowhere"),
        ({"$ref": "#"}, "leads back to itself"),
        ({"anyOf": [{"type": "string"}, {"not": {"$ref": "#"}}]}, "leads back to itself"),
        ({"$dynamicRef": "#node"}, r"\$dynamicRef at its top; use \$ref"),
        ({"items": {"$recursiveRef": "#"}}, r"\$recursiveRef at /items; use \$ref"),
        ({"items": {"$id": "https://example.com/a"}}, r"\$id at /items"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "must be one of"),
        ({"$schema": 7}, "must be one of"),
        ({"items": {"$schema": "https://example.com/my-dialect"}}, "must be one of"),
    ],
)
def test_a_schema_that_leads_elsewhere_is_refused(schema: Any, why: str) -> None:
    with pytest.raises(Invalid, match=why) as caught:
        costs(schema)
    assert caught.value.field == "expects"


def test_what_only_looks_like_a_reference_is_none() -> None:
    assert steps({"const": {"$ref": "https://example.com"}, "properties": {"$ref": {"type": "string"}}})


@pytest.mark.parametrize("schema", [{"properties": 5}, {"allOf": "x"}, {"items": [1]}, {"patternProperties": []}])
def test_a_schema_that_is_none_is_left_to_the_one_that_compiles_it(schema: Any) -> None:
    assert steps(schema)
