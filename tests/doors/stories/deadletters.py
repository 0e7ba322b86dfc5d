"""Tasks that were given up: seen in groups, and what is decided about them."""

from __future__ import annotations

from typing import Any

from tests.doors.story import Step, Story


def bury(name: str, type: str, error: str, **options: str) -> tuple[Step, ...]:
    """A task that was given up for this error."""
    said = "".join(f" --{option.removesuffix('s')} {value}" for option, value in options.items())
    given = {option: [value] if option == "tags" else value for option, value in options.items()}
    return (
        Step("add", {"type": type, **given}, shell=f"add {type}{said}", saves=name),
        Step("claim", {"agent": "a", "types": [type]}, shell=f"claim --agent a --type {type}"),
        Step(
            "fail",
            {"claim": [f"${name}.id", 1], "error": error, "retry": False, "cost": 0.5},
            shell=f"fail ${name}.id --fence 1 --error '{error}' --no-retry --cost 0.5",
            answers={"status": "dead_lettered"},
        ),
    )


def decided(verb: str, resolution: str, ids: list[str], options: Any, shell: str, **more: Any) -> Step:
    """One decision about these."""
    arguments = {"task_ids": ids, "resolution": resolution, "by": "grace", **options}
    command = f"dlq {verb} {' '.join(ids)} --by grace {shell}"
    return Step("review_many", arguments, shell=command, **more)


STORIES = (
    Story(
        "those that failed alike are a group",
        *bury("one", "fetch", "row 1 is bad"),
        *bury("two", "fetch", "row 2 is bad"),
        *bury("other", "parse", "no such file"),
        Step(
            "dead_letters",
            shell="dlq ls --groups",
            saves="groups",
            answers=[
                {"type": "fetch", "count": 2, "cost_usd": 1.0, "task_ids": ["$two.id", "$one.id"]},
                {"type": "parse", "count": 1, "cost_usd": 0.5},
            ],
        ),
        Step(
            "dead_letters",
            {"type": "fetch", "reviewed": False},
            shell="dlq ls --groups --type fetch --unreviewed",
            answers=[{"count": 2}],
        ),
        Step(
            "dead_letter_ids",
            {"fingerprint": "$groups.1.fingerprint"},
            shell="dlq ls --fingerprint $groups.1.fingerprint",
            answers=["$other.id"],
        ),
        decided("retry", "retried", ["$one.id"], {"delay": "5m"}, "--delay 5m", answers=[{"status": "scheduled"}]),
        Step("dead_letter_ids", {"type": "fetch"}, shell="dlq ls --type fetch", answers=["$two.id"]),
    ),
    Story(
        "every attempt of a dead letter is shown",
        Step(
            "add",
            {"type": "t", "retry": "immediate", "max_attempts": 2},
            shell="add t --retry immediate --max-attempts 2",
            saves="task",
        ),
        *(
            step
            for fence in (1, 2)
            for step in (
                Step("claim", {"agent": f"agent-{fence}"}, shell=f"claim --agent agent-{fence}"),
                Step(
                    "fail",
                    {"claim": ["$task.id", fence], "error": f"line {fence * 11} of it", "cost": 0.25},
                    shell=f"fail $task.id --fence {fence} --error 'line {fence * 11} of it' --cost 0.25",
                ),
            )
        ),
        Step(
            "history",
            {"task_id": "$task.id"},
            shell="dlq show $task.id",
            answers=[
                {"agent": "agent-1", "error": "line 11 of it", "cost_usd": 0.25},
                {"agent": "agent-2", "error": "line 22 of it", "cost_usd": 0.25},
            ],
        ),
        Step("get", {"task_id": "$task.id"}, shell="show $task.id", answers={"cost_usd": 0.5}),
    ),
    Story(
        "a poison pill is flagged",
        Step(
            "add",
            {"type": "t", "max_attempts": 5, "retry": "immediate"},
            shell="add t --max-attempts 5 --retry immediate",
            saves="task",
        ),
        *(
            step
            for fence, agent in enumerate("aba", 1)
            for step in (
                Step("claim", {"agent": agent}, shell=f"claim --agent {agent}", answers=[{"fence": fence}]),
                Step(
                    "fail",
                    {"claim": ["$task.id", fence], "error": "boom"},
                    shell=f"fail $task.id --fence {fence} --error boom",
                ),
            )
        ),
        Step(
            "get",
            {"task_id": "$task.id"},
            shell="show $task.id",
            answers={"status": "dead_lettered", "poison_pill": True},
        ),
        Step("dead_letters", shell="dlq ls --groups", answers=[{"poison_pills": 1}]),
    ),
    Story(
        "dead letters are found by what they are, a page at a time",
        *bury("one", "t", "no", tags="night", user="grace"),
        *bury("two", "t", "the Needle"),
        *(
            Step("dead_letter_ids", options, shell=f"dlq ls {shell}", answers=answers)
            for options, shell, answers in (
                ({"tag": "night"}, "--tag night", ["$one.id"]),
                ({"user": "grace"}, "--user grace", ["$one.id"]),
                ({"text": "needle"}, "--text needle", ["$two.id"]),
                ({"since": "1h"}, "--since 1h", ["$two.id", "$one.id"]),
                ({"until": "1h"}, "--until 1h", []),
                ({"since": "2020-01-01T00:00:00Z"}, "--since 2020-01-01T00:00:00Z", ["$two.id", "$one.id"]),
                ({"limit": 1}, "--limit 1", ["$two.id"]),
                ({"limit": 1, "before": "$two.id"}, "--limit 1 --cursor $two.id", ["$one.id"]),
            )
        ),
        *(
            Step("dead_letter_ids", options, shell=f"dlq ls {shell}", refused=code, wrong=wrong)
            for options, shell, wrong, code in (
                ({"since": "yesterday"}, "--since yesterday", "since", "invalid"),
                ({"limit": 0}, "--limit 0", "limit", "invalid"),
                ({"before": "task_x"}, "--cursor task_x", "before", "not_found"),
            )
        ),
    ),
)
