"""How times, spans, statuses and values are put into words. Pure: `now` is passed in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.cli.output import clean, clean_block

if TYPE_CHECKING:
    from datetime import datetime

    from dibs.model.event import Event
    from dibs.model.task import Task

# One colour and one sign for each status, everywhere.
STYLES = {
    "pending": "bright_black",
    "scheduled": "bright_blue",
    "ready": "cyan",
    "claimed": "yellow",
    "running": "yellow",
    "validating": "yellow",
    "waiting": "magenta",
    "retrying": "dark_orange3",
    "completed": "green",
    "dead_lettered": "red",
    "failed": "red",
    "cancelled": "bright_black",
    "active": "green",
    "draining": "yellow",
    "offline": "bright_black",
    "lost": "red",
}
SIGNS = {
    "pending": "○",
    "scheduled": "◷",
    "ready": "◎",
    "claimed": "◐",
    "running": "●",
    "validating": "●",
    "waiting": "?",
    "retrying": "↻",
    "completed": "✓",
    "dead_lettered": "✗",
    "failed": "✗",
    "cancelled": "⊘",
    "active": "●",
    "draining": "◐",
    "offline": "○",
    "lost": "✗",
}


def span(seconds: float) -> str:
    """A duration as people say it: `0.4s`, `12s`, `3m 05s`, `2h 10m`, `4d 3h`."""
    if seconds < 0:
        return "0s"
    if seconds < 10:
        return f"{seconds:.1f}s"
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    if whole < 86_400:
        return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
    return f"{whole // 86_400}d {whole % 86_400 // 3600}h"


def relative(instant: datetime | None, now: datetime) -> str:
    """An instant seen from now: `3m ago`, `in 2h`, `now`."""
    if instant is None:
        return ""
    seconds = (now - instant).total_seconds()
    if abs(seconds) < 1:
        return "now"
    # What was in 2 h a second ago is still: only what has passed is rounded down.
    return f"{_rough(seconds)} ago" if seconds > 0 else f"in {_rough(-seconds * 1.01)}"


def due(instant: datetime | None, now: datetime) -> str:
    """An instant that is waited for: `in 2h`; once it has passed, `due`: whoever looks after the store takes it up."""
    return "due" if instant is not None and instant <= now else relative(instant, now)


def absolute(instant: datetime | None) -> str:
    """An instant as programs write it."""
    return "" if instant is None else instant.isoformat().replace("+00:00", "Z")


def _rough(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"


def number(value: float | None) -> str:
    """A number without needless zeros."""
    return "" if value is None else f"{value:g}"


def usd(value: float | None) -> str:
    """Money; unknown is said to be unknown, never 0."""
    return "unknown" if value is None else f"${value:,.4f}".rstrip("0").rstrip(".") if value else "$0"


def cost(known: float | None, unpriced: int = 0) -> str:
    """What is known to have been spent, and of how many attempts nobody knows: `$1.2`, `≥ $1.2, 3 unpriced`."""
    if not unpriced:
        return "" if known is None else usd(known)
    return f"≥ {usd(known or 0)}, {unpriced:,} unpriced"


def percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def title_of(task: Task) -> str:
    """What a person would call the task: its title, else its ref, else the beginning of its payload."""
    if task.title:
        return clean(task.title)
    if task.ref:
        return clean(task.ref)
    return brief(task.payload)


def brief(value: Any, longest: int | None = 60) -> str:
    """The beginning of a value, on one line; all of it when `longest` is None."""
    if value is None:
        return ""
    if not isinstance(value, str):
        from msgspec import json

        value = json.encode(value).decode()
    text = clean(value)
    return text if longest is None or len(text) <= longest else text[: longest - 1] + "…"


def pretty(value: Any) -> str:
    """A JSON value over several lines, nothing in it that could steer a terminal."""
    from msgspec import json

    return clean_block(json.format(json.encode(value), indent=2).decode())


def ended_at(task: Task) -> datetime | None:
    """When it reached its final status."""
    return task.completed_at or task.dead_lettered_at or task.cancelled_at


def elapsed(task: Task, now: datetime) -> str:
    """How long the running or the last attempt has taken; empty when none began."""
    begun = task.started_at or task.claimed_at
    end = now if task.status in ("claimed", "running") else ended_at(task)
    if begun is None or end is None or end < begun:
        return ""
    return span((end - begun).total_seconds())


def about_event(event: Event, longest: int | None = 60) -> str:
    """What an event says beyond its type and task, on one line."""
    parts = [event.agent or str(event.data.get("by") or ""), event.reason or ""]
    progress, note, error = (event.data.get(name) for name in ("progress", "note", "error"))
    if isinstance(progress, (int, float)):
        parts.append(percent(progress))
    parts.append(brief(note, longest))
    parts.append(first_line(error, longest) if isinstance(error, str) else brief(error, longest))
    return clean(" · ".join(part for part in parts if part))


def first_line(text: str | None, longest: int | None = 60) -> str:
    """An error in a word: the beginning of its first line; all of it when `longest` is None."""
    return brief(text if longest is None or text is None else text.partition("\n")[0], longest)
