"""How five other designs of a queue for agents say what dibs says: priorities, statuses, retries. Pure.

| here | the design |
|---|---|
| `LOKI` | Loki's JSON files; `dibs.loki` reads and writes them |
| `FACTORY` | a queue on PostgreSQL whose words dibs took over |
| `RUNTIME` | the `QueueRuntime` of an agent's interface, on Redis Streams: `dibs.adapters.runtime` |
| `TASK_QUEUE` | the `TaskQueue` behind a Task tool: `dibs.adapters.taskqueue` |
| `WORKFLOWS` | AutoMechanica's queue of workflow tasks: `dibs.adapters.workflow` |

Each is a `Source`: its scale, its words and its defaults. Going there and back keeps what a source can say: its own
priority or count comes back as it was. What it has no word for is shown as the nearest that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from dibs.errors import Invalid
from dibs.loki.mapping import MAX_WAIT_S, QUEUE_OF, priority_from_loki, priority_to_loki
from dibs.model.retry import Retry
from dibs.model.status import HELD, Status
from dibs.rules import validation

if TYPE_CHECKING:
    from dibs.model.task import Task

MAX_COUNT = 1_000_000
"""The most that a source may ask for where it knows no limit."""


class Source(Struct, frozen=True, kw_only=True, eq=False):
    """One design's words.

    `priorities` are the first and the last of its scale, and `default_priority` what it takes if nobody says;
    `to_dibs` and `to_source` translate one. `meanings` has each of its statuses with the one of ours that it stands
    for; `words` the other way round, where several of ours may share a word. `stalled` is its word for work whose
    agent has fallen silent, if it has one. It tries `max_attempts` times by default; a count of its own is so many
    attempts and `first` more, where it counts only the retries.
    """

    name: str
    priorities: tuple[int, int]
    default_priority: int
    to_dibs: Callable[[float], float]
    to_source: Callable[[float], int]
    meanings: Mapping[str, Status]
    words: Mapping[Status, str]
    retry: Retry
    max_attempts: int = 3
    first: int = 0
    stalled: str | None = None


# Priorities


def priority_to_dibs(source: Source, priority: object, field: str = "priority") -> float:
    """A priority of theirs as ours: 0 to 100, 0 is the most urgent."""
    return source.to_dibs(validation.whole(priority, field, *source.priorities))


def priority_to_source(source: Source, priority: float) -> int:
    """A priority of ours on their scale; of those between two of theirs, the more urgent one."""
    return source.to_source(priority)


# Statuses


def status_to_dibs(source: Source, word: object, field: str = "status") -> Status:
    """What a status of theirs is called here."""
    return source.meanings[known_word(source, word, field)]


def status_to_source(source: Source, status: Status, *, stalled: bool = False) -> str:
    """What a status of ours is called there. `stalled`: it is held, and its lease is over."""
    if stalled and source.stalled is not None and status in HELD:
        return source.stalled
    return source.words[status]


def statuses_shown_as(source: Source, word: object, field: str = "status") -> tuple[Status, ...]:
    """Every status of ours that is called so there; to find tasks by it."""
    wanted = known_word(source, word, field)
    if wanted == source.stalled:
        return tuple(status for status in Status if status in HELD)
    return tuple(status for status in Status if source.words[status] == wanted)


def known_word(source: Source, word: object, field: str) -> str:
    """One of their statuses, in their spelling; small or capital letters are alike."""
    if isinstance(word, str):
        for known in source.meanings:
            if word.lower() == known.lower():
                return known
    raise Invalid(f"{field} must be one of {', '.join(source.meanings)}, not {word!r:.80}.", field=field)


# Counts


def max_attempts_to_dibs(source: Source, count: object, field: str) -> int:
    """Their limit as a number of attempts: three retries are four attempts."""
    return validation.whole(count, field, 1 - source.first, MAX_COUNT) + source.first


def max_attempts_to_source(source: Source, max_attempts: int) -> int:
    """Our limit as their number."""
    return max_attempts - source.first


def failures_of(task: Task) -> int:
    """How many attempts have failed. What was completed did not fail the last time."""
    return max(0, task.attempts - (task.status is Status.COMPLETED))


def retries_of(task: Task) -> int:
    """How often it was, or is about to be, tried again: the last failure of one that was given up was not."""
    return max(0, task.attempts - (task.status in (Status.COMPLETED, Status.DEAD_LETTERED)))


# The sources

_TRANSPARENT = {status: str(status) for status in Status}

_SIMPLE = {
    Status.PENDING: "pending",
    Status.SCHEDULED: "pending",
    Status.READY: "pending",
    Status.RETRYING: "pending",
    # It needs an answer before anybody can go on with it: nobody works on it.
    Status.WAITING: "pending",
    Status.CLAIMED: "running",
    Status.RUNNING: "running",
    Status.VALIDATING: "running",
    Status.COMPLETED: "completed",
    Status.DEAD_LETTERED: "failed",
    Status.CANCELLED: "cancelled",
}

_SIMPLE_MEANINGS = {
    "pending": Status.READY,
    "running": Status.RUNNING,
    "completed": Status.COMPLETED,
    "failed": Status.DEAD_LETTERED,
    "cancelled": Status.CANCELLED,
}

LOKI = Source(
    name="Loki",
    priorities=(1, 10),
    default_priority=5,
    to_dibs=priority_from_loki,
    to_source=priority_to_loki,
    meanings={
        "pending": Status.READY,
        "in-progress": Status.RUNNING,
        "completed": Status.COMPLETED,
        "dead-letter": Status.DEAD_LETTERED,
        "cancelled": Status.CANCELLED,
    },
    words=QUEUE_OF,
    # 60, 120, 240 …: its own code compounds them, which was hardly meant.
    retry=Retry(delay=60.0, cap=MAX_WAIT_S, jitter=0.0),
)

FACTORY = Source(
    name="the factory",
    priorities=(0, 100),
    default_priority=50,
    to_dibs=float,
    to_source=round,
    # A task is in its dag, or is not there at all; a failed attempt is retried or given up in the same commit.
    meanings={
        "CREATED": Status.PENDING,
        "PENDING": Status.PENDING,
        "READY": Status.READY,
        "CLAIMED": Status.CLAIMED,
        "RUNNING": Status.RUNNING,
        "VALIDATING": Status.VALIDATING,
        "COMPLETED": Status.COMPLETED,
        "FAILED": Status.RETRYING,
        "RETRYING": Status.RETRYING,
        "DEAD_LETTERED": Status.DEAD_LETTERED,
        "CANCELLED": Status.CANCELLED,
    },
    words={status: word.upper() for status, word in _TRANSPARENT.items()}
    | {Status.SCHEDULED: "PENDING", Status.WAITING: "PENDING"},
    retry=Retry(),
)

RUNTIME = Source(
    name="QueueRuntime",
    priorities=(0, 9),
    default_priority=5,
    to_dibs=lambda priority: priority * 10.0,
    to_source=lambda priority: min(9, int(priority // 10)),
    meanings=_SIMPLE_MEANINGS,
    words=_SIMPLE,
    retry=Retry(delay=1.0, multiplier=2.0, cap=300.0, jitter=0.1),
)

TASK_QUEUE = Source(
    name="TaskQueue",
    priorities=(0, MAX_COUNT),
    default_priority=100,
    to_dibs=lambda priority: min(priority / 2, 100.0),
    to_source=lambda priority: int(priority * 2),
    # Whoever had it is gone: it is offered again.
    meanings=_SIMPLE_MEANINGS | {"stalled": Status.READY},
    words=_SIMPLE,
    # A timeout is retried with a longer one.
    retry=Retry(delay=1.0, multiplier=2.0, cap=300.0, jitter=0.0, timeout_multiplier=2.0),
    max_attempts=4,
    first=1,
    stalled="stalled",
)

_LEVELS = (0.0, 20.0, 50.0, 80.0)
_LAST_OF_LEVEL = (10.0, 30.0, 60.0)
"""Where the tiers critical, high and normal end; what lies beyond is low."""

WORKFLOWS = Source(
    name="AutoMechanica",
    priorities=(0, 3),
    default_priority=2,
    to_dibs=lambda level: _LEVELS[int(level)],
    to_source=lambda priority: sum(priority >= end for end in _LAST_OF_LEVEL),
    meanings={
        "pending": Status.READY,
        "leased": Status.CLAIMED,
        "running": Status.RUNNING,
        "completed": Status.COMPLETED,
        # Its table has the word, its lifecycle goes back to pending after a failure.
        "failed": Status.RETRYING,
        "dead": Status.DEAD_LETTERED,
        # Its table has no word for it; a reader must not take it for work that is to be done.
        "cancelled": Status.CANCELLED,
    },
    words=_SIMPLE | {Status.CLAIMED: "leased", Status.DEAD_LETTERED: "dead"},
    # 5, 20, 45 s: attempts² times the first, with no limit but the attempts.
    retry=Retry(strategy="quadratic", delay=5.0, cap=86_400.0, jitter=0.0),
)

SOURCES = (LOKI, FACTORY, RUNTIME, TASK_QUEUE, WORKFLOWS)
