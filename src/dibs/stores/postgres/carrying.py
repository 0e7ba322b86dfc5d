"""How a schema stands while it is being filled or left; `loading` carries everything out of it, `unloading` into it.

Meanwhile triggers refuse every statement that would change it: whoever wants to pays for the question only then. What
is carried in says so to them for the time of its transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from dibs.stores.carrying import CarriedQuestion, Census
from dibs.stores.standing import OPEN, Standing, check, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from dibs.stores.postgres.engine import Engine
    from dibs.stores.postgres.pool import Connection

T = TypeVar("T")

_UNGUARDED = ("meta", "outbox", "commits")
"""Reading events numbers them, and finding out what was committed writes that down."""
STANDING = "SELECT value FROM dibs.meta WHERE name = 'standing'"
PUT_STANDING = """
INSERT INTO dibs.meta (name, value) VALUES ('standing', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
CARRYING = "SELECT set_config('dibs_guard.carrying', 'on', true)"
_TABLES = """
SELECT c.relname::text AS name,
    EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = 'guard') AS guarded
FROM pg_class c WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p') AND c.relname <> ALL ($2)
ORDER BY c.relname
"""
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
_decode_standing = msgspec.json.Decoder(Standing).decode


def as_json(value: Any) -> str:
    return _encode(value).decode()


async def in_transaction(engine: Engine, work: Callable[[Connection], Coroutine[Any, Any, T]], *, mode: str = "") -> T:
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


async def standing(engine: Engine) -> Standing:
    """How this schema stands."""
    return read_standing(await engine.value(STANDING))


def read_standing(text: str | None) -> Standing:
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
        await connection.execute(CARRYING)
        before = read_standing(await connection.fetchval(engine.text(STANDING)))
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
        await connection.execute(engine.text(PUT_STANDING), as_json(wanted))
        # Whoever claims reads it with the lanes, also if there is nothing to claim.
        await connection.execute(engine.text("SELECT dibs.change_lanes()"))

    await in_transaction(engine, work)
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


async def census(engine: Engine) -> Census:
    """How many tasks there are."""
    found = await engine.fetch(
        "SELECT status, count(*) FROM (SELECT status FROM dibs.work UNION ALL SELECT status FROM dibs.ended) t"
        " GROUP BY 1"
    )
    counts = dict(map(tuple, found))
    return Census(tasks=sum(counts.values()), by_status=counts)


ALIKE = (
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
OF_ENDED = (
    *("requested", "cause", "cancel_reason", "resolution", "reviewed_at", "marked", "output", "output_sanitized"),
    "decision",
)
ASKED = CarriedQuestion.__struct_fields__
OF_ATTEMPT = (
    *("number", "fence", "agent", "model", "reason", "error", "fingerprint", "exit_code", "cost_usd", "tokens_in"),
    *("tokens_out", "turns", "price"),
)
