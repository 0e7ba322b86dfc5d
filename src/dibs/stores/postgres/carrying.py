"""Carrying everything out of a schema, and into one: records as `stores.carrying` has them.

While a schema is being filled or left, triggers refuse every statement that would change it: whoever wants to pays for
the question only then. What is carried in says so to them for the time of its transaction.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from dibs.model.artifact import Artifact
from dibs.model.attempt import Attempt
from dibs.model.ids import alone_in, dag_of
from dibs.model.instants import from_micros, to_micros
from dibs.model.status import Outcome
from dibs.rules import closing, escalation
from dibs.rules.breaker import Override, State
from dibs.rules.breaker import Record as Breaker
from dibs.rules.budgets import PREFIX, parked_on
from dibs.rules.large import size_of
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
    Census,
)
from dibs.stores.postgres import registry
from dibs.stores.standing import OPEN, Standing, check, not_filling, refusal
from dibs.stores.values import Document, LaneKey, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence
    from datetime import datetime

    from dibs.stores.postgres.engine import Engine
    from dibs.stores.postgres.pool import Connection

T = TypeVar("T")

_UNGUARDED = ("meta", "outbox", "commits")
"""Reading events numbers them, and finding out what was committed writes that down."""

_STANDING = "SELECT value FROM dibs.meta WHERE name = 'standing'"
_PUT_STANDING = """
INSERT INTO dibs.meta (name, value) VALUES ('standing', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
_CARRYING = "SELECT set_config('dibs_guard.carrying', 'on', true)"
_TABLES = """
SELECT c.relname::text AS name,
    EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = 'guard') AS guarded
FROM pg_class c WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p') AND c.relname <> ALL ($2)
ORDER BY c.relname
"""
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
_HOMES = (
    *("specs", "work", "ended", "submitted", "attempts", "keys", "journal", "questions", "artifacts", "needs"),
    "reserves",
)

# All of them at once and for the moment of an upgrade only; who has been at work for longer is not waited for.
_PATIENCE = "SET LOCAL lock_timeout = '10s'"

_ANEW = """
UPDATE dibs.{table} t SET
    lease_expires_at = x.until, due_at = {due}
FROM (
    SELECT n, greatest(lease_expires_at, $1 + round(lease_s * 1000000)::bigint) AS until FROM dibs.{table} WHERE {which}
) x WHERE x.n = t.n
"""
_RENUMBER = """
SELECT setval(pg_get_serial_sequence($1, $2), greatest(1, (SELECT coalesce(max({column}), 0) FROM {table})::bigint))
"""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.decode
_decode_key = msgspec.json.Decoder(LaneKey).decode
_decode_usage = msgspec.json.Decoder(Usage).decode
_decode_standing = msgspec.json.Decoder(Standing).decode


def _json(value: Any) -> str:
    return _encode(value).decode()


async def _in_transaction(engine: Engine, work: Callable[[Connection], Coroutine[Any, Any, T]], *, mode: str = "") -> T:
    """Several statements that happen together or not at all; as a whole they may be repeated."""

    async def run(connection: Connection) -> T:
        await connection.execute(f"BEGIN {mode}")
        try:
            answer = await work(connection)
            await connection.execute("COMMIT")
        except BaseException:
            if not connection.is_closed():
                await connection.execute("ROLLBACK")
            raise
        return answer

    return await engine.together(run)


async def _at_one_moment(engine: Engine, work: Callable[[Connection], Coroutine[Any, Any, T]]) -> T:
    return await _in_transaction(engine, work, mode="ISOLATION LEVEL REPEATABLE READ READ ONLY")


# How it stands


async def standing(engine: Engine) -> Standing:
    """How this schema stands."""
    return _standing(await engine.value(_STANDING))


def _standing(text: str | None) -> Standing:
    return Standing() if text is None else _decode_standing(text)


async def refuse(engine: Engine) -> None:
    """Say why nothing is handed out here."""
    refused = refusal(await standing(engine))
    if refused is not None:
        raise refused


async def stand(engine: Engine, wanted: Standing, expected: str | None) -> None:
    """Stand so from now on. Whoever is at work has committed when the tables could be locked."""

    async def work(connection: Connection) -> None:
        await connection.execute(_PATIENCE)
        found = await connection.fetch(_TABLES, f'"{engine.schema}"', list(_UNGUARDED))
        names = [engine.text(f"dibs.{row['name']}") for row in found]
        await connection.execute(f"LOCK TABLE {', '.join(names)} IN SHARE ROW EXCLUSIVE MODE")
        await connection.execute(_CARRYING)
        before = _standing(await connection.fetchval(engine.text(_STANDING)))
        check(before, expected)
        is_open = wanted.state == OPEN
        for row, name in zip(found, names, strict=True):
            if is_open and row["guarded"]:
                await connection.execute(f"DROP TRIGGER guard ON {name}")
            elif not is_open and not row["guarded"]:
                await connection.execute(
                    f"CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON {name} FOR EACH STATEMENT"
                    f" EXECUTE FUNCTION {engine.text('dibs.guard')}()"
                )
        if is_open and before.state != OPEN:
            await _begin_anew(engine, connection)
        await connection.execute(engine.text(_PUT_STANDING), _json(wanted))
        # Whoever claims reads it with the lanes, also if there is nothing to claim.
        await connection.execute(engine.text("SELECT dibs.change_lanes()"))

    await _in_transaction(engine, work)
    engine.changed()


async def _begin_anew(engine: Engine, connection: Connection) -> None:
    """Whole leases, floors that hide nothing, and numbers above those that are taken."""
    held = {"table": "held", "which": "true", "due": "least(x.until, t.timeout_at)"}
    left = {"table": "ended", "which": "due_at IS NOT NULL", "due": "x.until"}
    for values in (held, left):
        await connection.execute(engine.text(_ANEW.format(**values)), engine.now())
    await connection.execute(engine.text("UPDATE dibs.lanes SET low = '-infinity' WHERE low > '-infinity'"))
    await connection.execute(engine.text("DELETE FROM dibs.lows"))
    for table, column in (("specs", "n"), ("artifacts", "id")):
        name = engine.text(f"dibs.{table}")
        await connection.execute(_RENUMBER.format(table=name, column=column), name, column)


# Out


async def census(engine: Engine) -> Census:
    """How many tasks there are."""
    found = await engine.fetch(
        "SELECT status, count(*) FROM (SELECT status FROM dibs.work UNION ALL SELECT status FROM dibs.ended) t"
        " GROUP BY 1"
    )
    counts = dict(map(tuple, found))
    return Census(tasks=sum(counts.values()), by_status=counts)


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
            **{name: row[name] for name in _ALIKE},
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
            **{name: row[name] for name in _OF_ENDED},
        }


