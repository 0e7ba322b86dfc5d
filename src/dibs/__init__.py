"""dibs: a durable work queue for fleets of AI agents.

Agents claim work when they are ready, hold it on a lease they must renew, and settle it once.
Names are loaded when they are first used, so that a shell command pays only for what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dibs.connecting import connect as connect
    from dibs.errors import Conflict as Conflict
    from dibs.errors import CycleDetected as CycleDetected
    from dibs.errors import Denied as Denied
    from dibs.errors import DibsError as DibsError
    from dibs.errors import IllegalTransition as IllegalTransition
    from dibs.errors import Invalid as Invalid
    from dibs.errors import KeyReused as KeyReused
    from dibs.errors import LeaseLost as LeaseLost
    from dibs.errors import NotFound as NotFound
    from dibs.errors import Unavailable as Unavailable
    from dibs.model.artifact import Artifact as Artifact
    from dibs.model.attempt import Attempt as Attempt
    from dibs.model.claim import Claim as Claim
    from dibs.model.claim import Claims as Claims
    from dibs.model.claim import News as News
    from dibs.model.claim import Settled as Settled
    from dibs.model.dag import Dag as Dag
    from dibs.model.event import Event as Event
    from dibs.model.question import Question as Question
    from dibs.model.retry import Retry as Retry
    from dibs.model.task import CONTENT as CONTENT
    from dibs.model.task import NewTask as NewTask
    from dibs.model.task import Task as Task
    from dibs.model.views import Page as Page
    from dibs.model.views import Why as Why
    from dibs.queue import Queue as Queue
    from dibs.sync import SyncQueue as SyncQueue
    from dibs.sync import connect_sync as connect_sync
    from dibs.worker import App as App
    from dibs.worker import ChildFailed as ChildFailed
    from dibs.worker import Context as Context
    from dibs.worker import Fail as Fail
    from dibs.worker import Release as Release
    from dibs.worker import RetryLater as RetryLater
    from dibs.worker import Worker as Worker

__version__ = "0.1.0"

_HOME = {
    "connect": "connecting",
    "connect_sync": "sync",
    "SyncQueue": "sync",
    "Queue": "queue",
    "Conflict": "errors",
    "CycleDetected": "errors",
    "Denied": "errors",
    "DibsError": "errors",
    "IllegalTransition": "errors",
    "Invalid": "errors",
    "KeyReused": "errors",
    "LeaseLost": "errors",
    "NotFound": "errors",
    "Unavailable": "errors",
    "Artifact": "model.artifact",
    "Attempt": "model.attempt",
    "Claim": "model.claim",
    "Claims": "model.claim",
    "News": "model.claim",
    "Settled": "model.claim",
    "Dag": "model.dag",
    "Event": "model.event",
    "Question": "model.question",
    "Retry": "model.retry",
    "CONTENT": "model.task",
    "NewTask": "model.task",
    "Task": "model.task",
    "Page": "model.views",
    "Why": "model.views",
    "App": "worker",
    "ChildFailed": "worker",
    "Context": "worker",
    "Fail": "worker",
    "Release": "worker",
    "RetryLater": "worker",
    "Worker": "worker",
}

__all__ = [  # noqa: PLE0604 - the names are the keys of one table
    *_HOME,
    "__version__",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'dibs' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"dibs.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
