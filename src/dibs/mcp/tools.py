"""What the tools do: each is a verb of the queue, asked for by a session."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from dibs.errors import Conflict, DibsError, Invalid, LeaseLost, NotFound, Unavailable
from dibs.mcp import answers
from dibs.mcp.definitions import MOST_WAIT_S, USUAL_WAIT_S
from dibs.mcp.session import MOST_HELD, Hold
from dibs.model.status import FINAL, Outcome, Status
from dibs.model.task import NewTask
from dibs.rules import validation
from dibs.rules.budgets import EXCEEDED, is_shared

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Coroutine

    from dibs.mcp.session import Session
    from dibs.model.claim import Claim, Claims, News, Settled
    from dibs.queue import Queue
    from dibs.requests import Held

Answer = dict[str, Any]
Given = dict[str, Any]

_OPEN = tuple(status for status in Status if status not in FINAL)
_SPENT = ("cost", "tokens_in", "tokens_out", "model")
_STOPS = {True: "release it: it goes on when there is room", False: f"fail with reason {EXCEEDED}"}
"""How whoever is over a limit ends, by whether it is a budget that others share."""


# Taking work


async def claim(session: Session, given: Given) -> Answer:
    if len(session.held) >= MOST_HELD:
        raise Conflict(f"You hold {len(session.held)} tasks: end one before you claim another.", code="too_many_held")
    others = list(session.held)
    claims = await _taken(
        session,
        capabilities=given.get("can", session.capabilities),
        types=given.get("types", session.types),
        models=session.models,
        lease=session.lease_s,
        wait=given.get("wait", USUAL_WAIT_S),
    )
    if not claims:
        return await _nothing(session, claims)
    found = claims[0]
    hold = session.take(found)
    # What is known to a token by another name is held under that.
    session.agent = found.agent or session.agent
    try:
        told = answers.claimed(found, await _known(session.queue, found), kept=session.kept)
        if found.fence > 1:
            # What it waited for is among its children already.
            told |= await _ended_since(session, found, known=found.children)
    except BaseException:
        # Its agent will not hear of it, and the session would keep it for nobody.
        session.drop(hold)
        _ = session.errand(session.release(hold))
        raise
    return told | ({"also_held": others} if others else {})


async def _taken(session: Session, **offer: Any) -> Claims:
    """Claim; if the client stops waiting, what was taken goes back. In a task of its own: a call that the SDK cancels
    is cancelled again with every step that it still takes."""
    taking = session.errand(session.queue.claim(session.agent, **offer))
    try:
        return await asyncio.shield(taking)
    except asyncio.CancelledError:
        if not taking.cancel() and not taking.cancelled() and taking.exception() is None:
            for claim in taking.result():
                _ = session.errand(session.release(Hold(claim)))
        raise


async def _nothing(session: Session, claims: Claims) -> Answer:
    """Whether it is worth asking again."""
    if claims.slow_down:
        return {"task": None, "next": f"A rate limit keeps work back: claim again in {claims.slow_down:.0f} s."}
    if claims.reason:
        return {"task": None, "next": f"You get nothing for now ({claims.reason}): end what you hold, or stop."}
    counts = (await session.queue.stats()).by_status
    unfinished = {status.value: counts[status] for status in _OPEN if counts.get(status)}
    if not unfinished:
        return {"task": None, "next": "Nothing is left to do: you are done."}
    hint = "Nothing for you now. claim again, or stop if only questions are open."
    told = {"unfinished": unfinished, "also_held": list(session.held), "next": hint}
    return {"task": None, **answers.lean(told)}


async def _known(queue: Queue, claim: Claim) -> answers.Known:
    """What its answer should say besides: looked up only where something is too long to be told, or missing."""
    known = answers.Known()
    if claim.answers:
        known.asked = {question.id: question.question for question in await queue.questions_of(claim.task)}
    if any(value is None or answers.cut(value, "") is not value for value in claim.inputs.values()):
        found = await queue.store.get(claim.task.depends_on, listed=True)
        known.tasks |= {task.ref or task.id: task for task in found if task is not None}
    if any(value is None or answers.cut(value, "") is not value for value in claim.children.values()):
        own = [task for task in (await queue.get_dag(claim.task.dag_id)).tasks if task.parent_id == claim.task.id]
        known.tasks |= {task.ref or task.id: task for task in own}
    return known


# Holding it


async def progress(session: Session, given: Given) -> Answer:
    hold = session.the(given.get("task"))
    if "checkpoint" in given:
        await session.queue.checkpoint(hold.claim, given["checkpoint"])
    news = await _renewed(session, hold, given)
    if news is None or news.cancel:
        return {"stop": session.gone[hold.task_id]}
    told: Answer = {"lease_s": session.lease_s, "slow_down_s": news.slow_down}
    if over := news.limits.get("exceeded"):
        told["stop"] = f"Over {over}: complete with what you have, or {_STOPS[is_shared(over)]}."
    return answers.lean(told | await _ended_since(session, hold.claim))


async def _ended_since(session: Session, claim: Held, *, known: Container[str] = ()) -> Answer:
    """Which tasks it spawned have ended since it last heard, but for those that it is told of otherwise."""
    heard = await session.queue.hear(claim)
    found = [answers.ended(each) for each in heard if each.task_id not in known and each.ref not in known]
    return {"ended": found} if found else {}


async def _renewed(session: Session, hold: Hold, given: Given) -> News | None:
    """What a renewal says; None: it is lost."""
    try:
        news = await session.queue.renew(
            hold.claim,
            lease=session.lease_s,
            progress=given.get("progress"),
            note=given.get("note"),
            **{name: given[name] for name in _SPENT if name in given},
        )
    except LeaseLost as error:
        await session.hear(hold, error, tell=False)
        return None
    await session.hear(hold, news, tell=False)
    return news


# Ending it


async def complete(session: Session, given: Given) -> Answer:
    hold = session.the(given.get("task"))
    spent = {name: given[name] for name in _SPENT if name in given}
    if hold.together:
        found = await session.queue.complete_group(hold.claim, given.get("output"), **spent)  # type: ignore[arg-type]
        return await _ended(session, hold, found)
    return await _ended(session, hold, [await session.queue.complete(hold.claim, given.get("output"), **spent)])


async def fail(session: Session, given: Given) -> Answer:
    hold = session.the(given.get("task"))
    names = ("reason", "retry", *_SPENT)
    told = {name: given[name] for name in names if name in given}
    if hold.together:
        found = await session.queue.fail_group(hold.claim, given["error"], **told)  # type: ignore[arg-type]
        return await _ended(session, hold, found)
    return await _ended(session, hold, [await session.queue.fail(hold.claim, given["error"], **told)])


async def release(session: Session, given: Given) -> Answer:
    hold = session.the(given.get("task"))
    found = await session.release(hold, delay=given.get("delay", 0))
    return await _ended(session, hold, found if isinstance(found, list) else [found])


async def _ended(session: Session, hold: Hold, found: list[Settled | DibsError]) -> Answer:
    """How it ended. What was refused is told with the reason, so that nobody has to ask."""
    first = found[0]
    if isinstance(first, DibsError):
        raise first
    session.drop(hold)
    told: Answer = {"task": hold.task_id, "outcome": first.outcome, "status": first.status, "retry_at": first.retry_at}
    if first.outcome == Outcome.REJECTED:
        last = (await session.queue.history(hold.task_id))[-1:]
        told["why"] = last[0].error if last else None
        told["next"] = "The output was refused. claim again: it may be given to you, with the reasons."
    elif first.outcome == Outcome.SUBMITTED:
        told["next"] = "It is being judged; you are done with it."
    return answers.lean(told)


# Making more of it


def _new(task: Given) -> NewTask:
    options = task.keys() - set(NewTask.__struct_fields__)
    if options:
        raise Invalid(f"there is no {min(options)!r:.80} of a task.", field=min(options))
    return NewTask(**task)


async def spawn(session: Session, given: Given) -> Answer:
    hold = session.the(given.get("task"))
    wait = given.get("wait", False)
    made = await session.queue.spawn_below(hold.claim, [_new(task) for task in given["tasks"]], wait=wait)
    told: Answer = {"spawned": _names(made.tasks)}
    if made.suspended:
        session.drop(hold)
        told["next"] = "Your claim has ended: claim others. This task comes back when all these have ended."
    elif wait:
        told["next"] = "All have ended already: go on with your task."
        told["children"] = [answers.brief(task) for task in made.tasks]
    return told


async def ask(session: Session, given: Given) -> Answer:
    hold = session.the(given.get("task"))
    names = ("schema", "default", "timeout", "assignee")
    options = {name: given[name] for name in names if name in given}
    asked = await session.queue.ask_under(hold.claim, given["question"], **options)
    if asked.suspended:
        session.drop(hold)
        hint = "Your claim has ended: claim others. This task comes back with the answer."
        return {"question": asked.question.id, "next": hint}
    return {"question": asked.question.id, "answer": asked.question.answer}


async def add(session: Session, given: Given) -> Answer:
    maker = f"agent:{session.agent}"[: validation.MAX_NAME_CHARS]
    target, made = await added(session.queue, given, created_by=maker)
    told: Answer = {"added": _names(made)}
    if target.startswith("dag_"):
        told["dag"] = target
    if given.get("wait"):
        try:
            await session.queue.wait(target, timeout=MOST_WAIT_S)
        except TimeoutError:
            told["next"] = f"Not ended yet: show {target} later."
        else:
            told["ended"] = await _looked_up(session.queue, target)
    return told


async def added(queue: Queue, given: Given, *, created_by: str) -> tuple[str, list[Any]]:
    """Add what is asked for: the id that stands for all of it, and the tasks."""
    tasks = [_new({"created_by": created_by, **task}) for task in given["tasks"]]
    if not tasks:
        raise Invalid("tasks needs at least one task.", field="tasks")
    if "title" in given or (given.get("wait") and len(tasks) > 1):
        dag = await queue.add_dag(given.get("title") or f"{len(tasks)} tasks", tasks, created_by=created_by)
        return dag.id, dag.tasks
    made = await queue.add_many(tasks)
    return made[0].id, made


def _names(tasks: list[Any]) -> dict[str, str] | list[str]:
    """Ids, by their refs where all have one."""
    if all(task.ref for task in tasks) and len({task.ref for task in tasks}) == len(tasks):
        return {task.ref: task.id for task in tasks}
    return [task.id for task in tasks]


# Looking


async def find(session: Session, given: Given) -> Answer:
    page = await session.queue.find(**{"limit": 20, **given})
    return answers.lean({"tasks": [answers.brief(task) for task in page.items], "cursor": page.cursor}) or {"tasks": []}


async def show(session: Session, given: Given) -> Answer:
    id = given["id"]
    if "part" not in given:
        return await _looked_up(session.queue, id)
    if given["part"] not in ("output", "payload"):
        raise Invalid(f"part must be output or payload, not {given['part']!r:.80}.", field="part")
    value = getattr(await session.queue.get(id), given["part"])
    return answers.piece(value if isinstance(value, str) else answers.text(value), given.get("from", 0))


async def _looked_up(queue: Queue, id: str) -> Answer:
    if id.startswith("dag_"):
        return answers.dag(await queue.get_dag(id))
    return answers.shown(await queue.get(id), await queue.history(id))


async def why(session: Session, given: Given) -> Answer:
    return answers.why(await session.queue.why(given["id"]))


async def inbox(session: Session, given: Given) -> Answer:
    found = await session.queue.inbox(limit=50, **given)
    return {"questions": [answers.question(asked) for asked in found]}


async def answer(session: Session, given: Given) -> Answer:
    by = validation.text(given.get("by", session.agent), "by")
    answered = await session.queue.answer(given["question"], given.get("value"), by=by)
    return answers.lean({"answered": answered.id, "task": answered.task_id, "answer": answered.answer})


RUN: dict[str, Callable[[Session, Given], Coroutine[Any, Any, Answer]]] = {
    "claim": claim,
    "progress": progress,
    "complete": complete,
    "fail": fail,
    "release": release,
    "spawn": spawn,
    "ask": ask,
    "add": add,
    "find": find,
    "show": show,
    "why": why,
    "inbox": inbox,
    "answer": answer,
}


async def run(session: Session, name: str, given: Given) -> tuple[Answer, bool]:
    """The answer of a tool, and whether it is an error. What happened to the session's tasks is told with it."""
    try:
        told, failed = await RUN[name](session, given), False
    except LeaseLost as error:
        for hold in [hold for hold in session.held.values() if given.get("task", hold.task_id) == hold.task_id]:
            session.lose(hold, f"{hold.task_id} is not yours any more: {error.message}", tell=False)
        told, failed = answers.error(error), True
    except (DibsError, TimeoutError) as error:
        known = error if isinstance(error, DibsError) else Unavailable(f"The queue took too long: {error}.")
        told, failed = answers.error(known), True
        if isinstance(error, NotFound) and name == "show":
            told["next"] = "find lists the tasks that there are; ids are task_… or dag_…"
    notices = session.notices()
    return (told | {"notices": notices} if notices else told), failed
