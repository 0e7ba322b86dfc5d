"""What one task hands to the next: its output, or a reference where that would make a claim too heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.json import decode

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_INPUT_BYTES = 1 << 20
"""Outputs above this are named in a claim's inputs instead of carried."""


def as_input(task_id: str, output: str | bytes | None) -> Any:
    """An output (JSON) as the value of an input; a large one is `{"ref": "task:ID:output"}`."""
    if output is None:
        return None
    # A text is measured in bytes only where that could make the difference.
    if len(output) * 4 > MAX_INPUT_BYTES and isinstance(output, str):
        output = output.encode()
    return {"ref": f"task:{task_id}:output"} if len(output) > MAX_INPUT_BYTES else decode(output)


def by_name(parents: Iterable[tuple[str, str | None, str | bytes | None]]) -> dict[str, Any]:
    """The outputs of tasks (id, ref, output) as inputs, keyed by ref; by id where there is none.

    Refs are unique only within the call that added them: of several tasks with one ref the first has it, and the
    others go by their ids. A ref that reads like the id of another of these tasks is not used either.
    """
    known = {task_id: (ref, output) for task_id, ref, output in parents}
    taken = set(known)
    inputs = {}
    for task_id, (ref, output) in known.items():
        name = task_id if not ref or ref in taken else ref
        taken.add(name)
        inputs[name] = as_input(task_id, output)
    return inputs
