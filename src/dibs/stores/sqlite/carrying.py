"""Carrying everything out of a file, and into one: records as `stores.carrying` has them.

While a file is being filled or left, triggers refuse every change of it by others: whoever wants one pays for the
question only then. What is carried in says so to them for the time of its transaction.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import msgspec

from dibs.model.artifact import Artifact
from dibs.model.attempt import Attempt
from dibs.model.ids import alone_in, dag_of
from dibs.model.instants import from_micros, to_micros
from dibs.model.status import Outcome
from dibs.rules import closing, escalation
from dibs.rules.breaker import Override
from dibs.rules.breaker import Record as Breaker
from dibs.rules.budgets import PREFIX, parked_on
from dibs.rules.large import size_of
from dibs.rules.locks import SLOTS
from dibs.rules.providers import Backoff
from dibs.rules.rates import Rate
from dibs.rules.validation import INLINE_OUTPUT_BYTES
from dibs.stores import carrying
from dibs.stores.carrying import (
    Cargo,
    CarriedBudget,
    CarriedDag,
    CarriedEdge,
    CarriedEnding,
    CarriedEntry,
    CarriedPause,
    CarriedQuestion,
    CarriedSettings,
    CarriedTask,
    Census,
)
from dibs.stores.sqlite import registry, rows
from dibs.stores.sqlite.coalescing import NO_LOCKS
from dibs.stores.sqlite.dags import COLUMNS as DAG_COLUMNS
from dibs.stores.sqlite.lanes import CHANGED, decode_key
from dibs.stores.sqlite.left import REFUSED, standing
from dibs.stores.sqlite.rows import Row, decode, encode, kept_locks, micros
from dibs.stores.sqlite.work import ATTEMPT_COLUMNS, first_of
from dibs.stores.standing import OPEN, Standing, check, not_filling
from dibs.stores.values import Document, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.lanes import Lanes
    from dibs.stores.values import LaneKey

_UNGUARDED = ("meta", "outbox")
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
_TRIGGERS = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'guard%'"
_GUARD = """
CREATE TRIGGER guard_{verb}_{table} BEFORE {verb} ON {table}
WHEN NOT EXISTS (SELECT 1 FROM meta WHERE name = 'carrying')
BEGIN SELECT RAISE(ABORT, '{refused}'); END
"""
_PUT_META = "INSERT OR REPLACE INTO meta VALUES (?, ?)"

_LIVE = """
SELECT n FROM tasks INDEXED BY task_ready WHERE status = 'ready' AND parked_on IS NULL AND n > ?1
UNION SELECT n FROM tasks INDEXED BY task_parked WHERE parked_on IS NOT NULL AND n > ?1
UNION SELECT n FROM tasks INDEXED BY task_status
    WHERE status <> 'ready' AND status NOT IN ('completed', 'dead_lettered', 'cancelled') AND n > ?1
UNION SELECT n FROM tasks INDEXED BY task_due WHERE status = 'cancelled' AND due_at IS NOT NULL AND n > ?1
UNION SELECT n FROM tasks INDEXED BY task_marked WHERE marked = 1 AND n > ?1
ORDER BY n LIMIT ?2
"""
_IDS = "SELECT n FROM json_each(?) j CROSS JOIN tasks ON tasks.id = j.value ORDER BY n"
_NUMBERS = "SELECT value FROM json_each(?)"
_LEFT_ALONE = "SELECT id FROM dags WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE dag = dags.id)"
_MORE = f"SELECT n, resolution, reviewed_at FROM tasks WHERE n IN ({_NUMBERS})"  # noqa: S608
_SPECS = f"SELECT n, spec FROM specs WHERE n IN ({_NUMBERS})"  # noqa: S608
_LANES = "SELECT id, key FROM lanes"
_ATTEMPTS = f"SELECT {ATTEMPT_COLUMNS} FROM attempts WHERE n IN ({_NUMBERS}) ORDER BY n, fence"  # noqa: S608
_BLOBS = f"SELECT n, fence, output FROM blobs WHERE n IN ({_NUMBERS})"  # noqa: S608
_EDGES = f"""
SELECT e.child, e.parent, coalesce(p.id, ''), e.kind, e.resolved_at IS NOT NULL
FROM edges e LEFT JOIN tasks p ON p.n = e.parent
WHERE e.child IN ({_NUMBERS}) ORDER BY e.id
"""  # noqa: S608
_BELOW = f"SELECT DISTINCT t.id FROM edges e JOIN tasks t ON t.n = e.child WHERE e.parent IN ({_NUMBERS})"  # noqa: S608
_JOURNAL = f"SELECT n, kind, name, digest, value FROM journal WHERE n IN ({_NUMBERS}) ORDER BY id"  # noqa: S608
_QUESTIONS = f"""
SELECT n, id, kind, name, digest, question, schema, assignee, fallback, status, asked_at, expires_at, answer,
    answered_by, answered_at FROM questions WHERE n IN ({_NUMBERS}) ORDER BY asked_at, id
