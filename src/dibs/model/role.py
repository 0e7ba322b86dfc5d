"""Who may do what: the four kinds of callers that a server knows."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a token allows. No role includes another one: what each may do is named where it is done."""

    VIEWER = "viewer"
    """Reads; changes nothing."""
    AGENT = "agent"
    """Claims the types of its token and settles what it holds; adds tasks only below a task that it holds."""
    ORCHESTRATOR = "orchestrator"
    """Adds tasks and dags, watches, steers and answers."""
    ADMIN = "admin"
    """Everything, tokens and settings included."""


EVERYONE = frozenset(Role)
"""Any caller with a token."""
WATCHING = frozenset({Role.VIEWER, Role.ORCHESTRATOR, Role.ADMIN})
"""Those who see what others are given, and asked."""
WORKING = frozenset({Role.AGENT, Role.ADMIN})
"""Those who hold tasks."""
STEERING = frozenset({Role.ORCHESTRATOR, Role.ADMIN})
"""Those who say what is to be done."""
OPERATING = frozenset({Role.ADMIN})
"""Those who say how the queue itself works."""
