"""Output contracts: what `expects` of a task may say, what satisfies a decision report, and how a refusal reads.

A contract names its checks in `validation`: one kind, or a list of them. They are made in that order, and the first
that refuses ends it. What a kind needs stands beside `validation`; an item of the list may also be an object with parts
of its own, so that one kind can be used twice.

- `json-schema`: the output satisfies `schema`.
- `regex`: the output has a match for `pattern`; with `full`, all of it is one. What is no text is looked at as JSON.
- `decision-report`: the work was completed with a decision that has something to say in each of `fields`. A contract
  that names none gets those of the task's type when it is added, if somebody set some.
- `command` (also `test-pass`): the program `argv`, given the output as JSON on its stdin, ends with exit code 0 within
  `timeout`. Whoever completes the work runs it; no shell reads it.
- `judge` (also `llm-judge`): another agent, with a task of its own, finds that the output keeps to `rubric`, and each
  of `criteria` met.
- `human`: a person (`assignee`: this one) says yes when asked whether it is what was asked for, or `question`. If
  nobody has answered within `timeout`, `escalate_to` is asked, for as long again; then `default` counts, yes or no;
  without one the task is a dead letter. (A `timeout` beside a list that names a command is the command's.)
- `verdict`: the output is what a judge says, about each of `criteria` (`rules.validating`). Tasks of judges expect it.
- `none`: nothing is checked.

The *slow* kinds, `judge` and `human`, come last: the work is handed in before others look at it, and what is checked
where it was done has been checked by then.

`type` is a word for people and agents ("json", "markdown"), which nothing checks. Whatever else stands there is
refused.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dibs.errors import Invalid
from dibs.rules import forms, questions, validation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_EXPECTS_BYTES = 64 << 10
MAX_CHECKS = 20
MAX_PATTERN_CHARS = 2_000
MAX_FIELDS = 50
MAX_RUBRIC_CHARS = 20_000
MAX_QUESTION_CHARS = 2_000
MAX_WORD_CHARS = 200
MAX_ARGUMENTS = 100
MAX_TAIL_CHARS = 4_000
MIN_TIMEOUT_S, MAX_TIMEOUT_S = 0.1, 3_600.0
DEFAULT_TIMEOUT_S = 300.0
MAX_REASONS = 10
MAX_REASON_CHARS = 300
_MAX_STEP_CHARS = 60

REPORT_FIELDS = ("decision", "reasoning")
"""What a decision report says unless its contract names other fields: what was decided, and why."""

PARTS: dict[str, tuple[str, ...]] = {
    "json-schema": ("schema",),
    "regex": ("pattern", "full"),
    "decision-report": ("fields",),
    "command": ("argv", "timeout"),
    "judge": ("rubric", "criteria"),
    "human": ("question", "assignee", "timeout", "default", "escalate_to"),
    "verdict": ("criteria",),
    "none": (),
}
"""The kinds there are, and what each of them takes."""

ALSO = {"test-pass": "command", "llm-judge": "judge"}
"""Other names for kinds."""

SLOW = ("judge", "human")
"""Kinds that need people or other agents, for as long as those take."""

_KINDS = "json-schema, regex, decision-report, command, judge, human or none"


class Check(Struct, frozen=True):
    """One check of a contract, with what it takes."""

    kind: str
    schema: Any = None
    pattern: str = ""
    full: bool = False
    fields: tuple[str, ...] = REPORT_FIELDS
    argv: tuple[str, ...] = ()
    timeout_s: float = DEFAULT_TIMEOUT_S
    rubric: str = ""
    criteria: tuple[str, ...] = ()
    question: str = ""
    assignee: str | None = None
    answer_s: float | None = None
    default: dict[str, Any] | None = None
    escalate_to: str | None = None


def parse(expects: Any) -> tuple[Check, ...]:
    """The checks of a contract that is JSON, in order; none of kind `none`. `Invalid` says what is wrong with it."""
    if not isinstance(expects, dict) or "validation" not in expects:
        raise Invalid(
            f'expects must be an object that names its validation ({_KINDS}), such as {{"validation": "none"}}.',
            field="expects",
        )
    word = expects.get("type")
    if word is not None and not _is_word(word):
        raise _invalid(f"type must be a word such as json or markdown, not {word!r:.60}")
    listed = expects["validation"]
    items = listed if isinstance(listed, list) else [listed]
    if not 1 <= len(items) <= MAX_CHECKS:
        raise _invalid(f"validation must name 1 to {MAX_CHECKS} checks, not {len(items)}")
    kinds = [_kind(item.get("validation") if isinstance(item, dict) else item) for item in items]
    if "none" in kinds and len(kinds) > 1:
        raise _invalid("none stands alone; leave it out of the list")
    for before, kind in pairwise(kinds):
        if before in SLOW and kind not in SLOW:
            raise _invalid(f"{kind} cannot come after {before}; name what is checked where the work is done first")
    bare = [kind for kind, item in zip(kinds, items, strict=True) if not isinstance(item, dict)]
    for kind in bare:
        if bare.count(kind) > 1:
            raise _invalid(f"{kind} is named twice; give the second one as an object with parts of its own")
    beside = {name: part for name, part in expects.items() if name not in ("type", "validation")}
    _refuse_strangers(beside, bare, ("type", "validation"))
    checks = []
    for kind, item in zip(kinds, items, strict=True):
        parts = {name: part for name, part in beside.items() if name in PARTS[kind]}
        if kind == "human" and "command" in bare:
            parts.pop("timeout", None)
        if isinstance(item, dict):
            parts = {name: part for name, part in item.items() if name != "validation"}
            _refuse_strangers(parts, [kind], ("validation",))
        if kind != "none":
            checks.append(_check(kind, parts))
    return tuple(checks)


def commands(expects: Any) -> list[Check]:
    """The checks of a contract that run a command."""
    return [check for check in parse(expects) if check.kind == "command"]


def is_slow(expects: Any) -> bool:
    """Whether work under this contract is handed in and judged by others."""
    listed = expects["validation"]
    items = listed if isinstance(listed, list) else [listed]
    return _kind(items[-1]["validation"] if isinstance(items[-1], dict) else items[-1]) in SLOW


def report_fields(fields: Any) -> tuple[str, ...]:
    """The fields of a decision report, checked."""
    given = list(fields) if isinstance(fields, (list, tuple)) else fields
    if not isinstance(given, list) or not 1 <= len(given) <= MAX_FIELDS or not all(map(_is_word, given)):
        raise Invalid(
            f"fields must be a list of 1 to {MAX_FIELDS} names, such as {list(REPORT_FIELDS)}.", field="fields"
        )
    return tuple(dict.fromkeys(given))


def is_open_report(expects: Any) -> bool:
    """Whether JSON that may be a contract wants a decision report and leaves open what that must say."""
    return isinstance(expects, dict) and any(_is_open(item, expects) for item in _items(expects))


def with_fields(expects: dict[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    """A contract that left open what its decision reports must say, with these fields."""
    filled, items = dict(expects), _items(expects)
    for place, item in enumerate(items):
        if not _is_open(item, expects):
            continue
        if isinstance(item, dict):
            items[place] = {**item, "fields": list(fields)}
        else:
            filled["fields"] = list(fields)
    filled["validation"] = items if isinstance(expects["validation"], list) else items[0]
    return filled


def _items(expects: dict[str, Any]) -> list[Any]:
    listed = expects.get("validation")
    return list(listed) if isinstance(listed, list) else [listed]


def _is_open(item: Any, expects: dict[str, Any]) -> bool:
    parts, kind = (item, item.get("validation")) if isinstance(item, dict) else (expects, item)
    return kind == "decision-report" and "fields" not in parts


def report_faults(decision: Any, fields: Sequence[str]) -> list[str]:
    """What a decision report lacks; empty if it says something in each field. False and 0 say something."""
    wanted = f"an object with {', '.join(fields)}"
    if decision is None:
        return [f"no decision was given; it must be {wanted}"]
    if not isinstance(decision, dict):
        return [f"the decision is not {wanted}"]
    return [
        f"decision.{field} is {'empty' if field in decision else 'missing'}"
        for field in fields
        if _says_nothing(decision.get(field))
    ]


def report_in(output: Any, expects: Any) -> Any:
    """The decision report that a program printed, where one is expected: its output's `decision`, else all of it."""
    if expects is None or not isinstance(output, dict):
        return None
    if not any(check.kind == "decision-report" for check in parse(expects)):
        return None
    return output["decision"] if isinstance(output.get("decision"), dict) else output


