"""Questions to people: asked under a claim that ends with it, answered, closed, or left until their time is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dibs.model.instants import seconds
from dibs.model.question import Question
from dibs.model.status import Status
from dibs.rules import questions
from dibs.stores import refusals
from dibs.stores.sqlite.cascade import STEP, Cascade
from dibs.stores.sqlite.jobs import UNKNOWN
from dibs.stores.sqlite.rows import decode, encode, instant
from dibs.stores.sqlite.work import Work
from dibs.stores.values import Asked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.jobs import Unknown
    from dibs.stores.sqlite.lanes import Lanes
    from dibs.stores.sqlite.rows import Row
    from dibs.stores.values import Ask

_ADD = """
INSERT INTO questions (
    id, project, n, kind, name, digest, question, schema, assignee, fallback, status, asked_at, expires_at
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'open', ?, ?)
"""
_OPEN_AGAIN = "UPDATE questions SET status = 'open', fallback = ?, asked_at = ?, expires_at = ? WHERE id = ?"
ANSWER = "UPDATE questions SET status = 'answered', answer = ?, answered_by = ?, answered_at = ? WHERE id = ?"
_CLOSE = "UPDATE questions SET status = 'closed' WHERE id = ?"
_INQUIRY = "SELECT id, n, kind, digest, question, fallback, status, answer FROM questions"
_OVER = f"""
{_INQUIRY} WHERE status = 'open' AND expires_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at, id LIMIT ?
"""
_SUSPENDED = "SELECT 1 FROM attempts WHERE n = ? AND fence = ? AND outcome = 'suspended'"
_APPROVALS = "SELECT count(*) FROM questions WHERE n = ? AND kind = 'approval'"
_TO_BE_APPROVED = "SELECT n FROM specs WHERE n IN (SELECT value FROM json_each(?)) AND spec->>'$.approval'"
_QUESTIONS = """
SELECT q.id, t.id, t.type, s.spec->>'$.title', q.kind, q.name, q.question, q.schema, q.assignee, q.fallback, q.status,
    q.asked_at, q.expires_at, q.answer, q.answered_by, q.answered_at
