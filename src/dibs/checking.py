"""Whether an output is what its task expects. The shape of contracts and the words of refusals are `rules.contracts`.

A contract is written by one person and its output by another's agent, and neither may keep a worker busy: patterns run
on an engine whose time grows with the text and never explodes, and an output whose check could take too many steps
(`rules.schemas`) is refused unchecked. That is decided by what is written, not by a clock, so the same output is judged
the same wherever and whenever it is settled.

Judges and people look at the work once it is handed in (`duties.conclude`), after everything here.

Commands are the exception: they take as long as their timeout says, and whoever asks for a judgement runs them
(`proving`), in their place among the other checks.

jsonschema-rs is imported only for a contract that needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from msgspec.json import decode, encode

from dibs.errors import Invalid, Unavailable
from dibs.rules import contracts, schemas, validating, validation

if TYPE_CHECKING:
    from collections.abc import Callable

    from jsonschema_rs import Draft202012Validator

    Look = Callable[[bytes, bytes], list[str]]
    """Looks at an output and a decision, both JSON; the reasons against them."""
    Run = Callable[[contracts.Check], str | None]
    """Runs the command of a check; the refusal, if it did not end well."""

_PATTERN_BYTES = [1 << power for power in range(12, 21)]
"""The sizes, compiled, that a pattern may have: 4 KiB to 1 MiB. The smallest that fits tells what it may cost."""
_ALL_PATTERNS_BYTES = 16 << 20
_FEW_STEPS = 100_000
"""Up to so many steps all errors are collected: each costs some 15 µs, and there may be one for almost every step."""
_FEW_BYTES = 30_000_000
"""Up to so many bytes that errors would repeat, which each does with the value it is about: some 30 ns for each."""
_LOST = "it is not what the schema says, and too large to tell where"
_ALTERNATIVES = 3
_MAX_FAULT_CHARS = 300
_REMEMBERED = 200

_prepared: dict[bytes, list[tuple[contracts.Check, Look | None]]] = {}


def accepted(expects: Any) -> Any:
    """A contract as it was given, if it can be kept and checked; else Invalid, or Unavailable with what to install."""
    _checks(validation.json_bytes(expects, "expects", max_bytes=contracts.MAX_EXPECTS_BYTES))
    return expects


def commands(expects: Any) -> list[contracts.Check]:
    """The checks of a contract that run a command: it is judged with somebody who runs them. Raises as `accepted`."""
    return [check for check, look in _checks(encode(expects)) if look is None and check.kind not in contracts.SLOW]


def refusal(expects: Any, output: bytes, decision: bytes, run: Run | None = None) -> str | None:
    """Why a completion (both JSON) is not what was expected, as the error of its attempt; None if it is, as far as can
    be told here."""
    for check, look in _checks(encode(expects)):
        if check.kind in contracts.SLOW:
            break
        if look is None:
            assert run is not None, "somebody has to run its commands"
            refused = run(check)
            if refused is not None:
                return refused
        elif reasons := look(output, decision):
            return contracts.refusal(check.kind, reasons)
    return None


def _checks(body: bytes) -> list[tuple[contracts.Check, Look | None]]:
    """The checks of a contract (JSON), ready to be made; remembered, because tasks come in kinds."""
    found = _prepared.get(body)
    if found is None:
        found = [(check, _look(check)) for check in contracts.parse(decode(body))]
        if len(_prepared) >= _REMEMBERED:
            _prepared.clear()
        _prepared[body] = found
    return found


def _look(check: contracts.Check) -> Look | None:
    if check.kind == "command" or check.kind in contracts.SLOW:
        return None
    if check.kind == "verdict":
        return lambda output, _: validating.verdict_faults(decode(output), check.criteria)
    if check.kind == "decision-report":
        return lambda _, decision: contracts.report_faults(decode(decision), check.fields)
    if check.kind == "regex":
        return _regex(check.pattern, check.full)
    return _json_schema(check.schema)


def _regex(pattern: str, full: bool) -> Look:
    # By itself too: a pattern such as `a)|(b` would make sense between our brackets.
    validator, pattern_bytes = _validator({"pattern": pattern}, patterns=1)
    fault = f"nothing in the text matches `{pattern}`"
    if full:
        validator, pattern_bytes = _validator({"pattern": f"^(?:{pattern})$"}, patterns=1)
        fault = f"the text as a whole does not match `{pattern}`"
    longest = schemas.longest_text(pattern_bytes)

    def look(output: bytes, _: bytes) -> list[str]:
        if len(output) > longest:
            return [f"the output has {len(output):,} bytes; `{pattern}` can be tried on {longest:,} at most"]
        value = decode(output)
        text = value if isinstance(value, str) else output.decode()
        return [] if validator.is_valid(text) else [fault]

    return look


def _json_schema(schema: Any) -> Look:
    survey = schemas.survey(schema)
    validator, pattern_bytes = _validator(schema, patterns=survey.patterns)

    def look(output: bytes, _: bytes) -> list[str]:
        load = schemas.load_of(output)
        cost = survey.at(schemas.MAX_DEPTH)
        if not schemas.affordable(cost, load, pattern_bytes):
            depth = schemas.depth_of(output)
            cost = survey.at(depth)
            if not schemas.affordable(cost, load, pattern_bytes):
                return [f"checking it could take too long: it has {len(output):,} bytes, {depth} levels deep"]
        value = decode(output)
        if validator.is_valid(value):
            return []
        if _has_few_errors(survey, cost, load, output):
            return [_reason(error) for error in validator.iter_errors(value)]
        # The first error of a large output is told at once, unless it consists of what is wrong with each alternative.
        return [_LOST if survey.alternatives else _first_reason(validator, value)]

    return look


def _has_few_errors(survey: schemas.Survey, cost: schemas.Cost, load: schemas.Load, output: bytes) -> bool:
    """Whether all errors can be collected in good time, at the worst. They come all at once or not at all."""
    if cost.steps * load.values > _FEW_STEPS:
        return False
    # A value is part of all that it is in. An object is told of with each of its names.
    repeated = load.values if survey.names else schemas.depth_of(output) + 1
    return cost.steps * load.size * repeated <= _FEW_BYTES


def _first_reason(validator: Draft202012Validator, value: Any) -> str:
    """What is wrong with a value that is not valid: the first that is found."""
    try:
        validator.validate(value)
    except ValueError as error:
        return _reason(error)
    return _LOST


def _validator(schema: Any, *, patterns: int) -> tuple[Draft202012Validator, int]:
    """A schema to check with, and how large its patterns are at most. Invalid if it is none, or one of them is."""
    try:
        import jsonschema_rs
    except ImportError:
        raise Unavailable(
            "expects needs jsonschema-rs to check outputs: install it with `pip install 'dibs[contracts]'`.",
            field="expects",
        ) from None
    try:
        jsonschema_rs.meta.validate(schema)
    except ValueError as error:
        raise _invalid(f"its schema is not one of 2020-12: {_reason(error)}") from None
    fault = "it has too many patterns"
    for size in _PATTERN_BYTES:
        if size * patterns > _ALL_PATTERNS_BYTES:
            break
        try:
            validator = jsonschema_rs.Draft202012Validator(
                schema,
                validate_formats=True,
                retriever=_fetch_nothing,
                mask="the value",
                pattern_options=jsonschema_rs.RegexOptions(size_limit=size),
            )
        except jsonschema_rs.ValidationError as error:
            if error.kind.name != "format":
                raise _invalid(f"its schema cannot be used: {_reason(error)}") from None
            fault = f"the pattern {error.instance!r:.80} is wrong, too large, or has look-around or back-references"
        else:
            return validator, size
    raise _invalid(fault)


def _invalid(fault: str) -> Invalid:
    return Invalid(f"expects: {fault[:_MAX_FAULT_CHARS]}.", field="expects")


def _fetch_nothing(uri: str) -> NoReturn:
    raise LookupError(f"{uri} is outside")


def _reason(error: Any) -> str:
    """An error in words: where, and what is wrong; if there are alternatives, what is wrong with the first of them."""
    where = contracts.place(error.instance_path)
    told = f"{where}: {error.message}" if where else str(error.message)
    alternatives = getattr(error.kind, "context", None) or []
    firsts = [_reason(branch[0]) for branch in alternatives[:_ALTERNATIVES] if branch]
    return f"{told} ({'; '.join(firsts)})" if firsts else told