def place(path: Iterable[str | int]) -> str:
    """Where in the output a reason applies, as a JSON pointer; all of it is nothing."""
    return "".join(f"/{_short(str(step)).replace('~', '~0').replace('/', '~1')}" for step in path)


def refusal(kind: str, reasons: Sequence[str]) -> str:
    """The error of a refused attempt: the first reason in its first line, the others below, ten at most."""
    lines = [_line(reason) for reason in reasons[:MAX_REASONS]]
    count = f"more than {MAX_REASONS}" if len(reasons) > MAX_REASONS else len(reasons)
    several = f" for {count} reasons" if len(reasons) > 1 else ""
    return "\n".join([f"refused by {kind}{several}: {lines[0]}", *lines[1:]])


def failed_command(check: Check, code: int | None, written: bytes) -> str:
    """The error of an attempt whose output a command refused: how it ended (None: not in time), and its last words."""
    command = _line(" ".join(check.argv))
    if code is None:
        ended = f"was still running after its timeout of {check.timeout_s:g} s"
    elif code < 0:
        ended = f"was killed by signal {-code}"
    else:
        ended = f"ended with exit code {code}"
    # The end is what counts, and the first of its lines may be half a line.
    tail, _ = validation.clean_text(written[-4 * MAX_TAIL_CHARS :], 4 * MAX_TAIL_CHARS)
    tail = tail.strip()[-MAX_TAIL_CHARS:]
    return f"refused by command: `{command}` {ended}" + (f"\n{tail}" if tail else ", and wrote nothing")


