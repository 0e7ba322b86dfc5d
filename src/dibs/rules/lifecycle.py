"""The whole life of a task: which verb may move it from where to where.

A task is **added**. With open dependencies it is `pending`; with its time still to come it is
`scheduled`; held for approval it is `waiting`; else it is `ready`. When the last dependency resolves it
is **unblocked**; when its time comes it is **promoted**. **Linking** a task that nobody holds to a live
parent makes it `pending` again.

An agent **claims** a ready task and **starts** it; a claim may do both at once. Whoever holds a task
(`claimed`, `running`) ends the claim in one of these ways:

- **complete**: the work is done. **reject**: it is not what was expected. **validate**: it is handed
  in, and others judge it first. Then nobody holds it (`validating`): a judge, who is an agent with a
  task of its own, or a person (`waiting`) decides whether it is completed or rejected.
- **fail**, **time out**, **expire** (the lease ran out): tried again at once (`ready`), later
  (`retrying`), or never (`dead_lettered`). Work lost with its worker is never made to wait, unless an
  escalation asks a person first (`waiting`).
- **release**, **limit** (the provider said slow down): given back unharmed, at once or after a delay.
- **suspend**: it waits for tasks it spawned, `pending` like any task with open dependencies; if they
  have all ended already it is `ready`. **ask**: it waits for a person; the **answer** makes it ready. If
  nobody answers in time the question **lapses**: it goes on with a default, or not at all.

**Cancel** ends whatever is not final, whatever it was doing. `completed`, `dead_lettered` and
`cancelled` are final: only **retry** leaves the last two, and nothing leaves `completed`. A dead letter
that nobody wants any more is **dropped**: then it is cancelled.

A verb the table does not list for a status raises `IllegalTransition` and changes nothing. Verbs that
never move a task (renew, checkpoint, log, set_priority, a review that keeps it) are not listed.
"""

from __future__ import annotations

from enum import StrEnum

from dibs.errors import IllegalTransition
from dibs.model.status import FINAL, HELD, Status


class Verb(StrEnum):
    """What can be done to a task that may move it."""

    ADD = "add"
    UNBLOCK = "unblock"
    PROMOTE = "promote"
    LINK = "link"
    CLAIM = "claim"
    START = "start"
    COMPLETE = "complete"
    FAIL = "fail"
    TIME_OUT = "time_out"
    EXPIRE = "expire"
    RELEASE = "release"
    SUSPEND = "suspend"
    LIMIT = "limit"
    ASK = "ask"
    ANSWER = "answer"
    LAPSE = "lapse"
    VALIDATE = "validate"
    REJECT = "reject"
    CANCEL = "cancel"
    RETRY = "retry"
    DROP = "drop"


def _to(*statuses: Status) -> frozenset[Status]:
    return frozenset(statuses)


_CANCELLED = _to(Status.CANCELLED)
_TRIED_AGAIN = _to(Status.READY, Status.RETRYING, Status.WAITING, Status.DEAD_LETTERED)
_GIVEN_BACK = _to(Status.READY, Status.RETRYING)
_NEW_LIFE = _to(Status.PENDING, Status.SCHEDULED, Status.READY, Status.WAITING, Status.RETRYING)

_HOLDER_MAY = {
    Verb.COMPLETE: _to(Status.COMPLETED),
    Verb.FAIL: _TRIED_AGAIN,
    Verb.TIME_OUT: _TRIED_AGAIN,
    Verb.EXPIRE: _to(Status.READY, Status.WAITING, Status.DEAD_LETTERED),
    Verb.RELEASE: _GIVEN_BACK,
    Verb.SUSPEND: _to(Status.PENDING, Status.READY),
    Verb.LIMIT: _GIVEN_BACK,
    Verb.ASK: _to(Status.WAITING),
    Verb.VALIDATE: _to(Status.VALIDATING),
    Verb.REJECT: _TRIED_AGAIN,
    Verb.CANCEL: _CANCELLED,
}

TABLE: dict[Status | None, dict[Verb, frozenset[Status]]] = {
    None: {
        Verb.ADD: _to(Status.PENDING, Status.SCHEDULED, Status.READY, Status.WAITING),
    },
    Status.PENDING: {
        Verb.UNBLOCK: _to(Status.SCHEDULED, Status.READY),
        Verb.LINK: _to(Status.PENDING),
        Verb.CANCEL: _CANCELLED,
    },
    Status.SCHEDULED: {
        Verb.PROMOTE: _to(Status.READY),
        Verb.LINK: _to(Status.PENDING, Status.SCHEDULED),
        Verb.CANCEL: _CANCELLED,
    },
    Status.READY: {
        Verb.CLAIM: _to(Status.CLAIMED, Status.RUNNING),
        Verb.LINK: _to(Status.PENDING, Status.READY),
        Verb.CANCEL: _CANCELLED,
    },
    Status.CLAIMED: {
        Verb.START: _to(Status.RUNNING),
        **_HOLDER_MAY,
    },
    Status.RUNNING: {
        # Saying it twice is harmless: the reply to the first may have been lost.
        Verb.START: _to(Status.RUNNING),
        **_HOLDER_MAY,
    },
    Status.VALIDATING: {
        Verb.COMPLETE: _to(Status.COMPLETED),
        Verb.VALIDATE: _to(Status.WAITING),
        Verb.REJECT: _TRIED_AGAIN,
        Verb.CANCEL: _CANCELLED,
    },
    Status.WAITING: {
        Verb.ANSWER: _to(Status.PENDING, Status.SCHEDULED, Status.READY, Status.VALIDATING, Status.CANCELLED),
        Verb.LAPSE: _to(Status.PENDING, Status.READY, Status.DEAD_LETTERED),
        Verb.LINK: _to(Status.WAITING),
        Verb.CANCEL: _CANCELLED,
    },
    Status.RETRYING: {
        Verb.PROMOTE: _to(Status.READY),
        Verb.LINK: _to(Status.PENDING, Status.RETRYING),
        Verb.CANCEL: _CANCELLED,
    },
    Status.COMPLETED: {},
    Status.DEAD_LETTERED: {
        Verb.RETRY: _NEW_LIFE,
        Verb.DROP: _CANCELLED,
    },
    Status.CANCELLED: {
        Verb.RETRY: _NEW_LIFE,
    },
}

