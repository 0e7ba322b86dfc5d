"""What `circuit-breakers.yaml` says, and writing one. Pure.

Loki's breakers are always on; a file that is brought in switches them on. It has no word for one that is off.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dibs.errors import Invalid
from dibs.rules import validation
from dibs.rules.breaker import EVERY, override_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.closures import Breaker

FILE = "circuit-breakers.yaml"

_SETTINGS = {
    "failureThreshold": "failure_threshold",
    "cooldownSeconds": "cooldown_s",
    "halfOpenAfter": "half_open_after_s",
}
_LARGEST = 1e9


def read_breakers(content: Any, path: str) -> dict[str, Any]:
    """`defaults`, and `overrides` by type; `Invalid` names the file and the setting."""
    content = {} if content is None else content
    if not isinstance(content, dict):
        raise Invalid(f"{path} must hold an object with defaults and overrides.", field="defaults")
    overrides = _object(content.get("overrides"), "overrides", path)
    return {
        "defaults": _settings(content.get("defaults"), "defaults", path),
        "overrides": {str(type): _settings(value, f"overrides.{type}", path) for type, value in overrides.items()},
    }


def settings_of(breakers: dict[str, Any], path: str) -> dict[str, dict[str, Any]]:
    """What `set_breaker` is to be told for each type, `*` first; `Invalid` names the file and the setting."""
    named = {EVERY: breakers["defaults"], **breakers["overrides"]}
    wanted = {
        type: {ours: settings[theirs] for theirs, ours in _SETTINGS.items() if theirs in settings}
        for type, settings in named.items()
    }
    for type, options in wanted.items():
        try:
            override_of(type, **options)
        except Invalid as error:
            raise Invalid(f"{path}: {type}: {error.message}", field=error.field) from None
    return wanted


def written(found: Sequence[Breaker]) -> tuple[bytes | None, list[str]]:
    """The file that says how breakers are set (None: nobody set any), and the types of those that are off, of which it
    cannot speak."""
    own = [breaker for breaker in found if breaker.own]
    on, off = [each for each in own if each.enabled], [each.type for each in own if not each.enabled]
    if not on:
        return None, off
    every = next(breaker for breaker in found if breaker.type == EVERY)
    lines = ["defaults:", *_lines(every, None, "  "), "overrides:"]
    named = [breaker for breaker in on if breaker.type != EVERY]
    for breaker in named:
        lines += [f"  {_quoted(breaker.type)}:", *_lines(breaker, every, "    ")]
    if not named:
        lines[-1] += " {}"
    return ("\n".join(lines) + "\n").encode(), off


def _lines(breaker: Breaker, every: Breaker | None, indent: str) -> list[str]:
    """What is set for it; of a type, what is not as for every type, and its threshold."""
    return [
        f"{indent}{theirs}: {getattr(breaker, ours):g}"
        for theirs, ours in _SETTINGS.items()
        if every is None or theirs == "failureThreshold" or getattr(breaker, ours) != getattr(every, ours)
    ]


def _quoted(type: str) -> str:
    """A type as YAML takes it for a text."""
    from msgspec import json

    return type if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*(-[A-Za-z0-9_]+)+", type) else json.encode(type).decode()


def in_words(breakers: dict[str, Any]) -> str:
    """The settings on one line: `5 failures, ops-security: 3 failures`."""
    named = [("", breakers["defaults"]), *((f"{type}: ", settings) for type, settings in breakers["overrides"].items())]
    return ", ".join(
        f"{name}{settings['failureThreshold']:g} failures" for name, settings in named if "failureThreshold" in settings
    )


def _settings(value: Any, where: str, path: str) -> dict[str, Any]:
    settings = _object(value, where, path)
    for name in _SETTINGS:
        if name in settings:
            try:
                validation.number(settings[name], f"{where}.{name}", 0, _LARGEST)
            except Invalid as error:
                raise Invalid(f"{path}: {error.message}", field=name) from None
    return settings


def _object(value: Any, where: str, path: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Invalid(f"{path}: {where} must be an object.", field=where.partition(".")[0])
    return value
