"""Why a task is where it is: one sentence for a person, and each thing that stands in its way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.agent import AgentStatus
from dibs.model.instants import from_micros
from dibs.model.status import HELD, Outcome, Status
from dibs.model.views import Agent, Blocker, Budget, Lane, Lock, TypeRate, TypeSlots, Why
from dibs.rules import budgets, closing, escalation, providers
from dibs.rules import rates as type_rates
from dibs.rules import slots as type_slots
from dibs.rules.agents import can_take, is_full, is_live
from dibs.rules.coalescing import gathers
from dibs.rules.large import AWAY
from dibs.rules.matching import ANYBODY_BUT, is_meant, models_of
from dibs.rules.questions import APPROVAL, OPEN, QUESTION, VALIDATION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from dibs.model.attempt import Attempt
    from dibs.model.closures import Closure
    from dibs.model.question import Question
    from dibs.model.task import Task
    from dibs.rules.breaker import Record
    from dibs.rules.closing import Pause
    from dibs.rules.providers import Backoff


_ANSWERS = {APPROVAL: "true", VALIDATION: "yes, or 'no: WHY'"}
"""What may be said to a question of this kind."""


def explain(
    task: Task,
    now: int,
    *,
    parents: Sequence[Task] = (),
    agents: Sequence[Agent] = (),
    pauses: Sequence[Pause] = (),
    breaker: Record | None = None,
    limits: Mapping[str, Backoff] | None = None,
    slots: Sequence[TypeSlots] = (),
    rates: Sequence[TypeRate] = (),
    questions: Sequence[Question] = (),
    lock: Lock | None = None,
    budget: Budget | None = None,
    spending: Sequence[Budget] = (),
    last: Attempt | None = None,
) -> Why:
    """Say why `task` is where it is. `parents` are the tasks it still waits for; `agents` all that were heard of;
    `pauses` all there are; `breaker` that of its type; `limits` the gates that rate limits closed; `slots` and
    `rates` those of types; `questions` its own; `lock` or `budget` the one that it is parked on; `spending` all budgets
    there are; `last` how its last claim ended."""
    if task.status is Status.PENDING:
        sentence, blockers = _pending(parents)
    elif gathers(task):
        sentence, blockers = _gathering(task, now)
    elif task.status is Status.SCHEDULED:
        sentence, blockers = _timed("schedule", "It is scheduled", task.run_after, now)
    elif task.status is Status.RETRYING:
        sentence, blockers = _retrying(task, last, now)
    elif lock is not None:
        sentence, blockers = _parked(task, lock)
    elif budget is not None:
        sentence, blockers = budgets.explain(task, budget)
    elif task.status is Status.READY:
        closures = _closed_to(task, pauses, breaker) + _limited(task, limits or {}) + _full(task, slots, rates)
        if closures:
            sentence, blockers = _closed(closures, now)
        else:
            sentence, blockers = _ready(task, agents, pauses, spending, now)
    elif task.status is Status.WAITING:
        sentence, blockers = _waiting(parents, [question for question in questions if question.status == OPEN], now)
    elif task.status is Status.VALIDATING:
        sentence, blockers = _validating(task, parents)
    elif task.status in HELD:
        sentence, blockers = _held(task, now)
    else:
        sentence, blockers = _final(task)
    if task.escalations and task.status is not Status.COMPLETED:
        blockers.append(_escalated(task))
    return Why(task_id=task.id, status=task.status.value, explanation=sentence, blockers=blockers)


def _pending(parents: Sequence[Task]) -> tuple[str, list[Blocker]]:
    blockers = [
        Blocker(
            kind="dependency",
            detail=f"waits for {_named(parent)}, which is {parent.status}",
            ids=[parent.id],
            help=f"dibs why {parent.id}",
        )
        for parent in parents
    ]
    count = len(blockers)
    noun = "task" if count == 1 else "tasks"
    return f"It waits for {count} other {noun} to end.", blockers


def _waiting(parents: Sequence[Task], questions: Sequence[Question], now: int) -> tuple[str, list[Blocker]]:
    blockers = [
        Blocker(
            kind=APPROVAL if question.kind == APPROVAL else QUESTION,
            detail=f"{question.id}{f' for {question.assignee}' if question.assignee else ''}: {question.question}",
            ids=[question.id],
            until=question.expires_at,
            help=f"answer question {question.id}: dibs answer {question.id} {_ANSWERS.get(question.kind, 'VALUE')}",
        )
        for question in questions
    ]
    approval = any(question.kind == APPROVAL for question in questions)
    ends = next((f"; its time ends {_distance(q.expires_at, now)}" for q in questions if q.expires_at), "")
    asks = any(question.kind == escalation.KIND for question in questions)
    sentence = "It waits to be approved." if approval else f"It waits for a person to answer{ends}."
    if any(question.kind == VALIDATION for question in questions):
        sentence = "Its work is done, and a person has to say whether it is what was asked for."
    if asks:
        sentence = f"It keeps failing, and waits for a person to say how it shall go on{ends}."
    return sentence, blockers + (_pending(parents)[1] if parents else [])


def _validating(task: Task, judges: Sequence[Task]) -> tuple[str, list[Blocker]]:
    """Nobody holds it: its work was handed in."""
    done = f"{task.agent} has handed in its work" if task.agent else "Its work is handed in"
    if not judges:
        return f"{done}; what becomes of it is decided in a moment.", []
    blockers = [
        Blocker(
            kind="dependency",
            detail=f"is judged by {_named(judge)}, which is {judge.status}",
            ids=[judge.id],
            help=f"dibs why {judge.id}",
        )
        for judge in judges
    ]
    return f"{done}; it {blockers[0].detail}.", blockers


def _timed(kind: str, start: str, until: datetime | None, now: int) -> tuple[str, list[Blocker]]:
    when = "now" if until is None else _distance(until, now)
    return f"{start} to run {when}.", [Blocker(kind=kind, detail=f"runs {when}", until=until)]


def _gathering(task: Task, now: int) -> tuple[str, list[Blocker]]:
    """Others of its group may come until then; if one of them is taken before, it goes with that one."""
    until = task.gathers_until
    ends = "" if until is None else f"its window ends {_distance(until, now)}"
    blocker = Blocker(kind="coalesce", detail=f"gathers under the key {task.coalesce_key}; {ends}", until=until)
    return f"It waits for others of its group ({task.coalesce_key}) to come; {ends}.", [blocker]


def _retrying(task: Task, last: Attempt | None, now: int) -> tuple[str, list[Blocker]]:
    when = "now" if task.retry_at is None else _distance(task.retry_at, now)
    if last is not None and last.outcome is Outcome.RELEASED and last.reason == AWAY:
        detail = f"what {last.agent} needs for it lies with the artifacts, and could not be read there"
        help = f"run `dibs doctor` where {last.agent} runs: it says where artifacts are kept, and looks at them"
        blocker = Blocker(kind="retry", detail=f"{AWAY}: {detail}", until=task.retry_at, help=help)
        return f"It was given back, because {detail}; it will be offered again {when}.", [blocker]
    if task.error is None or (last is not None and last.outcome is Outcome.RELEASED):
        return (
            f"It was given back and will be offered again {when}.",
            [Blocker(kind="retry", detail=f"released; offered again {when}", until=task.retry_at)],
        )
    refused = task.expects is not None and task.reason == "invalid_output"
    failed = "Its last output was refused" if refused else f"Its last attempt failed ({task.reason})"
    detail = _first_line(task.error) if refused else f"failed with {task.reason}: {_first_line(task.error)}"
    return (
        f"{failed}; it will be tried again {when} ({task.attempts} of {task.max_attempts} attempts used).",
        [Blocker(kind="retry", detail=detail, until=task.retry_at, help=f"dibs history {task.id}")],
    )


def _parked(task: Task, lock: Lock) -> tuple[str, list[Blocker]]:
    """It is ready, and waits for a lock."""
    if lock.reserved_for not in (None, task.id):
        detail = f"lock {lock.name} is kept for {lock.reserved_for}, which has waited longer"
        ids = [lock.reserved_for]
    else:
        holders = ", ".join(f"{holder.task_id} ({holder.agent})" for holder in lock.holders)
        detail = f"lock {lock.name} is held by {holders}" if holders else f"lock {lock.name} has just become free"
        ids = [holder.task_id for holder in lock.holders]
    more = f"; {lock.waiting} wait for it" if lock.waiting > 1 else ""
    help = None
    if ids:
        help = f"wait for {ids[0]} to end (dibs why {ids[0]}), or let more in: dibs slots {lock.name} {lock.slots + 1}"
    blocker = Blocker(kind="gate", detail=detail, ids=ids, help=help)
    return f"It is ready, but {detail}{more}.", [blocker]


def _closed_to(task: Task, pauses: Sequence[Pause], breaker: Record | None) -> list[Closure]:
    """What closes the task's lane to everybody."""
    closures = [
        closing.told(pause)
        for pause in pauses
        if pause.scope == closing.EVERYTHING
        or (pause.scope == "type" and pause.name == task.type)
        or (pause.lane is not None and _is_lane_of(task, pause.lane))
    ]
    stopped = None if breaker is None else closing.told_breaker(task.type, breaker)
    return closures if stopped is None else [*closures, stopped]


