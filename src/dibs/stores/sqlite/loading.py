"""Everything that is in a file, as the records of `stores.carrying`, to be carried elsewhere."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import msgspec

from dibs.model.artifact import Artifact
from dibs.model.attempt import Attempt
from dibs.model.instants import from_micros
from dibs.model.status import Outcome
from dibs.rules import escalation
from dibs.rules.breaker import Override
from dibs.rules.breaker import Record as Breaker
from dibs.rules.budgets import PREFIX
from dibs.rules.locks import SLOTS
from dibs.rules.providers import Backoff
from dibs.rules.rates import Rate
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
)
from dibs.stores.sqlite import registry, rows
from dibs.stores.sqlite.carrying import ALIKE, ASKED, DOCUMENT, FLAGS, NUMBERS
from dibs.stores.sqlite.dags import COLUMNS as DAG_COLUMNS
from dibs.stores.sqlite.lanes import decode_key
from dibs.stores.sqlite.rows import Row, decode, encode
from dibs.stores.sqlite.work import ATTEMPT_COLUMNS
from dibs.stores.values import Document, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.values import LaneKey

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
_LEFT_ALONE = "SELECT id FROM dags WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE dag = dags.id)"
_MORE = f"SELECT n, resolution, reviewed_at FROM tasks WHERE n IN ({NUMBERS})"  # noqa: S608
_SPECS = f"SELECT n, spec FROM specs WHERE n IN ({NUMBERS})"  # noqa: S608
_LANES = "SELECT id, key FROM lanes"
_ATTEMPTS = f"SELECT {ATTEMPT_COLUMNS} FROM attempts WHERE n IN ({NUMBERS}) ORDER BY n, fence"  # noqa: S608
_BLOBS = f"SELECT n, fence, output FROM blobs WHERE n IN ({NUMBERS})"  # noqa: S608
_EDGES = f"""
SELECT e.child, e.parent, coalesce(p.id, ''), e.kind, e.resolved_at IS NOT NULL
FROM edges e LEFT JOIN tasks p ON p.n = e.parent
WHERE e.child IN ({NUMBERS}) ORDER BY e.id
"""  # noqa: S608
_BELOW = f"SELECT DISTINCT t.id FROM edges e JOIN tasks t ON t.n = e.child WHERE e.parent IN ({NUMBERS})"  # noqa: S608
_JOURNAL = f"SELECT n, kind, name, digest, value FROM journal WHERE n IN ({NUMBERS}) ORDER BY id"  # noqa: S608
_QUESTIONS = f"""
SELECT n, id, kind, name, digest, question, schema, assignee, fallback, status, asked_at, expires_at, answer,
    answered_by, answered_at FROM questions WHERE n IN ({NUMBERS}) ORDER BY asked_at, id
"""  # noqa: S608
_ARTIFACTS = f"""
SELECT n, id, name, digest, size, media_type, put_at FROM artifacts WHERE n IN ({NUMBERS}) ORDER BY id
"""  # noqa: S608
_DAGS = f"SELECT {', '.join(DAG_COLUMNS)} FROM dags WHERE id IN ({NUMBERS}) ORDER BY id"  # noqa: S608
_decode_usage = msgspec.json.Decoder(Usage).decode
_decode_breaker = msgspec.json.Decoder(Breaker).decode
_decode_override = msgspec.json.Decoder(Override).decode


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
        alike: dict[str, Any] = {name: getattr(row, name) for name in ALIKE}
        return alike | {name: bool(getattr(row, name)) for name in FLAGS}

    def _made(self, row: Row) -> tuple[str | None, str | None]:
        """Output and decision, which lie with the attempt that made them."""
        for attempt in self._attempts[row.n]:
            fence, output, decision = attempt[0], attempt[18], attempt[19]
            if fence == row.output_fence:
                return self._blobs.get((row.n, fence), output), decision
        return None, None


def _question(columns: list[Any]) -> CarriedQuestion:
    return CarriedQuestion(**dict(zip(ASKED, columns, strict=True)))


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


_DOCUMENTS = f"SELECT {', '.join(DOCUMENT)} FROM documents ORDER BY project, kind, name"  # noqa: S608


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
        documents=[Document(**dict(zip(DOCUMENT, row, strict=True))) for row in found(_DOCUMENTS)],
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
