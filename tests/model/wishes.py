"""What Hypothesis may ask for: few values of everything, so that they meet."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from dibs.model.artifact import Artifact
from dibs.model.retry import Retry
from dibs.model.task import CONTENT
from dibs.stores.values import Entry

TYPES = ("a", "b", "c")
AGENTS = ("ada", "bob")
NUMBERS = st.integers(0, 10_000)
"""Picks one of what exists by its remainder."""

LARGE = {"large": "x" * 66_000}
"""Lists name it."""

OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "approval": st.booleans(),
    "coalesce_key": st.sampled_from(["g", "h"]),
    "type": st.sampled_from(TYPES),
    "payload": st.sampled_from([None, 1, {"k": [1, "x"]}, None, 1, LARGE]),
    "priority": st.sampled_from([50, 10, 47, 90]),
    "boost": st.sampled_from([0.1, 0, 5, 1000]),
    "deadline": st.sampled_from([None, 20, 900]),
    "on_deadline": st.sampled_from(["keep", "cancel"]),
    "run_after": st.sampled_from([5, 40]),
    "key": st.sampled_from(["k1", "k2", CONTENT]),
    "requires": st.sampled_from([(), ("web",), ("code", "web")]),
    "assignee": st.sampled_from(["ada", "bob", "coder"]),
    "models": st.sampled_from([("large",), ("small", "large"), ("gpt-1", "claude-1")]),
    "provider": st.sampled_from(["acme", "openai"]),
    "fallback_models": st.sampled_from([("tiny",), ("large",)]),
    "max_cost": st.sampled_from([0, 0.25, 0.5]),
    "max_tokens": st.sampled_from([5, 20]),
    "locks": st.sampled_from([("l",), ("m",), ("m", "l")]),
    "max_attempts": st.sampled_from([1, 2, 5]),
    "retry": st.sampled_from(
        ["immediate", "fixed:5s", Retry(jitter=0, timeout_multiplier=2), Retry(retry_on=("timeout",))]
    ),
    "timeout": st.sampled_from([8, 30]),
    "tags": st.just(("t",)),
    "user": st.just("grace"),
    "title": st.just("A title"),
    "context": st.sampled_from([{"goal": "g"}, {"refs": ["artifact:x", "task:task_nobody:output"]}]),
    # Work completes with 0 more often than not.
    "expects": st.sampled_from(
        [
            {"validation": "regex", "pattern": "[1-9]"},
            {"validation": "decision-report"},
            {"validation": "judge", "rubric": "It is good.", "criteria": ["true"]},
            {"validation": "human"},
        ]
    ),
}

# Most tasks are plain; a few options at a time are enough to meet.
SPECS: st.SearchStrategy[dict[str, Any]] = st.sets(st.sampled_from(sorted(OPTIONS)), max_size=4).flatmap(
    lambda named: st.fixed_dictionaries(
        {
            "type": OPTIONS["type"],
            "retry": st.sampled_from(["immediate", None]),
            **{name: OPTIONS[name] for name in sorted(named)},
        }
    )
)

TOGETHER = st.tuples(
    SPECS, st.lists(st.sampled_from([0, 0, 0.05, 5]), min_size=1, max_size=4), st.sampled_from(["g", "g", "h"])
)
"""Tasks of one group: what they have in common, the windows of each, their key."""

EDGES = st.lists(st.tuples(st.sampled_from(["after", "after", "after_ended"]), NUMBERS), max_size=2)

GRAPHS = st.lists(st.tuples(SPECS, EDGES), min_size=1, max_size=5)
"""Tasks of one call, each with edges to earlier ones of the call or to tasks that exist."""

CLAIMS = st.fixed_dictionaries(
    {"agent": st.sampled_from(AGENTS)},
    optional={
        "capabilities": st.just(("code", "web")),
        "types": st.sampled_from([("a",), ("a", "b")]),
        "models": st.sampled_from([("large",), ("tiny", "small")]),
        "limit": st.sampled_from([2, 10]),
        "lease": st.sampled_from([5, 3600]),
        "start": st.booleans(),
        "claim_id": st.sampled_from(["once", "twice"]),
    },
)

ASKS = st.fixed_dictionaries(
    {"question": st.sampled_from(["Which one?", "How many?"])},
    optional={
        "schema": st.just({"type": ["integer", "string"]}),
        "assignee": st.just("grace"),
        "timeout": st.sampled_from([5, 40]),
        "name": st.sampled_from(["one", "two"]),
    },
)
DEFAULTS = st.sampled_from([None, None, "as ever"])
ANSWERS = st.sampled_from(
    [
        *(True, True, False, 7, "red", {"approve": False, "reason": "no"}),
        *("retry", "drop", {"do": "retry", "note": "once more"}),
    ]
)

CONTRACTS = st.sampled_from(
    [
        {"validation": "judge", "rubric": "It is good."},
        {"validation": ["judge", {"validation": "judge", "rubric": "It is true."}], "rubric": "It is good."},
        {"validation": ["judge", "human"], "rubric": "It is good.", "assignee": "grace"},
        {"validation": "human", "question": "Is it good?"},
        {"validation": "human", "timeout": 30, "default": False},
        {"validation": "human", "timeout": 20, "escalate_to": "lead"},
    ]
)
"""What others have to judge."""

VERDICTS = st.sampled_from(
    [
        {"verdict": "pass", "criteria": {"true": {"pass": True}}},
        {"verdict": "pass", "criteria": {"true": {"pass": True}}},
        {"verdict": "fail", "criteria": {"true": {"pass": False, "reason": "it is not"}}, "reason": "no"},
        {"verdict": "perhaps"},
        "fail",
        "cancel",
    ]
)
"""What a judge says; `fail` and `cancel` are what becomes of its task instead."""

REGISTRATIONS = st.fixed_dictionaries(
    {"agent": st.sampled_from(AGENTS)},
    optional={
        "type": st.sampled_from(["coder", "writer"]),
        "capabilities": st.just(("code", "web")),
        "models": st.sampled_from([("large",), ("tiny", "small")]),
        "max_concurrent": st.sampled_from([1, 3]),
        "budget": st.sampled_from([0.25, 1]),
        "pid": st.just(7),
        "concurrency": st.just(4),
        "keep": st.booleans(),
    },
)

SCOPES = st.sampled_from(["global", "type:a", "user:grace", "agent:ada", "dag"])
"""`dag`: that of one of the tasks there are."""

UNITS = st.sampled_from(["usd", "usd", "tokens", "turns", "seconds"])
WINDOWS = st.sampled_from([{}, {}, {"window": "day"}, {"window": "day", "timezone": "Asia/Kathmandu"}])
AMOUNTS = st.sampled_from([0, 0.25, 0.75, 3, 30])

ARTIFACTS = st.builds(
    Artifact,
    name=st.sampled_from(["x", "y"]),
    digest=st.sampled_from([f"sha256:{number:064x}" for number in range(3)]),
    size=st.sampled_from([0, 5]),
    media_type=st.sampled_from([None, "text/plain"]),
)

USAGE = st.fixed_dictionaries(
    {},
    optional={
        "cost": st.sampled_from([0, 0.25]),
        "tokens_in": st.sampled_from([7, 9]),
        "tokens_out": st.sampled_from([0, 3]),
        "turns": st.just(1),
        "model": st.sampled_from(["large", "nobody-knows"]),
    },
)

FAILURES = st.fixed_dictionaries(
    {"error": st.sampled_from(["no such file", "connection refused"])},
    optional={
        "reason": st.sampled_from(["error", "timeout", "crash", "rate_limit", "auth_failure", "moon_phase"]),
        "retry": st.booleans(),
        "retry_after": st.sampled_from([0, 4]),
        "exit_code": st.just(3),
        "cost": st.just(0.5),
    },
)

DECISIONS = st.sampled_from(
    [
        {"resolution": "retried"},
        {"resolution": "retried", "delay": 6, "note": "later"},
        {"resolution": "retried", "payload": {"new": True}},
        {"resolution": "dropped", "note": "enough"},
        {"resolution": "escalated", "to": "oncall"},
        {"resolution": "escalated", "to": "grace", "question": "What now?"},
        {"resolution": "kept"},
        {"resolution": "kept"},
    ]
)
"""What a person decides about a dead letter."""

DEAD = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(TYPES),
        "tag": st.just("t"),
        "user": st.just("grace"),
        "text": st.sampled_from(["refused", "x"]),
        "fingerprint": st.just("expired"),
        "since": st.just(1800),
        "until": st.just(5),
        "reviewed": st.booleans(),
    },
)

FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(["ready", "validating", ("validating", "waiting"), ("completed", "cancelled")]),
        "type": st.sampled_from(TYPES),
        "tag": st.just("t"),
        "agent": st.sampled_from(AGENTS),
        "user": st.just("grace"),
        "text": st.sampled_from(["title", "x"]),
        "limit": st.sampled_from([1, 3]),
    },
)

ENTRIES = st.sampled_from(
    [
        Entry(kind="step", name="s", digest="one", value=b"1"),
        Entry(kind="step", name="s", digest="two", value=b"2"),
        Entry(kind="step", name="t", digest="one", value=b"[3]"),
        Entry(kind="checkpoint", value=b"4"),
        Entry(kind="checkpoint", value=b"5"),
        Entry(kind="log", value=b'"line"'),
    ]
)

LADDERS = st.sampled_from(
    [
        [{"after": 1, "do": "notify", "to": "ops"}, {"after": 2, "do": "reassign", "agent": "ada"}],
        [{"after": 1, "do": "reassign", "agent": "coder"}, {"after": 2, "do": "reassign", "model": "large"}],
        [{"after": 1, "do": "reassign", "model": "tiny"}, {"after": 2, "do": "ask", "to": "grace"}],
        [{"after": 1, "do": "ask", "to": "grace", "question": "Why?", "timeout": 5, "default": {"z": 1, "a": 2}}],
        [{"after": 3, "do": "ask", "to": "grace", "timeout": 40}, {"after": 4, "do": "notify"}],
        [{"after": 1, "do": "notify"}, {"after": 1, "do": "fail_dag"}],
        [{"after": 1, "do": "ask", "to": "grace"}, {"after": 2, "do": "fail_dag"}],
    ]
)
"""What follows when tasks keep failing."""

PAUSED = st.sampled_from([{"type": "a"}, {"type": "b"}, {"agent": "ada"}, {"everything": True}])
"""What is paused and resumed."""

PLANNED = st.sampled_from(["nightly", "often"])
"""What schedules and triggers are called."""

RESUMED = st.sampled_from([{"provider": "acme"}, {"provider": "anthropic"}, {"limit": "a"}, {"limit": "b"}])
"""What rate limits close, and is resumed."""

BREAKERS = st.sampled_from(
    [
        {"type": "a", "failure_threshold": 1, "half_open_after_s": 4},
        {"type": "a", "failure_threshold": 2},
        {"type": "a", "enabled": False},
        {"type": "*", "failure_threshold": 2, "cooldown_s": 10, "half_open_after_s": 6},
        {"type": "*", "failure_threshold": 1, "half_open_after_s": 1},
        {"type": "*", "enabled": False},
    ]
)

WEEK = 7 * 86_400 + 1
SECONDS = st.sampled_from([0.3, 1, 4, 6, 11, 31, 31, 900, 3700, 1, 6, 43_200, WEEK])
