"""What can be read whole: the rules, a task, its payload or output, a dag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from msgspec.json import decode

from dibs.errors import NotFound
from dibs.mcp import answers
from dibs.priming import OVER_MCP, primer

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.queue import Queue

RULES = "dibs://rules"
TEMPLATES = (
    ("dibs://task/{id}", "task", "A task in full, with its attempts"),
    ("dibs://task/{id}/{part}", "part", "Its output, payload, context, decision, checkpoint or what was made alone"),
    ("dibs://dag/{id}", "dag", "A graph: its tasks and edges"),
)
PARTS = ("output", "payload", "context", "decision")
NOTED: dict[str, Callable[[Any], Any]] = {"checkpoint": lambda value: value, "made": lambda value: value["output"]}
"""What is in the journal of a task, and how it is told."""
JSON, MARKDOWN, PLAIN = "application/json", "text/markdown", "text/plain"


async def read(queue: Queue, uri: str) -> tuple[str, str]:
    """The text of a resource and its media type. Raises NotFound."""
    if uri == RULES:
        return primer(OVER_MCP), MARKDOWN
    parts = urlsplit(uri)
    names = [unquote(name) for name in parts.path.split("/")[1:]]
    if parts.scheme == "dibs" and parts.netloc == "task" and len(names) in (1, 2):
        task = await queue.get(names[0])
        if len(names) == 1:
            return answers.text({"task": task, "history": await queue.history(task.id)}), JSON
        if names[1] in PARTS:
            value: Any = getattr(task, names[1])
            return (value, PLAIN) if isinstance(value, str) else (answers.text(value), JSON)
        if names[1] in NOTED:
            return await _noted(queue, task.id, names[1])
    if parts.scheme == "dibs" and parts.netloc == "dag" and len(names) == 1:
        return answers.text(await queue.get_dag(names[0])), JSON
    shapes = ", ".join(template for template, _, _ in TEMPLATES)
    raise NotFound(f"There is no resource {uri:.200}; there are {RULES}, {shapes}.", field="uri")


async def _noted(queue: Queue, task_id: str, kind: str) -> tuple[str, str]:
    found = [entry.value for entry in await queue.journal(task_id) if entry.kind == kind]
    value = NOTED[kind](decode(found[-1])) if found else None
    return (value, PLAIN) if isinstance(value, str) else (answers.text(value), JSON)
