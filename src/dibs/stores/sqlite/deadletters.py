"""Dead letters: seen in groups, and decided about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.errors import DibsError
from dibs.model.deadgroup import DeadGroup
from dibs.model.ids import dag_of
from dibs.model.instants import from_micros
from dibs.model.review import Resolution, Review
from dibs.rules import questions
from dibs.rules import review as rules
from dibs.stores import refusals
from dibs.stores.sqlite import asking, finding, reading, revive, rows
from dibs.stores.sqlite.dags import Dags
from dibs.stores.sqlite.rows import decode, encode
from dibs.stores.sqlite.statements import sql
from dibs.stores.sqlite.work import Work
from dibs.stores.values import Filter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.question import Question
    from dibs.model.task import Task
    from dibs.rules.review import Ruling
    from dibs.stores.deadletters import DeadFilter
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.lanes import Lanes

_ALL = "SELECT n FROM tasks WHERE project = ? AND status = 'dead_lettered' AND status <> 'ready'"
_TASK = "SELECT n, status, fence, dag, agent FROM tasks WHERE id = ?"
_REVIEWED = "UPDATE tasks SET resolution = ?, reviewed_at = ?2, updated_at = ?2 WHERE n = ?3"
_DROP = """
UPDATE tasks SET status = 'cancelled', reason = ?, cancel_reason = ?, requested = 1, cancelled_at = ?3,
    dead_lettered_at = NULL