"""  # noqa: S608
_ARTIFACTS = f"""
SELECT n, id, name, digest, size, media_type, put_at FROM artifacts WHERE n IN ({_NUMBERS}) ORDER BY id
"""  # noqa: S608
_DAGS = f"SELECT {', '.join(DAG_COLUMNS)} FROM dags WHERE id IN ({_NUMBERS}) ORDER BY id"  # noqa: S608

_HOMES = ("tasks", "specs", "attempts", "blobs", "journal", "questions", "artifacts", "holds", "wants")
_ADD_ATTEMPT = f"INSERT INTO attempts ({ATTEMPT_COLUMNS}) VALUES ({', '.join('?' * 23)})"  # noqa: S608
_ADD_TASK = f"INSERT INTO tasks ({', '.join(rows.COLUMNS)}) VALUES ({', '.join('?' * len(rows.COLUMNS))})"  # noqa: S608
_ADD_REST = """
UPDATE tasks SET resolution = ?2, reviewed_at = ?3, coalesce_key = ?4, gathers_until = ?5,
    has_dependents = EXISTS (SELECT 1 FROM edges WHERE parent = ?1),
    reserved = (SELECT 1 FROM reserves r WHERE r.n = ?1 AND r.fence = tasks.fence)
WHERE n = ?1
"""
_ADD_DAG = f"INSERT OR REPLACE INTO dags ({', '.join(DAG_COLUMNS)}) VALUES ({', '.join('?' * len(DAG_COLUMNS))})"  # noqa: S608
# Whose key it was has lost it meanwhile; that comes with what happened to him.
_FREE_KEY = "UPDATE tasks SET key = NULL WHERE project = ? AND key = ? AND status NOT IN ('cancelled', 'dead_lettered')"
_FREE_DAG_KEY = "UPDATE dags SET key = NULL WHERE project = ? AND key = ? AND id <> ?"
_DROP_DAGS = f"""
DELETE FROM dags WHERE id IN ({_NUMBERS}) AND NOT EXISTS (SELECT 1 FROM tasks WHERE dag = dags.id)
"""  # noqa: S608
_ADD_QUESTION = """
INSERT INTO questions (n, id, kind, name, digest, question, schema, assignee, fallback, status, asked_at, expires_at,
    answer, answered_by, answered_at, project) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ANEW = """
UPDATE tasks SET lease_expires_at = max(lease_expires_at, ?1 + cast(round(lease_s * 1000000) AS INTEGER))
WHERE n IN (
    SELECT n FROM tasks INDEXED BY task_due
    WHERE due_at IS NOT NULL AND (status IN ('claimed', 'running') OR status = 'cancelled')
)
"""
_DUE_ANEW = """
UPDATE tasks SET due_at = CASE WHEN timeout_at < lease_expires_at THEN timeout_at ELSE lease_expires_at END
WHERE n IN (
    SELECT n FROM tasks INDEXED BY task_due
    WHERE due_at IS NOT NULL AND (status IN ('claimed', 'running') OR status = 'cancelled')
)
"""

_decode_usage = msgspec.json.Decoder(Usage).decode
_decode_breaker = msgspec.json.Decoder(Breaker).decode
_decode_override = msgspec.json.Decoder(Override).decode


# How it stands


def stand(tx: Transaction, wanted: Standing, expected: str | None) -> None:
    """Stand so from now on."""
    before = standing(tx.connection)
    check(before, expected)
    is_open = wanted.state == OPEN
    if is_open and before.state != OPEN:
        _carrying(tx, True)
        tx.run(_ANEW, (tx.now,))
        tx.run(_DUE_ANEW)
        _carrying(tx, False)
    _put_standing(tx, wanted)
    guards = [name for (name,) in tx.connection.execute(_TRIGGERS)]
    if is_open:
        for name in guards:
            tx.run(f"DROP TRIGGER {name}")
    elif not guards:
        for (table,) in list(tx.connection.execute(_TABLES)):
            for verb in ("insert", "update", "delete") if table not in _UNGUARDED else ():
                tx.run(_GUARD.format(verb=verb, table=table, refused=REFUSED))
    # Whoever claims reads it with the lanes, also if there is nothing to claim.
    tx.run(CHANGED)


