"""What a client asks first: whether this is a dibs server, which, and who the client is to it."""

from __future__ import annotations

from msgspec import Struct, field

from dibs.model.role import EVERYONE, Role
from dibs.wire.verbs import Verb

API = 1
"""Grows when a client that knows the number before could not work any more."""

MARK = "Dibs-Api"
"""The header of every answer of a server, errors included, with the number of its api: by it clients know that this is
a dibs server, and whether they understand it."""


class About(Struct, kw_only=True):
    """The server: its `version`, the number of its `api`, its clock (`now`, micros) and what it takes at most.

    The caller: its `name` and `role`, the `project` it sees, the `types` it may work on (null: any).
    """

    dibs: str
    api: int = API
    now: int = 0
    schema_version: int | None = None
    name: str = ""
    role: Role = Role.VIEWER
    project: str = "default"
    types: list[str] | None = None
    limits: dict[str, float] = field(default_factory=dict)


VERBS = (
    Verb(
        name="about",
        method="GET",
        path="/v1/about",
        roles=EVERYONE,
        about="The server, and who you are to it.",
        reply=About,
    ),
)
