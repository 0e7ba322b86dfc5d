"""What `circuit-breakers.yaml` says. An import tells of it and does not apply it; `dibs breaker apply` does. Pure."""

from __future__ import annotations

from typing import Any

from dibs.errors import Invalid
from dibs.rules import validation

FILE = "circuit-breakers.yaml"

_SETTINGS = ("failureThreshold", "cooldownSeconds", "halfOpenAfter")
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
