"""The verbs of a queue over HTTP, described once: `verb("claim")` says how it is asked for and what it answers.

The server makes its routes from this table, the client its calls, the tests their walks over routes and roles, and
`docs/openapi.json` is made from it. A topic is loaded when one of its verbs is needed: a command of the shell pays for
its own only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dibs.wire.verbs import Verb

TOPICS = (
    "about",
    "agents",
    "artifacts",
    "audit",
    "budgets",
    "claims",
    "dags",
    "deadletters",
    "events",
    "found",
    "gates",
    "hooks",
    "journal",
    "questions",
    "reports",
    "schedules",
    "stream",
    "tasks",
    "tokens",
    "triggers",
    "upkeep",
)


def of(topic: str) -> tuple[Verb, ...]:
    """The verbs of a topic, in the order of its module."""
    from importlib import import_module

    found: tuple[Verb, ...] = import_module(f"dibs.wire.topics.{topic}").VERBS
    return found


def every() -> list[Verb]:
    """All verbs, topic by topic."""
    return [verb for topic in TOPICS for verb in of(topic)]


def verb(name: str, topic: str | None = None) -> Verb:
    """The verb of this name; where it has several paths, the first. `topic`: where it is, if that is known."""
    for home in TOPICS if topic is None else (topic,):
        for found in of(home):
            if found.name == name:
                return found
    raise LookupError(f"no verb {name!r} goes over the wire")
