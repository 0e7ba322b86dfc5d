"""Graphs of tasks."""

from __future__ import annotations

from typing import Any

from dibs.model.dag import Dag
from dibs.model.role import EVERYONE, STEERING
from dibs.model.views import DagPage, TaskAttempts
from dibs.wire.topics.tasks import Waited
from dibs.wire.verbs import Duration, Verb

VERBS = (
    Verb(
        name="add_dag",
        method="POST",
        path="/v1/dags",
        roles=STEERING,
        about="Add a graph of tasks: all tasks and edges in one commit, or none.",
        needs={"title": str, "tasks": list[dict[str, Any]]},
        takes={
            "key": str | None,
            "budget": float | None,
            "on_failure": str,
            "escalation": list[dict[str, Any]] | None,
            "user": str | None,
            "created_by": str | None,
        },
        reply=Dag,
        status=201,
        once=True,
    ),
    Verb(
        name="dags",
        method="GET",
        path="/v1/dags",
        roles=EVERYONE,
        about="Dags without their tasks, the newest first, a page at a time; `text` is in the title.",
        takes={"status": list[str] | None, "text": str | None, "limit": int, "cursor": str | None},
        reply=DagPage,
    ),
    Verb(
        name="dag_attempts",
        method="GET",
        path="/v1/dags/{dag_id}/attempts",
        roles=EVERYONE,
        about="Every claim that ended of each task of a dag, in the order in which the tasks were added.",
        reply=list[TaskAttempts],
    ),
    Verb(
        name="get_dag",
        method="GET",
        path="/v1/dags/{dag_id}",
        roles=EVERYONE,
        about="The dag with its tasks, edges, roots, leaves and critical path; also a standalone task's own.",
        reply=Dag,
    ),
    Verb(
        name="wait",
        method="GET",
        path="/v1/dags/{target}/wait",
        roles=EVERYONE,
        about="The dag once it has ended; after `timeout` (at most 60 s) without it. Ask again to wait longer.",
        takes={"timeout": Duration | None},
        reply=Waited,
        waits=True,
    ),
    Verb(
        name="cancel",
        method="POST",
        path="/v1/dags/{target}/cancel",
        roles=STEERING,
        about="Cancel all of a dag that has not ended; the ids that this ended.",
        takes={"reason": str | None},
        reply=list[str],
        acts=True,
    ),
)