_DONE = {
    Verb.ADD: "added",
    Verb.UNBLOCK: "unblocked",
    Verb.PROMOTE: "promoted",
    Verb.LINK: "linked",
    Verb.CLAIM: "claimed",
    Verb.START: "started",
    Verb.COMPLETE: "completed",
    Verb.FAIL: "failed",
    Verb.TIME_OUT: "timed out",
    Verb.EXPIRE: "expired",
    Verb.RELEASE: "released",
    Verb.SUSPEND: "suspended",
    Verb.LIMIT: "rate-limited",
    Verb.ASK: "made to ask",
    Verb.ANSWER: "answered",
    Verb.LAPSE: "lapsed",
    Verb.VALIDATE: "validated",
    Verb.REJECT: "rejected",
    Verb.CANCEL: "cancelled",
    Verb.RETRY: "retried",
    Verb.DROP: "dropped",
}

_NEXT_STEP = {
    Status.PENDING: "it waits for its dependencies (`why` names them)",
    Status.SCHEDULED: "it waits for its time; cancel it if it is not wanted",
    Status.READY: "it waits to be claimed",
    Status.CLAIMED: "an agent holds it; cancel it, or wait until that agent settles it or its lease ends",
    Status.RUNNING: "an agent works on it; cancel it, or wait until that agent settles it or its lease ends",
    Status.VALIDATING: "its output is being judged (`why` says by whom); cancel it or wait",
    Status.WAITING: "it waits for a person: answer its question or cancel it",
    Status.RETRYING: "it waits before its next attempt; cancel it if it is not wanted",
    Status.COMPLETED: "that is final; add a new task to do the work again",
    Status.DEAD_LETTERED: "that is final until you `retry` or drop it",
    Status.CANCELLED: "that is final until you `retry` it",
}


def allowed(status: Status | None, verb: Verb) -> frozenset[Status]:
    """Where `verb` may lead from `status` (None: the task does not exist yet); empty if it is illegal."""
    return TABLE[status].get(verb, frozenset())


def check(status: Status | None, verb: Verb, task_id: str) -> None:
    """Raises `IllegalTransition`, with what is possible instead, unless `verb` is legal from `status`."""
    if verb in TABLE[status]:
        return
    if status is None:
        raise IllegalTransition(f"Task {task_id} does not exist yet and cannot be {_DONE[verb]}: add it first.")
    raise IllegalTransition(f"Task {task_id} is {status} and cannot be {_DONE[verb]}: {_NEXT_STEP[status]}.")


def first_status(*, open_edges: int, run_after: int | None, now: int) -> Status:
    """Where a task without an attempt belongs: dependencies first, then its time, else it is ready."""
    if open_edges:
        return Status.PENDING
    if run_after is not None and run_after > now:
        return Status.SCHEDULED
    return Status.READY


def diagram() -> str:
    """The table as a Mermaid state diagram.

    Verbs that leave the status as it is are not drawn; what every holder may do is drawn once.
    """
    moves = {
        status: {(target, verb) for verb, targets in verbs.items() for target in targets if target is not status}
        for status, verbs in TABLE.items()
    }
    holders = [status for status in Status if status in HELD]
    shared = set.intersection(*(moves[status] for status in holders))
    lines = ["stateDiagram-v2", "    state held {", *(f"        {status}" for status in holders), "    }"]
    for status in TABLE:
        own = moves[status] - shared if status in HELD else moves[status]
        lines += _arrows(status or "[*]", own)
    lines += _arrows("held", shared)
    lines += [f"    {status} --> [*]" for status in Status if status in FINAL]
    return "\n".join(lines) + "\n"


def _arrows(source: str, moves: set[tuple[Status, Verb]]) -> list[str]:
    """One arrow for each target, labelled with every verb that leads there."""
    labels = {target: [verb for verb in Verb if (target, verb) in moves] for target in Status}
    return [f"    {source} --> {target}: {', '.join(verbs)}" for target, verbs in labels.items() if verbs]
