"""Circuit breakers: how they work is set, they open by failures and by hand, and are closed and forgotten."""

from __future__ import annotations

from tests.doors.story import Step, Story

STORIES = (
    Story(
        "a breaker opens at its threshold and is closed by hand",
        Step(
            "set_breaker",
            {"type": "code", "failure_threshold": 2, "half_open_after_s": "2m"},
            shell="breaker set code --threshold 2 --half-open-after 2m",
            answers={
                "type": "code",
                "state": "closed",
                "enabled": True,
                "failure_threshold": 2,
                "cooldown_s": 300.0,
                "half_open_after_s": 120.0,
                "own": True,
            },
        ),
        *(Step("add", {"type": "code"}, shell="add code") for _ in range(3)),
        *(
            step
            for _ in range(2)
            for step in (
                Step("claim", {"agent": "a"}, shell="claim --agent a", saves="claims"),
                Step(
                    "fail",
                    {"claim": ["$claims.0.task.id", 1], "error": "boom", "retry": False},
                    shell="fail $claims.0.task.id --fence 1 --error boom --no-retry",
                ),
            )
        ),
        Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[]),
        Step(
            "gates",
            shell="gates",
            answers=[{"gate": "breaker:code", "kind": "breaker", "help": "dibs breaker close code"}],
        ),
        Step(
            "breakers",
            shell="breaker ls",
            answers=[
                {"type": "*", "enabled": False, "failures": 0, "failure_threshold": 5, "own": False},
                {"type": "code", "state": "open", "failures": 2, "reason": "2 failed attempts in a row"},
            ],
        ),
        Step("get_breaker", {"type": "code"}, answers={"type": "code", "state": "open", "failures": 2}),
        Step(
            "close_breaker",
            {"type": "code"},
            shell="breaker close code",
            answers={"state": "closed", "failures": 0, "own": True},
        ),
        Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[{"task": {"type": "code"}}]),
    ),
    Story(
        "a breaker is opened by hand, switched off and forgotten",
        Step("add", {"type": "code"}, shell="add code", saves="task"),
        Step(
            "open_breaker",
            {"type": "code", "reason": "look"},
            shell="breaker open code --reason look",
            answers={"type": "code", "state": "open", "reason": "look"},
        ),
        Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[]),
        Step(
            "why",
            {"task_id": "$task.id"},
            shell="why $task.id",
            answers={"blockers": [{"kind": "gate", "ids": ["breaker:code"]}]},
        ),
        Step(
            "set_breaker",
            {"type": "code", "enabled": False},
            shell="breaker set code --off",
            answers={"state": "closed", "enabled": False, "own": True},
        ),
        Step("gates", shell="gates", answers=[]),
        Step(
            "reset_breaker",
            {"type": "code"},
            shell="breaker reset code",
            answers={"type": "code", "state": "closed", "own": False},
        ),
        Step("breakers", shell="breaker ls", answers=[{"type": "*"}]),
        Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[{"task": {"type": "code"}}]),
    ),
    Story(
        "a type takes what it does not say from those of every type",
        Step(
            "set_breaker",
            {"type": "*", "failure_threshold": 4, "cooldown_s": 200, "half_open_after_s": 30},
            shell="breaker set '*' --threshold 4 --cooldown 200 --half-open-after 30",
            answers={"type": "*", "failure_threshold": 4, "cooldown_s": 200.0, "half_open_after_s": 30.0},
        ),
        Step(
            "set_breaker",
            {"type": "code", "failure_threshold": 3},
            shell="breaker set code --threshold 3",
            answers={"failure_threshold": 3, "cooldown_s": 200.0, "half_open_after_s": 30.0},
        ),
        Step("set_breaker", {"type": "code"}, shell="breaker set code", answers={"failure_threshold": 3}),
        Step("reset_breaker", {"type": "*"}, shell="breaker reset '*'", answers={"type": "*", "failure_threshold": 5}),
        Step(
            "breakers",
            shell="breaker ls",
            answers=[{"type": "*", "own": False}, {"type": "code", "failure_threshold": 3, "cooldown_s": 300.0}],
        ),
    ),
    Story(
        "a breaker that is closed, or that nobody knows, is closed and forgotten all the same",
        Step("close_breaker", {"type": "code"}, shell="breaker close code", answers={"state": "closed", "own": False}),
        Step("reset_breaker", {"type": "code"}, shell="breaker reset code", answers={"state": "closed", "own": False}),
        Step("breakers", shell="breaker ls", answers=[{"type": "*"}]),
    ),
    Story(
        "what is no breaker is refused by its field and sets nothing",
        *(
            Step(verb, arguments, shell=shell, refused="invalid", wrong=field)
            for verb, arguments, shell, field in (
                ("set_breaker", {"type": ""}, "breaker set ''", "type"),
                (
                    "set_breaker",
                    {"type": "a", "failure_threshold": 0},
                    "breaker set a --threshold 0",
                    "failure_threshold",
                ),
                (
                    "set_breaker",
                    {"type": "a", "failure_threshold": "x"},
                    "breaker set a --threshold x",
                    "failure_threshold",
                ),
                ("set_breaker", {"type": "a", "cooldown_s": 0}, "breaker set a --cooldown 0", "cooldown_s"),
                (
                    "set_breaker",
                    {"type": "a", "half_open_after_s": "x"},
                    "breaker set a --half-open-after x",
                    "half_open_after_s",
                ),
                ("set_breaker", {"type": "a", "enabled": "no"}, None, "enabled"),
                ("open_breaker", {"type": "*"}, "breaker open '*'", "type"),
                ("open_breaker", {"type": "a", "reason": ""}, "breaker open a --reason ''", "reason"),
                ("close_breaker", {"type": "*"}, "breaker close '*'", "type"),
                ("reset_breaker", {"type": ""}, "breaker reset ''", "type"),
            )
        ),
        Step("close_breaker", shell="breaker close", doors=("shell",), refused="invalid", wrong="type"),
        Step("breakers", shell="breaker ls", answers=[{"type": "*", "own": False}]),
    ),
)
