"""How one verb goes over HTTP.

The rule: a verb's parameters have the same names on the wire. Those in braces in `path` are in the path; those of a
GET or DELETE in the query; all others in one JSON object. A `claim` is the `task_id` in the path and its `fence`.
Durations are seconds or `"5m"`, instants ISO 8601, as in the shell. The answer is what the verb returns, as `--json`
prints it; an item of a batch that was refused is a `Refusal` in its place. Whatever is wrong with a value is for the
verb itself to say, so that it is said in the same words everywhere.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from dibs.model.role import Role

Duration = float | str
"""Seconds, or a text such as `90s`, `5m`, `2h`."""
Moment = float | str
"""An instant (ISO 8601 with a zone), or a duration from now."""


class Verb(Struct, frozen=True, kw_only=True):
    """A verb and its route.

    `needs` and `takes` name the parameters that are not in the path, with the types that OpenAPI shows; those in
    `needs` must be given. `batch`: `reply` is a list, and an item that was refused is a `Refusal` in its place.
    `or_reply`: what it answers about a type instead. `sends` and `answers` tell a stream of bytes from JSON. `roles`
    are those who may ask at all; what each of them may ask about is decided where it is served. `acts`: what it does is
    recorded in the audit, not only its refusal. `once`: it takes an Idempotency-Key. `edits`: it takes If-Match,
    because two people may change the same thing. `waits`: it may take long on purpose. `about` is for OpenAPI, one
    sentence.
    """

    name: str
    method: str
    path: str
    roles: frozenset[Role]
    about: str
    needs: dict[str, Any] = field(default_factory=dict)
    takes: dict[str, Any] = field(default_factory=dict)
    reply: Any = None
    or_reply: Any = None
    batch: bool = False
    status: int = 200
    sends: str = "json"
    answers: str = "json"
    acts: bool = False
    once: bool = False
    edits: bool = False
    waits: bool = False

    @property
    def in_path(self) -> tuple[str, ...]:
        """The names in braces, in their order."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    @property
    def in_query(self) -> bool:
        """Whether its parameters are in the query."""
        return self.method in ("GET", "DELETE") or self.sends == "bytes"

    @property
    def holds(self) -> bool:
        """Whether it is for whoever holds a task, proven by the fence."""
        return "fence" in self.needs and "task_id" in self.in_path


class Refusal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An item of a batch that was refused: `code`, `message` and `field` of its error."""

    code: str
    message: str
    field: str | None = None
