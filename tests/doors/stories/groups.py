"""Work that goes together: tasks of one group, and what is said of many claims in one request."""

from __future__ import annotations

from tests.doors.story import Step, Story

MEMBERS = [["$claims.0.task.id", 1], ["$claims.0.group.0.task.id", 1]]


def taken(options: dict[str, object] | None = None, shell: str = "") -> tuple[Step, ...]:
    """Two tasks of a group, and the claim that takes both."""
    together = {"type": "note", "coalesce_key": "room", "coalesce_window": 0, **(options or {})}
    return (
        Step("add", together, shell=f"add note --coalesce room --window 0 {shell}"),
        Step("add", together, shell=f"add note --coalesce room --window 0 {shell}"),
        Step("claim", {"agent": "a"}, shell="claim --agent a", saves="claims", answers=[{"fence": 1, "group": [{}]}]),
    )


def ends(name: str, verb: str, options: dict[str, object], shell: str, status: str) -> Story:
    """A group that ends together, and says so again when it is asked again."""
    end = Step(
        f"{verb}_group",
        {"claim": MEMBERS, **options},
        shell=f"{verb} --group $claims.0 {shell}",
        answers=[{"task_id": member[0], "status": status} for member in MEMBERS],
    )
    found = Step("find", {"status": status}, shell=f"ls --status {status}", answers={"items": [{}, {}]})
    return Story(f"a group is {name} together", *taken(), end, end, found)


STORIES = (
    ends("completed", "complete", {"output": "sent"}, "--output '\"sent\"'", "completed"),
    ends("failed", "fail", {"error": "no network"}, "--error 'no network'", "retrying"),
    ends("given up", "fail", {"error": "no", "retry": False}, "--error no --no-retry", "dead_lettered"),
    ends("put off", "release", {"delay": "5m"}, "--delay 5m", "retrying"),
    ends("released", "release", {}, "", "ready"),
    Story(
        "what a group used is counted once",
        *taken(),
        Step(
            "complete_group",
            {"claim": MEMBERS, "cost": 0.5, "tokens_in": 10, "tokens_cached": 4},
            shell="complete --group $claims.0 --cost 0.5 --tokens-in 10 --tokens-cached 4",
        ),
        Step(
            "get",
            {"task_id": "$claims.0.task.id"},
            shell="show $claims.0.task.id",
            answers={"cost_usd": 0.5, "tokens_in": 10},
        ),
        Step(
            "get",
            {"task_id": "$claims.0.group.0.task.id"},
            shell="show $claims.0.group.0.task.id",
            answers={"cost_usd": 0, "tokens_in": 0},
        ),
    ),
    Story(
        "who cannot end like the others is told, and they end",
        *taken(),
        Step("cancel", {"target": "$claims.0.group.0.task.id"}, shell="cancel $claims.0.group.0.task.id"),
        Step(
            "complete_group",
            {"claim": MEMBERS},
            shell="complete --group $claims.0",
            answers=[{"status": "completed"}, {"code": "illegal_transition"}],
        ),
    ),
    Story(
        "a group whose output is not what it expects is refused",
        *taken(
            {"expects": {"validation": "regex", "pattern": "[0-9]+"}},
            '--expects \'{"validation": "regex", "pattern": "[0-9]+"}\'',
        ),
        Step(
            "complete_group",
            {"claim": MEMBERS, "output": "words"},
            shell="complete --group $claims.0 --output '\"words\"'",
            answers=[{"outcome": "rejected"}, {"outcome": "rejected"}],
        ),
    ),
    Story(
        "members of a group may end one by one",
        *taken(),
        *(
            Step(
                "complete", {"claim": member}, shell=f"complete {member[0]} --fence 1", answers={"status": "completed"}
            )
            for member in MEMBERS
        ),
        Step("claim", {"agent": "a"}, shell="claim --agent a", answers=[]),
    ),
    Story(
        "a task that gathers says so",
        Step(
            "add",
            {"type": "note", "coalesce_key": "room", "coalesce_window": "30m"},
            shell="add note --coalesce room --window 30m",
            saves="task",
            answers={"status": "scheduled", "coalesce_key": "room"},
        ),
        Step("why", {"task_id": "$task.id"}, shell="why $task.id", answers={"blockers": [{"kind": "coalesce"}]}),
        *(
            Step("add", {"type": "note", **options}, shell=f"add note {shell}", refused="invalid", wrong=wrong)
            for options, shell, wrong in (
                ({"coalesce_key": ""}, "--coalesce ''", "coalesce_key"),
                ({"coalesce_window": "5s"}, "--window 5s", "coalesce_window"),
                (
                    {"coalesce_key": "room", "coalesce_window": "soon"},
                    "--coalesce room --window soon",
                    "coalesce_window",
                ),
                ({"coalesce_key": "room", "coalesce_window": "2h"}, "--coalesce room --window 2h", "coalesce_window"),
            )
        ),
        Step("find", shell="ls", answers={"items": [{"id": "$task.id"}]}),
    ),
    Story(
        "many claims are renewed and ended in one request",
        *(Step("add", {"type": "many", "payload": n}, doors=("http",)) for n in range(4)),
        Step("claim", {"agent": "a", "limit": 10}, saves="claims", doors=("http",), answers=[{}, {}, {}, {}]),
        Step(
            "renew_many",
            {
                "renewals": [
                    *({"task_id": f"$claims.{n}.task.id", "fence": 1, "lease_s": 90} for n in range(4)),
                    {"task_id": "$claims.0.task.id", "fence": 7},
                ]
            },
            doors=("http",),
            answers=[{"cancel": False}] * 4 + [{"code": "lease_lost"}],
        ),
        Step(
            "settle_outcomes",
            {
                "outcomes": [
                    {
                        "task_id": "$claims.0.task.id",
                        "fence": 1,
                        "outcome": "completed",
                        "output": "done",
                        "tokens_in": 3,
                        "tokens_out": 1,
                    },
                    {"task_id": "$claims.1.task.id", "fence": 1, "outcome": "failed", "error": "boom", "retry": False},
                    {"task_id": "$claims.2.task.id", "fence": 1, "outcome": "released"},
                    {"task_id": "$claims.3.task.id", "fence": 1, "outcome": "vanished"},
                    {"task_id": "$claims.3.task.id", "fence": 9, "outcome": "completed"},
                ]
            },
            doors=("http",),
            answers=[
                {"status": "completed"},
                {"status": "dead_lettered"},
                {"status": "ready"},
                {"code": "invalid"},
                {"code": "lease_lost"},
            ],
        ),
    ),
)
