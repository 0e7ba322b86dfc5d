"""Named bytes beside the output: streamed up and down."""

from __future__ import annotations

from typing import Any

from dibs.model.artifact import Artifact, Swept
from dibs.model.role import EVERYONE, OPERATING, WORKING
from dibs.wire.topics.claims import FENCE
from dibs.wire.verbs import Duration, Verb

MEDIA_TYPE: dict[str, Any] = {"media_type": str | None}

VERBS = (
    Verb(
        name="put_artifact",
        method="PUT",
        path="/v1/tasks/{task_id}/artifacts/{name}",
        roles=WORKING,
        about="Keep the bytes of the body as an artifact of the task that this claim holds.",
        needs=FENCE,
        takes=MEDIA_TYPE,
        reply=Artifact,
        sends="bytes",
    ),
    Verb(
        name="keep_bytes",
        method="POST",
        path="/v1/artifacts",
        roles=WORKING,
        about="Keep the bytes of the body, to which no task refers yet.",
        needs={"name": str},
        takes=MEDIA_TYPE,
        reply=Artifact,
        sends="bytes",
    ),
    Verb(
        name="refer_to_artifact",
        method="POST",
        path="/v1/tasks/{task_id}/artifacts",
        roles=WORKING,
        about="Make bytes that are kept already an artifact of the task that this claim holds.",
        needs={**FENCE, "artifact": Artifact},
        reply=Artifact,
    ),
    Verb(
        name="artifacts",
        method="GET",
        path="/v1/tasks/{target}/artifacts",
        roles=EVERYONE,
        about="The artifacts of a task, in the order in which they were put.",
        reply=list[Artifact],
    ),
    Verb(
        name="artifacts",
        method="GET",
        path="/v1/dags/{target}/artifacts",
        roles=EVERYONE,
        about="The artifacts of all tasks of a dag, in the order in which they were put.",
        reply=list[Artifact],
    ),
    Verb(
        name="open_artifact",
        method="GET",
        path="/v1/artifacts",
        roles=EVERYONE,
        about="The bytes of an artifact: its digest, `task:ID:artifact:NAME`, or `artifact:NAME` with a `dag`.",
        needs={"ref": str},
        takes={"dag": str | None},
        answers="bytes",
    ),
    Verb(
        name="look_at_artifacts",
        method="GET",
        path="/v1/artifacts/place",
        roles=OPERATING,
        about="Where artifacts are kept, if somebody said so; an error if nothing can be written and read there.",
        reply=str | None,
    ),
    Verb(
        name="sweep_artifacts",
        method="POST",
        path="/v1/artifacts/sweep",
        roles=OPERATING,
        about="Delete bytes that no task refers to any more, or ever did.",
        takes={"older_than": Duration | None},
        reply=Swept,
        acts=True,
    ),
)