WHERE n = ?4
"""
_CLOSE = "UPDATE questions SET status = 'closed' WHERE n = ? AND kind = 'decision' AND status = 'open'"
_AT_ONCE = 500


def groups(tx: Transaction, wanted: DeadFilter) -> list[DeadGroup]:
    """Dead letters that failed alike, together: one aggregate."""
    limits = {"shown": rules.SHOWN_IDS, "most": rules.MAX_GROUPS}
    found = tx.connection.execute(
        f"{sql('dead_letters')} {sql('dead_letters_grouped')}",
        {**_parameters(tx, wanted), **limits},
    )
    return [
        DeadGroup(
            type=row[0],
            fingerprint=row[1],
            first_at=from_micros(row[2]),
            last_at=from_micros(row[3]),
            reason=row[4],
            error=row[5],
            count=row[6],
            unreviewed=row[7],
            poison_pills=row[8],
            cost_usd=row[9],
            unpriced=row[10],
            task_ids=[id for _, id in sorted(decode(row[11]))],
        )
        for row in found
    ]


def ids(tx: Transaction, wanted: DeadFilter, limit: int | None, before: str | None) -> list[str]:
    """Their ids, the newest task first."""
    start = 2**62
    if before is not None:
        found = tx.row("SELECT n FROM tasks WHERE id = ?", (before,))
        if found is None:
            raise refusals.no_task(before, "before")
        start = found[0]
    statement = f"{sql('dead_letters')} SELECT id FROM dead WHERE n < :start ORDER BY n DESC LIMIT :most"  # noqa: S608
    parameters = {**_parameters(tx, wanted), "start": start, "most": -1 if limit is None else limit}
    return [row[0] for row in tx.connection.execute(statement, parameters)]


def _parameters(tx: Transaction, wanted: DeadFilter) -> dict[str, Any]:
    """What the statement asks for. Words are looked for here, as `find` does, among all dead letters of the project."""
    numbers = None
    if wanted.text is not None or wanted.tag is not None:
        words = Filter(
            text=() if wanted.text is None else (wanted.text,), tag=() if wanted.tag is None else (wanted.tag,)
        )
        every = [row[0] for row in tx.connection.execute(_ALL, (wanted.project,))]
        fitting: list[int] = []
        for start in range(0, len(every), _AT_ONCE):
            loaded = rows.load_numbers(tx, every[start : start + _AT_ONCE])
            fitting += [row.n for row in finding.with_words(tx, loaded, words)]
        numbers = encode(fitting).decode()
    alone = [] if wanted.dag is None else [name for name in _alone_in(wanted.dag) if dag_of(name) == wanted.dag]
    return {
        "project": wanted.project,
        "type": wanted.type,
        "mark": wanted.fingerprint,
        "dag": wanted.dag,
        "alone": encode(alone).decode(),
        "user": wanted.user,
        "since": wanted.since,
        "until": wanted.until,
        "reviewed": wanted.reviewed,
        "numbers": numbers,
    }


def _alone_in(dag_id: str) -> tuple[str, str]:
    """The ids that the one task of a virtual dag may have."""
    rest = dag_id.removeprefix("dag_")
    return "task_" + rest, rest


def review(tx: Transaction, lanes: Lanes, task_ids: Sequence[str], ruling: Ruling) -> list[Task | DibsError]:
    """Record a decision about each and carry it out; each is answered by itself."""
    refused: dict[int, DibsError] = {}
    for place, task_id in enumerate(task_ids):
        told = tx.outbox.mark()
        tx.run("SAVEPOINT review")
        try:
            _review(tx, lanes, task_id, ruling)
        except DibsError as error:
            tx.run("ROLLBACK TO review")
            tx.outbox.back_to(told)
            lanes.forget()
            refused[place] = error
        tx.run("RELEASE review")
    tasks = dict(zip(task_ids, reading.get(tx, task_ids), strict=True))
    answers: list[Task | DibsError] = []
    for place, task_id in enumerate(task_ids):
        task = tasks[task_id]
        answers.append(refused[place] if place in refused or task is None else task)
    return answers


def _review(tx: Transaction, lanes: Lanes, task_id: str, ruling: Ruling) -> None:
    found = tx.row(_TASK, (task_id,))
    if found is None:
        raise refusals.no_task(task_id)
    number, status, fence, dag, agent = found
    if status != "dead_lettered":
        raise refusals.no_dead_letter(task_id, status)
    question = None
    if ruling.retries:
        revive.revive(tx, lanes, task_id, ruling.payload, ruling.body_hash, ruling.delay_s, ruling.keep_steps)
    else:
        tx.run(_CLOSE, (number,))
        tx.run(_REVIEWED, (ruling.resolution.value, tx.now, number))
        if ruling.resolution is Resolution.DROPPED:
            _drop(tx, task_id, number, dag, agent, ruling.note)
        elif ruling.resolution is Resolution.ESCALATED:
            question = _ask(tx, number, ruling)
    decision = Review(
        resolution=ruling.resolution,
        by=ruling.by,
        at=from_micros(tx.now),
        fence=fence,
        note=ruling.note,
        to=ruling.to,
        question=question,
    )
    reviews = rules.with_review(rows.load_specs(tx, [number])[number].reviews, decision)
    rows.change_spec(tx, number, "reviews", encode(reviews))
    data = ruling.told if question is None else {**ruling.told, "question": question}
    tx.outbox.one("task.reviewed", tx.now, task_id, dag or dag_of(task_id), reason=ruling.resolution.value, data=data)


def _ask(tx: Transaction, number: int, ruling: Ruling) -> str:
    """Ask whom it is escalated to; the id of the question."""
    work = Work(tx)
    [row] = work.by_number([number])
    count = tx.row("SELECT count(*) FROM questions WHERE n = ? AND kind = 'decision'", (number,))[0] + 1
    id = questions.decision_id(row.id, count)
    asking.add(
        work,
        row,
        id,
        questions.DECISION,
        name=f"{questions.DECISION}:{count}",
        text=ruling.question or questions.decision_text(row.error, row.reason),
        assignee=ruling.to,
        schema=encode(questions.DECISION_SCHEMA).decode(),
    )
    return id


def decide(tx: Transaction, lanes: Lanes, number: int, question: Question, value: bytes, by: str | None) -> None:
    """Somebody was asked what shall become of a dead letter, and has answered."""
    tx.run(asking.ANSWER, (value.decode(), by, tx.now, question.id))
    [dag] = tx.row("SELECT dag FROM tasks WHERE n = ?", (number,))
    tx.outbox.one(
        "task.answered",
        tx.now,
        question.task_id,
        dag or dag_of(question.task_id),
        reason=question.kind,
        data={"question": question.id, "by": by},
    )
    _review(tx, lanes, question.task_id, rules.answered(decode(value), by or question.assignee))


def _drop(tx: Transaction, task_id: str, number: int, dag: str | None, agent: str | None, note: str | None) -> None:
    """It is cancelled by request. What follows from its end has followed; a dag that ended stays as it ended."""
    tx.run(_DROP, (rules.DROPPED, note, tx.now, number))
    tx.outbox.one("task.cancelled", tx.now, task_id, dag or dag_of(task_id), agent=agent, reason=rules.DROPPED)
    if dag is not None:
        followed = Dags(tx)
        followed.touch(dag)
        followed.follow()