def _put_standing(tx: Transaction, wanted: Standing) -> None:
    tx.run(_PUT_META, ("standing", encode(wanted).decode()))


def _carrying(tx: Transaction, is_so: bool) -> None:
    """Let the triggers know, until the end of this transaction at most."""
    if is_so:
        tx.run(_PUT_META, ("carrying", 1))
    else:
        tx.run("DELETE FROM meta WHERE name = 'carrying'")


# Out


def census(tx: Transaction) -> Census:
    """How many tasks there are."""
    found = dict(tx.connection.execute("SELECT status, count(*) FROM tasks GROUP BY 1"))
    return Census(tasks=sum(found.values()), by_status=found)


def carry_out(tx: Transaction, after: int, limit: int, *, live: bool) -> Cargo:
    """Tasks by number, from the one after this."""
    select = _LIVE if live else "SELECT n FROM tasks WHERE n > ? ORDER BY n LIMIT ?"
    numbers = [number for (number,) in tx.connection.execute(select, (after, limit))]
    return _cargo(tx, numbers, [] if after else [i for (i,) in tx.connection.execute(_LEFT_ALONE)])


def carry_out_named(tx: Transaction, ids: Sequence[str]) -> Cargo:
    """These tasks and dags."""
    text = encode(list(dict.fromkeys(ids))).decode()
    return _cargo(tx, [number for (number,) in tx.connection.execute(_IDS, (text,))], ids)


def _cargo(tx: Transaction, numbers: list[int], dag_ids: Iterable[str]) -> Cargo:
    text = encode(numbers).decode()
    found = {row.n: row for row in rows.load_numbers(tx, numbers)}
    about = _About(tx, text)
    tasks = [about.task(found[number]) for number in numbers]
    wanted = encode(list(dict.fromkeys([*(task.dag_id for task in tasks), *dag_ids]))).decode()
    return Cargo(
        tasks=tasks,
        dags=[_dag(dict(zip(DAG_COLUMNS, row, strict=True))) for row in tx.connection.execute(_DAGS, (wanted,))],
        dependents=[task_id for (task_id,) in tx.connection.execute(_BELOW, (text,))],
    )


def _dag(row: dict[str, Any]) -> CarriedDag:
    kept = {name: row[name] for name in CarriedDag.__struct_fields__}
    return CarriedDag(**kept | {"drafted": decode(row["drafted"]), "started": bool(row["started"])})


class _About:
    """What belongs to some tasks, read in a handful of statements."""

    def __init__(self, tx: Transaction, numbers: str) -> None:
        def lists(sql: str) -> dict[int, list[Any]]:
            found: dict[int, list[Any]] = defaultdict(list)
            for number, *rest in tx.connection.execute(sql, (numbers,)):
                found[number].append(rest)
            return found

        self._specs = dict(tx.connection.execute(_SPECS, (numbers,)))
        self._more = {n: rest for n, *rest in tx.connection.execute(_MORE, (numbers,))}
        self._blobs = {(n, fence): output for n, fence, output in tx.connection.execute(_BLOBS, (numbers,))}
        self._attempts, self._edges = lists(_ATTEMPTS), lists(_EDGES)
        self._journal, self._questions, self._artifacts = lists(_JOURNAL), lists(_QUESTIONS), lists(_ARTIFACTS)
        self._lanes = {id: decode_key(key) for id, key in tx.connection.execute(_LANES)}

    def task(self, row: Row) -> CarriedTask:
        unwritten = row.status == "cancelled" and row.due_at is not None
        holds, ready = row.held or unwritten, row.status == "ready"
        output, decision = self._made(row)
        resolution, reviewed_at = self._more[row.n]
        usage = _decode_usage(row.usage) if holds and row.usage is not None else Usage()
        return CarriedTask(
            number=row.n,
            id=row.id,
            spec=carrying.spec_text(self._specs[row.n]),
            lane=self._lanes[row.lane],
            fallback_lane=None if row.fallback_lane is None else self._lanes[row.fallback_lane],
            body_hash=row.body_hash,
            dag_id=row.dag_id,
            parent_id=row.parent,
            edges=[CarriedEdge(n, parent, kind, bool(done)) for n, parent, kind, done in self._edges[row.n]],
            journal=[CarriedEntry(*entry) for entry in self._journal[row.n]],
            questions=[_question(question) for question in self._questions[row.n]],
            endings=[_ending(attempt) for attempt in self._attempts[row.n]],
            artifacts=[_artifact(row.id, artifact) for artifact in self._artifacts[row.n]],
            resolution=resolution,
            reviewed_at=reviewed_at,
            parked_since=row.parked_since if ready else None,
            step_at=row.step_at if ready else None,
            lease_s=row.lease_s if holds else None,
            lease_expires_at=row.lease_expires_at if holds else None,
            timeout_at=row.timeout_at if row.held else None,
            confirmed=bool(row.confirmed) and row.held,
            suspect=bool(row.solo) and row.max_attempts != 1,
            unwritten=unwritten,
            usage=None if usage == Usage() else usage,
            output=output,
            decision=decision,
            ended_at=row.completed_at or row.dead_lettered_at or row.cancelled_at,
            **self._kept(row),
        )

    @staticmethod
    def _kept(row: Row) -> dict[str, Any]:
        alike: dict[str, Any] = {name: getattr(row, name) for name in _ALIKE}
        return alike | {name: bool(getattr(row, name)) for name in _FLAGS}

    def _made(self, row: Row) -> tuple[str | None, str | None]:
        """Output and decision, which lie with the attempt that made them."""
        for attempt in self._attempts[row.n]:
            fence, output, decision = attempt[0], attempt[18], attempt[19]
            if fence == row.output_fence:
                return self._blobs.get((row.n, fence), output), decision
        return None, None