FROM questions q CROSS JOIN tasks t ON t.n = q.n CROSS JOIN specs s ON s.n = q.n
"""
_INBOX = f"""
{_QUESTIONS} WHERE q.project = ?1 AND q.status = 'open' AND (?2 IS NULL OR q.assignee IS NULL OR q.assignee = ?2)
ORDER BY q.asked_at, q.id LIMIT ?3
"""
_OF_TASK = f"{_QUESTIONS} WHERE q.n = (SELECT n FROM tasks WHERE id = ?) ORDER BY q.asked_at, q.id"  # noqa: S608
_ONE = f"{_QUESTIONS} WHERE q.id = ?"
_SCHEMA = encode(questions.APPROVAL_SCHEMA).decode()


class _Inquiry(Struct):
    """What is to be known of a question to decide about it."""

    id: str
    n: int
    kind: str
    digest: str
    question: str
    fallback: str | None
    status: str
    answer: str | None


def ask(tx: Transaction, ask: Ask) -> Asked:
    """Ask a person, once. The claim ends, unless there is an answer already."""
    work = Work(tx)
    row = work.get(ask.task_id)
    held = row.held and row.fence == ask.fence
    if ask.kind != questions.QUESTION:
        held = row.handed_in_under(ask.fence)
    if held and row.over_timeout(tx.now):
        raise refusals.over_timeout(row.id, ask.fence, row.timeout_s)
    known = _inquiry(tx, f"{_INQUIRY} WHERE n = ? AND name = ?", (row.n, ask.name))
    if not held and (known is None or tx.row(_SUSPENDED, (row.n, ask.fence)) is None):
        raise refusals.lease_lost(row.id, ask.fence)
    if known is not None and known.digest != ask.digest:
        raise refusals.journal_mismatch("question", ask.name, row.id)
    if known is not None and (not held or known.status == questions.ANSWERED):
        return Asked(question=_get(tx, known.id), suspended=not held)
    expires_at = None if ask.timeout_s is None else tx.now + seconds(ask.timeout_s)
    fallback = _text(ask.default)
    if known is None:
        tx.run(
            _ADD,
            (
                ask.id,
                row.project,
                row.n,
                ask.kind,
                ask.name,
                ask.digest,
                ask.question,
                _text(ask.schema),
                ask.assignee,
                fallback,
                tx.now,
                expires_at,
            ),
        )
    else:
        tx.run(_OPEN_AGAIN, (fallback, tx.now, expires_at, known.id))
    question_id = ask.id if known is None else known.id
    agent = row.agent
    if row.held:
        work.end_claim(row, "suspended", status="waiting", usage=ask.usage, reason="suspended")
        row.agent = None
    wait(work, row, ask.kind, question_id, agent)
    work.flush()
    return Asked(question=_get(tx, question_id), suspended=True)


def begin(work: Work, row: Row, *, approval: bool, again: bool = False) -> None:
    """Put a task whose life begins (`again`, if it is not its first) where it belongs: it waits for its approval, if it
    needs one."""
    if not approval:
        work.settle_down(row)
        return
    earlier = work.tx.row(_APPROVALS, (row.n,))[0] if again else 0
    id = questions.approval_id(row.id, earlier)
    kind, text, now = questions.APPROVAL, questions.APPROVAL_TEXT, work.now
    work.tx.run(_ADD, (id, row.project, row.n, kind, None, "", text, _SCHEMA, None, None, now, None))
    wait(work, row, kind, id)


def to_be_approved(tx: Transaction, numbers: Sequence[int]) -> set[int]:
    """Those of these tasks that need an approval in every life."""
    return {row[0] for row in tx.connection.execute(_TO_BE_APPROVED, (encode(numbers).decode(),))}


def add(
    work: Work,
    row: Row,
    id: str,
    kind: str,
    *,
    name: str,
    text: str,
    assignee: str | None,
    schema: str | None = None,
    fallback: str | None = None,
    expires_at: int | None = None,
) -> None:
    """Open a question about a task that nobody asked while working on it."""
    values = (id, row.project, row.n, kind, name, "", text, schema, assignee, fallback, work.now, expires_at)
    work.tx.run(_ADD, values)


def wait(
    work: Work,
    row: Row,
    kind: str,
    question_id: str,
    agent: str | None = None,
    data: dict[str, Any] | None = None,
) -> None:
    """It waits for a person; `agent` asked, or failed before."""
    row.status = "waiting"
    row.due_at = row.step_at = None
    work.dags.touch(row.dag)
    work.emit("task.waiting", row, agent=agent, reason=kind, data={**(data or {}), "question": question_id})
    work.touch(row)


def answer(tx: Transaction, lanes: Lanes, question_id: str, value: bytes, by: str | None) -> Question:
    """Take an answer to an open question; the same answer again is answered as before."""
    inquiry = _inquiry(tx, f"{_INQUIRY} WHERE id = ?", (question_id,))
    if inquiry is None:
        raise refusals.no_question(question_id)
    if inquiry.status != questions.ANSWERED or inquiry.answer != value.decode():
        if inquiry.status != questions.OPEN:
            raise refusals.question_over(question_id, inquiry.status)
        if inquiry.kind == questions.DECISION:
            from dibs.stores.sqlite import deadletters

            deadletters.decide(tx, lanes, inquiry.n, _get(tx, question_id), value, by)
        else:
            work = Work(tx)
            _take(work, inquiry, value.decode(), by)
            work.flush()
    return _get(tx, question_id)


def _take(work: Work, inquiry: _Inquiry, value: str, by: str | None) -> None:
    """Write the answer down and let the task go on."""
    [row] = work.by_number([inquiry.n])
    work.tx.run(ANSWER, (value, by, work.now, inquiry.id))
    work.emit("task.answered", row, reason=inquiry.kind, data={"question": inquiry.id, "by": by})
    status = questions.after_answer(
        inquiry.kind, decode(value), open_edges=row.open, run_after=row.run_after, now=work.now
    )
    if status is Status.CANCELLED:
        cascade = Cascade(work, STEP)
        cascade.cancel(row, "cancelled", cause=None, requested=True, text=questions.refusal(by))
        cascade.run()
    elif status is Status.READY:
        work.make_ready(row)
    elif status is Status.VALIDATING:
        row.status = "validating"
        work.dags.touch(row.dag)
        work.touch(row)
    else:
        work.settle_down(row)


def lapse(tx: Transaction, limit: int) -> int:
    """End questions whose time is over. What follows from a dead letter is left to `spread`."""
    work = Work(tx)
    over = [_Inquiry(*row) for row in tx.connection.execute(_OVER, (tx.now, limit))]
    work.by_number([inquiry.n for inquiry in over])
    for inquiry in over:
        if inquiry.fallback is not None:
            _take(work, inquiry, inquiry.fallback, questions.BY_TIMEOUT)
        else:
            _bury(work, inquiry)
    work.flush()
    return len(over)


def lapse_glance(tx: Transaction) -> int | Unknown:
    """0 while no time is over."""
    return UNKNOWN if tx.row(_OVER, (tx.now, 1)) else 0


def _bury(work: Work, inquiry: _Inquiry) -> None:
    [row] = work.by_number([inquiry.n])
    work.tx.run(_CLOSE, (inquiry.id,))
    row.status = "dead_lettered"
    row.error = questions.lapse(inquiry.id, inquiry.question)
    row.reason = questions.LAPSED
    row.exit_code = None
    row.dead_lettered_at = work.now
    row.marked = 1
    work.dags.touch(row.dag)
    work.emit("task.dead_lettered", row, reason=row.reason, data={"question": inquiry.id})
    work.touch(row)


def inbox(tx: Transaction, project: str, assignee: str | None, limit: int) -> list[Question]:
    """Open questions, oldest first."""
    return [_question(row) for row in tx.connection.execute(_INBOX, (project, assignee, limit))]


def find(tx: Transaction, id: str | None, task_id: str | None) -> list[Question]:
    """One question, or those of a task, oldest first."""
    wanted = (_OF_TASK, (task_id,)) if id is None else (_ONE, (id,))
    return [_question(row) for row in tx.connection.execute(*wanted)]


def _inquiry(tx: Transaction, sql: str, parameters: tuple[Any, ...]) -> _Inquiry | None:
    found = tx.row(sql, parameters)
    return None if found is None else _Inquiry(*found)


def _get(tx: Transaction, question_id: str) -> Question:
    [question] = find(tx, question_id, None)
    return question


def _question(row: Any) -> Question:
    """A question as the outside sees it."""
    id, task_id, type, title, kind, name, text, schema, assignee, fallback, status, *rest = row
    asked_at, expires_at, value, by, answered_at = rest
    return Question(
        id=id,
        task_id=task_id,
        type=type,
        title=title,
        kind=kind,
        name=name,
        question=text,
        schema=_value(schema),
        assignee=assignee,
        default=_value(fallback),
        status=status,
        asked_at=instant(asked_at),
        expires_at=instant(expires_at),
        answer=_value(value),
        answered_by=by,
        answered_at=instant(answered_at),
    )


def _text(json: bytes | None) -> str | None:
    return None if json is None else json.decode()


def _value(json: str | None) -> Any:
    return None if json is None else decode(json)
