"""Taking work, holding it, ending it."""

from __future__ import annotations

from typing import Any

from tests.doors.story import Step, Story

ADD = Step("add", {"type": "t"}, shell="add t", saves="task")
CLAIM = Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[{"task": {"id": "$task.id"}}])
HOLD = (ADD, CLAIM)


def show(answers: Any) -> Step:
    """The task as it is now."""
    return Step("get", {"task_id": "$task.id"}, shell="show $task.id", answers=answers)


def complete(options: dict[str, object], shell: str, fence: int = 1, **more: Any) -> Step:
    """The task that was added, completed."""
    command = f"complete $task.id --fence {fence} {shell}"
    return Step("complete", {"claim": ["$task.id", fence], **options}, shell=command, **more)


def fail(options: dict[str, object], shell: str, fence: int = 1, **more: Any) -> Step:
    """The task that was added, failed."""
    command = f"fail $task.id --fence {fence} {shell}"
    return Step("fail", {"claim": ["$task.id", fence], **options}, shell=command, **more)


STORIES = (
    Story(
        "a task is claimed, renewed and completed",
        Step(
            "add",
            {"type": "write", "payload": {"topic": "CORS"}},
            shell='add write --payload \'{"topic": "CORS"}\'',
            saves="task",
        ),
        Step("claim", {"agent": "a", "types": ["other"]}, shell="claim --agent a --type other", answers=[]),
        Step(
            "claim",
            {"agent": "coder-1", "types": ["other", "write"], "lease": "2m"},
            shell="claim --agent coder-1 --type other --type write --lease 2m",
            answers=[
                {
                    "task": {"id": "$task.id", "status": "running", "payload": {"topic": "CORS"}},
                    "fence": 1,
                    "inputs": {},
                    "agent": "coder-1",
                    "lease_s": 120,
                }
            ],
        ),
        Step(
            "renew",
            {"claim": ["$task.id", 1], "progress": 0.5, "note": "half", "cost": 0.1},
            shell="renew $task.id --fence 1 --progress 0.5 --note half --cost 0.1",
            answers={"cancel": False},
        ),
        show({"progress": 0.5, "note": "half"}),
        complete(
            {"output": {"words": 3}, "cost": 0.2, "tokens_in": 10, "tokens_out": 5, "decision": "because"},
            "--output '{\"words\": 3}' --cost 0.2 --tokens-in 10 --tokens-out 5 --decision '\"because\"'",
            answers={"outcome": "completed", "status": "completed", "fence": 1, "task_id": "$task.id"},
        ),
        show(
            {
                "output": {"words": 3},
                "decision": "because",
                "cost_usd": 0.2,
                "tokens_in": 10,
                "tokens_out": 5,
                "attempts": 1,
            },
        ),
        complete({"output": {"words": 3}}, "--output '{\"words\": 3}'", answers={"status": "completed"}),
        complete({"output": 2}, "--output 2", refused="illegal_transition"),
        complete({}, "", 7, refused="lease_lost"),
        Step("claim", {"agent": "a", "wait": 0.1}, shell="claim --agent a --wait 0.1s", answers=[]),
        Step("history", {"task_id": "$task.id"}, shell="history $task.id", answers=[{"outcome": "completed"}]),
        Step("why", {"task_id": "$task.id"}, shell="why $task.id", answers={"status": "completed"}),
    ),
    Story(
        "an output is the input of what depends on it",
        ADD,
        Step("add", {"type": "u", "after": ["$task.id"]}, shell="add u --after $task.id", saves="next"),
        CLAIM,
        complete({"output": {"n": 42}}, "--output '{\"n\": 42}'"),
        Step(
            "claim",
            {"agent": "a"},
            shell="claim --agent a",
            answers=[{"task": {"id": "$next.id"}, "inputs": {"$task.id": {"n": 42}}}],
        ),
    ),
    Story(
        "an agent takes what it can do",
        Step("add", {"type": "t", "requires": ["gpu"]}, shell="add t --requires gpu", saves="task"),
        Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[]),
        Step(
            "claim",
            {"agent": "a", "capabilities": ["gpu", "web"], "types": ["other"]},
            shell="claim --agent a --can gpu,web --type other",
            answers=[],
        ),
        Step(
            "claim",
            {"agent": "a", "capabilities": ["gpu", "web"], "claim_id": "once"},
            shell="claim --agent a --can gpu,web --claim-id once",
            answers=[{"task": {"id": "$task.id"}, "fence": 1}],
        ),
        Step(
            "claim",
            {"agent": "a", "capabilities": ["gpu", "web"], "claim_id": "once"},
            shell="claim --agent a --can gpu,web --claim-id once",
            answers=[{"task": {"id": "$task.id"}, "fence": 1}],
        ),
    ),
    Story(
        "what failed is tried again, until it is told not to",
        Step("add", {"type": "t", "retry": "immediate"}, shell="add t --retry immediate", saves="task"),
        CLAIM,
        fail({"error": "boom"}, "--error boom", answers={"outcome": "failed", "status": "ready"}),
        Step(
            "claim",
            {"agent": "a"},
            shell="claim --agent a",
            answers=[{"fence": 2, "previous_attempts": [{"error": "boom", "fence": 1}]}],
        ),
        fail(
            {"error": "boom", "retry_after": "5m"}, "--error boom --retry-after 5m", 2, answers={"status": "retrying"}
        ),
        Step("add", {"type": "t"}, shell="add t", saves="task"),
        CLAIM,
        fail(
            {"error": "no", "retry": False, "reason": "bad", "exit_code": 2},
            "--error no --no-retry --reason bad --exit-code 2",
            answers={"status": "dead_lettered"},
        ),
        show({"error": "no", "reason": "bad", "exit_code": 2, "status": "dead_lettered"}),
    ),
    Story(
        "what is released goes back unharmed",
        *HOLD,
        Step(
            "release",
            {"claim": ["$task.id", 1]},
            shell="release $task.id --fence 1",
            answers={"outcome": "released", "status": "ready"},
        ),
        Step(
            "claim",
            {"agent": "b"},
            shell="claim --agent b",
            answers=[{"fence": 2, "task": {"attempts": 0, "agent": "b"}}],
        ),
        Step(
            "release",
            {"claim": ["$task.id", 2], "delay": "1h"},
            shell="release $task.id --fence 2 --delay 1h",
            answers={"status": "retrying"},
        ),
        show({"status": "retrying"}),
    ),
    Story(
        "what was only claimed is started, and hears of a cancel",
        ADD,
        Step(
            "claim",
            {"agent": "a", "start": False},
            shell="claim --agent a --no-start",
            answers=[{"task": {"status": "claimed"}}],
        ),
        # The shell prints the task.
        Step("start", {"claim": ["$task.id", 1]}, answers=None),
        show({"status": "running"}),
        Step("cancel", {"target": "$task.id"}, shell="cancel $task.id", answers=["$task.id"]),
        Step("renew", {"claim": ["$task.id", 1]}, shell="renew $task.id --fence 1", answers={"cancel": True}),
        complete({}, "", refused="illegal_transition"),
    ),
)