_ALIKE = (
    *("status", "cause", "cancel_reason", "priority", "weight", "rank", "parked_on", "run_after", "retry_at", "fence"),
    *("agent", "model", "timeout_s", "renewed_at", "progress", "note", "attempts", "crashes", "releases", "error"),
    *("reason", "exit_code", "cost_usd", "tokens_in", "tokens_out", "turns", "created_at", "ready_at", "claimed_at"),
    *("started_at", "updated_at"),
)
"""What a row keeps under the same name, as it is."""
_FLAGS = ("requested", "overdue", "marked", "output_sanitized", "poison_pill")


def _question(columns: list[Any]) -> CarriedQuestion:
    return CarriedQuestion(**dict(zip(_ASKED, columns, strict=True)))


_ASKED = (
    *("id", "kind", "name", "digest", "question", "schema", "assignee", "default", "status", "asked_at", "expires_at"),
    *("answer", "answered_by", "answered_at"),
)


def _ending(columns: list[Any]) -> CarriedEnding:
    fence, number, agent, model, outcome, status, digest, reason, error, fingerprint, exit_code, retry_at = columns[:12]
    started_at, ended_at, cost_usd, tokens_in, tokens_out, turns = columns[12:18]
    attempt = Attempt(
        number=number,
        fence=fence,
        agent=agent,
        outcome=Outcome(outcome),
        model=model,
        reason=reason,
        error=error,
        fingerprint=fingerprint,
        exit_code=exit_code,
        started_at=None if started_at is None else from_micros(started_at),
        ended_at=from_micros(ended_at),
        cost_usd=cost_usd,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        turns=turns,
        price=columns[21],
    )
    if not digest:
        return CarriedEnding(attempt=attempt)
    return CarriedEnding(attempt=attempt, digest=digest, status=status, retry_at=retry_at)


def _artifact(task_id: str, columns: list[Any]) -> tuple[int, Artifact]:
    number, name, digest, size, media_type, put_at = columns
    at = from_micros(put_at)
    return number, Artifact(name=name, digest=digest, size=size, media_type=media_type, task_id=task_id, put_at=at)


_DOCUMENT = Document.__struct_fields__
_DOCUMENTS = f"SELECT {', '.join(_DOCUMENT)} FROM documents ORDER BY project, kind, name"  # noqa: S608


