"""Understanding a program line by line: what it does, what it has used, what it answered, and why it failed.

A reader keeps a bounded amount whatever the program writes, and no line can make it fail: what is no JSON, or JSON of
another shape, is counted and passed over. Programs gain new kinds of lines with every release; those are passed over,
too. Totals only grow.
"""

from __future__ import annotations

from typing import Any

from msgspec import DecodeError, Struct
from msgspec.json import decode

from dibs.presets.limited import limit_in

MAX_TEXT_CHARS = 1_000_000
"""Of a longer answer the end is kept: what an agent says last is its result."""
MAX_NOTE_CHARS = 300
MAX_SESSION_CHARS = 200


class Used(Struct):
    """Totals of one run. None is unknown, which is not zero. Tokens of a cache are part of `tokens_in`."""

    usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    tokens_cache_written: int | None = None
    turns: int | None = None
    model: str | None = None


class Failure(Struct, frozen=True):
    """Why a run is no success. `retry_after`: in so many seconds it makes sense again."""

    error: str
    reason: str = "error"
    retry: bool = True
    retry_after: float | None = None


class Reader:
    """The state of one run. `read` takes a line; the attributes are what is known by then.

    `text`: the answer. `value`: the answer as JSON, where the program says it so. `note`: what it does now. `progress`:
    how much of its own plan is done. `finished`: it said that it is done. `failure`: it said that it failed; a program
    that goes on after all takes that back. `broken`: how many lines made no sense.
    """

    def __init__(self) -> None:
        self._said: list[str] = []
        self._chars = 0
        self.value: Any = None
        self.note: str | None = None
        self.progress: float | None = None
        self.session: str | None = None
        self.used = Used()
        self.finished = False
        self.failure: Failure | None = None
        self.lines = 0
        self.broken = 0

    def read(self, line: bytes, now: int) -> str | None:
        """Take in one line; what it means in a line for people, None if that is nothing. `now` is in micros."""
        self.lines += 1
        if not line.strip():
            return None
        try:
            event = decode(line)
        except (DecodeError, UnicodeDecodeError, RecursionError):
            self.broken += 1
            return None
        if not isinstance(event, dict):
            self.broken += 1
            return None
        said = self.event(event, now)
        if said is not None:
            said = one_line(said)
            self.note = said or self.note
        return said or None

    def skip(self) -> None:
        """A line that was too long to be read."""
        self.lines += 1
        self.broken += 1

    def event(self, event: dict[str, Any], now: int) -> str | None:
        """What one event means."""
        raise NotImplementedError

    def ended(self, code: int, complaint: str, now: int) -> Failure | None:
        """Why the run is no success, now that the program has left; None: it is. `complaint`: the end of its stderr."""
        if self.failure is not None:
            return self.failure
        if code != 0:
            said = complaint or self.text[-2_000:].strip() or "it said nothing"
            return limit_in(said, now) or Failure(f"it ended with exit code {code}: {said}")
        if not self.finished:
            return Failure("it ended without an answer" + (f": {complaint}" if complaint else ""))
        return None

    @property
    def text(self) -> str:
        """The answer so far."""
        if len(self._said) > 1:
            self.say("".join(self._said))
        return self._said[0] if self._said else ""

    def say(self, text: str) -> None:
        """This is the answer so far."""
        self._said = [text[-MAX_TEXT_CHARS:]]
        self._chars = len(self._said[0])

    def add(self, text: str) -> None:
        """The answer goes on. What is too much is cut away now and then: each time would copy all of it each time."""
        self._said.append(text)
        self._chars += len(text)
        if self._chars > 2 * MAX_TEXT_CHARS:
            self.say("".join(self._said))

    def total(self, **totals: Any) -> None:
        """What was used by now. A smaller total than before is of something else, and is passed over."""
        for name, value in totals.items():
            if name == "model":
                self.used.model = text_of(value) or self.used.model
                continue
            number = count_of(value) if name != "usd" else amount_of(value)
            before = getattr(self.used, name)
            if number is not None and (before is None or number > before):
                setattr(self.used, name, number)

    def plan(self, done: int, of: int) -> None:
        """So many of the steps of its own plan are done."""
        if of > 0:
            self.progress = min(done / of, 1.0)


def at(value: Any, *path: str | int) -> Any:
    """What lies at this path of keys and indexes; None if there is nothing."""
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and -len(value) <= step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def items_at(value: Any, *path: str | int) -> list[Any]:
    """The list at this path; empty if there is none."""
    found = at(value, *path)
    return found if isinstance(found, list) else []


def text_of(value: Any) -> str:
    """The text, if it is one."""
    return value if isinstance(value, str) else ""


def count_of(value: Any) -> int | None:
    """A number of things: whole, and not below zero."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        return None
    return int(value)


def amount_of(value: Any) -> float | None:
    """An amount that is not below zero."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        return None
    return float(value)


def one_line(text: str) -> str:
    """A text as one short line."""
    # What is cut away need not be looked at.
    flat = " ".join(text[: MAX_NOTE_CHARS * 4].split())
    return flat if len(flat) <= MAX_NOTE_CHARS else f"{flat[: MAX_NOTE_CHARS - 1]}…"


def tool(name: Any, given: Any) -> str:
    """A call of a tool in a few words: its name, and the argument that tells most."""
    title = text_of(name) or "a tool"
    for key in ("command", "file_path", "filePath", "path", "pattern", "url", "query", "description", "prompt"):
        said = at(given, key)
        if isinstance(said, str) and said:
            return f"{title}: {said}"
    return title


def todo_progress(todos: list[Any]) -> tuple[int, int]:
    """How many of a plan's steps are done, of how many."""
    done = sum(1 for each in todos if at(each, "status") == "completed" or at(each, "completed") is True)
    return done, len(todos)
