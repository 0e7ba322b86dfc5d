"""Everything dibs raises, in one tree.

    DibsError
    ├── Invalid                 the request itself is wrong; `.field` names the part at fault
    ├── NotFound                no such task, dag, agent or question
    ├── Conflict                the request was fine, the state of things refuses it
    │   ├── LeaseLost           somebody else holds the task now, or nobody does
    │   ├── IllegalTransition   the task's status does not allow this verb
    │   ├── CycleDetected       the edge would make a task wait for itself
    │   └── KeyReused           the idempotency key belongs to a task with another body
    ├── Denied                  this token may not do that
    └── Unavailable             the store or server cannot be reached or used
        └── Moved               everything is in another store now; `.url` says which

Each error has a stable snake_case `.code` and, where one is at fault, the `.field`.
`exit_code` is what the shell returns for it.
"""

from __future__ import annotations


class DibsError(Exception):
    """The root of everything dibs raises on purpose."""

    code = "error"
    exit_code = 1

    def __init__(self, message: str, *, code: str | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        if code is not None:
            self.code = code


class Invalid(DibsError):
    code = "invalid"
    exit_code = 2


class NotFound(DibsError):
    code = "not_found"
    exit_code = 4


class Conflict(DibsError):
    code = "conflict"
    exit_code = 5


class LeaseLost(Conflict):
    code = "lease_lost"


class IllegalTransition(Conflict):
    code = "illegal_transition"


class CycleDetected(Conflict):
    code = "cycle_detected"


class KeyReused(Conflict):
    code = "key_reused"


class Denied(DibsError):
    code = "denied"
    exit_code = 7


class Unavailable(DibsError):
    code = "unavailable"
    exit_code = 6


class Moved(Unavailable):
    code = "moved"

    def __init__(self, message: str, *, url: str) -> None:
        super().__init__(message)
        self.url = url