def settings(tx: Transaction) -> CarriedSettings:
    """Everything beside tasks and dags."""

    def found(sql: str) -> list[Any]:
        return list(tx.connection.execute(sql))

    keys = {str(id): decode_key(key) for id, key in found(_LANES)}
    named = found("SELECT project, name, slots, reserved_for FROM locks ORDER BY project, name")
    saved = {(project, name): (slots, number) for project, name, slots, number in named}
    return CarriedSettings(
        pauses=[
            _pause(columns, keys)
            for columns in found(
                "SELECT project, scope, name, since, until, reason, by FROM pauses ORDER BY project, gate"
            )
        ],
        breakers=[
            (project, type, _decode_breaker(record))
            for project, type, record in found("SELECT project, type, record FROM breakers ORDER BY project, type")
        ],
        overrides=[
            (project, type, _decode_override(override))
            for project, type, override in found(
                "SELECT project, type, override FROM breaker_settings ORDER BY project, type"
            )
        ],
        ladders=[
            (project, scope, escalation.as_json(escalation.from_json(rungs)))
            for project, scope, rungs in found("SELECT project, scope, rungs FROM ladders ORDER BY project, scope")
        ],
        backoffs=[
            (project, gate, Backoff(limits=limits, since=since, until=until, shut=bool(shut)))
            for project, gate, limits, since, until, shut in found(
                "SELECT project, gate, limits, since, until, shut FROM backoffs ORDER BY project, gate"
            )
        ],
        locks=[
            (project, name, slots, number)
            for project, name, slots, number in named
            if not name.startswith(PREFIX) and (slots != SLOTS or number is not None)
        ],
        budgets=[_budget(dict(zip(_BUDGET, columns, strict=True)), saved) for columns in found(_BUDGETS)],
        type_slots=found("SELECT project, type, slots FROM type_slots ORDER BY project, type"),
        rates=[
            (project, type, Rate(amount, per_s, burst), full_at)
            for project, type, amount, per_s, burst, full_at in found(
                "SELECT project, type, amount, per_s, burst, full_at FROM rates ORDER BY project, type"
            )
        ],
        agents=registry.everybody(tx),
        documents=[Document(**dict(zip(_DOCUMENT, row, strict=True))) for row in found(_DOCUMENTS)],
        claims=_claims(tx),
        grown=[dag for (dag,) in found("SELECT dag FROM grown ORDER BY dag")],
        closing=[dag for (dag,) in found("SELECT id FROM dags WHERE closing = 1 ORDER BY id")],
        last_number=found("SELECT coalesce(max(n), 0) FROM tasks")[0][0],
        last_put=found("SELECT coalesce(max(id), 0) FROM artifacts")[0][0],
        last_seq=found("SELECT coalesce(max(last_seq), 0) FROM outbox")[0][0],
    )


def _pause(columns: Sequence[Any], keys: dict[str, LaneKey]) -> CarriedPause:
    project, scope, name, since, until, reason, by = columns
    lane = keys.get(name) if scope == "lane" else None
    name = "" if scope == "lane" else name
    return CarriedPause(
        project=project, scope=scope, name=name, lane=lane, since=since, until=until, reason=reason, by=by
    )


_BUDGET = (
    *("project", "name", "scope", "unit", "limit", "default_reserve", "per", "zone", "ends_at", "spent", "unpriced"),
    *("reserved", "earlier"),
)
_RESERVES = """
(SELECT json_group_array(json_array(n, fence, amount)) FROM (
    SELECT * FROM reserves r WHERE r.project = b.project AND r.name = b.name AND (r.window_no = b.window_no) = {}
    ORDER BY n, fence
))
"""
_BUDGETS = f"""
SELECT project, name, scope, unit, cap, default_reserve, per, zone, ends_at, spent, unpriced, {_RESERVES.format(1)},
    {_RESERVES.format(0)} FROM budgets b ORDER BY project, name
"""  # noqa: S608


def _budget(row: dict[str, Any], saved: dict[tuple[str, str], tuple[int, int | None]]) -> CarriedBudget:
    slots, saved_for = saved.get((row["project"], row.pop("name")), (SLOTS, None))
    row["reserved"] = [tuple(each) for each in decode(row["reserved"])]
    row["earlier"] = [tuple(each) for each in decode(row["earlier"])]
    return CarriedBudget(**row, saved_for=saved_for, offered=0 if saved_for is None else slots - 1)


def _claims(tx: Transaction) -> list[tuple[str, str, int, list[list[tuple[int, int]]]]]:
    found = []
    held = {
        (number, fence)
        for number, fence in tx.connection.execute(
            "SELECT n, fence FROM tasks INDEXED BY task_due"
            " WHERE status IN ('claimed', 'running') AND due_at IS NOT NULL"
        )
    }
    for project, claim_id, at, text in tx.connection.execute(
        "SELECT project, claim_id, at, held FROM claims ORDER BY project, claim_id"
    ):
        groups: dict[Any, list[tuple[int, int]]] = {}
        for place, (number, fence, *group) in enumerate(decode(text)):
            if (number, fence) in held:
                groups.setdefault(group[0] if group else ("alone", place), []).append((number, fence))
        if groups:
            found.append((project, claim_id, at, list(groups.values())))
    return found


# In


