"""A server asked as anybody would, and all of what came back."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.doors import requests

OF_THE_TIME = frozenset({"content-length", "date", "server", "x-request-id"})
"""Headers that tell of the moment or the length of what is masked, or of another program."""

ROLES = ("admin", "orchestrator", "agent", "viewer")


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: Any

    @property
    def seen(self) -> dict[str, Any]:
        """What a program notes of it. A bare number counts what others did there, too."""
        body = "(a number)" if type(self.body) is int else self.body
        return {"status": self.status, "headers": self.headers, "body": body}


class Client:
    """Asks one server, each request on a connection of its own."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._place = parts.hostname, parts.port
        self.token = token
        self.description = self.ask("GET", "/v1/openapi.json").body
        self.operations = requests.operations(self.description)

    def ask(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        *,
        token: str | None = "",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """One request; with the admin's token unless another one, or none, is given."""
        sent = dict(headers or {})
        if token is not None:
            sent.setdefault("Authorization", f"Bearer {token or self.token}")
        connection = http.client.HTTPConnection(*self._place, timeout=20)
        try:
            connection.request(method, target, body=body, headers=sent)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, {k: v for k, v in found.items() if k not in OF_THE_TIME}, _read(answer, found))
        finally:
            connection.close()

    def tokens(self, project: str) -> dict[str, str]:
        """A token of each role in a project."""
        made: dict[str, str] = {}
        for role in ROLES:
            body = json.dumps({"name": f"{role} of {project}", "role": role, "project": project}).encode()
            answer = self.ask("POST", "/v1/tokens", body, headers={"Content-Type": "application/json"})
            if answer.status >= 400:
                raise RuntimeError(f"no token: {answer.body}")
            made[role] = answer.body["secret"]
        return made

    def until_acts_are_written(self, admin: str) -> None:
        """Wait until no act of this admin's project comes any more: a server writes them down when it has answered."""
        entries, since, until = -1, time.monotonic(), time.monotonic() + 20
        while time.monotonic() < min(since + 1, until):
            found = len(self.ask("GET", "/v1/audit", token=admin).body)
            if found != entries:
                entries, since = found, time.monotonic()
            time.sleep(0.05)

    def call(self, operation: requests.Operation, arguments: dict[str, Any], *, token: str = "") -> Answer:
        """Ask for a verb with these arguments, each where the description says."""
        target, body, kind = operation.request(arguments)
        return self.ask(operation.method, target, body, token=token, headers={"Content-Type": kind} if kind else None)


def _read(answer: http.client.HTTPResponse, headers: dict[str, str]) -> Any:
    if headers.get("content-type", "").startswith("text/event-stream"):
        # It never ends; its first line says what it is.
        return answer.readline().decode()
    found = answer.read()
    if "json" in headers.get("content-type", ""):
        return json.loads(found)
    return found.decode(errors="replace")
