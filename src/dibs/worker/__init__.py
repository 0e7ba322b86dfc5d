"""Runs handlers: the app, the claim loop, the context, and the executors."""

from __future__ import annotations

from dibs.worker.app import App
from dibs.worker.context import Context, SyncContext
from dibs.worker.outcomes import ChildFailed, Fail, Release, RetryLater
from dibs.worker.running import command_app, run_worker
from dibs.worker.worker import Worker

__all__ = [
    "App",
    "ChildFailed",
    "Context",
    "Fail",
    "Release",
    "RetryLater",
    "SyncContext",
    "Worker",
    "command_app",
    "run_worker",
]