def _limited(task: Task, limits: Mapping[str, Backoff]) -> list[Closure]:
    """The gates that close the task's lane to everybody; none while one of its models may be used."""
    closed = {gate: record.until for gate, record in limits.items()}
    models = models_of(task)
    if providers.opens_at(closed, provider=task.provider, models=models, type=task.type) is None:
        return []
    gates = dict.fromkeys(providers.gate_of(task.provider, model, task.type) for model in models or (None,))
    return [providers.told(gate, limits[gate]) for gate in gates]


def _full(task: Task, slots: Sequence[TypeSlots], rates: Sequence[TypeRate]) -> list[Closure]:
    """The gates of its type, if as many tasks of it run, or were handed out, as may."""
    closures = [type_slots.told(found) for found in slots if found.type == task.type]
    closures += [type_rates.told(found) for found in rates if found.type == task.type]
    return [closure for closure in closures if closure is not None]


def _is_lane_of(task: Task, lane: Lane) -> bool:
    wanted = (task.type, task.assignee, task.requires, models_of(task), task.boost, task.provider)
    return wanted == (lane.type, lane.assignee, lane.requires, lane.models, lane.boost, lane.provider)


def _closed(closures: Sequence[Closure], now: int) -> tuple[str, list[Blocker]]:
    blockers = [_gate(closure, now) for closure in closures]
    return f"It is ready, but {' and '.join(blocker.detail for blocker in blockers)}.", blockers


