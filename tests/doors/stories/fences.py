"""What cannot be said of a claim, and of one that is no longer."""

from __future__ import annotations

from typing import Any

from tests.doors.story import Step, Story

NOBODY = "task_00000000000000000000000000"
ADD = Step("add", {"type": "t"}, shell="add t", saves="task")
CLAIM = Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[{"task": {"id": "$task.id"}}])


def show(answers: Any) -> Step:
    """The task as it is now."""
    return Step("get", {"task_id": "$task.id"}, shell="show $task.id", answers=answers)


def held(verb: str, options: dict[str, object], shell: str, wrong: str) -> Step:
    """Something that cannot be said of the claim."""
    command = f"{verb} $task.id --fence 1 {shell}"
    return Step(verb, {"claim": ["$task.id", 1], **options}, shell=command, refused="invalid", wrong=wrong)


OF_A_CLAIM: tuple[tuple[str, dict[str, object], str], ...] = (
    ("start", {}, ""),
    ("renew", {}, ""),
    ("complete", {}, ""),
    ("fail", {"error": "e"}, "--error e"),
    ("release", {}, ""),
    ("log", {"line": "line"}, "line"),
    ("checkpoint", {"data": 1}, "1"),
)

STORIES = (
    Story(
        "a stale fence is refused, and a task that there is not",
        ADD,
        *(
            Step(
                verb,
                {"claim": [task, 3], **options},
                shell=f"{verb} {task} --fence 3 {shell}",
                refused=code,
                wrong="fence" if code == "lease_lost" else None,
            )
            for verb, options, shell in OF_A_CLAIM
            for task, code in (("$task.id", "lease_lost"), (NOBODY, "not_found"))
        ),
        show({"status": "ready"}),
    ),
    Story(
        "what cannot be said of a claim is refused by its field and changes nothing",
        ADD,
        Step("claim", {"agent": ""}, shell="claim --agent ''", refused="invalid", wrong="agent"),
        *(
            Step("claim", {"agent": "a", **options}, shell=f"claim --agent a {shell}", refused="invalid", wrong=wrong)
            for options, shell, wrong in (
                ({"lease": 0.5}, "--lease 0.5", "lease"),
                ({"lease": "25h"}, "--lease 25h", "lease"),
                ({"lease": "forever"}, "--lease forever", "lease"),
                ({"wait": -1}, "--wait -1", "wait"),
                ({"capabilities": ["a", "", "b"]}, "--can a,,b", "capabilities"),
                ({"types": [""]}, "--type ''", "types"),
            )
        ),
        CLAIM,
        Step("last_seq", answers=5),
        held("renew", {"progress": 2}, "--progress 2", "progress"),
        held("renew", {"lease": "1000d"}, "--lease 1000d", "lease"),
        held("renew", {"cost": -1}, "--cost -1", "cost"),
        held("complete", {"tokens_in": -5}, "--tokens-in -5", "tokens_in"),
        held("complete", {"tokens_in": 5, "tokens_cached": 6}, "--tokens-in 5 --tokens-cached 6", "tokens_cached"),
        held("fail", {"error": "e", "reason": ""}, "--error e --reason ''", "reason"),
        held("fail", {"error": "e", "retry_after": "later"}, "--error e --retry-after later", "retry_after"),
        held("release", {"delay": -5}, "--delay -5", "delay"),
        show({"status": "running", "progress": None, "cost_usd": None}),
        Step("last_seq", answers=5),
    ),
)
