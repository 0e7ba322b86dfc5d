"""Rates: so many tasks of a type in a time."""

from __future__ import annotations

from tests.doors.story import Step, Story

STORIES = (
    Story(
        "a rate is set, keeps back what is too much, and is removed",
        Step("rates", shell="rate ls", answers=[]),
        Step(
            "set_rate",
            {"type": "call", "rate": "2/hour", "burst": 1},
            shell="rate set call 2/hour --burst 1",
            answers={"type": "call", "amount": 2, "per_s": 3600.0, "burst": 1, "left": 1, "opens_at": None},
        ),
        Step("add", {"type": "call"}, shell="add call"),
        Step("add", {"type": "call"}, shell="add call", saves="task"),
        Step("claim", {"agent": "ada"}, shell="claim --agent ada", answers=[{"task": {"type": "call"}}]),
        Step("claim", {"agent": "bob"}, shell="claim --agent bob", answers=[]),
        Step("rates", shell="rate ls", answers=[{"type": "call", "amount": 2, "burst": 1, "left": 0}]),
        Step("get_rate", {"type": "call"}, answers={"type": "call", "amount": 2, "burst": 1, "left": 0}),
        Step("gates", shell="gates", answers=[{"gate": "rate:call", "reason": "its rate is 2/hour"}]),
        Step(
            "why",
            {"task_id": "$task.id"},
            shell="why $task.id",
            answers={"blockers": [{"kind": "gate", "ids": ["rate:call"]}]},
        ),
        Step("remove_rate", {"type": "call"}, shell="rate rm call", answers={"type": "call", "amount": 2}),
        Step("rates", shell="rate ls", answers=[]),
        Step("claim", {"agent": "bob"}, shell="claim --agent bob", answers=[{"task": {"type": "call"}}]),
    ),
    Story(
        "a rate is changed, and is no rate any more",
        Step("set_rate", {"type": "call", "rate": "3/30s"}, shell="rate set call 3/30s", answers={"burst": 3}),
        Step(
            "set_rate",
            {"type": "call", "rate": "10/min"},
            shell="rate set call 10/min",
            answers={"amount": 10, "per_s": 60.0, "burst": 10, "left": 10},
        ),
        Step("rates", shell="rate ls", answers=[{"type": "call", "amount": 10}]),
        Step("set_rate", {"type": "call", "rate": None}),
        Step("rates", shell="rate ls", answers=[]),
    ),
    Story(
        "what is no rate is refused by its field and sets nothing",
        *(
            Step(verb, arguments, shell=shell, refused=code, wrong=field)
            for verb, arguments, shell, code, field in (
                ("set_rate", {"type": "call", "rate": "fast"}, "rate set call fast", "invalid", "rate"),
                ("set_rate", {"type": "call", "rate": "0/min"}, "rate set call 0/min", "invalid", "rate"),
                (
                    "set_rate",
                    {"type": "call", "rate": "1/min", "burst": 0},
                    "rate set call 1/min --burst 0",
                    "invalid",
                    "burst",
                ),
                (
                    "set_rate",
                    {"type": "call", "rate": "1/min", "burst": "x"},
                    "rate set call 1/min --burst x",
                    "invalid",
                    "burst",
                ),
                ("set_rate", {"type": "", "rate": "1/min"}, "rate set '' 1/min", "invalid", "type"),
                ("remove_rate", {"type": ""}, "rate rm ''", "invalid", "type"),
                ("remove_rate", {"type": "call"}, "rate rm call", "not_found", "type"),
            )
        ),
        Step("get_rate", {"type": "call"}, refused="not_found", wrong="type"),
        Step(
            "set_rate",
            {"type": "call"},
            shell="rate set call",
            doors=("shell",),
            refused="invalid",
            wrong="rate",
        ),
        Step("rates", shell="rate ls", answers=[]),
    ),
)
