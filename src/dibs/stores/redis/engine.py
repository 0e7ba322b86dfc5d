"""Connections to the server: a line at a time for whoever needs one, made again when it is lost."""

from __future__ import annotations

import os
import time
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from redis import exceptions

from dibs.errors import Unavailable
from dibs.stores.redis import opening, trouble
from dibs.stores.redis.scripting import Script, script
from dibs.stores.redis.talking import Talk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dibs.stores.redis.address import Address
    from dibs.stores.redis.keys import Keys
    from dibs.stores.redis.reading import Command

T = TypeVar("T")

GIVE_UP_S = 30.0
"""How long a verb waits for a server that is away."""
ANSWER_S = 60.0
"""How long a server may take for one answer."""


class Line:
    """One connection, in the hands of one step."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self.is_in_doubt = False
        """Whether a script was sent that may have been run, and nobody has said so."""

    def send(self, commands: Sequence[Command]) -> list[Any]:
        """Ask several things in one round trip. An error is raised when all are read."""
        answers = self._talk.ask(commands)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def call(self, script: Script, keys: Sequence[str], arguments: Sequence[str | bytes | int | float]) -> Any:
        """Run a script; where the server has forgotten it, send it again."""
        self.is_in_doubt = True
        try:
            try:
                answer = self.send([("EVALSHA", script.digest, len(keys), *keys, *arguments)])[0]
            except exceptions.NoScriptError:
                answer = self.send([("EVAL", script.text, len(keys), *keys, *arguments)])[0]
        except exceptions.ResponseError:
            # It was refused; a script looks before it writes.
            self.is_in_doubt = False
            raise
        self.is_in_doubt = False
        return answer


class Engine:
    """The lines to the server that has the keys of one namespace."""

    def __init__(self, address: Address, keys: Keys) -> None:
        self.address = address
        self._keys = keys
        self._host: tuple[str, int] | None = None
        self._pid = 0
        self._idle: deque[Talk] = deque()
        self.seen: opening.Seen | None = None
        self.warnings: tuple[str, ...] = ()
        self.closed = False

    def connect(self) -> None:
        """Find the server, check that it will do, and make the namespace ready."""
        try:
            with self.line():
                pass
        except exceptions.RedisError as error:
            # It was found, and is lost since.
            if trouble.is_loss(error) or trouble.is_passing(error):
                raise trouble.away(error, self.address) from error
            raise

    @contextmanager
    def line(self) -> Iterator[Line]:
        """A connection that has been greeted; it is put back unless something went wrong."""
        if self.closed:
            raise Unavailable("This store is closed: open it again.")
        talk = self._take()
        try:
            yield Line(talk)
        except BaseException:
            # Whatever is on its way would be read as the answer to the next command.
            talk.close()
            raise
        self._idle.append(talk)

    def _take(self) -> Talk:
        if self._pid != os.getpid():
            # After a fork these are the parent's.
            self._pid, self._idle = os.getpid(), deque()
        return self._idle.pop() if self._idle else self.new_talk()

    def new_talk(self, answer_s: float = ANSWER_S) -> Talk:
        """A connection that has been greeted, and that nobody else knows of."""
        connection = self._connection(answer_s)
        try:
            connection.connect()
            talk = Talk(connection, answer_s)
            self._greet(Line(talk))
        except BaseException:
            connection.disconnect()
            raise
        return talk

    def _find(self) -> tuple[str, int]:
        """Where the server is that has the keys."""
        opened = opening.opened(self.address, meta=self._keys.meta)
        opened.client.close()
        self._host, self.seen, self.warnings = opened.host, opened.seen, opened.warnings
        return opened.host

    def look(self) -> opening.Seen:
        """What the server says of itself just now."""
        self.run(lambda _: None)  # finds it, wherever it has gone
        return opening.look_at(self._host or self._find(), self.address, self._keys.meta)

    def _connection(self, answer_s: float) -> Any:
        """One that is not open yet. Another thread may just have lost the server."""
        host = self._host or self._find()
        return opening.connection(host, self.address, answer_s)

    def _greet(self, line: Line) -> None:
        try:
            facts = line.send([("INFO", "server")])[0]
        except exceptions.ResponseError:
            facts = b""
        run = next((row.split(b":")[1].strip() for row in facts.splitlines() if row.startswith(b"run_id:")), b"")
        line.call(script("greet"), [self._keys.meta], [opening.LAYOUT, run])

    def run(self, work: Callable[[Line], T], *, is_in_doubt: bool = False) -> T:
        """Do something that may be repeated. While the server is away, wait for it. `is_in_doubt`: it may have been
        done before."""
        delay_s, until = 0.02, time.monotonic() + GIVE_UP_S
        while True:
            line = None
            try:
                with self.line() as line:
                    return work(line)
            except Exception as error:
                passing = trouble.is_loss(error) or trouble.is_passing(error) or trouble.is_elsewhere(error)
                if self.closed or not passing:
                    failure = trouble.told(error, self.address)
                    raise failure from failure.__cause__
                is_in_doubt = is_in_doubt or (line is not None and line.is_in_doubt)
                if time.monotonic() > until:
                    failure = (trouble.in_doubt if is_in_doubt else trouble.away)(error, self.address)
                    raise failure from failure.__cause__
                self._host = None
                self.drop()
            time.sleep(delay_s)
            delay_s = min(1.0, delay_s * 2)

    def confirm(self, line: Line) -> None:
        """Wait until what was done so far counts, as the URL wants it: with `wait=` and `aof=`."""
        command = self.address.confirmation
        if command is not None and not self.address.is_confirmed(line.send([command])[0]):
            raise trouble.unconfirmed(self.address)

    def drop(self) -> None:
        """Let go of all lines that nobody uses."""
        while self._idle:
            self._idle.pop().close()

    def close(self) -> None:
        self.closed = True
        self.drop()
