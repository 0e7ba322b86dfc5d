"""The contestants on PostgreSQL, each with the best settings that were found for it.

Versions are pinned: what a script calls, and the settings that suit it, belong to a version.
"""

from __future__ import annotations

from benchmarks.peers.peer import Peer, Sizes

POLL_S = 0.01

NO_BULK = "has no call that adds many"
NO_GRAPHS = "has no tasks that wait for others"
SLOW_TO_LOAD = "loading a million takes it too long"
NOT_FED = "measured for the fastest only"
ONLY_DIBS = "an option of dibs"

SLOW = {"backlog": SLOW_TO_LOAD, "held": NOT_FED, "producers": ONLY_DIBS}

DIBS = Peer(
    "dibs",
    "dibs_peer.py",
    "SELECT EXISTS (SELECT FROM dibs.work)",
    "one `dibs.Worker` per process with concurrency 100, everything else default; uvloop; add_many with 1,000 per call",
    settings={"concurrency": 100},
    sizes=Sizes(add=5_000, bulk=100_000, drain=150_000, sample=18_000),
    recovery={"lease": 10},
)

PGQUEUER = Peer(
    "pgqueuer",
    "pgqueuer_peer.py",
    "SELECT EXISTS (SELECT FROM pgqueuer)",
    "run(batch_size=100), asyncpg on one connection, uvloop, durable tables; bulk: enqueue with lists of 1,000",
    packages=("pgqueuer[asyncpg,cli]==1.6.0", "asyncpg==0.32.0", "uvloop==0.23.0"),
    settings={"batch_size": 100},
    sizes=Sizes(add=5_000, bulk=50_000, drain=100_000, sample=18_000),
    recovery={"heartbeat_timeout_s": 10, "dequeue_timeout_s": 1},
    release="UPDATE pgqueuer SET status = 'queued', queue_manager_id = NULL WHERE status = 'picked'",
    cannot={"graph": NO_GRAPHS, "producers": ONLY_DIBS},
)

AWA = Peer(
    "awa",
    "awa_peer.py",
    "SELECT (SELECT coalesce(sum(next_lane_seq - first_lane_seq), 0) FROM awa.ready_segments)"
    " > (SELECT coalesce(sum(completed_count), 0) FROM awa.receipt_completion_batches)"
    " + (SELECT count(*) FROM awa.done_entries)",
    "queue-storage engine, max_workers=2048, claim_batch_size=1024, completion batches of 1,024 in one shard, pool 20,"
    " uvloop; bulk: enqueue_many_copy, 1,000 per call",
    packages=("awa-pg==0.6.9", "uvloop==0.23.0"),
    settings={"max_workers": 2048, "claim_batch_size": 1024},
    variables={"AWA_COMPLETION_SHARDS": "1", "AWA_COMPLETION_BATCH_SIZE": "1024"},
    sizes=Sizes(add=3_000, bulk=50_000, drain=100_000, sample=18_000),
    recovery={
        "start": {
            "heartbeat_interval_ms": 3_000,
            "heartbeat_staleness_ms": 10_000,
            "heartbeat_rescue_interval_ms": 1_000,
        }
    },
    cannot={"graph": NO_GRAPHS, "producers": ONLY_DIBS},
    warm_up_s=3.0,
)

PROCRASTINATE = Peer(
    "procrastinate",
    "procrastinate_peer.py",
    "SELECT EXISTS (SELECT FROM procrastinate_jobs WHERE status IN ('todo', 'doing'))",
    "concurrency=100, pool 30, psycopg, uvloop, jobs kept (default); bulk: batch_defer, 1,000 per call",
    packages=("procrastinate==3.10.0", "psycopg[binary,pool]==3.3.8", "uvloop==0.23.0"),
    settings={"concurrency": 100},
    sizes=Sizes(add=5_000, bulk=50_000, drain=10_000, sample=5_000),
    cannot={
        "graph": NO_GRAPHS,
        "held": NOT_FED,
        "producers": ONLY_DIBS,
        "kill": "leaves it to its users to find stalled jobs and retry them",
    },
)

DBOS = Peer(
    "dbos",
    "dbos_peer.py",
    "SELECT EXISTS (SELECT FROM dbos.workflow_status WHERE status IN ('ENQUEUED', 'PENDING'))",
    "async workflows, worker_concurrency=500, polling every 10 ms (its default is 1 s), pool 20; bulk: 1,000"
    " enqueue_in_transaction in one transaction; drains run on SQL copies of one workflow",
    packages=("dbos==3.3.0", "psycopg[binary]==3.3.8"),
    settings={"worker_concurrency": 500, "polling_interval_s": POLL_S},
    sizes=Sizes(add=2_000, bulk=5_000, drain=5_000, sample=3_000),
    cannot={
        "held": NOT_FED,
        "producers": ONLY_DIBS,
        "kill": "recovers when the same executor starts again, or through its hosted service",
    },
    warm_up_s=3.0,
    tasks_per_graph=11,
)

OBAN = Peer(
    "oban",
    "oban_peer.py",
    "SELECT EXISTS (SELECT FROM oban_jobs WHERE state IN ('available', 'executing'))",
    "queue limit 100, pool 20, psycopg, uvloop; bulk: enqueue_many, 1,000 per call; a dead leader is replaced after up"
    " to 30 s, which cannot be set",
    packages=("oban==0.7.0", "psycopg[binary,pool]==3.3.8", "uvloop==0.23.0"),
    python=(3, 12),
    settings={"limit": 100},
    sizes=Sizes(add=3_000, bulk=20_000, drain=10_000),
    recovery={
        "start": {
            "lifeline": {"interval": 1, "rescue_after": 10},
            "refresher": {"interval": 3, "max_age": 10},
        }
    },
    cannot={**SLOW, "graph": "keeps workflows to its paid edition"},
    warm_up_s=3.0,
)

