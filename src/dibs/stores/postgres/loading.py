"""Everything that is in a schema, as the records of `stores.carrying`, to be carried elsewhere."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import msgspec

from dibs.model.artifact import Artifact
from dibs.model.attempt import Attempt
from dibs.model.ids import dag_of
from dibs.model.instants import from_micros
from dibs.model.status import Outcome
from dibs.rules import escalation
from dibs.rules.breaker import Override, State
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
from dibs.stores.postgres import registry
from dibs.stores.postgres.carrying import ALIKE, ASKED, OF_ATTEMPT, OF_ENDED, T, in_transaction
from dibs.stores.values import Document, LaneKey, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence
    from datetime import datetime

    from dibs.stores.postgres.engine import Engine
    from dibs.stores.postgres.pool import Connection

_LIVE = """
SELECT w.n FROM dibs.work w WHERE w.n > $1
UNION ALL SELECT e.n FROM dibs.ended e WHERE e.n > $1 AND e.due_at IS NOT NULL
UNION ALL SELECT e.n FROM dibs.ended e WHERE e.n > $1 AND e.marked AND e.due_at IS NULL
ORDER BY 1 LIMIT $2
"""
_ALL = "SELECT s.n FROM dibs.specs s WHERE s.n > $1 ORDER BY s.n LIMIT $2"
_LEFT_ALONE = "SELECT d.id FROM dibs.dags d WHERE NOT EXISTS (SELECT 1 FROM dibs.specs s WHERE s.dag = d.id)"
_EDGES = """
SELECT x.child AS n, x.parent, coalesce(p.id, '') AS id, x.kind, x.resolved_at IS NOT NULL AS resolved
FROM dibs.edges x LEFT JOIN dibs.specs p ON p.n = x.parent WHERE x.child = ANY ($1) ORDER BY x.id
"""
_BELOW = "SELECT DISTINCT s.id FROM dibs.edges x JOIN dibs.specs s ON s.n = x.child WHERE x.parent = ANY ($1)"
_ORDERS = {"attempts": "n, fence", "journal": "id", "questions": "asked_at, id", "artifacts": "id"}
_decode = msgspec.json.decode
_decode_key = msgspec.json.Decoder(LaneKey).decode
_decode_usage = msgspec.json.Decoder(Usage).decode


async def _at_one_moment(engine: Engine, work: Callable[[Connection], Coroutine[Any, Any, T]]) -> T:
    return await in_transaction(engine, work, mode="ISOLATION LEVEL REPEATABLE READ READ ONLY")


async def carry_out(engine: Engine, after: int, limit: int, *, live: bool) -> Cargo:
    """Tasks by number, from the one after this."""

    async def work(connection: Connection) -> Cargo:
        numbers = await connection.fetch(engine.text(_LIVE if live else _ALL), after, limit)
        alone = [] if after else await connection.fetch(engine.text(_LEFT_ALONE))
        return await _cargo(engine, connection, [n for (n,) in numbers], [dag for (dag,) in alone])

    return await _at_one_moment(engine, work)


async def carry_out_named(engine: Engine, ids: Sequence[str]) -> Cargo:
    """These tasks and dags."""

    async def work(connection: Connection) -> Cargo:
        numbers = await connection.fetch(
            engine.text("SELECT n FROM dibs.specs WHERE id = ANY ($1) ORDER BY n"), list(ids)
        )
        return await _cargo(engine, connection, [n for (n,) in numbers], ids)

    return await _at_one_moment(engine, work)


async def _cargo(engine: Engine, connection: Connection, numbers: list[int], dag_ids: Iterable[str]) -> Cargo:
    about = _About()
    await about.read(engine, connection, numbers)
    # One without a row of its state was never committed whole.
    tasks = [about.task(number) for number in numbers if number in about.specs]
    wanted = list(dict.fromkeys([*(task.dag_id for task in tasks), *dag_ids]))
    dags = await connection.fetch(
        engine.text('SELECT * FROM dibs.dags WHERE id = ANY ($1) ORDER BY id COLLATE "C"'), wanted
    )
    below = await connection.fetch(engine.text(_BELOW), numbers)
    return Cargo(tasks=tasks, dags=[_dag(row) for row in dags], dependents=[task_id for (task_id,) in below])


def _dag(row: Any) -> CarriedDag:
    kept = {name: row[name] for name in CarriedDag.__struct_fields__}
    return CarriedDag(**kept | {"drafted": _decode(row["drafted"])})


class _About:
    """What belongs to some tasks, read in a handful of statements."""

    async def read(self, engine: Engine, connection: Connection, numbers: list[int]) -> None:
        async def one(table: str) -> dict[int, Any]:
            text = engine.text(f"SELECT * FROM dibs.{table} WHERE n = ANY ($1)")  # noqa: S608
            return {row["n"]: row for row in await connection.fetch(text, numbers)}

        async def many(sql: str) -> dict[int, list[Any]]:
            found: dict[int, list[Any]] = defaultdict(list)
            for row in await connection.fetch(engine.text(sql), numbers):
                found[row["n"]].append(row)
            return found

        async def all_of(table: str) -> dict[int, list[Any]]:
            return await many(f"SELECT * FROM dibs.{table} WHERE n = ANY ($1) ORDER BY {_ORDERS[table]}")  # noqa: S608

        self.specs = await one("specs")
        self._work, self._ended, self._submitted = await one("work"), await one("ended"), await one("submitted")
        self._edges, self._attempts, self._journal = (
            await many(_EDGES),
            await all_of("attempts"),
            await all_of("journal"),
        )
        self._questions, self._artifacts = await all_of("questions"), await all_of("artifacts")
        lanes = await connection.fetch(engine.text("SELECT id, key FROM dibs.lanes"))
        self._lanes = {id: _decode_key(key) for id, key in lanes}

    def task(self, number: int) -> CarriedTask:
        spec, row = self.specs[number], self._work.get(number)
        if row is not None:
            kept = self._unfinished(row, spec)
        else:
            row = self._ended[number]
            kept = self._finished(row)
        return CarriedTask(
            number=number,
            id=spec["id"],
            spec=carrying.spec_text(spec["spec"]),
            lane=self._lanes[row["lane"]],
            fallback_lane=None if spec["fallback_lane"] is None else self._lanes[spec["fallback_lane"]],
            body_hash=spec["body_hash"],
            dag_id=spec["dag"] or dag_of(spec["id"]),
            parent_id=spec["parent"],
            created_at=spec["created_at"],
            edges=[
                CarriedEdge(each["parent"], each["id"], each["kind"], each["resolved"]) for each in self._edges[number]
            ],
            journal=[
                CarriedEntry(each["kind"], each["name"], each["digest"], each["value"])
                for each in self._journal[number]
            ],
            questions=[_question(each) for each in self._questions[number]],
            artifacts=[_artifact(spec["id"], each) for each in self._artifacts[number]],
            **{name: row[name] for name in ALIKE},
            **kept,
        )

    def _unfinished(self, row: Any, spec: Any) -> dict[str, Any]:
        held, ready = row["status"] in ("claimed", "running"), row["status"] == "ready"
        made = self._submitted.get(row["n"]) if row["status"] in ("validating", "waiting") else None
        usage = _decode_usage(row["usage"]) if held and row["usage"] is not None else Usage()
        return {
            "endings": [_ending(each) for each in self._attempts[row["n"]]],
            "parked_on": row["parked_on"],
            "parked_since": row["parked_since"] if ready else None,
            "step_at": row["step_at"] if ready else None,
            "lease_s": row["lease_s"] if held else None,
            "lease_expires_at": row["lease_expires_at"] if held else None,
            "timeout_at": row["timeout_at"] if held else None,
            "confirmed": row["confirmed"] and held,
            "suspect": row["solo"] and spec["max_attempts"] != 1,
            "usage": None if usage == Usage() else usage,
            "output": None if made is None else made["output"],
            "decision": None if made is None else made["decision"],
            "output_sanitized": made is not None and made["output_sanitized"],
        }

    def _finished(self, row: Any) -> dict[str, Any]:
        endings = [_ending(each) for each in self._attempts[row["n"]]]
        if row["digest"] is not None:
            endings.append(_completion(row))
        unwritten = row["due_at"] is not None
        usage = _decode_usage(row["usage"]) if unwritten and row["usage"] is not None else Usage()
        return {
            "endings": endings,
            "ended_at": row["ended_at"],
            "lease_s": row["lease_s"] if unwritten else None,
            "lease_expires_at": row["lease_expires_at"] if unwritten else None,
            "suspect": carrying.is_suspect(endings) and self.specs[row["n"]]["max_attempts"] != 1,
            "unwritten": unwritten,
            "usage": None if usage == Usage() else usage,
            **{name: row[name] for name in OF_ENDED},
        }


def _question(row: Any) -> CarriedQuestion:
    return CarriedQuestion(**{name: row["fallback" if name == "default" else name] for name in ASKED})


def _ending(row: Any) -> CarriedEnding:
    attempt = Attempt(
        outcome=Outcome(row["outcome"]),
        started_at=_instant(row["started_at"]),
        ended_at=_instant(row["ended_at"]),
        **{name: row[name] for name in OF_ATTEMPT},
    )
    if not row["digest"]:
        return CarriedEnding(attempt=attempt)
    return CarriedEnding(attempt=attempt, digest=row["digest"], status=row["status"], retry_at=row["retry_at"])


def _completion(row: Any) -> CarriedEnding:
    """The attempt that completed a task, where its row tells of it."""
    attempt = Attempt(
        number=row["attempts"],
        fence=row["fence"],
        agent=row["agent"],
        outcome=Outcome.COMPLETED,
        model=row["model"],
        started_at=_instant(row["started_at"]),
        ended_at=_instant(row["ended_at"]),
    )
    return CarriedEnding(attempt=attempt, digest=row["digest"], status="completed")


def _artifact(task_id: str, row: Any) -> tuple[int, Artifact]:
    kept = {name: row[name] for name in ("name", "digest", "size", "media_type")}
    return row["id"], Artifact(task_id=task_id, put_at=_instant(row["put_at"]), **kept)


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


async def settings(engine: Engine) -> CarriedSettings:
    """Everything beside tasks and dags."""

    async def work(connection: Connection) -> CarriedSettings:
        async def found(sql: str) -> list[Any]:
            rows: list[Any] = await connection.fetch(engine.text(sql))
            return rows

        async def named(table: str, *names: str) -> list[Any]:
            order = ", ".join(f'"{name}" COLLATE "C"' for name in names)
            return await found(f"SELECT * FROM dibs.{table} ORDER BY {order}")  # noqa: S608

        keys = {str(id): _decode_key(key) for id, key in await found("SELECT id, key FROM dibs.lanes")}
        locks = await named("locks", "project", "name")
        saved = {(row["project"], row["name"]): row for row in locks if row["name"].startswith(PREFIX)}
        reserves = await found("SELECT * FROM dibs.reserves ORDER BY n, fence")
        budgets = await named("budgets", "project", "name")
        return CarriedSettings(
            pauses=[_pause(row, keys) for row in await named("pauses", "project", "gate")],
            breakers=[
                (row["project"], row["type"], _breaker(row)) for row in await named("breakers", "project", "type")
            ],
            overrides=[
                (row["project"], row["type"], Override(**{name: row[name] for name in Override.__struct_fields__}))
                for row in await named("breaker_settings", "project", "type")
            ],
            ladders=[
                (row["project"], row["scope"], escalation.as_json(escalation.from_json(row["rungs"])))
                for row in await named("ladders", "project", "scope")
            ],
            backoffs=[
                (row["project"], row["gate"], Backoff(**{name: row[name] for name in Backoff.__struct_fields__}))
                for row in await named("backoffs", "project", "gate")
            ],
            locks=[
                (row["project"], row["name"], row["slots"], row["reserved_for"])
                for row in locks
                if not row["name"].startswith(PREFIX) and (row["slots"] != SLOTS or row["reserved_for"] is not None)
            ],
            budgets=[_budget(row, reserves, saved.get((row["project"], row["name"]))) for row in budgets],
            type_slots=[
                (row["project"], row["type"], row["slots"]) for row in await named("type_slots", "project", "type")
            ],
            rates=[
                (row["project"], row["type"], Rate(row["amount"], row["per_s"], row["burst"]), row["full_at"])
                for row in await named("rates", "project", "type")
            ],
            agents=[(row["project"], row["id"], registry.known(row)) for row in await named("agents", "project", "id")],
            documents=[Document(**row) for row in await named("documents", "project", "kind", "name")],
            claims=_claims(await named("claims", "project", "claim_id"), await found("SELECT n, fence FROM dibs.held")),
            grown=[row["dag"] for row in await named("grown", "dag")],
            closing=[id for (id,) in await found('SELECT id FROM dibs.dags WHERE closing ORDER BY id COLLATE "C"')],
            last_number=(await found("SELECT coalesce(max(n), 0) FROM dibs.specs"))[0][0],
            last_put=(await found("SELECT coalesce(max(id), 0) FROM dibs.artifacts"))[0][0],
        )

    told = await _at_one_moment(engine, work)
    from dibs.stores.postgres.eventlog import last_seq

    told.last_seq = await last_seq(engine)
    return told


def _pause(row: Any, keys: dict[str, LaneKey]) -> CarriedPause:
    is_lane = row["scope"] == "lane"
    kept = {name: row[name] for name in ("project", "scope", "since", "until", "reason", "by")}
    return CarriedPause(name="" if is_lane else row["name"], lane=keys.get(row["name"]) if is_lane else None, **kept)


def _breaker(row: Any) -> Breaker:
    probe = None if row["probe_id"] is None else (row["probe_id"], row["probe_fence"])
    kept = {name: row[name] for name in ("last_failure_at", "opened_at", "half_open_at", "due_at", "reason")}
    return Breaker(state=State(row["state"]), failed_at=tuple(row["failed_at"]), probe=probe, **kept)


def _budget(row: Any, reserves: list[Any], saved: Any) -> CarriedBudget:
    name = (row["project"], row["name"])
    own = [each for each in reserves if (each["project"], each["name"]) == name]
    kept = {
        each: row[each]
        for each in ("project", "scope", "unit", "default_reserve", "per", "zone", "ends_at", "spent", "unpriced")
    }
    return CarriedBudget(
        limit=row["cap"],
        reserved=[_reserve(each) for each in own if each["window_no"] == row["window_no"]],
        earlier=[_reserve(each) for each in own if each["window_no"] != row["window_no"]],
        saved_for=None if saved is None else saved["reserved_for"],
        offered=0 if saved is None or saved["reserved_for"] is None else saved["slots"] - 1,
        **kept,
    )


def _reserve(row: Any) -> tuple[int, int, int]:
    return row["n"], row["fence"], row["amount"]


def _claims(claims: list[Any], held: list[Any]) -> list[tuple[str, str, int, list[list[tuple[int, int]]]]]:
    now = {(n, fence) for n, fence in held}
    found = []
    for row in claims:
        groups: dict[int, list[tuple[int, int]]] = {}
        for place, claim in enumerate(zip(row["ns"], row["fences"], strict=True)):
            if claim in now:
                groups.setdefault(place if row["groups"] is None else row["groups"][place], []).append(claim)
        if groups:
            found.append((row["project"], row["claim_id"], row["at"], list(groups.values())))
    return found
