"""A server as its clients see it: asked, asked again where that does no harm, and heard out.

An answer that is an error is raised as the error it is. What keeps the server from answering at all is Unavailable,
once everything was tried (`rules.repeating`).
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from msgspec import DecodeError

from dibs.errors import DibsError, NotFound
from dibs.model.ids import new_id
from dibs.remote import readers, trouble, values
from dibs.remote.exchange import Answer, Request, Unanswered, Unheard
from dibs.rules import repeating
from dibs.wire.topics.about import API, MARK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.remote.address import Address
    from dibs.remote.exchange import Line
    from dibs.wire.verbs import Verb

ANSWER_S = 60.0
"""How long an answer may take."""

ABOUT_THE_SAME_S = 2.0
"""Clocks that differ by no more than this cannot be told apart by headers."""

ADDS_UP = frozenset(
    {
        *("cancel", "clear_escalation", "log", "prune", "raise_budget", "resume", "retry", "review", "review_many"),
        *(
            "remove_budget",
            "remove_hook",
            "remove_rate",
            "remove_report",
            "remove_schedule",
            "remove_trigger",
            "sweep_artifacts",
        ),
        *("add_hook", "create_token", "prune_audit", "replay_hook", "rotate_hook", "rotate_token", "test_hook"),
        *("cancel_found", "retry_found", "create_login"),
    }
)
"""What is not said again when it may have been heard: it would add up, or be answered otherwise the second time."""


class Server:
    """One server, over one line."""

    def __init__(self, address: Address, line: Line, token: str | None, *, patience_s: float) -> None:
        self.address = address
        self.line = line
        self._patience_s = patience_s
        self._token = token
        self._known = False
        self.ahead_us = 0
        """By how much the server's clock is ahead of the one here, as far as that can be told."""
        self.headers = {
            "accept": "application/json",
            "user-agent": "dibs",
            **({} if token is None else {"authorization": f"Bearer {token}"}),
        }

    def over(self, line: Line, *, patience_s: float | None = None) -> Server:
        """The same server over another line."""
        patience = self._patience_s if patience_s is None else patience_s
        other = Server(self.address, line, self._token, patience_s=patience)
        other._known = self._known
        return other

    async def ask(self, verb: Verb, parameters: Mapping[str, Any], *, wait_s: float = 0.0, **options: Any) -> Any:
        """What a verb answers. `wait_s`: how long the server was asked to wait."""
        answer = await self.answer(verb, parameters, wait_s=wait_s, **options)
        return self.read(verb, answer)

    async def answer(
        self, verb: Verb, parameters: Mapping[str, Any], *, wait_s: float = 0.0, safe: bool | None = None
    ) -> Answer:
        """The answer to a verb, unread. An error is raised. `safe`: whether it may be said twice, if that is known."""
        request = self.request(verb, parameters)
        request.patience_s = ANSWER_S + wait_s
        if safe is None:
            safe = verb.name not in ADDS_UP
        return await self.send(request, safe=safe)

    def request(self, verb: Verb, parameters: Mapping[str, Any]) -> Request:
        """A verb as a request; the same one is sent again if need be, with the same key."""
        path = verb.path
        rest = dict(parameters)
        for name in verb.in_path:
            path = path.replace(f"{{{name}}}", values.in_path(name, rest.pop(name)))
        headers = dict(self.headers)
        if verb.once:
            headers["idempotency-key"] = new_id("call")
        if verb.in_query:
            return Request(verb.method, path + values.query_of(rest, {**verb.needs, **verb.takes}), None, headers)
        headers["content-type"] = "application/json"
        return Request(verb.method, path, values.body_of(rest), headers)

    async def send(self, request: Request, *, safe: bool) -> Answer:
        """The answer to a request, however often it takes to ask. Raises the error that the answer is."""
        began, tries = time.monotonic(), 0
        while True:
            asked_s: float | None = None
            try:
                answer = await self.line.send(request)
                verdict = self._judge(answer)
                if verdict is None:
                    return answer
                error, asked_s, heard = verdict
                if asked_s is None:
                    raise error
            except Unheard as failure:
                heard, error = False, trouble.unheard(failure.__cause__, self.address)
            except Unanswered as failure:
                said = trouble.unanswered if safe else trouble.in_doubt
                heard, error = True, said(failure.__cause__, self.address)
            waited_s = time.monotonic() - began
            if not repeating.is_made_again(
                heard=heard, safe=safe, known=self._known, waited_s=waited_s, patience_s=self._patience_s
            ):
                raise error
            await self.line.pause(repeating.pause_s(tries, _draw(), asked_s))
            tries += 1

    def _judge(self, answer: Answer) -> tuple[DibsError, float | None, bool] | None:
        """The error that an answer is, if it is one; after how many seconds to ask again, if that is what it means; and
        whether the request may have been done all the same."""
        from dibs.wire.problems import raised_from

        version = answer.headers.get(MARK.lower())
        if version is None:
            # Of these the first is said before anybody was asked.
            away = {503: 0.0, 502: 0.0, 504: 0.0}.get(answer.status)
            return trouble.no_dibs(answer, self.address), away, answer.status != 503
        if not self._known:
            self._known = True
            self.ahead_us = _ahead_us(answer.headers.get("date"))
        if version != str(API):
            return trouble.newer(version, self.address), None, False
        if answer.status < 400:
            return None
        error = raised_from(answer.status, answer.body)
        if isinstance(error, NotFound) and error.field == "path":
            return trouble.older(self.address), None, False
        if error.code == "no_token":
            return trouble.no_token(self.address), None, False
        asked = answer.headers.get("retry-after")
        if answer.status == 429 and asked is not None:
            # It has too much to do, and did nothing. A store that is away it has waited for itself.
            return error, float(asked) if asked.isdigit() else 1.0, False
        return error, None, False

    def read(self, verb: Verb, answer: Answer) -> Any:
        """What an answer says."""
        try:
            return readers.reader(verb)(answer.body)
        except (DecodeError, RecursionError) as error:
            raise trouble.unreadable(self.address, error) from error

    async def close(self) -> None:
        await self.line.close()


def _ahead_us(date: str | None) -> int:
    """How far ahead a clock is whose second this was a moment ago; 0 where it is about the same."""
    from email.utils import parsedate_to_datetime

    try:
        ahead_s = parsedate_to_datetime(date or "").timestamp() - time.time()
    except ValueError:
        return 0
    return round(ahead_s * 1_000_000) if abs(ahead_s) > ABOUT_THE_SAME_S else 0


def _draw() -> float:
    return int.from_bytes(os.urandom(6)) / 2**48