def carry_in(tx: Transaction, lanes: Lanes, cargo: Cargo, forget: Sequence[str], become: Standing | None) -> None:
    """Write tasks and dags as they are, in the place of those of the same id; and what became of the copy."""
    stands = standing(tx.connection)
    if not stands.may_carry_in:
        raise not_filling(stands)
    _carrying(tx, True)
    emptied = _take_out(tx, [*forget, *(task.id for task in cargo.tasks)])
    for dag in cargo.dags:
        _put_dag(tx, dag)
    wanted = [lane for task in cargo.tasks for lane in (task.lane, task.fallback_lane) if lane is not None]
    lanes.current(tx)
    numbers = dict(lanes.numbers(tx, wanted))
    for task in cargo.tasks:
        _put_in(tx, task, numbers)
    parents = encode([edge.number for task in cargo.tasks for edge in task.edges]).decode()
    tx.run(f"UPDATE tasks SET has_dependents = 1 WHERE n IN ({_NUMBERS})", (parents,))  # noqa: S608
    tx.run(_DROP_DAGS, (encode(emptied).decode(),))
    if become is not None:
        _put_standing(tx, become)
    _carrying(tx, False)


def _take_out(tx: Transaction, ids: Sequence[str]) -> list[str]:
    """Forget these tasks and the edges into them; the dags they were in."""
    text = encode(list(ids)).decode()
    known = list(tx.connection.execute("SELECT n, dag FROM json_each(?) j JOIN tasks ON tasks.id = j.value", (text,)))
    numbers = encode([number for number, _ in known]).decode()
    tx.run(f"DELETE FROM edges WHERE child IN ({_NUMBERS})", (numbers,))  # noqa: S608
    for table in _HOMES:
        tx.run(f"DELETE FROM {table} WHERE n IN ({_NUMBERS})", (numbers,))  # noqa: S608
    return [dag for _, dag in known if dag is not None]


def _put_dag(tx: Transaction, dag: CarriedDag) -> None:
    if dag.key is not None and dag.status not in ("cancelled", "failed"):
        tx.run(_FREE_DAG_KEY, (dag.project, dag.key, dag.id))
    values = {name: getattr(dag, name) for name in CarriedDag.__struct_fields__}
    values |= {
        "drafted": encode(dag.drafted).decode(),
        "started": int(dag.started),
        "closing": 0,
        "requested": int(dag.status == "cancelled"),
    }
    tx.run(_ADD_DAG, tuple(values[name] for name in DAG_COLUMNS))
    tx.run("UPDATE tasks SET dag = ? WHERE dag IS NULL AND id IN (?, ?)", (dag.id, *alone_in(dag.id)))


def _put_in(tx: Transaction, task: CarriedTask, lanes: dict[LaneKey, int]) -> None:
    spec, payload = carrying.task_of(task.spec)
    has_row = task.dag_id != dag_of(task.id) or tx.row("SELECT 1 FROM dags WHERE id = ?", (task.dag_id,)) is not None
    locks = kept_locks(spec.locks)
    lane = lanes[task.lane]
    made_by = _made_by(task)
    if spec.key is not None and task.status not in ("cancelled", "dead_lettered"):
        tx.run(_FREE_KEY, (spec.project, spec.key))
    row = Row(
        n=task.number,
        project=spec.project,
        id=task.id,
        type=spec.type,
        parent=task.parent_id,
        key=spec.key,
        body_hash=task.body_hash,
        user=spec.user,
        deadline=micros(spec.deadline),
        on_deadline=spec.on_deadline,
        boost=task.lane.boost,
        max_attempts=spec.max_attempts,
        locks=locks or (None if spec.coalesce_key is None else NO_LOCKS),
        dag=task.dag_id if has_row else None,
        lane=lane,
        fallback_lane=None if task.fallback_lane is None else lanes[task.fallback_lane],
        parked_since=task.parked_since,
        reserved=None,
        step_at=task.step_at,
        due_at=_due_at(task),
        open=sum(not edge.resolved for edge in task.edges),
        deps=len(task.edges),
        has_dependents=0,
        solo=int(task.suspect or spec.max_attempts == 1),
        bytes=size_of(payload),
        timeout_at=task.timeout_at,
        lease_s=task.lease_s,
        lease_expires_at=task.lease_expires_at,
        confirmed=int(task.confirmed),
        usage=None if task.usage is None else encode(task.usage).decode(),
        output_fence=made_by,
        completed_at=task.ended_at if task.status == "completed" else None,
        cancelled_at=task.ended_at if task.status == "cancelled" else None,
        dead_lettered_at=task.ended_at if task.status == "dead_lettered" else None,
        **_kept(task),
    )
    run = tx.connection.executemany
    tx.run(_ADD_TASK, msgspec.structs.astuple(row))
    tx.run("INSERT INTO specs VALUES (?, ?)", (task.number, task.spec))
    run(_ADD_ATTEMPT, [_attempt(task, ending, made_by) for ending in task.endings])
    if task.output is not None and len(task.output.encode()) > INLINE_OUTPUT_BYTES:
        tx.run("INSERT INTO blobs VALUES (?, ?, ?)", (task.number, made_by, task.output))
    run(
        "INSERT INTO edges (parent, child, kind, resolved_at) VALUES (?, ?, ?, ?)",
        [(edge.number, task.number, edge.kind, task.updated_at if edge.resolved else None) for edge in task.edges],
    )
    run(
        "INSERT INTO journal (n, kind, name, digest, value) VALUES (?, ?, ?, ?, ?)",
        [(task.number, entry.kind, entry.name, entry.digest, entry.value) for entry in task.journal],
    )
    run(
        _ADD_QUESTION,
        [(task.number, *(getattr(asked, name) for name in _ASKED), spec.project) for asked in task.questions],
    )
    run(
        "INSERT INTO artifacts (id, n, dag, name, digest, size, media_type, put_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (number, task.number, task.dag_id, left.name, left.digest, left.size, left.media_type, micros(left.put_at))
            for number, left in task.artifacts
        ],
    )
    names = sorted(spec.locks)
    if task.holds:
        run("INSERT INTO holds VALUES (?, ?, ?, ?)", [(spec.project, name, task.number, task.fence) for name in names])
    elif task.status == "ready" and task.parked_on is None:
        wants = [(task.number, name, spec.project, lane, task.rank) for name in names]
        run("INSERT INTO wants (n, name, project, lane, rank) VALUES (?, ?, ?, ?, ?)", wants)
    rest = (task.resolution, task.reviewed_at, spec.coalesce_key, micros(spec.gathers_until))
    tx.run(_ADD_REST, (task.number, *rest))


