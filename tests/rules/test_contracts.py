"""What `expects` may say, what satisfies a decision report, and how a refusal reads."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Invalid
from dibs.rules import contracts
from dibs.rules.contracts import Check, parse

LINK = {"validation": "regex", "pattern": "https?://"}
PATTERN = {"pattern": "x"}
MAKE = {"validation": "command", "argv": ["make"]}


@pytest.mark.parametrize(
    ("expects", "checks"),
    [
        ({"validation": "none"}, []),
        ({"type": "markdown", "validation": "none"}, []),
        ({"validation": ["none"]}, []),
        (
            {"validation": "json-schema", "schema": {"type": "object"}},
            [Check("json-schema", schema={"type": "object"})],
        ),
        ({"validation": "json-schema", "schema": False}, [Check("json-schema", schema=False)]),
        (LINK, [Check("regex", pattern="https?://")]),
        ({**LINK, "full": True}, [Check("regex", pattern="https?://", full=True)]),
        ({"validation": "decision-report"}, [Check("decision-report", fields=("decision", "reasoning"))]),
        ({"validation": "decision-report", "fields": ["b", "a", "b"]}, [Check("decision-report", fields=("b", "a"))]),
        (
            {"type": "json", "validation": ["decision-report", "json-schema"], "schema": {}, "fields": ["why"]},
            [Check("decision-report", fields=("why",)), Check("json-schema", schema={})],
        ),
        (
            {"validation": ["regex", {"validation": "regex", "pattern": "^#", "full": False}], "pattern": "x"},
            [Check("regex", pattern="x"), Check("regex", pattern="^#")],
        ),
        ({"validation": LINK}, [Check("regex", pattern="https?://")]),
        ({"validation": "command", "argv": ["make", ""]}, [Check("command", argv=("make", ""), timeout_s=300.0)]),
        (
            {"validation": "test-pass", "argv": ["pytest", "-q"], "timeout": "5s"},
            [Check("command", argv=("pytest", "-q"), timeout_s=5.0)],
        ),
        (
            {"validation": ["command", "regex", {"validation": "test-pass", "argv": ["b"]}], "argv": ["a"], **PATTERN},
            [Check("command", argv=("a",)), Check("regex", pattern="x"), Check("command", argv=("b",))],
        ),
    ],
)
def test_a_contract_is_read_as_its_checks_in_order(expects: Any, checks: list[Check]) -> None:
    assert list(parse(expects)) == checks


@pytest.mark.parametrize(
    ("expects", "why"),
    [
        (5, "must be an object"),
        ("regex", "must be an object"),
        ({}, "names its validation"),
        ({"schema": {}}, "names its validation"),
        ({"validation": None}, "must be json-schema, regex, decision-report, command, judge, human or none, not None"),
        ({"validation": "vibes"}, "not 'vibes'"),
        ({"validation": ["regex", 5], "pattern": "x"}, "not 5"),
        ({"validation": [{"pattern": "x"}]}, "not None"),
        ({"validation": [{"validation": ["regex"]}]}, r"not \['regex'\]"),
        ({"validation": []}, "must name 1 to 20 checks, not 0"),
        ({"validation": [LINK] * 21}, "must name 1 to 20 checks, not 21"),
        ({"validation": ["none", "regex"], "pattern": "x"}, "none stands alone"),
        ({"validation": ["regex", "regex"], "pattern": "x"}, "regex is named twice"),
        ({"validation": "none", "type": 5}, "type must be a word"),
        ({"validation": "none", "type": " "}, "type must be a word"),
        ({"validation": "none", "type": "x" * 201}, "type must be a word"),
        ({"validation": "none", "type": "a\nb"}, "type must be a word"),
        ({"validation": "none", "pattern": "x"}, "pattern is for regex, which its validation does not name"),
        ({"validation": "none", "colour": "x"}, "it has no 'colour'; it takes type, validation"),
        ({**LINK, "patern": "x"}, "it has no 'patern'; it takes type, validation, pattern, full"),
        ({"validation": [{**LINK, "type": "text"}]}, "it has no 'type'; it takes validation, pattern, full"),
        ({"validation": [LINK], "pattern": "x"}, "pattern is for regex"),
        ({"validation": "json-schema"}, "json-schema needs a schema"),
        ({"validation": "json-schema", "schema": [1]}, "json-schema needs a schema"),
        ({"validation": "regex"}, "regex needs a pattern"),
        ({"validation": "regex", "pattern": ""}, "regex needs a pattern"),
        ({"validation": "regex", "pattern": 5}, "regex needs a pattern"),
        ({"validation": "regex", "pattern": "x" * 2001}, "1 to 2,000 characters"),
        ({**LINK, "full": "yes"}, "full must be true or false, not 'yes'"),
        ({"validation": "command"}, "command needs an argv"),
        ({"validation": "test-pass", "argv": "pytest -q"}, "command needs an argv: a list"),
        ({"validation": "command", "argv": []}, "1 to 100 texts"),
        ({"validation": "command", "argv": ["a"] * 101}, "1 to 100 texts"),
        ({"validation": "command", "argv": ["make", 5]}, "command needs an argv"),
        ({"validation": "command", "argv": ["make", "a\0b"]}, "command needs an argv"),
        ({"validation": "command", "argv": [" ", "a"]}, "must name the program to run"),
        ({**MAKE, "timeout": "soon"}, "timeout must be a number of seconds or a text"),
        ({**MAKE, "timeout": None}, "timeout must be a number of seconds or a text"),
        ({**MAKE, "timeout": 0}, "timeout must be between"),
        ({**MAKE, "timeout": "2h"}, "timeout must be between"),
        ({**MAKE, "cwd": "/"}, "it has no 'cwd'; it takes type, validation, argv, timeout"),
        ({"validation": ["command", "test-pass"], "argv": ["make"]}, "command is named twice"),
        ({"validation": "judge"}, "judge needs a rubric"),
        ({"validation": "judge", "rubric": " "}, "judge needs a rubric"),
        ({"validation": "judge", "rubric": "x" * 20_001}, "1 to 20,000 characters"),
        ({"validation": "judge", "rubric": "x", "criteria": "short"}, "criteria must be a list"),
        ({"validation": "judge", "rubric": "x", "criteria": ["short", 1]}, "criteria must be a list"),
        ({"validation": "judge", "rubric": "x", "criteria": list("a" * 51)}, "at most 50 names"),
        ({"validation": "human", "question": ""}, "question must be a text"),
        ({"validation": "human", "assignee": ""}, "assignee must be a name"),
        ({"validation": "human", "rubric": "x"}, "rubric is for judge"),
        ({"validation": "human", "timeout": 0}, "timeout must be"),
        ({"validation": "human", "timeout": "500d"}, "timeout must be"),
        ({"validation": "human", "timeout": 60, "escalate_to": ""}, "escalate_to must be a name"),
        ({"validation": "human", "timeout": 60, "default": "yes"}, "default must be true, false, or an answer"),
        (
            {"validation": "human", "timeout": 60, "default": {"reason": "x"}},
            "default must be true, false, or an answer",
        ),
        ({"validation": "human", "default": True}, "no timeout after which it holds"),
        ({"validation": "human", "escalate_to": "lead"}, "no timeout after which it holds"),
        ({"validation": ["command", "human"], "argv": ["a"], "timeout": 9, "default": True}, "no timeout after which"),
        ({"validation": "decision-report", "fields": []}, "fields must be a list"),
        ({"validation": "decision-report", "fields": "decision"}, "fields must be a list"),
        ({"validation": "decision-report", "fields": ["a", 1]}, "fields must be a list"),
        ({"validation": "decision-report", "fields": ["a", ""]}, "fields must be a list"),
        ({"validation": "decision-report", "fields": [str(number) for number in range(51)]}, "1 to 50 names"),
    ],
)
def test_a_contract_that_makes_no_sense_is_refused(expects: Any, why: str) -> None:
    with pytest.raises(Invalid, match=why) as caught:
        parse(expects)
    assert (caught.value.field, caught.value.code) == ("expects", "invalid")


def test_the_commands_of_a_contract_are_those_of_its_checks_that_run_one() -> None:
    expects = {"validation": ["command", "human"], "argv": ["make", "test"]}
    assert [check.kind for check in contracts.commands(expects)] == ["command"]
    assert contracts.commands({"validation": "human"}) == []


def test_work_is_judged_by_others_once_everything_else_is_checked() -> None:
    judged = Check("judge", rubric="It is true.", criteria=("short", "sharp"))
    seen = Check("human", question="Good?", assignee="grace")
    expects = {
        "validation": ["regex", "llm-judge", "human"],
        "pattern": "x",
        "rubric": "It is true.",
        "criteria": ["short", "sharp", "short"],
        "question": "Good?",
        "assignee": "grace",
    }
    assert parse(expects) == (Check("regex", pattern="x"), judged, seen)
    assert parse({"validation": "human"}) == (Check("human"),)
    [timed] = parse({"validation": "human", "timeout": "1h", "default": False, "escalate_to": "lead"})
    assert (timed.answer_s, timed.escalate_to) == (3600, "lead")
    assert timed.default == {"approve": False, "reason": "nobody answered in time"}
    assert parse({"validation": "human", "timeout": 9, "default": True})[0].default == {"approve": True}
    own = {"approve": False, "reason": "silence is no"}
    assert parse({"validation": "human", "timeout": 9, "default": own})[0].default == own
    [tested, seen_in_time] = parse({"validation": ["command", "human"], "argv": ["a"], "timeout": 9})
    assert (tested.timeout_s, seen_in_time.answer_s) == (9, None)
    assert parse({"validation": "verdict"}) == (Check("verdict"),)
    assert parse({"validation": "verdict", "criteria": ["short"]}) == (Check("verdict", criteria=("short",)),)
    for slow in ("judge", "human"):
        with pytest.raises(Invalid, match=f"regex cannot come after {slow}"):
            parse({"validation": [slow, "regex"], "pattern": "x", **({"rubric": "r"} if slow == "judge" else {})})


@pytest.mark.parametrize(
    ("expects", "slow"),
    [
        ({"validation": "none"}, False),
        ({"validation": ["regex", "command"]}, False),
        ({"validation": "llm-judge"}, True),
        ({"validation": ["regex", {"validation": "human"}]}, True),
    ],
)
def test_a_contract_that_needs_others_is_slow(expects: Any, slow: bool) -> None:
    assert contracts.is_slow(expects) is slow


@pytest.mark.parametrize(
    ("decision", "faults"),
    [
        ({"decision": "tea", "reasoning": "cheaper", "more": 1}, []),
        ({"decision": False, "reasoning": 0}, []),
        (None, ["no decision was given; it must be an object with decision, reasoning"]),
        ("tea", ["the decision is not an object with decision, reasoning"]),
        ([], ["the decision is not an object with decision, reasoning"]),
        ({}, ["decision.decision is missing", "decision.reasoning is missing"]),
        ({"decision": None, "reasoning": " \n"}, ["decision.decision is empty", "decision.reasoning is empty"]),
        ({"decision": [], "reasoning": {}}, ["decision.decision is empty", "decision.reasoning is empty"]),
    ],
)
def test_a_decision_report_says_something_in_each_field(decision: Any, faults: list[str]) -> None:
    assert contracts.report_faults(decision, ("decision", "reasoning")) == faults


@pytest.mark.parametrize(
    ("output", "expects", "report"),
    [
        ({"n": 1, "decision": {"decision": "x"}}, {"validation": "decision-report"}, {"decision": "x"}),
        ({"decision": "x", "reasoning": "y"}, {"validation": "decision-report"}, {"decision": "x", "reasoning": "y"}),
        ({"decision": {"decision": "x"}}, None, None),
        ({"decision": {"decision": "x"}}, LINK, None),
        ("text", {"validation": "decision-report"}, None),
    ],
)
def test_a_program_prints_its_report_where_one_is_expected(output: Any, expects: Any, report: Any) -> None:
    assert contracts.report_in(output, expects) == report


def test_a_place_in_the_output_is_a_pointer() -> None:
    assert contracts.place([]) == ""
    assert contracts.place(["items", 3, "a/b~c"]) == "/items/3/a~1b~0c"
    assert contracts.place(["x" * 1000]) == "/" + "x" * 59 + "…"


def test_a_refusal_begins_with_its_first_reason() -> None:
    assert contracts.refusal("regex", ["nothing\nmatches"]) == "refused by regex: nothing matches"
    told = contracts.refusal("json-schema", ["/a: no", "/b: no"])
    assert told == "refused by json-schema for 2 reasons: /a: no\n/b: no"


def test_a_refusal_tells_ten_reasons_at_most_and_each_of_them_briefly() -> None:
    lines = contracts.refusal("json-schema", ["x" * 1000] * 11).splitlines()
    assert lines[0].startswith("refused by json-schema for more than 10 reasons: xxx")
    assert lines[1:] == ["x" * 299 + "…"] * 9


@pytest.mark.parametrize(
    ("code", "written", "told"),
    [
        (1, b"", "refused by command: `make test` ended with exit code 1, and wrote nothing"),
        (1, b" \n", "refused by command: `make test` ended with exit code 1, and wrote nothing"),
        (2, b"no rule\nto make\n", "refused by command: `make test` ended with exit code 2\nno rule\nto make"),
        (-9, b"half", "refused by command: `make test` was killed by signal 9\nhalf"),
        (None, b"slow", "refused by command: `make test` was still running after its timeout of 60 s\nslow"),
        (1, b"a\0\xff", "refused by command: `make test` ended with exit code 1\na\ufffd\ufffd"),
    ],
)
def test_a_failed_command_is_told_by_its_end_and_its_last_words(code: int | None, written: bytes, told: str) -> None:
    check = Check("command", argv=("make", "test"), timeout_s=60.0)
    assert contracts.failed_command(check, code, written) == told


def test_of_what_a_command_wrote_the_end_is_told() -> None:
    written = ("é" * 50_000 + "the end\n").encode()
    told = contracts.failed_command(Check("command", argv=("make",)), 1, written)
    assert told.endswith("éé" + "the end")
    assert len(told.partition("\n")[2]) == contracts.MAX_TAIL_CHARS
    long = contracts.failed_command(Check("command", argv=("make", "x" * 1_000)), 1, b"")
    assert len(long) < 500


OPEN = {"validation": "decision-report"}


@pytest.mark.parametrize(
    ("expects", "filled"),
    [
        (OPEN, {**OPEN, "fields": ["why"]}),
        ({"validation": OPEN}, {"validation": {**OPEN, "fields": ["why"]}}),
        (
            {"validation": ["regex", "decision-report"], "pattern": "x"},
            {"validation": ["regex", "decision-report"], "pattern": "x", "fields": ["why"]},
        ),
        (
            {"validation": [OPEN, {**OPEN, "fields": ["cost"]}, "decision-report"], "type": "json"},
            {
                "validation": [{**OPEN, "fields": ["why"]}, {**OPEN, "fields": ["cost"]}, "decision-report"],
                "type": "json",
                "fields": ["why"],
            },
        ),
        (
            {"validation": [OPEN, "decision-report"], "fields": ["cost"]},
            {"validation": [{**OPEN, "fields": ["why"]}, "decision-report"], "fields": ["cost"]},
        ),
    ],
)
def test_what_a_contract_leaves_open_about_reports_is_filled_in(expects: Any, filled: Any) -> None:
    before = repr(expects)
    assert contracts.is_open_report(expects)
    assert contracts.with_fields(expects, ("why",)) == filled
    assert repr(expects) == before
    assert not contracts.is_open_report(filled)
    parse(filled)


@pytest.mark.parametrize(
    "expects",
    [5, {}, {"validation": None}, {"validation": ["none"]}, LINK, {**OPEN, "fields": ["why"]}, {**OPEN, "fields": 5}],
)
def test_other_contracts_leave_nothing_open(expects: Any) -> None:
    assert not contracts.is_open_report(expects)


def test_fields_of_reports_are_names() -> None:
    assert contracts.report_fields(["b", "a", "b"]) == contracts.report_fields(("b", "a")) == ("b", "a")
    for wrong in ([], "why", ["a", ""], [5], None, ["x"] * 51, ["x" * 201]):
        with pytest.raises(Invalid) as error:
            contracts.report_fields(wrong)
        assert error.value.field == "fields"
