"""Tasks that were given up: what is decided about them."""

from __future__ import annotations

from tests.doors.stories.deadletters import bury, decided
from tests.doors.story import Step, Story

STORIES = (
    Story(
        "what is decided is recorded",
        *bury("one", "t", "row 1"),
        *bury("two", "t", "row 2"),
        *bury("three", "t", "row 3"),
        *bury("four", "t", "row 4"),
        decided(
            "drop",
            "dropped",
            ["$one.id"],
            {"note": "gone"},
            "--note gone",
            answers=[
                {
                    "status": "cancelled",
                    "reason": "dropped",
                    "cancel_reason": "gone",
                    "reviews": [{"by": "grace", "resolution": "dropped", "note": "gone"}],
                }
            ],
        ),
        decided(
            "keep",
            "kept",
            ["$two.id"],
            {},
            "",
            answers=[{"status": "dead_lettered", "reviews": [{"resolution": "kept"}]}],
        ),
        decided(
            "escalate",
            "escalated",
            ["$three.id"],
            {"to": "team:payments"},
            "--to team:payments",
            answers=[{"status": "dead_lettered", "reviews": [{"resolution": "escalated", "to": "team:payments"}]}],
        ),
        Step(
            "inbox",
            {"assignee": "team:payments"},
            shell="inbox --assignee team:payments",
            answers=[{"task_id": "$three.id"}],
        ),
        Step("dead_letter_ids", {"reviewed": False}, shell="dlq ls --unreviewed", answers=["$four.id"]),
        decided(
            "retry",
            "retried",
            ["$two.id"],
            {},
            "",
            answers=[{"status": "ready", "reviews": [{}, {"resolution": "retried"}]}],
        ),
        Step(
            "review",
            {"task_id": "$four.id", "resolution": "retried_modified", "by": "ada", "payload": {"n": 2}, "delay": "1h"},
            answers={
                "status": "scheduled",
                "payload": {"n": 2},
                "reviews": [{"by": "ada", "resolution": "retried_modified"}],
            },
        ),
        Step("review", {"task_id": "$two.id", "resolution": "kept", "by": "ada"}, refused="illegal_transition"),
    ),
    Story(
        "what cannot be decided is refused by its field, and the others are decided about",
        *bury("one", "t", "no"),
        *bury("two", "t", "no"),
        *(
            decided(verb, resolution, ["$one.id"], options, shell, refused="invalid", wrong=wrong)
            for verb, resolution, options, shell, wrong in (
                ("retry", "retried", {"delay": -5}, "--delay -5", "delay"),
                ("drop", "dropped", {"note": ""}, "--note ''", "note"),
            )
        ),
        Step("review", {"task_id": "$one.id", "resolution": "kept", "by": " "}, refused="invalid", wrong="by"),
        Step(
            "review", {"task_id": "$one.id", "resolution": "burnt", "by": "ada"}, refused="invalid", wrong="resolution"
        ),
        Step("review", {"task_id": "$one.id", "resolution": "escalated", "by": "ada"}, refused="invalid", wrong="to"),
        Step("dead_letters", {"reviewed": False}, shell="dlq ls --groups --unreviewed", answers=[{"count": 2}]),
        Step(
            "review_many",
            {"task_ids": ["task_unknown", "$one.id"], "resolution": "dropped", "by": "grace"},
            answers=[{"code": "not_found"}, {"status": "cancelled"}],
        ),
        Step("review", {"task_id": "$two.id", "resolution": "kept", "by": "ada"}, role="agent", refused="denied"),
    ),
)
