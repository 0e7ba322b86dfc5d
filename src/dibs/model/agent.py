"""Who claims: what an agent was registered with, which process it is, and the words for how it stands.

`views.Agent` is an agent as it is shown.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class AgentStatus(StrEnum):
    """How an agent stands. `rules.agents` says when it is which."""

    ACTIVE = "active"
    DRAINING = "draining"
    OFFLINE = "offline"
    LOST = "lost"


class Registered(Struct, frozen=True, omit_defaults=True):
    """What an agent was registered with; it holds for every claim of that agent until it is registered again."""

    type: str | None = None
    capabilities: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    max_concurrent: int | None = None


class Process(Struct, frozen=True, omit_defaults=True):
    """The process behind an agent, as it says itself. `concurrency` is what it does at once; nothing enforces it."""

    version: str | None = None
    host: str | None = None
    pid: int | None = None
    poll_s: float | None = None
    concurrency: int | None = None
