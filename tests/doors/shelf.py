"""All stories: a module for each topic below `stories`, with its own in `STORIES`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.doors.story import Story

_STORIES = Path(__file__).parent / "stories"


def by_topic() -> dict[str, tuple[Story, ...]]:
    """The stories of each topic."""
    topics = sorted(path.stem for path in _STORIES.glob("*.py"))
    return {topic: import_module(f"tests.doors.stories.{topic}").STORIES for topic in topics}


def every() -> list[Story]:
    """All stories, topic by topic."""
    return [story for stories in by_topic().values() for story in stories]