def _kind(name: Any) -> str:
    if isinstance(name, str):
        name = ALSO.get(name, name)
    if not isinstance(name, str) or name not in PARTS:
        raise _invalid(f"validation must be {_KINDS}, not {name!r:.60}")
    return name


def _refuse_strangers(parts: dict[str, Any], kinds: Sequence[str], always: Sequence[str]) -> None:
    """A part that nobody reads is refused: a misspelt one would leave its check undone."""
    known = [*always, *(part for kind in kinds for part in PARTS[kind])]
    for name in parts:
        owners = [kind for kind, own in PARTS.items() if name in own]
        if name in known:
            continue
        if owners:
            raise _invalid(f"{name} is for {owners[0]}, which its validation does not name")
        raise _invalid(f"it has no {name!r:.60}; it takes {', '.join(known)}")


def _check(kind: str, parts: dict[str, Any]) -> Check:
    if kind == "json-schema":
        if not isinstance(parts.get("schema"), (dict, bool)):
            raise _invalid("json-schema needs a schema: an object, true or false")
        return Check(kind, schema=parts["schema"])
    if kind == "regex":
        pattern, full = parts.get("pattern"), parts.get("full", False)
        if not isinstance(pattern, str) or not 1 <= len(pattern) <= MAX_PATTERN_CHARS:
            raise _invalid(f"regex needs a pattern: a text of 1 to {MAX_PATTERN_CHARS:,} characters")
        if not isinstance(full, bool):
            raise _invalid(f"full must be true or false, not {full!r:.60}")
        return Check(kind, pattern=pattern, full=full)
    if kind == "command":
        return _command(parts)
    if kind == "human":
        return _human(parts)
    if kind in ("judge", "verdict"):
        return _judge(kind, parts)
    try:
        return Check(kind, fields=report_fields(parts.get("fields", REPORT_FIELDS)))
    except Invalid as error:
        raise _invalid(error.message.rstrip(".")) from None


