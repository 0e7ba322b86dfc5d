"""What work used: tokens, turns, money, of one task and of a group; and the model that did it."""

from __future__ import annotations

from tests.doors.story import Step, Story

USED = {
    "tokens_in": 10,
    "tokens_out": 5,
    "tokens_cached": 4,
    "tokens_cache_written": 1,
    "turns": 2,
    "model": "m1",
    "cost": 0.25,
}
SAID = "--tokens-in 10 --tokens-out 5 --tokens-cached 4 --tokens-cache-written 1 --turns 2 --model m1 --cost 0.25"
COUNTED = {"cost_usd": 0.25, "tokens_in": 10, "tokens_out": 5}
ADD = Step("add", {"type": "t"}, shell="add t", saves="task")
CLAIM = Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[{"task": {"id": "$task.id"}}])
DEAD = (
    ADD,
    CLAIM,
    Step(
        "fail",
        {"claim": ["$task.id", 1], "error": "no", "retry": False, **USED},
        shell=f"fail $task.id --fence 1 --error no --no-retry {SAID}",
    ),
)
GROUP = (
    *(
        Step("add", {"type": "g", "coalesce_key": "k", "coalesce_window": 0}, shell="add g --coalesce k --window 0")
        for _ in "ab"
    ),
    Step("claim", {"agent": "a"}, shell="claim --agent a", saves="claims", answers=[{"group": [{}]}]),
)
MEMBERS = [["$claims.0.task.id", 1], ["$claims.0.group.0.task.id", 1]]

STORIES = (
    Story(
        "an agent is told which of its models to use",
        Step("add", {"type": "t", "models": ["m1"]}, shell="add t --model m1", saves="task"),
        Step("claim", {"agent": "a", "models": ["m2"]}, shell="claim --agent a --model m2", answers=[]),
        Step(
            "claim",
            {"agent": "a", "models": ["m2", "m1"]},
            shell="claim --agent a --model m2 --model m1",
            answers=[{"model": "m1"}],
        ),
        Step(
            "renew",
            {"claim": ["$task.id", 1], "lease": "2m", **USED},
            shell=f"renew $task.id --fence 1 --lease 2m {SAID}",
            answers={"cancel": False},
        ),
        Step("complete", {"claim": ["$task.id", 1], **USED}, shell=f"complete $task.id --fence 1 {SAID}"),
        Step("get", {"task_id": "$task.id"}, shell="show $task.id", answers=COUNTED),
    ),
    Story(
        "what failed work used is counted",
        *DEAD,
        Step("get", {"task_id": "$task.id"}, shell="show $task.id", answers={**COUNTED, "status": "dead_lettered"}),
        Step(
            "history",
            {"task_id": "$task.id"},
            shell="history $task.id",
            answers=[{**COUNTED, "model": "m1"}],
        ),
        Step("costs", {"since": "1h", "until": "0s"}, answers=[{"name": "t", "cost_usd": 0.25}]),
        Step("costs", {"since": "2199-01-01T00:00:00Z"}, refused="invalid", wrong="since"),
        Step("costs", {"since": "yesterday"}, refused="invalid", wrong="since"),
        Step("costs", {"until": "yesterday"}, refused="invalid", wrong="until"),
    ),
    Story(
        "what a group used is told like that of one",
        *GROUP,
        Step(
            "complete_group",
            {"claim": MEMBERS, "decision": "because", **USED},
            shell=f"complete --group $claims.0 --decision '\"because\"' {SAID}",
            answers=[{"status": "completed"}, {"status": "completed"}],
        ),
        Step(
            "get",
            {"task_id": "$claims.0.task.id"},
            shell="show $claims.0.task.id",
            answers={**COUNTED, "decision": "because"},
        ),
        *GROUP,
        Step(
            "fail_group",
            {"claim": MEMBERS, "error": "no", "reason": "bad", "exit_code": 3, "retry_after": "5m", **USED},
            shell=f"fail --group $claims.0 --error no --reason bad --exit-code 3 --retry-after 5m {SAID}",
            answers=[{"status": "retrying"}, {"status": "retrying"}],
        ),
        Step(
            "get",
            {"task_id": "$claims.0.task.id"},
            shell="show $claims.0.task.id",
            answers={**COUNTED, "reason": "bad", "exit_code": 3},
        ),
    ),
)
