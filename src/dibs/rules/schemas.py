"""What checking an output against a JSON Schema may cost, told from the schema before anything is checked.

Schema and output are both of limited size, and one can still keep a checker busy for years: parts that `$ref` shares
are looked at again wherever they are used, which may double the work at each level of the output. So the steps that the
worst output of each depth would take are counted here. What takes too many is refused unchecked.

Every `$ref` stays inside the schema: what lies elsewhere may change, or never answer.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from dibs.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MAX_DEPTH = 64
"""How deep an output can be nested."""
MAX_STEPS = 400_000_000
"""How many steps a check may take: about two seconds, at 5 ns each."""
MAX_LEVELS = 1_000
"""How many parts of a schema may be inside each other's work at once: each takes some of the checker's stack."""
ENDLESS = 10**15
"""More than anybody can wait for; not counted any further."""

_BYTES_PER_STEP = 8
"""Texts are measured and compared, which is a step for so many bytes of them."""
_PATTERN_BYTES_PER_STEP = 20
"""A pattern of so many bytes, compiled, takes a step for each byte of a text, at the worst."""
_NUMBER_STEPS = 400
"""Numbers are compared exactly, as fractions: a step of some 2 µs."""
_ODD_NUMBER_STEPS = 8_000
_ODD_NUMBER_STEPS_PER_BYTE = 64
"""What fractions with hundreds of digits cost instead, such as 1e-300; whole numbers can have thousands."""
_UNIQUE_STEPS = 50
_UNIQUE_NUMBERS = 10
"""With how many others each element of a short array is compared."""
_PAIR_STEPS, _PAIR_STEPS_PER_BYTE, _PAIR_BYTES_SQUARED_PER_STEP = 70, 2, 300
"""Whole numbers that no machine word holds are compared each with each other, digit by digit."""
_LOOKUP_STEPS = 3
"""What it costs to look whether an object has a member of some name."""
_UNEVALUATED_TIMES = 3
"""How often what stands beside an `unevaluated…` is looked at: to judge the value, and to see what it has evaluated."""

_MAX_SURVEYED = 50_000
"""How many parts are looked at, level by level, until a large schema that never ends is called endless."""

_ODD_NUMBER = rb"[0-9]{25}|[eE][-+]?[0-9]{2}"
_TEXT = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_TURNS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
"""A bracket as one level more or less, in signed bytes."""
_NO_BRACKETS = bytes(code for code in range(256) if code not in b"[{]}")
_BIG_NUMBER = rb"(?:^|[\[,:])-?[0-9]{19}"

_ANNOTATIONS = frozenset(
    {
        *("$schema", "$id", "$anchor", "$dynamicAnchor", "$comment", "$defs", "definitions", "title", "description"),
        *("default", "examples", "deprecated", "readOnly", "writeOnly"),
    }
)
_NUMERIC = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COMPARED = ("enum", "const")
_LOOKED_FOR = ("required", "dependentRequired")
_HERE = ("not", "if", "then", "else")
_EACH_HERE = ("allOf", "anyOf", "oneOf", "dependentSchemas")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_ELSEWHERE = ("$dynamicRef", "$recursiveRef")


class Cost(Struct, frozen=True):
    """What one way down into an output costs at the worst.

    `steps` for each value on it, `numbers` that each is compared with, `patterns` (and formats) tried on each of its
    texts, how often its elements must be `unique`, and the `levels` of the schema that are inside each other.
    """

    steps: int
    numbers: int = 0
    patterns: int = 0
    unique: int = 0
    levels: int = 1


class Load(Struct, frozen=True):
    """How much there is to check: values (no fewer than there are), bytes, whether odd or big numbers may be in it."""

    values: int
    size: int
    odd_numbers: bool = False
    big_numbers: bool = False


class Survey(Struct, frozen=True):
    """What a schema may cost, by the depth of the output: deeper ones than all of `costs` cost as the last one says.

    `patterns`: how many there are in it. `alternatives`: whether a value may satisfy this part of it or that. `names`:
    whether it looks at the names of members, each of which is told with the whole object.
    """

    costs: list[Cost]
    patterns: int
    alternatives: bool
    names: bool = False

    def at(self, depth: int) -> Cost:
        return self.costs[min(depth, len(self.costs) - 1)]


def load_of(output: bytes) -> Load:
    """What there is to check in an output (JSON), told from its signs: those in its texts count too."""
    import re

    # Every value but the first follows one of these.
    values = 1 + output.count(b",") + output.count(b"[") + output.count(b"{")
    odd, big = (re.search(pattern, output) is not None for pattern in (_ODD_NUMBER, _BIG_NUMBER))
    return Load(values, len(output), odd, big)


def depth_of(output: bytes) -> int:
    """How many containers of an output (JSON) are inside each other, told from its brackets: a walk would take long."""
    import re

    brackets = re.sub(_TEXT, b"", output).translate(_TURNS, _NO_BRACKETS)
    return max(accumulate(memoryview(brackets).cast("b")), default=0)


def affordable(cost: Cost, load: Load, pattern_bytes: int) -> bool:
    """Whether so much can be checked in good time. `pattern_bytes`: the size of the largest pattern, compiled."""
    steps = cost.steps * (load.values + load.size // _BYTES_PER_STEP)
    steps += cost.patterns * load.size * (pattern_bytes // _PATTERN_BYTES_PER_STEP)
    if load.odd_numbers:
        steps += cost.numbers * (load.values * _ODD_NUMBER_STEPS + load.size * _ODD_NUMBER_STEPS_PER_BYTE)
    else:
        steps += cost.numbers * load.values * _NUMBER_STEPS
    if load.big_numbers:
        pairs = load.values * (load.values * _PAIR_STEPS + load.size * _PAIR_STEPS_PER_BYTE)
        steps += cost.unique * (pairs + load.size**2 // _PAIR_BYTES_SQUARED_PER_STEP)
    return steps <= MAX_STEPS and cost.levels <= MAX_LEVELS


def longest_text(pattern_bytes: int) -> int:
    """How many bytes of text one pattern can be tried on in good time."""
    return MAX_STEPS // (pattern_bytes // _PATTERN_BYTES_PER_STEP)


class _Node(Struct):
    """A schema or a part of it, and the parts (by their place) it applies to the same value or to those below it.

    `members` and `elements` each apply to a member or an element of their own, so that only the worst of them counts;
    `all_members` and `all_elements` apply beside them. What is `here` is looked at so many `times`.
    """

    steps: int = 1
    numbers: int = 0
    patterns: int = 0
    unique: int = 0
    times: int = 1
    alternatives: bool = False
    names: bool = False
    here: list[str] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    all_members: list[str] = field(default_factory=list)
    elements: list[str] = field(default_factory=list)
    all_elements: list[str] = field(default_factory=list)


def survey(schema: Any) -> Survey:
    """Look through a schema. `Invalid` where a reference leaves it, leads nowhere, or comes back to where it began."""
    nodes = _Reading(schema).nodes
    try:
        order = list(TopologicalSorter({place: node.here for place, node in nodes.items()}).static_order())
    except CycleError:
        raise _invalid("a $ref of its schema leads back to itself before it looks at any part of the output") from None
    costs: list[Cost] = []
    below: dict[str, Cost] = {}
    for depth in range(MAX_DEPTH + 1):
        if depth * len(order) > _MAX_SURVEYED:
            costs.append(Cost(ENDLESS))
            break
        level: dict[str, Cost] = {}
        for place in order:
            level[place] = _sum(nodes[place], level, below)
        if level == below:
            break
        costs.append(level[""])
        below = level
    if costs[0].levels > MAX_LEVELS:
        raise _invalid(f"its schema goes through more than {MAX_LEVELS:,} references for one value")
    return Survey(
        costs,
        patterns=sum(node.patterns for node in nodes.values()),
        alternatives=any(node.alternatives for node in nodes.values()),
        names=any(node.names for node in nodes.values()),
    )


def _sum(node: _Node, level: dict[str, Cost], below: dict[str, Cost]) -> Cost:
    """The cost of a part: its own, what it applies to the same value, and the worst way down."""
    here = [level[place] for place in node.here]
    ways = [
        ([below[place] for place in some if below], [below[place] for place in every if below])
        for some, every in ((node.members, node.all_members), (node.elements, node.all_elements))
    ]

    def total(own: int, count: Callable[[Cost], int]) -> int:
        down = max(max(map(count, some), default=0) + sum(map(count, every)) for some, every in ways)
        return min(own + node.times * sum(map(count, here)) + down, ENDLESS)

    inside = [*here, *(cost for some, every in ways for cost in (*some, *every))]
    return Cost(
        steps=total(node.steps, lambda cost: cost.steps),
        numbers=total(node.numbers, lambda cost: cost.numbers),
        patterns=total(node.patterns, lambda cost: cost.patterns),
        unique=total(node.unique, lambda cost: cost.unique),
        levels=1 + max((cost.levels for cost in inside), default=0),
    )


class _Reading:
    """One walk through a schema, from its root along everything that could be applied."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._anchors: dict[str, str] | None = None
        self.nodes: dict[str, _Node] = {}
        self._waiting: list[tuple[str, Any]] = [("", schema)]
        while self._waiting:
            place, part = self._waiting.pop()
            if place not in self.nodes:
                self.nodes[place] = self._node(place, part)

    def _node(self, place: str, part: Any) -> _Node:
        if not isinstance(part, dict):
            return _Node()
        self._check(place, part)
        named = part.get("patternProperties")
        patterns = ("pattern" in part) + ("format" in part) + len(_entries(named))
        times = _UNEVALUATED_TIMES if any(keyword in part for keyword in _UNEVALUATED) else 1
        node = _Node(
            _steps(part),
            _numbers(part),
            patterns,
            unique=int(part.get("uniqueItems") is True),
            times=times,
            alternatives="anyOf" in part or "oneOf" in part,
            names="propertyNames" in part,
        )
        if "$ref" in part:
            node.here.append(self._target(part["$ref"]))
        for keyword in _HERE:
            node.here += self._parts(place, part, keyword)
        for keyword in _EACH_HERE:
            node.here += self._each(place, part, keyword)
        node.members += self._each(place, part, "properties")
        for keyword in ("additionalProperties", "unevaluatedProperties"):
            node.members += self._parts(place, part, keyword)
        node.all_members += self._each(place, part, "patternProperties")
        node.all_members += self._parts(place, part, "propertyNames")
        node.elements += self._each(place, part, "prefixItems")
        for keyword in ("items", "unevaluatedItems"):
            node.elements += self._parts(place, part, keyword)
        node.all_elements += self._parts(place, part, "contains")
        return node

    def _check(self, place: str, part: dict[str, Any]) -> None:
        dialect = part.get("$schema", DIALECT)
        if not isinstance(dialect, str) or dialect.rstrip("#") != DIALECT:
            raise _invalid(f"its schema must be one of {DIALECT}, not {dialect!r:.80}")
        if place and "$id" in part:
            raise _invalid(f"its schema has an $id at {place}; only the schema as a whole may have one")
        for keyword in _ELSEWHERE:
            if keyword in part:
                raise _invalid(f"its schema has a {keyword} at {place or 'its top'}; use $ref")

    def _parts(self, place: str, part: dict[str, Any], keyword: str) -> list[str]:
        return [self._note(f"{place}/{keyword}", part[keyword])] if keyword in part else []

    def _each(self, place: str, part: dict[str, Any], keyword: str) -> list[str]:
        group = part.get(keyword)
        return [self._note(f"{place}/{keyword}/{_escaped(name)}", item) for name, item in _entries(group)]

    def _note(self, place: str, part: Any) -> str:
        self._waiting.append((place, part))
        return place

    def _target(self, reference: Any) -> str:
        """The place that a `$ref` names."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise _invalid(
                f"a $ref of its schema must stay inside it, such as #/$defs/name; {reference!r:.80} does not"
            )
        pointer = _decoded(reference[1:])
        if pointer and not pointer.startswith("/"):
            pointer = self._anchor(pointer)
        part = self._schema
        place = ""
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            try:
                part = part[int(name)] if isinstance(part, list) else part[name]
            except (KeyError, IndexError, TypeError, ValueError):
                raise _invalid(f"the $ref {reference!r:.80} of its schema leads nowhere") from None
            place = f"{place}/{_escaped(name)}"
        return self._note(place, part)

    def _anchor(self, name: str) -> str:
        if self._anchors is None:
            self._anchors = dict(_anchors(self._schema))
        # A place that does not exist, where there is none of this name.
        return self._anchors.get(name, "/#")


def _anchors(schema: Any) -> Iterator[tuple[str, str]]:
    """The names given to parts of a schema, and where they are."""
    waiting = [("", schema)]
    while waiting:
        place, part = waiting.pop()
        if isinstance(part, dict):
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(part.get(keyword), str):
                    yield part[keyword], place
        waiting += [(f"{place}/{_escaped(name)}", item) for name, item in _entries(part)]


def _entries(group: Any) -> list[tuple[str, Any]]:
    """What is in an object or a list, by name or number."""
    if isinstance(group, dict):
        return list(group.items())
    return [(str(number), item) for number, item in enumerate(group)] if isinstance(group, list) else []


def _steps(part: dict[str, Any]) -> int:
    """How much of a part is looked at for one value: its keywords, the values that it is compared with, and the members
    that are looked for."""
    steps = 1 + sum(keyword not in _ANNOTATIONS for keyword in part)
    steps += _LOOKUP_STEPS * sum(1 for keyword in _LOOKED_FOR if keyword in part for _ in _values(part[keyword]))
    steps += _LOOKUP_STEPS * len(_entries(part.get("dependentSchemas")))
    steps += sum(1 for keyword in _COMPARED if keyword in part for _ in _values(part[keyword]))
    return steps + _UNIQUE_STEPS if part.get("uniqueItems") is True else steps


def _numbers(part: dict[str, Any]) -> int:
    """How many numbers one value is compared with. An odd one counts for as many as it costs."""
    values = [value for keyword in (*_NUMERIC, *_COMPARED) if keyword in part for value in _values(part[keyword])]
    numbers = sum(
        1 if _is_plain(value) else _ODD_NUMBER_STEPS // _NUMBER_STEPS for value in values if _is_number(value)
    )
    return numbers + _UNIQUE_NUMBERS if part.get("uniqueItems") is True else numbers


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_plain(number: float) -> bool:
    """Whether few digits tell all of it: 0.01, 1000; not 1e-300."""
    return number == 0 or 1e-9 <= abs(number) < 1e24


def _values(value: Any) -> Iterator[Any]:
    """A value and all that are in it."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += [item for _, item in _entries(each)]


def _decoded(fragment: str) -> str:
    if "%" not in fragment:
        return fragment
    from urllib.parse import unquote

    return unquote(fragment)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _invalid(fault: str) -> Invalid:
    return Invalid(f"expects: {fault}.", field="expects")
