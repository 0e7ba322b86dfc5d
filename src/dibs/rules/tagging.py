"""Changing the tags of a task that exists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.errors import Invalid
from dibs.rules.validation import MAX_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence


def retagged(tags: Sequence[str], add: Sequence[str], remove: Sequence[str]) -> tuple[str, ...]:
    """The tags that a task has then, sorted; what is both added and removed stays. Invalid, field `add`, if there are
    too many."""
    found = sorted((set(tags) - set(remove)) | set(add))
    if len(found) > MAX_NAMES:
        raise Invalid(f"A task has at most {MAX_NAMES} tags; this one would have {len(found)}.", field="add")
    return tuple(found)
