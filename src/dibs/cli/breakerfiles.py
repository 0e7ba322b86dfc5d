"""Settings of circuit breakers written in a file: `dibs.toml`, the same as YAML or JSON, or Loki's own YAML.

    [breakers.defaults]            # every type without settings of its own
    failure_threshold = 5
    [breakers.code]
    half_open_after_s = "2m"

A setting nobody knows is refused, never ignored, and so is a file that says nothing about breakers.
"""

from __future__ import annotations

from typing import Any

from dibs.cli.values import MAX_BYTES, read_file
from dibs.errors import Invalid
from dibs.rules.breaker import EVERY, override_of

FIELDS = ("failure_threshold", "cooldown_s", "half_open_after_s", "enabled")


def read_settings(path: str) -> dict[str, dict[str, Any]]:
    """What to set for each type, all of it checked; `*` first."""
    content = read_content(path)
    if not isinstance(content, dict) or not ({"breakers", "defaults", "overrides"} & content.keys()):
        raise Invalid(f"{path} says nothing about breakers: write [breakers.TYPE] with their settings", field="file")
    written = _ours(content["breakers"], path) if "breakers" in content else _lokis(content, path)
    for type, options in written.items():
        try:
            override_of(type, **options)
        except Invalid as error:
            raise Invalid(f"{path}: {type}: {error.message}", field=error.field) from None
    return dict(sorted(written.items(), key=lambda item: item[0] != EVERY))


def read_content(path: str, field: str = "file") -> Any:
    """What a TOML, YAML or JSON file says; `field` is the option that named it."""
    content = read_file(path, field)
    if len(content) > MAX_BYTES:
        raise Invalid(f"the file has more than {MAX_BYTES:,} bytes", field=field, code="too_large")
    if not path.endswith(".toml"):
        from dibs.cli.taskfiles import parse_yaml

        return parse_yaml(content)
    import tomllib

    try:
        return tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"{path} is not TOML: {error}", field=field) from None


def _ours(breakers: Any, path: str) -> dict[str, dict[str, Any]]:
    if not isinstance(breakers, dict):
        raise Invalid(f"{path}: breakers must be an object: type: settings", field="breakers")
    written: dict[str, dict[str, Any]] = {}
    for name, settings in breakers.items():
        if not isinstance(settings, dict):
            raise Invalid(f"{path}: the settings of {name} must be an object", field="breakers")
        for setting in settings:
            if setting not in FIELDS:
                known = ", ".join(FIELDS)
                raise Invalid(
                    f"{path}: {name} has the setting {setting!r}, which is none of {known}", field=str(setting)
                )
        type = EVERY if name == "defaults" else str(name)
        if type in written:
            raise Invalid(f"{path}: defaults and * are the same; write one of them", field="breakers")
        written[type] = settings
    return written


def _lokis(content: dict[str, Any], path: str) -> dict[str, dict[str, Any]]:
    from dibs.loki.breakers import read_breakers, settings_of

    return settings_of(read_breakers(content, path), path)
