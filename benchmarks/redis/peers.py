"""The contestants on Redis, each with the best settings that were found for it.

Versions are pinned: what a script calls, and the settings that suit it, belong to a version. Celery, Dramatiq, taskiq
and Huey keep results only if asked, and are not asked, which makes them faster.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.peers.peer import Peer, Sizes

HIREDIS = "hiredis==3.5.0"
REDIS = "redis==8.1.0"
UVLOOP = "uvloop==0.23.0"

NO_BULK = "has no call that adds many"
TAKEN_IS_GONE = "a task that a worker has taken is nowhere else"


def stream(name: str, group: str) -> str:
    """Lua that tells what a consumer group has left."""
    text = (Path(__file__).resolve().parent / "unfinished_stream.lua").read_text()
    return f"local stream, named_group = '{name}', '{group}'\n{text}"


DIBS = Peer(
    "dibs",
    "dibs_peer.py",
    "",
    "one `dibs.Worker` per process with concurrency 100, everything else default; uvloop; add_many with 1,000 per call",
    settings={"concurrency": 100},
    sizes=Sizes(add=10_000, bulk=100_000, drain=100_000),
    recovery={"lease": 10},
)

CELERY = Peer(
    "celery",
    "celery_peer.py",
    "return redis.call('LLEN', 'celery') + redis.call('HLEN', 'unacked')",
    "prefork with 2 processes, prefetch 50 each, JSON, late acknowledgement, no results, no events, no gossip, no"
    " mingle, no heartbeat; bulk: groups of 1,000, which it adds one by one",
    packages=("celery[redis]==5.7.0", "kombu==5.7.0", REDIS, HIREDIS),
    settings={"pool": "prefork", "concurrency": 2, "prefetch_multiplier": 50},
    sizes=Sizes(add=3_000, bulk=5_000, drain=5_000),
    recovery={
        "concurrency": 10,
        "prefetch_multiplier": 1,
        "transport": {"visibility_timeout": 10, "unacked_restore_interval": 1, "unacked_restore_throttle": 1},
    },
    warm_up_s=4.0,
)

DRAMATIQ = Peer(
    "dramatiq",
    "dramatiq_peer.py",
    "return redis.call('HLEN', 'dramatiq:default.msgs')",
    "8 threads, prefetch 200 (its default is 16), no results; bulk: groups of 1,000, which it adds one by one",
    packages=("dramatiq[redis]==2.2.1", REDIS, HIREDIS),
    settings={"threads": 8},
    variables={"dramatiq_queue_prefetch": "200"},
    sizes=Sizes(add=5_000, bulk=10_000, drain=10_000),
    recovery={"threads": 10, "broker": {"heartbeat_timeout": 10_000, "maintenance_chance": 1_000_000}},
    warm_up_s=2.0,
)

RQ = Peer(
    "rq",
    "rq_peer.py",
    "return redis.call('LLEN', 'rq:queue:default') + redis.call('ZCARD', 'rq:wip:default')",
    "SimpleWorker (no fork for each task); bulk: enqueue_many with 1,000; the tasks of a dead worker are given up 60 s"
    " after their timeout, which cannot be set",
    packages=("rq==2.12.0", REDIS, HIREDIS),
    sizes=Sizes(add=3_000, bulk=10_000, drain=2_000),
    recovery={"retries": 3, "timeout_s": 10, "worker": {"maintenance_interval": 1, "worker_ttl": 20}},
    at_once=1,
    warm_up_s=2.0,
)

ARQ = Peer(
    "arq",
    "arq_peer.py",
    "return redis.call('ZCARD', 'arq:queue')",
    "max_jobs=100, poll_delay=0.01 (its default is 0.5), uvloop, results kept (default); a dead worker's tasks are free"
    " 10 s after they would have timed out",
    packages=("arq==0.28.0", "redis==5.3.1", HIREDIS, UVLOOP),
    settings={"max_jobs": 100, "poll_delay": 0.01},
    sizes=Sizes(add=5_000, drain=10_000),
    recovery={"job_timeout": 5},
    cannot={"bulk": NO_BULK},
)

TASKIQ = Peer(
    "taskiq",
    "taskiq_peer.py",
    stream("taskiq", "taskiq"),
    "RedisStreamBroker, which acknowledges, 100 per read; 100 tasks at once and 100 ahead, arguments not validated,"
    " uvloop, no results",
    packages=("taskiq==0.13.0", "taskiq-redis==1.2.4", REDIS, HIREDIS, UVLOOP),
    settings={
        "broker": {"xread_count": 100},
        "receiver": {"max_async_tasks": 100, "max_prefetch": 100, "validate_params": False},
    },
    sizes=Sizes(add=5_000, drain=10_000),
    cannot={"bulk": NO_BULK, "kill": "looks for the tasks of a dead worker only after new ones have come"},
)

SAQ = Peer(
    "saq",
    "saq_redis_peer.py",
    "return redis.call('ZCARD', 'saq:default:incomplete')",
    "concurrency=100, uvloop; gives up the tasks of a dead worker one by one, 5 s each",
    packages=("saq[redis,hiredis]==0.26.4", "redis==7.4.1", "typing-extensions==4.*", HIREDIS, UVLOOP),
    settings={"concurrency": 100},
    sizes=Sizes(add=5_000, drain=10_000),
    recovery={"timers": {"sweep": 1}, "job": {"retries": 3}},
    cannot={"bulk": NO_BULK},
)

STREAQ = Peer(
    "streaq",
    "streaq_peer.py",
    stream("streaq:default:queues:default", "workers"),
    "concurrency=100, prefetch=100, uvloop; bulk: enqueue_many with 1,000",
    packages=("streaq==7.2.0", "coredis==6.9.0", UVLOOP),
    settings={"concurrency": 100, "prefetch": 100},
    sizes=Sizes(add=5_000, bulk=20_000, drain=10_000),
    recovery={"idle_timeout": 10},
    server=(7, 0),
)

DOCKET = Peer(
    "docket",
    "docket_peer.py",
    stream("bench:stream", "docket-workers"),
    "concurrency=10 (default), looks every 10 ms, uvloop; bulk: add_many with 1,000",
    packages=("pydocket==0.27.0", REDIS, HIREDIS, UVLOOP),
    settings={"concurrency": 10, "durations": {"minimum_check_interval": 0.01}},
    sizes=Sizes(add=3_000, bulk=10_000, drain=5_000),
    recovery={"durations": {"minimum_check_interval": 0.01, "redelivery_timeout": 10}},
)

HUEY = Peer(
    "huey",
    "huey_peer.py",
    "return redis.call('LLEN', 'huey.redis.bench')",
    "4 threads, no results, no periodic tasks; it deletes a task when it takes it and writes nothing when it is done:"
    " its tasks count when their handler ran",
    packages=("huey==3.5.4", REDIS, HIREDIS),
    settings={"threads": 4},
    sizes=Sizes(add=5_000, drain=10_000),
    cannot={"bulk": NO_BULK, "kill": TAKEN_IS_GONE},
)

BULLMQ = Peer(
    "bullmq",
    "bullmq_peer.js",
    "return redis.call('LLEN', 'bull:q:wait') + redis.call('LLEN', 'bull:q:active')",
    "concurrency=100; bulk: addBulk with 1,000",
    packages=("bullmq@6.7.0", "ioredis@5"),
    language="Node",
    settings={"concurrency": 100},
    sizes=Sizes(add=5_000, bulk=50_000, drain=50_000),
    recovery={"lockDuration": 10_000, "stalledInterval": 1_000},
)

PEERS: dict[str, Peer] = {
    peer.name: peer for peer in (DIBS, CELERY, DRAMATIQ, RQ, ARQ, TASKIQ, SAQ, STREAQ, DOCKET, HUEY, BULLMQ)
}

_AS_BEFORE = dict.fromkeys(("add", "bulk", "kill", "restart"), "as the other one of its kind")

VARIANTS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        DIBS.variant("dibs-default", {"concurrency": 10}, about="as dibs, with the default concurrency of 10"),
        CELERY.variant(
            "celery-threads",
            {"pool": "threads", "concurrency": 8, "prefetch_multiplier": 20},
            about="as celery, with 8 threads instead of processes",
            cannot=_AS_BEFORE,
        ),
        RQ.variant(
            "rq-fork",
            {"fork": True},
            about="as rq, with a fork for each task (its default)",
            sizes=Sizes(drain=500),
            cannot=_AS_BEFORE,
        ),
        TASKIQ.variant(
            "taskiq-list",
            {"list": True},
            about="as taskiq, on a list, without acknowledgement",
            unfinished="return redis.call('LLEN', 'taskiq')",
            cannot={"bulk": NO_BULK, "kill": TAKEN_IS_GONE},
        ),
    )
}
"""Run only when they are asked for by name."""