_ALIKE = (
    *(
        "status",
        "overdue",
        "priority",
        "weight",
        "rank",
        "run_after",
        "retry_at",
        "fence",
        "agent",
        "model",
        "timeout_s",
    ),
    *("renewed_at", "progress", "note", "attempts", "crashes", "releases", "error", "reason", "exit_code"),
    *("poison_pill", "cost_usd", "tokens_in", "tokens_out", "turns", "ready_at", "claimed_at", "started_at"),
    "updated_at",
)
"""What rows of tasks, ended or not, keep under the same name, as it is."""
_OF_ENDED = (
    *("requested", "cause", "cancel_reason", "resolution", "reviewed_at", "marked", "output", "output_sanitized"),
    "decision",
)


def _question(row: Any) -> CarriedQuestion:
    return CarriedQuestion(**{name: row["fallback" if name == "default" else name] for name in _ASKED})


_ASKED = CarriedQuestion.__struct_fields__


def _ending(row: Any) -> CarriedEnding:
    attempt = Attempt(
        outcome=Outcome(row["outcome"]),
        started_at=_instant(row["started_at"]),
        ended_at=_instant(row["ended_at"]),
        **{name: row[name] for name in _OF_ATTEMPT},
    )
    if not row["digest"]:
        return CarriedEnding(attempt=attempt)
    return CarriedEnding(attempt=attempt, digest=row["digest"], status=row["status"], retry_at=row["retry_at"])


_OF_ATTEMPT = (
    *("number", "fence", "agent", "model", "reason", "error", "fingerprint", "exit_code", "cost_usd", "tokens_in"),
    *("tokens_out", "turns", "price"),
)


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


def _micros(instant: datetime | None) -> int | None:
    return None if instant is None else to_micros(instant)


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


# In


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
            await connection.execute(engine.text(_PUT_STANDING), _json(become))

    await _in_transaction(engine, work)
    engine.changed()


async def _begin_carrying(engine: Engine, connection: Connection) -> None:
    stands = _standing(await connection.fetchval(engine.text(_STANDING + " FOR UPDATE")))
    if not stands.may_carry_in:
        raise not_filling(stands)
    await connection.execute(_CARRYING)


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
    texts = {_json(key): key for key in wanted}
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
        text = "UPDATE dibs.dags SET key = NULL WHERE project = $1 AND key = $2 AND id <> $3"
        await connection.execute(engine.text(text), dag.project, dag.key, dag.id)
    values = {name: getattr(dag, name) for name in CarriedDag.__struct_fields__}
    values |= {"drafted": _json(dag.drafted), "closing": False, "requested": dag.status == "cancelled"}
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
            "usage": None if task.usage is None else _json(task.usage),
            **{name: getattr(task, name) for name in _ALIKE},
        }
        if task.final:
            self._put(
                "ended",
                **state,
                ended_at=task.ended_at,
                due_at=task.lease_expires_at if task.unwritten else None,
                **{name: getattr(task, name) for name in _OF_ENDED},
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
            values = {"fallback" if name == "default" else name: getattr(asked, name) for name in _ASKED}
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
                **{name: getattr(attempt, name) for name in _OF_ATTEMPT},
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

    await _in_transaction(engine, work)
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
