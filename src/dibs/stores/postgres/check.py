"""What must always hold, tested: a sentence for each thing that does not. And what endangers or slows down a store that
is sound: a sentence for each, with what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dibs.stores.postgres import opening

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.stores.postgres.engine import Engine

LONG_S = 60
LONG_BACKLOG = 100_000
_SHOWN = 20
_HELD = "('claimed', 'running')"
_FINAL = "('completed', 'dead_lettered', 'cancelled')"
_NAMED = "JOIN dibs.specs s USING (n)"

# Each query yields sentences. All of them see the same moment.
_RULES = (
    *(
        f"""
        SELECT 'Task ' || s.id || ' counts ' || t.open || ' open edges and has ' || x.count || '.'
        FROM dibs.{table} t {_NAMED} CROSS JOIN LATERAL (
            SELECT count(*) AS count FROM dibs.edges x WHERE x.child = t.n AND x.resolved_at IS NULL
        ) x
        WHERE (t.open <> 0 OR t.deps <> 0) AND t.open <> x.count
        """  # noqa: S608
        for table in ("work", "ended")
    ),
    f"""
    SELECT 'Task ' || s.id || ' is pending, but waits for nothing.'
    FROM dibs.work t {_NAMED} WHERE t.status = 'pending' AND t.open = 0
    """,  # noqa: S608
    f"""
    SELECT 'Task ' || s.id || ' is ' || t.status || ', but has open edges.'
    FROM dibs.work t {_NAMED} WHERE t.open > 0 AND t.status NOT IN ('pending', 'validating', 'waiting')
    """,  # noqa: S608
    f"""
    SELECT 'Task ' || s.id || ' is ' || t.status || ', but has ' || q.count || ' open questions.'
    FROM (
        SELECT n, status, NULL AS resolution FROM dibs.work UNION ALL SELECT n, status, resolution FROM dibs.ended
    ) t {_NAMED} CROSS JOIN LATERAL (
        SELECT count(*) AS count FROM dibs.questions q WHERE q.n = t.n AND q.status = 'open'
    ) q
    WHERE q.count <> (t.status = 'waiting' OR coalesce(t.resolution = 'escalated', false) AND EXISTS (
        SELECT 1 FROM dibs.questions d WHERE d.n = t.n AND d.kind = 'decision'
    ))::integer
    """,  # noqa: S608
    f"""
    SELECT 'Task ' || s.id || ' is ' || t.status || ', but no time is set at which that ends.'
    FROM dibs.work t {_NAMED}
    WHERE (t.status IN {_HELD} OR t.status IN ('scheduled', 'retrying')) AND t.due_at IS NULL
    """,  # noqa: S608
    f"""
    SELECT 'Task ' || s.id || ' is ' || t.status || ', but has no agent or lease.'
    FROM dibs.work t {_NAMED}
    WHERE t.status IN {_HELD} AND (t.agent IS NULL OR t.lease_expires_at IS NULL OR t.fence = 0)
    """,  # noqa: S608
    # Who settles goes by the lease alone.
    f"""
    SELECT 'Task ' || s.id || ' is ' || t.status || ', but has a lease.'
    FROM dibs.work t {_NAMED} WHERE t.status NOT IN {_HELD} AND t.lease_expires_at IS NOT NULL
    """,  # noqa: S608
    f"""
    SELECT 'Task ' || s.id || ' is ready, but has no rank.'
    FROM dibs.work t {_NAMED} WHERE t.status = 'ready' AND t.rank IS NULL
    """,  # noqa: S608
    f"""
    SELECT 'Task ' || s.id || ' is ready in a lane that is not in use.' FROM dibs.work t {_NAMED}
    WHERE t.status = 'ready'
        AND NOT EXISTS (SELECT 1 FROM dibs.lanes l WHERE l.id = t.lane AND l.retired_at IS NULL)
    """,  # noqa: S608
    f"""
    SELECT 'Task ' || s.id || ' is ready, but its rank is below the floor of its lane, so that no claim finds it.'
    FROM dibs.work t {_NAMED} JOIN dibs.lanes l ON l.id = t.lane
    WHERE t.status = 'ready' AND t.parked_on IS NULL AND t.rank < l.low
        AND NOT EXISTS (SELECT 1 FROM dibs.lows o WHERE o.lane = t.lane AND o.rank <= t.rank)
    """,  # noqa: S608
    """
    SELECT 'Lock ' || l.name || ' of ' || l.project || ' is held by task ' || h.n || ', whose claim has ended.'
    FROM dibs.locks l CROSS JOIN LATERAL unnest(l.holders, l.fences) AS h (n, fence)
    WHERE NOT EXISTS (SELECT 1 FROM dibs.held w WHERE w.n = h.n AND w.fence = h.fence)
        AND NOT EXISTS (SELECT 1 FROM dibs.ended e WHERE e.n = h.n AND e.fence = h.fence AND e.due_at IS NOT NULL)
    """,
    f"""
    SELECT 'Task ' || s.id || ' is ' || t.status || ', but parked on ' || t.parked_on || '.'
    FROM dibs.work t {_NAMED} WHERE t.parked_on IS NOT NULL AND t.status <> 'ready'
    """,  # noqa: S608
    """
    SELECT r.name || ' of ' || r.project || ' is reserved in by task ' || r.n || ', whose claim has ended.'
    FROM dibs.reserves r
    WHERE NOT EXISTS (SELECT 1 FROM dibs.held w WHERE w.n = r.n AND w.fence = r.fence)
        AND NOT EXISTS (SELECT 1 FROM dibs.ended e WHERE e.n = r.n AND e.fence = r.fence AND e.due_at IS NOT NULL)
    """,
    """
    SELECT b.name || ' of ' || b.project || ' says that ' || b.reserved || ' is reserved; it is ' || r.total || '.'
    FROM dibs.budgets b CROSS JOIN LATERAL (
        SELECT coalesce(sum(r.amount), 0) AS total FROM dibs.reserves r
        WHERE r.project = b.project AND r.name = b.name AND r.window_no = b.window_no
    ) r
    WHERE b.reserved <> r.total
    """,
    f"""
    SELECT 'Task ' || s.id || ' is parked on ' || t.parked_on || ', which is not there.'
    FROM dibs.work t {_NAMED}
    WHERE starts_with(t.parked_on, 'budget:')
        AND NOT EXISTS (SELECT 1 FROM dibs.budgets b WHERE b.project = s.project AND b.name = t.parked_on)
    """,  # noqa: S608
    f"""
    SELECT 'Task ' || s.id || ' is ' || t.status || ', but is kept with those that are not.'
    FROM dibs.work t {_NAMED} WHERE t.status IN {_FINAL}
    """,  # noqa: S608
    f"""
    SELECT 'Task ' || s.id || ' is ' || t.status || ', but is kept with those that ended.'
    FROM dibs.ended t {_NAMED} WHERE t.status NOT IN {_FINAL}
    """,  # noqa: S608
    f"""
    SELECT 'Task ' || s.id || ' is ' || t.status || ' and has ended, both at once.'
    FROM dibs.work t {_NAMED} JOIN dibs.ended e USING (n)
    """,  # noqa: S608
    """
    SELECT 'Task ' || s.id || ' has a specification only.' FROM dibs.specs s
    WHERE NOT EXISTS (SELECT 1 FROM dibs.work w WHERE w.n = s.n)
        AND NOT EXISTS (SELECT 1 FROM dibs.ended e WHERE e.n = s.n)
    """,
    """
    SELECT 'Task number ' || t.n || ' has no specification.'
    FROM (SELECT n FROM dibs.work UNION ALL SELECT n FROM dibs.ended) t
    WHERE NOT EXISTS (SELECT 1 FROM dibs.specs s WHERE s.n = t.n)
    """,
    """
    SELECT 'Task ' || c.id || ' still waits for ' || p.id || ', which is completed.'
    FROM dibs.edges x JOIN dibs.ended e ON e.n = x.parent
    JOIN dibs.specs p ON p.n = x.parent JOIN dibs.specs c ON c.n = x.child
    WHERE x.resolved_at IS NULL AND e.status = 'completed'
    """,
    """
    SELECT 'An edge joins tasks ' || x.parent || ' and ' || x.child || ', of which one does not exist.'
    FROM dibs.edges x LEFT JOIN dibs.specs p ON p.n = x.parent LEFT JOIN dibs.specs c ON c.n = x.child
    WHERE p.n IS NULL OR c.n IS NULL
    """,
    """
    SELECT 'Task ' || s.id || ' is in dag ' || s.dag || ', which does not exist.'
    FROM dibs.specs s LEFT JOIN dibs.dags d ON d.id = s.dag WHERE s.dag IS NOT NULL AND d.id IS NULL
    """,
    """
    SELECT 'Event ' || o.first || ' does not follow on event ' || o.before || '.' FROM (
        SELECT last_seq - count + 1 AS first, lag(last_seq) OVER (ORDER BY last_seq) AS before
        FROM dibs.outbox WHERE last_seq IS NOT NULL
    ) o WHERE o.before IS NOT NULL AND o.first <> o.before + 1
    """,
)
_CHECK = " UNION ALL ".join(f"({rule} LIMIT {_SHOWN})" for rule in _RULES)

_SCHEMA = """
SELECT
    pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS read_only,
    (SELECT value FROM dibs.meta WHERE name = 'schema') AS version,
    (SELECT value FROM dibs.meta WHERE name = 'functions') AS functions,
    ARRAY(
        SELECT p.proname::text FROM pg_proc p JOIN pg_namespace s ON s.oid = p.pronamespace WHERE s.nspname = $1
    ) AS known,
    ARRAY(
        SELECT c.relname::text FROM pg_index i
        JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace s ON s.oid = c.relnamespace
        WHERE s.nspname = $1 AND i.indisvalid
    ) AS indexes
