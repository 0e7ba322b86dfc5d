"""Judging work that was handed in: by an agent with a task of its own, or by a person who is asked.

What a contract's slow checks have found so far is all on record: each has one task or one question per attempt, whose
id says which (`judge_id`, `question_id`). So what comes next is read from there (`next_step`), by whoever looks, as
often as they like, and nobody has to remember where the judgement was when a process was killed.

A judge says `{"verdict": "pass" or "fail", "criteria": {name: {"pass": true, "reason": …}}, "reason": …}`
(`verdict_faults`). A judge that cannot decide, because its task was dead-lettered or cancelled, loses nobody's work: a
person is asked instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.json import encode

from dibs.model.ids import JUDGES
from dibs.model.status import FINAL, Status
from dibs.model.task import NewTask
from dibs.rules import contracts, questions
from dibs.rules.matching import ANYBODY_BUT
from dibs.rules.schemas import depth_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.model.question import Question
    from dibs.model.task import Task

JUDGE = "judge"
"""The type of a judge's task, and the capability it requires."""
MAX_SHOWN_BYTES = 128 << 10
MAX_SHOWN_DEPTH = 50
"""Payloads, outputs and decisions above these are named in a judge's payload, which has limits of its own."""
_MAX_TROUBLE_CHARS = 300


class Step(Struct, frozen=True):
    """What is to be done now with work that was handed in.

    `send` it to a judge; `wait` for what is under way; `ask` a person `text`; `complete` it; or `reject` it, with
    `text` as the error. `place` is that of the check it is about, `id` the judge's task or the question. Asked is
    `assignee`; if there is no answer after `timeout_s`, it is `default`, and without one the task is a dead letter.
    """

    do: str
    place: int = 0
    id: str = ""
    text: str = ""
    assignee: str | None = None
    timeout_s: float | None = None
    default: dict[str, Any] | None = None


def judge_id(task_id: str, fence: int, place: int) -> str:
    """The id of the task that judges an attempt: derived, so that there is one."""
    return f"{task_id}{JUDGES}{fence}_{place}"


def question_id(task_id: str, fence: int, place: int, *, escalated: bool = False) -> str:
    """The id of the question about an attempt: derived, so that there is one. And one more, if nobody answered that and
    it was `escalated`."""
    return f"q_{task_id.removeprefix('task_')}_work_{fence}_{place}" + ("_2" if escalated else "")


def judge_ids(task: Task, fences: Sequence[int] | None = None) -> list[str]:
    """The ids of the tasks that judge the last attempt, or may have to; or those under these fences."""
    checks = contracts.parse(task.expects)
    places = [place for place, check in enumerate(checks) if check.kind == "judge"]
    return [judge_id(task.id, fence, place) for fence in fences or [task.fence] for place in places]


def charged_to(task: Task) -> tuple[str, ...]:
    """The scopes of budgets in which a judge's task is charged beside its own: judging is part of what the work costs,
    so its dag and its type pay for that. (Its user is the judge's task's own.)"""
    return (f"dag:{task.dag_id}", f"type:{task.type}")


def next_step(task: Task, judges: Mapping[str, Task], asked: Mapping[str, Question]) -> Step:
    """What comes next for work that was handed in under the task's fence; `judges` and `asked` by their ids."""
    for place, check in enumerate(contracts.parse(task.expects)):
        if check.kind not in contracts.SLOW:
            continue
        text = check.question or questions.VALIDATION_TEXT
        if check.kind == "judge":
            id = judge_id(task.id, task.fence, place)
            judge = judges.get(id)
            if judge is None:
                return Step("send", place, id)
            if judge.status not in FINAL:
                return Step("wait", place, id)
            # (Somebody may have given the judge's task to the author after all.)
            if judge.status is Status.COMPLETED and (judge.agent is None or judge.agent != task.agent):
                if judge.output["verdict"] == "pass":
                    continue
                return Step("reject", place, id, contracts.refusal("judge", reasons(judge.output)))
            text = _instead_of(judge, check)
        step = _asked(task, place, check, text, asked)
        if step is not None:
            return step
    return Step("complete")