ABSURD = Peer(
    "absurd",
    "absurd_peer.py",
    "SELECT EXISTS (SELECT FROM absurd.t_q WHERE state IN ('pending', 'running', 'sleeping'))",
    "AsyncAbsurd, concurrency=50, batch_size=50, polling every 10 ms, psycopg; the schema is that of absurdctl",
    packages=("absurd-sdk==0.5.1", "absurdctl==0.5.1", "psycopg[binary]==3.3.8"),
    settings={"concurrency": 50, "batch_size": 50, "poll_interval_s": POLL_S},
    sizes=Sizes(add=3_000, drain=5_000),
    recovery={"claim_timeout_s": 10},
    cannot={**SLOW, "bulk": NO_BULK, "graph": "lets a task wait for tasks of other queues only; not written here"},
)

SAQ = Peer(
    "saq",
    "saq_peer.py",
    "SELECT EXISTS (SELECT FROM saq_jobs WHERE status IN ('new', 'queued', 'active'))",
    "concurrency=100, pool 20, psycopg, uvloop; gives up the tasks of a dead worker one by one, 5 s each",
    packages=("saq[postgres]==0.26.4", "psycopg[binary,pool]==3.3.8", "uvloop==0.23.0"),
    settings={"concurrency": 100},
    sizes=Sizes(add=3_000, drain=5_000),
    recovery={"timers": {"sweep": 1}, "job": {"retries": 3}},
    cannot={**SLOW, "bulk": NO_BULK, "graph": NO_GRAPHS},
)

CHANCY = Peer(
    "chancy",
    "chancy_peer.py",
    "SELECT EXISTS (SELECT FROM chancy_jobs WHERE state IN ('pending', 'running'))",
    "AsyncExecutor, concurrency=200, polling_interval=1, eager polling, notifications, psycopg; bulk: push_many, 1,000"
    " per call",
    packages=("chancy==0.26.0", "psycopg[binary,pool]==3.3.8"),
    settings={"concurrency": 200},
    sizes=Sizes(add=3_000, bulk=20_000, drain=10_000),
    recovery={
        "leadership": {"poll_interval": 3, "timeout": 10},
        "recovery": {"poll_interval": 1},
        "worker": {"heartbeat_poll_interval": 3, "heartbeat_timeout": 10},
    },
    cannot={**SLOW, "graph": "has workflows as a plugin; not written here"},
    warm_up_s=3.0,
)

NODE_PACKAGES = ("graphile-worker@0.17.3", "pg-boss@10.4.2", "pg@8")

GRAPHILE_WORKER = Peer(
    "graphile-worker",
    "graphile_worker_peer.js",
    "SELECT EXISTS (SELECT FROM graphile_worker._private_jobs)",
    "concurrentJobs=24, maxPoolSize=10, localQueue of 500, batched completion without delay; bulk: addJobs with 1,000",
    packages=NODE_PACKAGES,
    language="Node",
    settings={"concurrentJobs": 24, "maxPoolSize": 10, "localQueue": 500},
    sizes=Sizes(add=5_000, bulk=50_000, drain=100_000, sample=18_000),
    release="UPDATE graphile_worker._private_jobs SET locked_at = NULL, locked_by = NULL, attempts = 0"
    " WHERE locked_at IS NOT NULL",
    cannot={
        "graph": NO_GRAPHS,
        "producers": ONLY_DIBS,
        "kill": "gives the tasks of a dead worker back after four hours, which cannot be set",
    },
)

PG_BOSS = Peer(
    "pg-boss",
    "pg_boss_peer.js",
    "SELECT EXISTS (SELECT FROM pgboss.job WHERE name = 'q' AND state IN ('created', 'active'))",
    "4 work() loops, batchSize=2000, polling every 0.5 s (its minimum), which caps one worker near 16,000/s; bulk:"
    " insert with 1,000",
    packages=NODE_PACKAGES,
    language="Node",
    settings={"loops": 4, "batchSize": 2000, "pollingIntervalSeconds": 0.5},
    sizes=Sizes(add=5_000, bulk=50_000, drain=200_000),
    cannot={**SLOW, "graph": NO_GRAPHS, "kill": "expires tasks after 15 minutes by default; not set up here"},
)

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        DIBS,
        PGQUEUER,
        PGQUEUER.variant(
            "pgqueuer-default",
            {"batch_size": 10},
            about="as pgqueuer, with its default batch_size=10",
            sizes=Sizes(drain=20_000),
            cannot=dict.fromkeys(("add", "bulk", "backlog", "held", "kill", "restart"), "as pgqueuer")
            | {"graph": NO_GRAPHS, "producers": ONLY_DIBS},
        ),
        AWA,
        PROCRASTINATE,
        DBOS,
        OBAN,
        ABSURD,
        SAQ,
        CHANCY,
        GRAPHILE_WORKER,
        PG_BOSS,
    )
}

VARIANTS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        DIBS.variant("dibs-default", {"concurrency": 10}, about="as dibs, with the default concurrency of 10"),
        DIBS.variant("dibs-1000", {"concurrency": 1_000}, about="as dibs, with concurrency 1,000"),
        PGQUEUER.variant("pgqueuer-500", {"batch_size": 500}, about="as pgqueuer, with batch_size=500"),
        GRAPHILE_WORKER.variant(
            "graphile-worker-single",
            {"localQueue": 0},
            about="as graphile-worker, without local queue and batches",
            sizes=Sizes(drain=20_000),
        ),
    )
}
"""Run only when they are asked for by name."""
