"""Bytes that tasks leave behind."""

from __future__ import annotations

from typing import Any

from tests.doors.story import Step, Story

CONTENT = "# Notes\nall good\n"

HOLD = (
    Step("add", {"type": "research"}, shell="add research", saves="task"),
    Step("claim", {"agent": "ada"}, shell="claim --agent ada"),
)
PUT = Step(
    "put_artifact",
    {"claim": ["$task.id", 1], "name": "report", "data": CONTENT, "media_type": "text/markdown"},
    shell="artifact put $task.id --fence 1 report - --media-type text/markdown",
    stdin=CONTENT,
    saves="artifact",
    answers={"name": "report", "size": len(CONTENT), "media_type": "text/markdown", "task_id": "$task.id"},
)


def put(options: Any, shell: str, code: str, wrong: str, task: str = "$task.id", fence: int = 1) -> Step:
    """Bytes that are not kept."""
    given = {"claim": [task, fence], "name": "a", "data": "x", **options}
    command = f"artifact put {task} --fence {fence} {shell}"
    return Step("put_artifact", given, shell=command, stdin="x", refused=code, wrong=wrong)


def got(options: Any, shell: str, **more: Any) -> Step:
    """Bytes, by their reference."""
    return Step("open_artifact", options, shell=f"artifact get {shell}", **more)


STORIES = (
    Story(
        "bytes are put, listed and got back",
        *HOLD,
        PUT,
        *(
            Step(
                "artifacts",
                {"target": target},
                shell=f"artifact ls {target}",
                answers=[{"digest": "$artifact.digest", "name": "report"}],
            )
            for target in ("$task.id", "$task.dag_id")
        ),
        got({"ref": "$artifact.digest"}, "$artifact.digest", answers=CONTENT),
        got({"ref": "task:${task.id}:artifact:report"}, "task:${task.id}:artifact:report", answers=CONTENT),
        got({"ref": "artifact:report", "dag": "$task.dag_id"}, "artifact:report --dag $task.dag_id", answers=CONTENT),
        Step("get", {"task_id": "$task.id"}, shell="show $task.id", answers={"artifacts": [{"name": "report"}]}),
        Step(
            "put_artifact",
            {"claim": ["$task.id", 1], "name": "plot/1", "data": ""},
            shell="artifact put $task.id --fence 1 plot/1 -",
            stdin="",
            answers={"name": "plot/1", "size": 0, "media_type": None},
        ),
        Step(
            "artifacts",
            {"target": "$task.id"},
            shell="artifact ls $task.id",
            answers=[{"name": "report"}, {"name": "plot/1"}],
        ),
        Step("look_at_artifacts", saves="place"),
        Step(
            "sweep_artifacts",
            {"older_than": "2h"},
            shell="artifact sweep --older-than 2h",
            answers={"deleted": 0, "bytes": 0},
        ),
    ),
    Story(
        "bytes that a task refers to are kept first",
        *HOLD,
        Step("keep_bytes", {"name": "notes", "data": "bytes"}, doors=("http",), saves="kept", answers={"size": 5}),
        Step(
            "refer_to_artifact",
            {"claim": ["$task.id", 1], "artifact": "$kept"},
            doors=("http",),
            answers={"task_id": "$task.id", "name": "notes"},
        ),
        Step("open_artifact", {"ref": "task:${task.id}:artifact:notes"}, doors=("http",), answers="bytes"),
    ),
    Story(
        "what is wrong with bytes is named, and nothing is kept",
        *HOLD,
        put({}, "a -", "lease_lost", "fence", fence=2),
        put({}, "a -", "not_found", "task_id", task="task_nobody"),
        put({"name": ""}, "'' -", "invalid", "name"),
        put({"media_type": "text"}, "a - --media-type text", "invalid", "media_type"),
        got({"ref": "nonsense"}, "nonsense", refused="invalid", wrong="ref"),
        got({"ref": "artifact:a"}, "artifact:a", refused="invalid", wrong="dag"),
        got({"ref": "task:${task.id}:artifact:a"}, "task:${task.id}:artifact:a", refused="not_found", wrong="ref"),
        got({"ref": f"sha256:{'0' * 64}"}, f"sha256:{'0' * 64}", refused="not_found", wrong="ref"),
        Step(
            "artifacts",
            {"target": "task_nobody"},
            shell="artifact ls task_nobody",
            refused="not_found",
            wrong="task_id",
        ),
        Step(
            "artifacts", {"target": "dag_nobody"}, shell="artifact ls dag_nobody", refused="not_found", wrong="dag_id"
        ),
        Step(
            "sweep_artifacts",
            {"older_than": "1m"},
            shell="artifact sweep --older-than 1m",
            refused="invalid",
            wrong="older_than",
        ),
        Step("artifacts", {"target": "$task.id"}, shell="artifact ls $task.id", answers=[]),
    ),
)
