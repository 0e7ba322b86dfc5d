"""`{payload.key}` and its like inside a command's arguments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.json import encode

from dibs.worker.outcomes import Fail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.task import Task

_PLACE = re.compile(r"\{(payload(?:\.[^{}.]+)+|prompt|id|title|type)\}")


def fill(argv: Sequence[str], task: Task) -> list[str]:
    """The arguments with places replaced; each stays one argument. Other braces stay as they are.

    Text is inserted as it is, other values as JSON. A missing key: `Fail` with `invalid_input`, naming the place.
    """
    return [_PLACE.sub(lambda match: _value(match.group(1), task), argument) for argument in argv]


def _value(place: str, task: Task) -> str:
    found: Any
    if place in ("id", "title", "type"):
        found = getattr(task, place)
        if found is None:
            raise _missing(place, "has no title")
    else:
        found = task.payload
        for key in ("payload.prompt" if place == "prompt" else place).split(".")[1:]:
            if not isinstance(found, dict) or key not in found:
                raise _missing(place, f"lacks {key!r} in its payload")
            found = found[key]
    return found if isinstance(found, str) else encode(found).decode()


def _missing(place: str, why: str) -> Fail:
    return Fail(f"the command needs {{{place}}}, but the task {why}.", reason="invalid_input", retry=False)