def _kept(task: CarriedTask) -> dict[str, Any]:
    alike: dict[str, Any] = {name: getattr(task, name) for name in _ALIKE}
    return alike | {name: int(getattr(task, name)) for name in _FLAGS}


def _due_at(task: CarriedTask) -> int | None:
    """When something is to happen to it."""
    if task.held:
        return first_of(task.lease_expires_at, task.timeout_at)
    if task.unwritten:
        return task.lease_expires_at
    return {"scheduled": task.run_after, "retrying": task.retry_at}.get(task.status)


def _made_by(task: CarriedTask) -> int | None:
    """The attempt that made the output; also of no output, where that is what it completed with."""
    if task.output is None and task.decision is None and task.status != "completed":
        return None
    makers = [each.attempt for each in task.endings if each.attempt.outcome in ("completed", "submitted")]
    makers = makers or [each.attempt for each in task.endings]
    return makers[-1].fence if makers else None


def _attempt(task: CarriedTask, ending: CarriedEnding, made_by: int | None) -> tuple[Any, ...]:
    attempt = ending.attempt
    status = ending.status or ("cancelled" if attempt.outcome is Outcome.CANCELLED else "pending")
    output, decision = (task.output, task.decision) if attempt.fence == made_by else (None, None)
    if output is not None and len(output.encode()) > INLINE_OUTPUT_BYTES:
        output = None
    return (
        task.number,
        attempt.fence,
        attempt.number,
        attempt.agent,
        attempt.model,
        attempt.outcome.value,
        status,
        ending.digest,
        attempt.reason,
        attempt.error,
        attempt.fingerprint,
        attempt.exit_code,
        ending.retry_at,
        micros(attempt.started_at),
        0 if attempt.ended_at is None else to_micros(attempt.ended_at),
        attempt.cost_usd,
        attempt.tokens_in,
        attempt.tokens_out,
        attempt.turns,
        output,
        decision,
        None,
        attempt.price,
    )


_PUT_DOCUMENT = f"INSERT INTO documents ({', '.join(_DOCUMENT)}) VALUES (?, ?, ?, ?, ?, ?)"  # noqa: S608
_SETTINGS = (
    *("pauses", "breakers", "breaker_settings", "ladders", "backoffs", "locks", "budgets", "reserves", "type_slots"),
    *("rates", "agents", "documents", "claims", "grown"),
)