def _gate(closure: Closure, now: int) -> Blocker:
    if closure.kind == "breaker":
        what = f"the circuit breaker of type {closure.type} is not closed ({closure.reason})"
        end = "" if closure.until is None else f"; it lets one task through {_distance(closure.until, now)}"
    elif closure.kind == "limit":
        who = closure.provider or f"whoever serves type {closure.type}"
        what = f"{who} turned work away ({closure.reason})"
        end = "" if closure.until is None else f"; it goes on {_distance(closure.until, now)}"
    elif closure.kind == "slots":
        what, end = str(closure.reason), ""
    elif closure.kind == "rate":
        what = f"no more tasks of type {closure.type} are handed out just now ({closure.reason})"
        end = "" if closure.until is None else f"; the next one {_distance(closure.until, now)}"
    else:
        by = f" by {closure.by}" if closure.by else ""
        because = f" ({closure.reason})" if closure.reason else ""
        scope, _, name = closure.gate.partition(":")
        what = f"{f'{scope} {name}' if name else scope} is paused{by}{because}"
        end = "" if closure.until is None else f"; it goes on {_distance(closure.until, now)}"
    return Blocker(kind="gate", detail=what + end, ids=[closure.gate], until=closure.until, help=closure.help)


def _ready(
    task: Task, agents: Sequence[Agent], pauses: Sequence[Pause], spending: Sequence[Budget], now: int
) -> tuple[str, list[Blocker]]:
    live = [agent for agent in agents if is_live(agent, now)]
    fitting = [agent for agent in live if _fits(task, agent)]
    paused = {pause.name: closing.told(pause) for pause in pauses if pause.scope == "agent"}
    if fitting and all(agent.id in paused for agent in fitting):
        blockers = [_gate(paused[agent.id], now) for agent in fitting]
        return "It is ready, but every live agent that could do it is paused.", blockers
    broke = {agent.id: budgets.without(task, agent.id, spending) for agent in fitting}
    if fitting and all(broke.values()):
        return budgets.explain_agents(task, [budget for budget in broke.values() if budget is not None])
    fitting = [agent for agent in fitting if broke[agent.id] is None]
    if any(not is_full(agent) for agent in fitting):
        return "It is ready and will be handed to the next free agent that can do it.", []
    if fitting:
        return _all_full(fitting)
    draining = [agent for agent in agents if agent.status is AgentStatus.DRAINING and _fits(task, agent)]
    if draining:
        return _all_drain(draining)
    if not live:
        detail = "no agent has asked for work in the last 90 seconds"
        can = f" --can {','.join(task.requires)}" if task.requires else ""
        start = f"start one: dibs worker MODULE:APP{can}, or dibs claim --agent NAME --type {task.type}{can}"
        return f"It is ready, but {detail}.", [Blocker(kind="capability", detail=detail, help=start)]
    blocker = _missing(task, live)
    return f"It is ready, but nobody can take it: {blocker.detail}.", [blocker]


def _all_full(agents: Sequence[Agent]) -> tuple[str, list[Blocker]]:
    held = ", ".join(f"{agent.id} ({len(agent.tasks)} of {agent.max_concurrent})" for agent in agents)
    detail = f"every agent that can do it holds as many tasks as it may: {held}"
    blocker = Blocker(
        kind="gate",
        detail=detail,
        ids=[id for agent in agents for id in agent.tasks],
        help="wait until one of these ends, start another agent, or register one with a higher max_concurrent",
    )
    return f"It is ready, but {detail}.", [blocker]


