"""Records of `stores.carrying` from elsewhere, written into a schema as they are."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import msgspec

from dibs.model.ids import alone_in
from dibs.model.instants import to_micros
from dibs.model.status import Outcome
from dibs.rules import closing
from dibs.rules.budgets import PREFIX, parked_on
from dibs.rules.large import size_of
from dibs.stores import carrying
from dibs.stores.carrying import Cargo, CarriedBudget, CarriedDag, CarriedSettings, CarriedTask
from dibs.stores.postgres import registry
from dibs.stores.postgres.carrying import (
    ALIKE,
    ASKED,
    CARRYING,
    OF_ATTEMPT,
    OF_ENDED,
    PUT_STANDING,
    STANDING,
    as_json,
    in_transaction,
    read_standing,
)
from dibs.stores.standing import Standing, not_filling

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from dibs.stores.postgres.engine import Engine
    from dibs.stores.postgres.pool import Connection
    from dibs.stores.values import LaneKey

_FREE_KEY = "UPDATE dibs.dags SET key = NULL WHERE project = $1 AND key = $2 AND status NOT IN ('cancelled', 'failed')"
_HOMES = (
    *("specs", "work", "ended", "submitted", "attempts", "keys", "journal", "questions", "artifacts", "needs"),
    "reserves",
)


def _micros(instant: datetime | None) -> int | None:
    return None if instant is None else to_micros(instant)


async def carry_in(engine: Engine, cargo: Cargo, forget: Sequence[str], become: Standing | None) -> None:
    """Write tasks and dags as they are, in the place of those of the same id; and what became of the copy."""

    async def work(connection: Connection) -> None:
        await _begin_carrying(engine, connection)
        emptied = await _take_out(engine, connection, [*forget, *(task.id for task in cargo.tasks)])
        for dag in cargo.dags:
            await _put_dag(engine, connection, dag)
        wanted = [lane for task in cargo.tasks for lane in (task.lane, task.fallback_lane) if lane is not None]
        lanes = await _lanes(engine, connection, wanted)
        rows = await connection.fetch(
            engine.text("SELECT id FROM dibs.dags WHERE id = ANY ($1)"), [task.dag_id for task in cargo.tasks]
        )
        leading = await connection.fetch(
            engine.text("SELECT DISTINCT parent FROM dibs.edges WHERE parent = ANY ($1)"),
            [task.number for task in cargo.tasks],
        )
        into = _Into(lanes, {dag for (dag,) in rows}, {parent for (parent,) in leading})
        for task in cargo.tasks:
            into.add(task)
        for table, (columns, values) in into.rows.items():
            await _insert(engine, connection, table, columns, values)
        parents = list({edge.number for task in cargo.tasks for edge in task.edges})
        for table in ("work", "ended"):
            await connection.execute(
                engine.text(f"UPDATE dibs.{table} SET ties = ties | 1 WHERE n = ANY ($1) AND ties & 1 = 0"),  # noqa: S608
                parents,
            )
        await connection.execute(
            engine.text(
                "DELETE FROM dibs.dags d WHERE d.id = ANY ($1)"
                " AND NOT EXISTS (SELECT 1 FROM dibs.specs s WHERE s.dag = d.id)"
            ),
            emptied,
        )
        if become is not None:
            await connection.execute(engine.text(PUT_STANDING), as_json(become))

    await in_transaction(engine, work)
    engine.changed()


async def _begin_carrying(engine: Engine, connection: Connection) -> None:
    stands = read_standing(await connection.fetchval(engine.text(STANDING + " FOR UPDATE")))
    if not stands.may_carry_in:
        raise not_filling(stands)
    await connection.execute(CARRYING)


async def _insert(
    engine: Engine, connection: Connection, table: str, columns: Sequence[str], values: list[tuple[Any, ...]]
) -> None:
    names = ", ".join(f'"{column}"' for column in columns)
    places = ", ".join(f"${place}" for place in range(1, len(columns) + 1))
    override = " OVERRIDING SYSTEM VALUE" if table == "artifacts" else ""
    clash = " ON CONFLICT (project, key) DO UPDATE SET n = excluded.n" if table == "keys" else ""
    text = f"INSERT INTO dibs.{table} ({names}){override} VALUES ({places}){clash}"  # noqa: S608
    await connection.executemany(engine.text(text), values)


async def _lanes(engine: Engine, connection: Connection, wanted: Iterable[LaneKey]) -> dict[LaneKey, int]:
    texts = {as_json(key): key for key in wanted}
    values = [(key.project, key.type, key.boost, text) for text, key in texts.items()]
    await connection.executemany(
        engine.text(
            "INSERT INTO dibs.lanes (project, type, boost, key) VALUES ($1, $2, $3, $4)"
            " ON CONFLICT (key) DO UPDATE SET retired_at = NULL, idle_since = NULL"
        ),
        values,
    )
    found = await connection.fetch(engine.text("SELECT id, key FROM dibs.lanes WHERE key = ANY ($1)"), list(texts))
    return {texts[key]: id for id, key in found}


async def _take_out(engine: Engine, connection: Connection, ids: list[str]) -> list[str]:
    """Forget these tasks and the edges into them; the dags they were in."""
    known = await connection.fetch(engine.text("SELECT n, dag FROM dibs.specs WHERE id = ANY ($1)"), ids)
    numbers = [row["n"] for row in known]
    await connection.execute(engine.text("DELETE FROM dibs.edges WHERE child = ANY ($1)"), numbers)
    for table in _HOMES:
        if table != "reserves":
            await connection.execute(engine.text(f"DELETE FROM dibs.{table} WHERE n = ANY ($1)"), numbers)  # noqa: S608
    return [row["dag"] for row in known if row["dag"] is not None]


async def _put_dag(engine: Engine, connection: Connection, dag: CarriedDag) -> None:
    if dag.key is not None and dag.status not in ("cancelled", "failed"):
        # Whose key it was has lost it meanwhile; that comes with what happened to him.
        await connection.execute(engine.text(_FREE_KEY), dag.project, dag.key)
    values = {name: getattr(dag, name) for name in CarriedDag.__struct_fields__}
    values |= {"drafted": as_json(dag.drafted), "closing": False, "requested": dag.status == "cancelled"}
    await connection.execute(engine.text("DELETE FROM dibs.dags WHERE id = $1"), dag.id)
    await _insert(engine, connection, "dags", list(values), [tuple(values.values())])
    joined = await connection.fetch(
        engine.text("UPDATE dibs.specs SET dag = $1 WHERE dag IS NULL AND id = ANY ($2) RETURNING n"),
        dag.id,
        list(alone_in(dag.id)),
    )
    for table in ("work", "ended") if joined else ():
        await connection.execute(
            engine.text(f"UPDATE dibs.{table} SET ties = ties | 2 WHERE n = ANY ($1)"),  # noqa: S608
            [n for (n,) in joined],
        )


class _Into:
    """Rows for every table, put together from tasks."""

    def __init__(self, lanes: dict[LaneKey, int], dags: set[str], leading: set[int]) -> None:
        self._lanes = lanes
        self._dags = dags
        self._leading = leading
        self.rows: dict[str, tuple[list[str], list[tuple[Any, ...]]]] = {}

    def _put(self, table: str, **values: Any) -> None:
        _, rows = self.rows.setdefault(table, (list(values), []))
        rows.append(tuple(values.values()))

    def add(self, task: CarriedTask) -> None:
        spec, payload = carrying.task_of(task.spec)
        has_row = task.dag_id in self._dags
        deadline = _micros(spec.deadline)
        self._put(
            "specs",
            n=task.number,
            created_at=task.created_at,
            deadline=deadline,
            timeout_s=spec.timeout,
            max_attempts=spec.max_attempts,
            fallback_lane=None if task.fallback_lane is None else self._lanes[task.fallback_lane],
            id=task.id,
            project=spec.project,
            type=spec.type,
            dag=task.dag_id if has_row else None,
            parent=task.parent_id,
            key=spec.key,
            body_hash=task.body_hash,
            user=spec.user,
            on_deadline=spec.on_deadline,
            spec=task.spec,
        )
        is_budget = task.parked_on is not None and task.parked_on.startswith(PREFIX)
        ties = (
            (1 if task.number in self._leading else 0)
            | (2 if has_row else 0)
            | (4 if spec.locks else 0)
            | (8 if is_budget else 0)
            | (16 if spec.coalesce_key is not None else 0)
        )
        state = {
            "n": task.number,
            "boost": task.lane.boost,
            "lane": self._lanes[task.lane],
            "bytes": size_of(payload),
            "open": sum(not edge.resolved for edge in task.edges),
            "deps": len(task.edges),
            "ties": ties,
            "deadline": deadline,
            "lease_s": task.lease_s,
            "lease_expires_at": task.lease_expires_at,
            "usage": None if task.usage is None else as_json(task.usage),
            **{name: getattr(task, name) for name in ALIKE},
        }
        if task.final:
            self._put(
                "ended",
                **state,
                ended_at=task.ended_at,
                due_at=task.lease_expires_at if task.unwritten else None,
                **{name: getattr(task, name) for name in OF_ENDED},
            )
        else:
            self._put(
                "work",
                **state,
                due_at=_due_at(task),
                solo=task.suspect or spec.max_attempts == 1,
                confirmed=task.confirmed,
                timeout_at=task.timeout_at,
                step_at=task.step_at,
                parked_on=task.parked_on,
                parked_since=task.parked_since,
                coalesce_key=spec.coalesce_key,
                gathers_until=_micros(spec.gathers_until),
            )
            if task.output is not None or task.decision is not None or task.status == "validating":
                self._put(
                    "submitted",
                    n=task.number,
                    output_sanitized=task.output_sanitized,
                    output=task.output,
                    decision=task.decision,
                )
        if spec.key is not None and task.status not in ("cancelled", "dead_lettered"):
            self._put("keys", project=spec.project, key=spec.key, n=task.number)
        for name in sorted(set(spec.locks)):
            self._put("needs", n=task.number, name=name)
        self._add_rest(task, spec.project)

    def _add_rest(self, task: CarriedTask, project: str) -> None:
        number = task.number
        for edge in task.edges:
            done = task.updated_at if edge.resolved else None
            self._put("edges", parent=edge.number, child=number, kind=edge.kind, resolved_at=done)
        for entry in task.journal:
            self._put("journal", n=number, kind=entry.kind, name=entry.name, digest=entry.digest, value=entry.value)
        for asked in task.questions:
            values = {"fallback" if name == "default" else name: getattr(asked, name) for name in ASKED}
            self._put("questions", n=number, project=project, **values)
        for place, left in task.artifacts:
            kept = {name: getattr(left, name) for name in ("name", "digest", "size", "media_type")}
            self._put("artifacts", id=place, n=number, dag=task.dag_id, put_at=_micros(left.put_at), **kept)
        for ending in task.endings:
            attempt = ending.attempt
            status = ending.status or ("cancelled" if attempt.outcome is Outcome.CANCELLED else "pending")
            self._put(
                "attempts",
                n=number,
                outcome=attempt.outcome.value,
                status=status,
                digest=ending.digest,
                retry_at=ending.retry_at,
                started_at=_micros(attempt.started_at),
                ended_at=_micros(attempt.ended_at) or 0,
                **{name: getattr(attempt, name) for name in OF_ATTEMPT},
            )


def _due_at(task: CarriedTask) -> int | None:
    """When something is to happen to it."""
    if task.held:
        return min(at for at in (task.lease_expires_at, task.timeout_at) if at is not None)
    return {"scheduled": task.run_after, "retrying": task.retry_at}.get(task.status)


_SETTINGS = (
    *("pauses", "breakers", "breaker_settings", "ladders", "backoffs", "locks", "budgets", "reserves", "type_slots"),
    *("rates", "agents", "documents", "claims", "grown"),
)
_HOLD = """
INSERT INTO dibs.locks (project, name, holders, fences)
SELECT s.project, d.name, array_agg(h.n ORDER BY h.n), array_agg(h.fence ORDER BY h.n)
FROM (
    SELECT n, fence FROM dibs.held UNION ALL SELECT n, fence FROM dibs.ended WHERE due_at IS NOT NULL
) h JOIN dibs.needs d ON d.n = h.n JOIN dibs.specs s ON s.n = h.n GROUP BY s.project, d.name
ON CONFLICT (project, name) DO UPDATE SET holders = excluded.holders, fences = excluded.fences
"""
_AWAIT = """
INSERT INTO dibs.locks (project, name)
SELECT DISTINCT s.project, w.parked_on FROM dibs.work w JOIN dibs.specs s ON s.n = w.n
WHERE w.parked_on IS NOT NULL AND NOT starts_with(w.parked_on, 'budget:') ON CONFLICT DO NOTHING
"""


async def carry_in_settings(engine: Engine, told: CarriedSettings) -> None:
    """Let these, and no others, hold."""
    # Whatever is not numbered yet is now; else its numbers would be below those told here.
    from dibs.stores.postgres.eventlog import last_seq

    newest = await last_seq(engine)

    async def work(connection: Connection) -> None:
        await _begin_carrying(engine, connection)
        for table in _SETTINGS:
            await connection.execute(engine.text(f"DELETE FROM dibs.{table}"))  # noqa: S608
        lanes = await _lanes(engine, connection, [pause.lane for pause in told.pauses if pause.lane is not None])
        numbers = await _probes(engine, connection, told)
        for table, values in _rows_of(told, lanes, numbers).items():
            await _insert(engine, connection, table, list(values[0]), [tuple(row.values()) for row in values])
        await connection.execute(engine.text(_HOLD))
        await connection.execute(engine.text(_AWAIT))
        await connection.execute(engine.text("UPDATE dibs.dags SET closing = false WHERE closing"))
        text = "UPDATE dibs.dags SET closing = true WHERE id = ANY ($1)"
        await connection.execute(engine.text(text), told.closing)
        reserving = [number for budget in told.budgets for number, _, _ in (*budget.reserved, *budget.earlier)]
        for table in ("work", "ended"):
            text = f"UPDATE dibs.{table} SET ties = ties | 8 WHERE n = ANY ($1) AND ties & 8 = 0"  # noqa: S608
            await connection.execute(engine.text(text), reserving)
        if told.last_seq > newest:
            await connection.execute(engine.text("DELETE FROM dibs.outbox"))
            text = "INSERT INTO dibs.outbox (at, last_seq, count, body) VALUES ($1, $2, 0, '[]')"
            await connection.execute(engine.text(text), engine.now(), told.last_seq)
        await connection.execute(engine.text("SELECT dibs.change_lanes()"))

    await in_transaction(engine, work)
    engine.changed()


async def _probes(engine: Engine, connection: Connection, told: CarriedSettings) -> dict[str, int]:
    """The numbers of the tasks that breakers wait for."""
    ids = [record.probe[0] for _, _, record in told.breakers if record.probe is not None]
    found = await connection.fetch(engine.text("SELECT id, n FROM dibs.specs WHERE id = ANY ($1)"), ids)
    return dict(map(tuple, found))


def _rows_of(
    told: CarriedSettings, lanes: dict[LaneKey, int], probes: dict[str, int]
) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for pause in told.pauses:
        name = pause.name if pause.lane is None else str(lanes[pause.lane])
        kept = {each: getattr(pause, each) for each in ("project", "scope", "since", "until", "reason", "by")}
        rows["pauses"].append({**kept, "name": name, "gate": closing.Pause(scope=pause.scope, name=name).gate})
    for project, type, record in told.breakers:
        probe = record.probe or (None, None)
        kept = {
            each: getattr(record, each) for each in ("last_failure_at", "opened_at", "half_open_at", "due_at", "reason")
        }
        kept |= {"project": project, "type": type, "state": record.state.value, "failed_at": list(record.failed_at)}
        kept |= {"probe_id": probe[0], "probe_fence": probe[1], "probe_n": probes.get(probe[0] or "")}
        rows["breakers"].append(kept)
    for project, type, override in told.overrides:
        rows["breaker_settings"].append({"project": project, "type": type, **msgspec.structs.asdict(override)})
    for project, scope, rungs in told.ladders:
        rows["ladders"].append({"project": project, "scope": scope, "rungs": rungs})
    for project, gate, backoff in told.backoffs:
        rows["backoffs"].append({"project": project, "gate": gate, **msgspec.structs.asdict(backoff)})
    for project, name, slots, number in told.locks:
        rows["locks"].append({"project": project, "name": name, "slots": slots, "reserved_for": number})
    for budget in told.budgets:
        _add_budget(rows, budget)
    for project, type, slots in told.type_slots:
        rows["type_slots"].append({"project": project, "type": type, "slots": slots})
    for project, type, rate, full_at in told.rates:
        kept = {**msgspec.structs.asdict(rate), "interval_us": rate.interval, "full_at": full_at}
        rows["rates"].append({"project": project, "type": type, **kept})
    for project, agent, known in told.agents:
        rows["agents"].append({"project": project, "id": agent, **registry.kept(known)})
    for document in told.documents:
        rows["documents"].append(msgspec.structs.asdict(document))
    for project, claim_id, at, groups in told.claims:
        claims = [(number, fence, place) for place, group in enumerate(groups) for number, fence in group]
        together = any(len(group) > 1 for group in groups)
        kept = {"project": project, "claim_id": claim_id, "at": at, "ns": [each[0] for each in claims]}
        kept |= {"fences": [each[1] for each in claims], "groups": [each[2] for each in claims] if together else None}
        rows["claims"].append(kept)
    for dag in told.grown:
        rows["grown"].append({"dag": dag})
    return rows


def _add_budget(rows: dict[str, list[dict[str, Any]]], budget: CarriedBudget) -> None:
    name = parked_on(budget.scope, budget.unit)
    kept = {
        each: getattr(budget, each)
        for each in ("project", "scope", "unit", "default_reserve", "per", "zone", "ends_at", "spent", "unpriced")
    }
    reserved = sum(amount for _, _, amount in budget.reserved)
    rows["budgets"].append({**kept, "name": name, "cap": budget.limit, "reserved": reserved, "window_no": 1})
    for window, claims in ((1, budget.reserved), (0, budget.earlier)):
        for number, fence, amount in claims:
            claim = {"n": number, "fence": fence, "project": budget.project, "name": name, "amount": amount}
            rows["reserves"].append({**claim, "window_no": window})
    if budget.saved_for is not None:
        lock = {"project": budget.project, "name": name, "slots": budget.offered + 1, "reserved_for": budget.saved_for}
        rows["locks"].append(lock)
