"""Whatever a store keeps is carried to another one, or is known to stay behind: whoever adds a column decides which.

If this fails, something new is kept: put it into `stores/carrying.py` and carry it out and in, in every store (tasks in
`CarriedTask`, the rest in `CarriedSettings`); then say so here.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from dibs.stores.ledger.records import BudgetRecord, DagRecord, LockRecord, Record
from dibs.stores.ledger.state import State
from dibs.stores.postgres import PostgresStore
from dibs.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

STAY = {"meta", "outbox", "duties", "commits", "lows"}
"""Tables of which nothing is carried: positions, events, whose turn it is."""

SQLITE = {
    "agents": (
        "drained_at draining_at heard_at id lost_at offer offline_at process project reason registered started_at"
    ),
    "artifacts": "dag digest id media_type n name put_at size",
    "attempts": (
        "agent artifacts cost_usd decision digest ended_at error exit_code fence fingerprint model n number "
        "outcome output price reason retry_at started_at status tokens_in tokens_out turns"
    ),
    "backoffs": "gate limits project shut since until",
    "blobs": "fence n output",
    "breaker_settings": "override project type",
    "breakers": "due_at project record shut troubled type",
    "budgets": "cap default_reserve ends_at name per project reserved scope spent unit unpriced window_no zone",
    "claims": "at claim_id held project",
    "dags": (
        "body_hash cancel_reason cause closing created_at created_by drafted ended_at id key on_failure "
        "project requested started started_at status title user"
    ),
    "documents": "body kind name project updated_at version",
    "edges": "child id kind parent resolved_at",
    "grown": "dag id",
    "holds": "fence n name project",
    "journal": "digest id kind n name value",
    "ladders": "project rungs scope",
    "lanes": "boost id idle_since key project retired_at type",
    "locks": "name project reserved_for slots",
    "pauses": "by gate name project reason scope since until",
    "questions": (
        "answer answered_at answered_by asked_at assignee digest expires_at fallback id kind n name project "
        "question schema status"
    ),
    "rates": "amount burst full_at per_s project type",
    "reserves": "amount fence n name project window_no",
    "specs": "n spec",
    "tasks": (
        "agent attempts body_hash boost bytes cancel_reason cancelled_at cause claimed_at coalesce_key "
        "completed_at confirmed cost_usd crashes created_at dag dead_lettered_at deadline deps due_at error "
        "exit_code fallback_lane fence gathers_until has_dependents id key lane lease_expires_at lease_s "
        "locks marked max_attempts model n note on_deadline open output_fence output_sanitized overdue parent "
        "parked_on parked_since poison_pill priority progress project rank ready_at reason releases "
        "renewed_at requested reserved resolution retry_at reviewed_at run_after solo started_at status "
        "step_at timeout_at timeout_s tokens_in tokens_out turns type updated_at usage user weight"
    ),
    "type_slots": "project slots type",
    "wants": "lane n name project rank",
}
POSTGRES = {
    "agents": (
        "drained_at draining_at heard_at id lost_at offer offline_at process project reason registered started_at"
    ),
    "artifacts": "dag digest id media_type n name put_at size",
    "attempts": (
        "agent cost_usd digest ended_at error exit_code fence fingerprint model n number outcome price reason "
        "retry_at started_at status tokens_in tokens_out turns"
    ),
    "backoffs": "gate limits project shut since until",
    "breaker_settings": "cooldown_s enabled failure_threshold half_open_after_s project type",
    "breakers": (
        "due_at failed_at half_open_at last_failure_at opened_at probe_fence probe_id probe_n project reason "
        "shut state troubled type"
    ),
    "budgets": "cap default_reserve ends_at name per project reserved scope spent unit unpriced window_no zone",
    "claims": "at claim_id fences groups ns project",
    "dags": (
        "body_hash cancel_reason cause closing created_at created_by drafted ended_at id key on_failure "
        "project requested started started_at status title user"
    ),
    "documents": "body kind name project updated_at version",
    "edges": "child id kind parent resolved_at",
    "ended": (
        "agent artifacts attempts boost bytes cancel_reason cause claimed_at cost_usd crashes deadline "
        "decision deps digest due_at ended_at error exit_code fence lane lease_expires_at lease_s marked "
        "model n note open output output_sanitized overdue poison_pill priority progress rank ready_at reason "
        "releases renewed_at requested resolution retry_at reviewed_at run_after started_at status ties "
        "timeout_s tokens_in tokens_out turns updated_at usage weight"
    ),
    "grown": "dag id",
    "journal": "digest id kind n name value",
    "keys": "key n project",
    "ladders": "project rungs scope",
    "lanes": "boost id idle_since key low project retired_at type",
    "locks": "fences holders name project reserved_for slots",
    "needs": "n name",
    "pauses": "by gate name project reason scope since until",
    "questions": (
        "answer answered_at answered_by asked_at assignee digest expires_at fallback id kind n name project "
        "question schema status"
    ),
    "rates": "amount burst full_at interval_us per_s project type",
    "reserves": "amount fence n name project window_no",
    "specs": (
        "body_hash created_at dag deadline fallback_lane id key max_attempts n on_deadline parent project "
        "spec timeout_s type user"
    ),
    "submitted": "decision n output output_sanitized",
    "type_slots": "project slots type",
    "work": (
        "agent attempts boost bytes claimed_at coalesce_key confirmed cost_usd crashes deadline deps due_at "
        "error exit_code fence gathers_until lane lease_expires_at lease_s model n note open overdue "
        "parked_on parked_since poison_pill priority progress rank ready_at reason releases renewed_at "
        "retry_at run_after solo spec_tid started_at status step_at ties timeout_at timeout_s tokens_in tokens_out "
        "turns updated_at usage weight"
    ),
}
RECORD = {
    "BudgetRecord": "default_reserve earlier ends_at limit offered parked reserved saved_for spent unpriced window",
    "DagRecord": (
        "body_hash cancel_reason cause closed created_at created_by drafted ended_at id key on_failure "
        "project started started_at status tally title user"
    ),
    "LockRecord": "holders parked reserved_for slots",
    "Record": (
        "agent artifacts attempts body_hash cancel_reason cancelled_at cause claimed_at completed_at "
        "confirmed context cost_usd crashes created_at dag_id dead_lettered_at deadline decision depends_on "
        "depth endings error exit_code expects fallback_lane fence inquiries journal lane lease_expires_at "
        "lease_s logged model note number open_edges output output_sanitized overdue parent_id parked_on "
        "parked_since payload poison_pill priority progress rank ready_at reason releases renewed_at "
        "requested resolution retry_at reviewed_at run_after spec started_at status step_at suspect "
        "timeout_at timeout_s tokens_in tokens_out turns unwritten updated_at usage weight"
    ),
}
STATE = (
    "agents backoffs breakers budgets changed children claims clock closing dag_keys dags deadlines "
    "documents due duties edges_into edges_out_of endings events freed groups grown inquiries keys ladders lane_ids "
    "lanes last_number last_put last_seq leases locks marked members now numbered overrides passed_over "
    "pauses rates replies roomy standing steps stirred stopping tasks type_slots"
)


def test_every_column_of_sqlite_is_accounted_for(tmp_path: Path) -> None:
    store = SqliteStore.open(str(tmp_path / "dibs.db"), blocking=True)
    rows = store._engine._writer.execute(
        "SELECT m.name, group_concat(c.name, ' ' ORDER BY c.name) FROM sqlite_master m, pragma_table_info(m.name) c"
        " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' GROUP BY 1"
    )
    assert {table: columns for table, columns in rows if table not in STAY} == SQLITE


def test_every_column_of_postgres_is_accounted_for(postgres_url: str) -> None:
    async def columns() -> dict[str, str]:
        store = PostgresStore(postgres_url)
        await store.connect()
        rows = await store._engine.fetch(
            "SELECT table_name::text, string_agg(column_name::text, ' ' ORDER BY column_name::text COLLATE \"C\")"
            " FROM information_schema.columns WHERE table_schema = $1"
            " AND table_name NOT IN ('tasks', 'held', 'waiting') GROUP BY 1",
            store._engine.schema,
        )
        await store.close()
        return {table: names for table, names in rows if table not in STAY}

    assert asyncio.run(columns()) == POSTGRES


def test_everything_in_a_state_is_accounted_for() -> None:
    kept = {
        kind.__name__: " ".join(sorted(kind.__struct_fields__))
        for kind in (Record, BudgetRecord, DagRecord, LockRecord)
    }
    assert kept == RECORD
    assert " ".join(sorted(vars(State(lambda: 0)))) == STATE