"""
_FUNCTION = re.compile(r"^CREATE OR REPLACE FUNCTION dibs\.(\w+)", re.MULTILINE)
_INDEX = re.compile(r"^CREATE (?:UNIQUE )?INDEX (\w+)", re.MULTILINE)
_GONE = re.compile(r"^DROP INDEX ([^;]+);", re.MULTILINE)
_NAME = re.compile(r"dibs\.(\w+)")

_CIRCUMSTANCES = """
SELECT
    current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
    current_setting('synchronous_commit') AS synchronous_commit, current_setting('wal_compression') AS wal_compression,
    current_setting('autovacuum') AS autovacuum, current_setting('track_counts') AS track_counts,
    ARRAY(
        SELECT c.relname::text FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
        CROSS JOIN LATERAL pg_options_to_table(c.reloptions) o
        WHERE s.nspname = $1 AND c.relkind = 'r'
            AND o.option_name = 'autovacuum_enabled' AND NOT o.option_value::boolean
        ORDER BY c.relname
    ) AS unvacuumed,
    t.dead, t.live
FROM (
    SELECT sum(t.n_dead_tup) AS dead, sum(t.n_live_tup) AS live FROM pg_stat_user_tables t
    WHERE t.schemaname = $1 AND t.relname IN ('held', 'waiting')
) t
"""
_PREPARED = f"""
SELECT p.gid, p.owner::text AS role FROM pg_prepared_xacts p
WHERE p.database = current_database() AND p.prepared < clock_timestamp() - interval '{LONG_S} seconds'
ORDER BY p.prepared LIMIT {_SHOWN}
"""  # noqa: S608


async def check(engine: Engine) -> list[str]:
    """What is wrong with this store; empty if it is sound."""
    wrong = _out_of_date(engine, await engine.row(_SCHEMA, engine.schema))
    wrong.extend(row[0] for row in await engine.fetch(_CHECK))
    return wrong


async def advise(engine: Engine) -> list[str]:
    """What endangers or slows down this store, and what to do about it."""
    found = await engine.row(_CIRCUMSTANCES, engine.schema)
    assert found is not None
    advice = _durability(found) + _vacuum(found, engine.schema) + with_a_long_backlog(found)
    advice.extend(held_up_by(row) for row in await engine.fetch(old_snapshots(LONG_S)))
    advice.extend(
        f"The prepared transaction {row['gid']} of {row['role']} was never ended, so that dead rows pile up and claims"
        f" slow down: ROLLBACK PREPARED '{row['gid']}', or commit it."
        for row in await engine.fetch(_PREPARED)
    )
    return advice


def _out_of_date(engine: Engine, found: Any) -> list[str]:
    schema, wanted = engine.schema, opening.texts(opening.HERE)
    wrong = []
    if found["standby"]:
        wrong.append("The server is a standby, which cannot be written to: connect to the primary.")
    elif found["read_only"]:
        wrong.append(
            "The server lets us only read: set default_transaction_read_only to off for this database and user."
        )
    if found["version"] != str(wanted.version):
        wrong.append(
            f"The schema {schema} has version {found['version']}, and this dibs needs {wanted.version}: run"
            " `dibs upgrade`, or use the newest dibs."
        )
    if found["functions"] != wanted.edition:
        wrong.append(
            f"The functions in the schema {schema} are not those of this version of dibs: run `dibs upgrade`, or use"
            " the version that the others use."
        )
    functions = {name for text in wanted.functions for name in _FUNCTION.findall(text)}
    wrong.extend(
        f"The function {schema}.{name} is missing: delete the row 'functions' from {schema}.meta and connect again,"
        " which makes all of them anew."
        for name in sorted(functions - set(found["known"]))
    )
    indexes: dict[str, str] = {}
    for _, migration in wanted.migrations:
        for names in _GONE.findall(migration):
            for name in _NAME.findall(names):
                del indexes[name]
        indexes.update(_definitions(migration))
    wrong.extend(
        f"The index {schema}.{name} is missing or invalid: DROP INDEX IF EXISTS {schema}.{name}, then"
        f" {text.replace('dibs.', f'{schema}.')}."
        for name, text in sorted(indexes.items())
        if name not in found["indexes"]
    )
    return wrong


def _definitions(migration: str) -> list[tuple[str, str]]:
    """The indexes that a migration makes, each with its statement."""
    return [
        (found.group(1), " ".join(migration[found.start() : migration.index(";", found.start())].split()))
        for found in _INDEX.finditer(migration)
    ]


def _durability(found: Any) -> list[str]:
    advice = []
    if found["fsync"] == "off":
        advice.append(
            "The server runs with fsync=off, so that a crash of its machine destroys the database: set fsync to on."
        )
    if found["full_page_writes"] == "off":
        advice.append(
            "The server runs with full_page_writes=off, so that a crash of its machine may destroy pages half written:"
            " set full_page_writes to on."
        )
    if found["synchronous_commit"] == "off":
        advice.append(
            "Commits do not wait for the disk (synchronous_commit=off), so that a crash of the server undoes the last"
            " ones and tasks run twice: set synchronous_commit to on for this database and user."
        )
    return advice


def _vacuum(found: Any, schema: str) -> list[str]:
    advice = []
    if found["autovacuum"] == "off" or found["track_counts"] == "off":
        advice.append(
            "Autovacuum is switched off on this server, so that dead rows pile up and claims slow down: set autovacuum"
            " and track_counts to on."
        )
    advice.extend(
        f"Autovacuum is switched off for the table {schema}.{table}, so that dead rows pile up and claims slow down:"
        f" ALTER TABLE {schema}.{table} RESET (autovacuum_enabled)."
        for table in found["unvacuumed"]
    )
    dead, live = found["dead"] or 0, found["live"] or 0
    if dead > 100_000 and dead > 10 * live:
        advice.append(
            f"The table {schema}.work holds {dead:,} dead rows beside {live:,} live ones, so that claims slow down: end"
            f" what holds old snapshots, then VACUUM {schema}.work."
        )
    return advice


def with_a_long_backlog(found: Mapping[str, Any]) -> list[str]:
    """Tasks of a long backlog lie all over their table, so that a claim touches as many pages as it takes tasks."""
    live = found["live"] or 0
    if live < LONG_BACKLOG or found["wal_compression"] != "off":
        return []
    return [
        f"{live:,} tasks wait or run. After each checkpoint every page that a claim touches goes to the server's log"
        " as a whole, which slows down claims from many lanes: set wal_compression to lz4 (or on, where the server"
        " knows no lz4)."
    ]


def old_snapshots(seconds: int) -> str:
    """A query for the sessions that have kept the server from removing dead rows for so long."""
    return f"""
    SELECT a.pid, a.usename::text AS role, a.application_name AS application, coalesce(host(a.client_addr), '') AS host,
        a.state, extract(epoch FROM clock_timestamp() - a.xact_start)::float8 AS age_s
    FROM pg_stat_activity a
    WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.backend_type = 'client backend'
        AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
        AND a.xact_start < clock_timestamp() - interval '{seconds} seconds'
    ORDER BY a.xact_start LIMIT {_SHOWN}
    """  # noqa: S608


def held_up_by(row: Any) -> str:
    """A sentence about one of them."""
    who = " ".join(filter(None, (row["role"], row["application"] and f"with {row['application']}")))
    place = f" from {row['host']}" if row["host"] else ""
    return (
        f"Session {row['pid']} ({who}{place}, {row['state']}) has held a transaction open for {row['age_s']:,.0f} s, so"
        " that dead rows pile up and claims slow down: let it end, or"
        f" SELECT pg_terminate_backend({row['pid']})."
    )