def _command(parts: dict[str, Any]) -> Check:
    argv = parts.get("argv")
    if not isinstance(argv, list) or not 1 <= len(argv) <= MAX_ARGUMENTS or not all(map(_is_argument, argv)):
        raise _invalid(
            f'command needs an argv: a list of 1 to {MAX_ARGUMENTS} texts such as ["pytest", "-q"]; no shell reads it'
        )
    if not argv[0].strip():
        raise _invalid("the first text of argv must name the program to run")
    timeout_s = _duration_s(parts.get("timeout", DEFAULT_TIMEOUT_S), MIN_TIMEOUT_S, MAX_TIMEOUT_S)
    return Check("command", argv=tuple(argv), timeout_s=timeout_s)


def _duration_s(given: Any, low: float, high: float) -> float:
    try:
        return validation.duration_s(given, "timeout", low=low, high=high)
    except Invalid as error:
        raise _invalid(error.message.rstrip(".")) from None


def _judge(kind: str, parts: dict[str, Any]) -> Check:
    rubric, criteria = parts.get("rubric", ""), parts.get("criteria", [])
    if kind == "judge" and not _is_prose(rubric, MAX_RUBRIC_CHARS):
        raise _invalid(f"judge needs a rubric: a text of 1 to {MAX_RUBRIC_CHARS:,} characters that says what is good")
    if not isinstance(criteria, list) or len(criteria) > MAX_FIELDS or not all(map(_is_word, criteria)):
        raise _invalid(f'criteria must be a list of at most {MAX_FIELDS} names, such as ["correct", "complete"]')
    return Check(kind, rubric=rubric, criteria=tuple(dict.fromkeys(criteria)))


def _human(parts: dict[str, Any]) -> Check:
    question, assignee = parts.get("question"), parts.get("assignee")
    if question is not None and not _is_prose(question, MAX_QUESTION_CHARS):
        raise _invalid(f"question must be a text of 1 to {MAX_QUESTION_CHARS:,} characters")
    if assignee is not None and not _is_word(assignee):
        raise _invalid(f"assignee must be a name, not {assignee!r:.60}")
    escalate_to = parts.get("escalate_to")
    if escalate_to is not None and not _is_word(escalate_to):
        raise _invalid(f"escalate_to must be a name, not {escalate_to!r:.60}")
    answer_s = None
    if parts.get("timeout") is not None:
        answer_s = _duration_s(parts["timeout"], questions.MIN_TIMEOUT_S, questions.MAX_TIMEOUT_S)
    default = _default(parts.get("default"))
    if answer_s is None and (default or escalate_to):
        raise _invalid("human has a default or escalate_to, but no timeout after which it holds")
    return Check(
        "human",
        question=question or "",
        assignee=assignee,
        answer_s=answer_s,
        default=default,
        escalate_to=escalate_to,
    )


def _default(given: Any) -> dict[str, Any] | None:
    """What counts if nobody answers: yes, no, or what a person would answer."""
    if given is None:
        return None
    answer = questions.judgement(given) if isinstance(given, bool) else given
    fault = forms.fault(questions.VALIDATION_SCHEMA, answer)
    if fault is not None:
        raise _invalid(f"default must be true, false, or an answer: {fault}")
    if not answer["approve"] and not answer.get("reason"):
        return questions.judgement(False, "nobody answered in time")
    return dict(answer)


def _is_prose(value: Any, longest: int) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= longest


def _is_argument(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable() and 1 <= len(value.strip()) <= len(value) <= MAX_WORD_CHARS


def _says_nothing(value: Any) -> bool:
    return value is None or value in ([], {}) or (isinstance(value, str) and not value.strip())


def _short(step: str) -> str:
    return step if len(step) <= _MAX_STEP_CHARS else step[: _MAX_STEP_CHARS - 1] + "…"


def _line(reason: str) -> str:
    """A reason on one line, short enough for the next attempt to read."""
    line = " ".join(reason.split())
    return line if len(line) <= MAX_REASON_CHARS else line[: MAX_REASON_CHARS - 1] + "…"


def _invalid(fault: str) -> Invalid:
    return Invalid(f"expects: {fault}.", field="expects")