def _asked(task: Task, place: int, check: contracts.Check, text: str, asked: Mapping[str, Question]) -> Step | None:
    """What comes next where a person is asked; None: they said yes."""
    id = question_id(task.id, task.fence, place)
    question = asked.get(id)
    whom, default = check.assignee, check.default
    if check.escalate_to is not None:
        if question is not None and question.answered_by == questions.BY_TIMEOUT:
            text = f"{text} (Nobody{f' ({whom})' if whom else ''} answered in time.)"
            whom, id = check.escalate_to, question_id(task.id, task.fence, place, escalated=True)
            question = asked.get(id)
        else:
            default = questions.judgement(False, f"nobody answered in time; {check.escalate_to} is asked")
    if question is None:
        return Step("ask", place, id, text, whom, check.answer_s, default)
    if question.status != questions.ANSWERED:
        return Step("wait", place, id)
    if question.answer["approve"]:
        return None
    why = question.answer.get("reason") or "no reason was given"
    return Step("reject", place, id, contracts.refusal(question.answered_by or "a person", [why]))


def order(task: Task, place: int) -> NewTask:
    """The task of whoever judges, with all they need to know. Who did the work must not get it (`not_for`)."""
    check = contracts.parse(task.expects)[place]
    about = {
        "id": task.id,
        "type": task.type,
        "title": task.title,
        "payload": _shown(task, "payload", task.payload),
        "decision": _shown(task, "decision", task.decision),
    }
    return NewTask(
        JUDGE,
        {
            "task": about,
            "output": _shown(task, "output", task.output),
            "rubric": check.rubric,
            "criteria": list(check.criteria),
        },
        title=f"Judge {task.title or task.type}"[:4_000],
        priority=task.priority,
        requires=(JUDGE,),
        user=task.user,
        created_by=task.created_by,
        expects={"validation": "verdict", "criteria": list(check.criteria)},
    )


def not_for(author: str) -> str:
    """The assignee of a judge's task: anybody but the author."""
    return ANYBODY_BUT + author


def verdict_faults(output: Any, criteria: Sequence[str]) -> list[str]:
    """What is wrong with a verdict; empty if it can be used."""
    if not isinstance(output, dict) or output.get("verdict") not in ("pass", "fail"):
        return ['it must be an object with a verdict, "pass" or "fail", and a reason']
    found = output.get("criteria", {})
    if not isinstance(found, dict):
        return ["criteria must be an object that has a finding for each name"]
    faults = [
        f'criteria.{name} must be an object such as {{"pass": true, "reason": "…"}}'
        for name in dict.fromkeys([*criteria, *found])
        if not isinstance(found.get(name), dict) or not isinstance(found[name].get("pass"), bool)
    ]
    if faults:
        return faults
    missed = [name for name, finding in found.items() if not finding["pass"]]
    if output["verdict"] == "pass":
        return [f"the verdict is pass, but criteria.{name} is not met" for name in missed]
    return [] if reasons(output) else ["a verdict of fail must have a reason"]


def reasons(output: dict[str, Any]) -> list[str]:
    """What a verdict has against the work: on the whole, then by criterion."""
    told = [_text(output.get("reason"))]
    for name, finding in output.get("criteria", {}).items():
        if not finding["pass"]:
            why = _text(finding.get("reason"))
            told.append(f"{name}: {why}" if why else f"{name} is not met")
    return [reason for reason in told if reason]


def _instead_of(judge: Task, check: contracts.Check) -> str:
    """What a person is asked where no judge could decide."""
    if judge.status is Status.COMPLETED:
        return (
            f"The work was judged by its author ({judge.agent}, {judge.id}), which does not count."
            f" {questions.VALIDATION_TEXT} It was to be judged by this: {check.rubric}"
        )
    trouble = (judge.error or judge.cancel_reason or judge.reason or "no reason is known")[:_MAX_TROUBLE_CHARS]
    return (
        f"The work could not be judged ({judge.id} is {judge.status}: {trouble}). {questions.VALIDATION_TEXT}"
        f" It was to be judged by this: {check.rubric}"
    )


def _shown(task: Task, part: str, value: Any) -> Any:
    """A part of the task in full, or by reference where it would make the judge's payload too heavy."""
    body = encode(value)
    if len(body) <= MAX_SHOWN_BYTES and depth_of(body) <= MAX_SHOWN_DEPTH:
        return value
    return {"ref": f"task:{task.id}:{part}"}


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
