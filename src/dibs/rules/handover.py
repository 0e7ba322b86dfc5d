"""What one task hands to the next: its output, or a reference where that would make a claim too heavy."""

from __future__ import annotations

from typing import Any

from msgspec.json import decode

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
