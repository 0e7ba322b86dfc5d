"""What a step has read so far. Everything it sees belongs to one moment, or it must begin again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.stores.redis.engine import Line

    Command = tuple[str | bytes | int | float, ...]


TRIES = 3
"""How often the first look is taken anew, before somebody must ask for quiet."""


class Changed(Exception):
    """Somebody committed something while this step was reading."""


class Reader:
    """Commands that read, each asked once. With every answer comes the version of the namespace: while that is the
    same, all answers are of one moment."""

    def __init__(self, line: Line, meta: str, expected: Sequence[Command] = (), *, strict: bool = True) -> None:
        self._line = line
        self._version = ("HGET", meta, "version")
        self._known: dict[Command, Any] = {}
        self._strict = strict
        # Not in a transaction: a server whose memory is full takes none, not even to read.
        for _ in range(TRIES if strict else 1):
            before, *answers, (seconds, micros), version = line.send(
                [self._version, *expected, ("TIME",), self._version]
            )
            if before == version or not strict:
                break
        else:
            raise Changed
        self._known.update(zip(expected, answers, strict=True))
        self.version: bytes | None = version
        self.time = int(seconds) * 1_000_000 + int(micros)

    @property
    def asked(self) -> list[Command]:
        """All that was read: what the same step will want to know next time."""
        return list(self._known)

    def ask(self, *command: str | bytes | int | float) -> Any:
        """The answer to one command."""
        if command not in self._known:
            self.ask_all([command])
        return self._known[command]

    def ask_all(self, commands: Sequence[Command]) -> list[Any]:
        """The answers to several commands, in one round trip."""
        new = [command for command in dict.fromkeys(commands) if command not in self._known]
        if new:
            *answers, version = self._line.send([*new, self._version])
            if self._strict and version != self.version:
                # What they read is of the past; what they asked for they will want again.
                self._known.update(zip(new, answers, strict=True))
                raise Changed
            self._known.update(zip(new, answers, strict=True))
        return [self._known[command] for command in commands]
