"""What can be read whole: the rules, a task, its payload or output, a dag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from dibs.errors import NotFound
from dibs.mcp import answers
from dibs.priming import OVER_MCP, primer

if TYPE_CHECKING:
    from dibs.queue import Queue

RULES = "dibs://rules"
TEMPLATES = (
    ("dibs://task/{id}", "task", "A task in full, with its attempts"),
    ("dibs://task/{id}/{part}", "part", "Its output, payload, context or decision alone"),
    ("dibs://dag/{id}", "dag", "A graph: its tasks and edges"),
)
PARTS = ("output", "payload", "context", "decision")
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
    if parts.scheme == "dibs" and parts.netloc == "dag" and len(names) == 1:
        return answers.text(await queue.get_dag(names[0])), JSON
    shapes = ", ".join(template for template, _, _ in TEMPLATES)
    raise NotFound(f"There is no resource {uri:.200}; there are {RULES}, {shapes}.", field="uri")
