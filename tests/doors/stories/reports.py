"""Decision reports: in which fields those of a type must say something."""

from __future__ import annotations

from tests.doors.story import Step, Story

WANTED = {"validation": "decision-report"}

STORIES = (
    Story(
        "what reports must say is set, holds for what is added, and is forgotten",
        Step("reports", shell="report ls", answers=[]),
        Step(
            "set_report",
            {"type": "review", "fields": ["decision", "risks"]},
            shell="report set review decision risks",
            answers={"type": "review", "fields": ["decision", "risks"]},
        ),
        Step("reports", shell="report ls", answers=[{"type": "review", "fields": ["decision", "risks"]}]),
        Step(
            "add",
            {"type": "review", "expects": WANTED},
            shell="""add review --expects '{"validation": "decision-report"}'""",
            saves="task",
        ),
        Step("remove_report", {"type": "review"}, shell="report rm review", answers={"fields": ["decision", "risks"]}),
        Step("reports", shell="report ls", answers=[]),
        Step("claim", {"agent": "ada"}, shell="claim --agent ada"),
        Step(
            "complete",
            {"claim": ["$task.id", 1], "decision": {"decision": "yes"}},
            answers={"outcome": "rejected", "status": "retrying"},
        ),
        Step(
            "get",
            {"task_id": "$task.id"},
            shell="show $task.id",
            answers={"status": "retrying", "error": "refused by decision-report: decision.risks is missing"},
        ),
    ),
    Story(
        "those of every type hold where a type has none of its own, and are replaced",
        Step("set_report", {"type": "*", "fields": ["risks"]}, shell="report set '*' risks"),
        Step("set_report", {"type": "review", "fields": ["a"]}, shell="report set review a"),
        Step("set_report", {"type": "review", "fields": ["b"]}, shell="report set review b", answers={"fields": ["b"]}),
        Step(
            "reports",
            shell="report ls",
            answers=[{"type": "*", "fields": ["risks"]}, {"type": "review", "fields": ["b"]}],
        ),
    ),
    Story(
        "what is no report is refused by its field and sets nothing",
        *(
            Step(verb, arguments, shell=shell, refused=code, wrong=wrong)
            for verb, arguments, shell, code, wrong in (
                ("set_report", {"type": "review", "fields": []}, "report set review", "invalid", "fields"),
                ("set_report", {"type": "review", "fields": [""]}, "report set review ''", "invalid", "fields"),
                ("set_report", {"type": "review", "fields": 7}, None, "invalid", "fields"),
                ("set_report", {"type": "", "fields": ["risks"]}, "report set '' risks", "invalid", "type"),
                ("remove_report", {"type": ""}, "report rm ''", "invalid", "type"),
                ("remove_report", {"type": "review"}, "report rm review", "not_found", "type"),
            )
        ),
        Step("reports", shell="report ls", answers=[]),
    ),
)