def carry_in_settings(tx: Transaction, lanes: Lanes, told: CarriedSettings) -> None:
    """Let these, and no others, hold."""
    stands = standing(tx.connection)
    if not stands.may_carry_in:
        raise not_filling(stands)
    _carrying(tx, True)
    for table in _SETTINGS:
        tx.run(f"DELETE FROM {table}")  # noqa: S608
    lanes.current(tx)
    numbers = dict(lanes.numbers(tx, [pause.lane for pause in told.pauses if pause.lane is not None]))
    run = tx.connection.executemany
    run("INSERT INTO pauses VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [_paused(pause, numbers) for pause in told.pauses])
    run("INSERT INTO breakers VALUES (?, ?, ?, ?, ?, ?)", [_breaker(*each) for each in told.breakers])
    run("INSERT INTO breaker_settings VALUES (?, ?, ?)", [(*n, encode(o).decode()) for *n, o in told.overrides])
    run("INSERT INTO ladders VALUES (?, ?, ?)", told.ladders)
    run(
        "INSERT INTO backoffs (project, gate, limits, since, until, shut) VALUES (?, ?, ?, ?, ?, ?)",
        [(*n, each.limits, each.since, each.until, int(each.shut)) for *n, each in told.backoffs],
    )
    run("INSERT INTO locks (project, name, slots, reserved_for) VALUES (?, ?, ?, ?)", told.locks)
    for budget in told.budgets:
        _put_budget(tx, budget)
    run("INSERT INTO type_slots VALUES (?, ?, ?)", told.type_slots)
    run(
        "INSERT INTO rates (project, type, amount, per_s, burst, full_at) VALUES (?, ?, ?, ?, ?, ?)",
        [(*n, rate.amount, rate.per_s, rate.burst, full_at) for *n, rate, full_at in told.rates],
    )
    for project, agent, known in told.agents:
        registry.put(tx, project, agent, known)
    run(_PUT_DOCUMENT, [tuple(getattr(each, name) for name in _DOCUMENT) for each in told.documents])
    run("INSERT INTO claims VALUES (?, ?, ?, ?)", [(*n, at, _held(groups)) for *n, at, groups in told.claims])
    run("INSERT INTO grown (dag) VALUES (?)", [(dag,) for dag in told.grown])
    tx.run("UPDATE dags SET closing = 0 WHERE closing = 1")
    tx.run(f"UPDATE dags SET closing = 1 WHERE id IN ({_NUMBERS})", (encode(told.closing).decode(),))  # noqa: S608
    tx.run(
        "UPDATE tasks SET reserved = NULL WHERE reserved IS NOT NULL AND status IN ('claimed', 'running', 'cancelled')"
    )
    tx.run("UPDATE tasks SET reserved = 1 FROM reserves r WHERE r.n = tasks.n AND r.fence = tasks.fence")
    if told.last_seq > tx.row("SELECT coalesce(max(last_seq), 0) FROM outbox")[0]:
        tx.run("DELETE FROM outbox")
        tx.run("INSERT INTO outbox (last_seq, count, at, body) VALUES (?, 0, ?, '[]')", (told.last_seq, tx.now))
    tx.run(CHANGED)
    _carrying(tx, False)


def _paused(pause: CarriedPause, lanes: dict[LaneKey, int]) -> tuple[Any, ...]:
    name = pause.name if pause.lane is None else str(lanes[pause.lane])
    gate = closing.Pause(scope=pause.scope, name=name).gate
    return pause.project, gate, pause.scope, name, pause.since, pause.until, pause.reason, pause.by


def _breaker(project: str, type: str, record: Breaker) -> tuple[Any, ...]:
    why = closing.why_shut(record)
    return project, type, encode(record).decode(), why, record.due_at, int(record.is_troubled)


def _put_budget(tx: Transaction, told: CarriedBudget) -> None:
    name = parked_on(told.scope, told.unit)
    tx.run(
        "INSERT INTO budgets (project, name, scope, unit, cap, default_reserve, reserved, spent, unpriced, per, zone,"
        " ends_at, window_no) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
        (
            told.project,
            name,
            told.scope,
            told.unit,
            told.limit,
            told.default_reserve,
            sum(amount for _, _, amount in told.reserved),
            told.spent,
            told.unpriced,
            told.per,
            told.zone,
            told.ends_at,
        ),
    )
    tx.connection.executemany(
        "INSERT INTO reserves (n, fence, name, project, amount, window_no) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (number, fence, name, told.project, amount, window)
            for window, claims in ((1, told.reserved), (0, told.earlier))
            for number, fence, amount in claims
        ],
    )
    if told.saved_for is not None:
        tx.run(
            "INSERT INTO locks (project, name, slots, reserved_for) VALUES (?, ?, ?, ?)",
            (told.project, name, told.offered + 1, told.saved_for),
        )


def _held(groups: list[list[tuple[int, int]]]) -> str:
    alone = all(len(group) == 1 for group in groups)
    return encode(
        [[*claim] if alone else [*claim, place] for place, group in enumerate(groups) for claim in group]
    ).decode()