def _all_drain(agents: Sequence[Agent]) -> tuple[str, list[Blocker]]:
    names = ", ".join(agent.id for agent in agents)
    detail = f"who could do it is draining and takes nothing new: {names}"
    blocker = Blocker(kind="gate", detail=detail, help=f"start another agent, or register {names} again")
    return f"It is ready, but {detail}.", [blocker]


def _missing(task: Task, live: Sequence[Agent]) -> Blocker:
    """The first requirement that rules out every live agent."""
    if task.assignee is not None and not any(is_meant(task.assignee, agent.id, agent.type) for agent in live):
        if task.assignee.startswith(ANYBODY_BUT):
            other = task.assignee.removeprefix(ANYBODY_BUT)
            return Blocker(
                kind="assignee",
                detail=f"it is for anybody but {other}, and nobody else has been heard of lately",
                help="start another agent" + (f" with capability {', '.join(task.requires)}" if task.requires else ""),
            )
        return Blocker(
            kind="assignee",
            detail=f"it is assigned to {task.assignee}, who has not been heard of lately",
            help=f"start {task.assignee}, or an agent registered with type {task.assignee}",
        )
    offered = {capability for agent in live for capability in agent.capabilities}
    absent = [capability for capability in task.requires if capability not in offered]
    if absent:
        names = ", ".join(absent)
        return Blocker(
            kind="capability",
            detail=f"no live agent offers {names}",
            help=f"start an agent with capability {names}",
        )
    models = models_of(task)
    if models and all(agent.models and set(models).isdisjoint(agent.models) for agent in live):
        names = ", ".join(models)
        return Blocker(
            kind="model",
            detail=f"no live agent offers {names}",
            help=f"start an agent with one of the models {names}",
        )
    return Blocker(
        kind="capability",
        detail=f"no single live agent takes type {task.type} with all it requires",
        help=f"start an agent for type {task.type}",
    )


def _held(task: Task, now: int) -> tuple[str, list[Blocker]]:
    until = task.lease_expires_at
    verb = "is working on it" if task.status is Status.RUNNING else "has claimed it"
    ends = "" if until is None else f"; the lease ends {_distance(until, now)}"
    lease = Blocker(kind="lease", detail=f"held by {task.agent}, fence {task.fence}", until=until)
    return f"{task.agent} {verb}{ends}.", [lease]


def _final(task: Task) -> tuple[str, list[Blocker]]:
    help = None
    if task.status is Status.COMPLETED:
        sentence = "It is completed."
    elif task.status is Status.DEAD_LETTERED:
        what = "a poison pill and was given up" if task.poison_pill else f"a dead letter ({task.reason})"
        sentence = f"It is {what} after {task.attempts} attempt{'' if task.attempts == 1 else 's'}."
        help = f"dibs history {task.id}; dibs retry {task.id}"
        last = task.reviews[-1] if task.reviews else None
        if last is not None and last.question is not None and last.fence == task.fence:
            sentence = f"{sentence[:-1]}; {last.to} was asked what shall become of it."
            help = f"dibs answer {last.question} retry (or drop, or keep); {help}"
    elif task.cause is not None and task.cause != task.id:
        sentence = f"It was cancelled ({task.reason}) because of {task.cause}."
        help = f"dibs why {task.cause}; retrying that one brings this one back"
    else:
        because = f": {task.cancel_reason}" if task.cancel_reason else ""
        sentence = f"It was cancelled{because}."
        help = f"dibs retry {task.id}"
    detail = _first_line(task.error) if task.error else sentence
    return sentence, [Blocker(kind="final", detail=detail, ids=[task.cause] if task.cause else [], help=help)]


def _escalated(task: Task) -> Blocker:
    """What was done because it kept failing, and what helps after the last of that."""
    last = task.escalations[-1]
    detail = "; ".join(f"after {each.after} failed: {escalation.in_words(each)}" for each in task.escalations)
    help = f"dibs history {task.id}"
    if last.agent is not None:
        help = f"it is for {last.agent} now: see that this agent runs"
    elif last.model is not None:
        help = f"it is for the model {last.model} now: see that an agent with it runs"
    return Blocker(kind=escalation.KIND, detail=detail, ids=[last.question] if last.question else [], help=help)


def _fits(task: Task, agent: Agent) -> bool:
    return can_take(agent, type=task.type, assignee=task.assignee, requires=task.requires, models=models_of(task))


def _named(task: Task) -> str:
    return f"{task.ref or task.title or task.type} ({task.id})"


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1 if lines and lines[0].startswith("Traceback") else 0][:200] if lines else ""


def _distance(until: datetime, now: int) -> str:
    """`in 5 min`, `in 2 h`, or `now` for what is past."""
    left = (until - from_micros(now)).total_seconds()
    if left <= 0:
        return "now"
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if left >= 2 * size:
            return f"in {left / size:.0f} {unit}"
    return f"in {left:.0f} s" if left >= 1 else "in less than a second"
