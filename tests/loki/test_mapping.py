"""Tasks of dibs in Loki's words and back: nothing that Loki knows is lost on the way."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dibs.errors import Invalid
from dibs.loki.format import DEAD_LETTER, PENDING, QUEUES, LokiTask, read_tasks
from dibs.loki.mapping import (
    QUEUE_OF,
    first_wait_s,
    new_task,
    own_id,
    priority_from_loki,
    priority_to_loki,
    to_loki,
)
from dibs.model.attempt import Attempt
from dibs.model.retry import Retry
from dibs.model.status import Outcome, Status
from dibs.model.task import NewTask, Task
from dibs.rules.priority import tier
from tests.loki.files import task

ID = "task_01j8k2m3n4p5q6r7s8t9v0w1x2"
NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)

TIERS = {10: "critical", 9: "high", 8: "high", 7: "normal", 6: "normal", 5: "normal", 4: "low", 3: "low"}
TIERS |= {2: "background", 1: "background"}

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(
    ["goal", "constraints", "related_files", "decisions", "context", "value", "relatedFiles", "mine"]
)
contexts = st.dictionaries(names, values, max_size=5)
payloads = values | st.dictionaries(names, values | contexts, max_size=5)


def made(**fields: Any) -> Task:
    """A task as dibs knows it."""
    return Task(**{"id": ID, "type": "eng-backend", "created_at": NOW, "status": Status.READY, **fields})


def read(written: dict[str, Any], queue: str = PENDING) -> LokiTask:
    """The same after it was in a file."""
    [found] = read_tasks({"tasks": [json.loads(json.dumps(written))]}, queue, f"{queue}.json")
    return found


def native(**fields: Any) -> LokiTask:
    return read(task("a", **fields))


# Priorities


@pytest.mark.parametrize(("loki", "word"), TIERS.items())
def test_priorities_keep_their_words(loki: int, word: str) -> None:
    assert tier(priority_from_loki(loki)) == word
    assert priority_to_loki(priority_from_loki(loki)) == loki


@given(st.floats(0, 100), st.floats(0, 100))
def test_what_is_more_urgent_never_becomes_less_urgent(one: float, other: float) -> None:
    assert 1 <= priority_to_loki(one) <= 10
    if one <= other:
        assert priority_to_loki(one) >= priority_to_loki(other)


# States


def test_every_status_has_its_file() -> None:
    assert set(QUEUE_OF) == set(Status)
    assert set(QUEUE_OF.values()) == set(QUEUES)


@pytest.mark.parametrize("status", [Status.CLAIMED, Status.RUNNING, Status.VALIDATING, Status.WAITING])
def test_what_must_not_be_claimed_is_in_progress(status: Status) -> None:
    written = to_loki(made(status=status, agent="coder-1", claimed_at=NOW), ID)
    assert QUEUE_OF[status] == "in-progress"
    assert (written["claimedBy"], written["claimedAt"]) == ("coder-1", "2026-03-04T05:06:07Z")


def test_a_pending_task_is_claimed_by_nobody() -> None:
    # A released task remembers who had it last; Loki would take that for a claim.
    written = to_loki(made(agent="coder-1", claimed_at=NOW), ID)
    assert (written["claimedBy"], written["claimedAt"]) == (None, None)


def test_a_completed_task_has_its_result() -> None:
    done = made(status=Status.COMPLETED, output={"files": 3}, decision={"why": "simple"}, completed_at=NOW)
    written = to_loki(done, ID)
    assert written["result"] == {"status": "success", "output": {"files": 3}, "decisionReport": {"why": "simple"}}
    assert written["completedAt"] == "2026-03-04T05:06:07Z"


def test_a_dead_letter_has_its_error_and_its_history() -> None:
    attempt = Attempt(number=1, fence=2, agent="coder-1", outcome=Outcome.FAILED, error="503", cost_usd=0.0)
    dead = made(status=Status.DEAD_LETTERED, error="503", attempts=3, dead_lettered_at=NOW, cost_usd=0.0)
    written = to_loki(dead, ID, history=[attempt])
    assert (written["lastError"], written["retries"], written["maxRetries"]) == ("503", 3, 3)
    assert written["result"]["status"] == "failed"
    assert written["dibs"]["history"] == [
        {"number": 1, "fence": 2, "agent": "coder-1", "outcome": "failed", "error": "503", "cost_usd": 0.0}
    ]
    # Known to be nothing, which is not the same as unknown.
    assert written["dibs"]["cost_usd"] == 0.0
    assert "tokens_in" not in written["dibs"]


def test_a_cancelled_task_says_when_and_why() -> None:
    gone = made(status=Status.CANCELLED, cancelled_at=NOW, reason="dependency_failed")
    written = to_loki(gone, ID)
    assert (written["cancelledAt"], written["cancelReason"]) == ("2026-03-04T05:06:07Z", "dependency_failed")
    assert to_loki(replace(gone, cancel_reason="too late"), ID)["cancelReason"] == "too late"


@pytest.mark.parametrize(
    ("fields", "written"),
    [
        ({"status": Status.RETRYING, "retry_at": NOW}, "2026-03-04T05:06:07Z"),
        ({"status": Status.SCHEDULED, "run_after": NOW}, "2026-03-04T05:06:07Z"),
        ({"status": Status.PENDING, "run_after": NOW}, "2026-03-04T05:06:07Z"),
        ({"status": Status.READY, "run_after": NOW}, None),
        ({"status": Status.READY}, None),
    ],
    ids=str,
)
def test_what_waits_for_its_time_says_until_when(fields: dict[str, Any], written: str | None) -> None:
    assert to_loki(made(**fields), ID).get("availableAt") == written


def test_what_comes_too_early_waits_for_its_time() -> None:
    assert new_task(native(availableAt="2031-01-01T00:00:00Z")).run_after == datetime(2031, 1, 1, tzinfo=UTC)


# Retries and backoff


@pytest.mark.parametrize(("retries", "most", "left"), [(0, 3, 3), (1, 3, 2), (3, 3, 1), (5, 3, 1), (0, 0, 1)])
def test_a_task_comes_with_the_attempts_that_are_left(retries: int, most: int, left: int) -> None:
    assert new_task(native(retries=retries, maxRetries=most)).max_attempts == left


def test_a_dead_letter_that_starts_afresh_has_all_of_them() -> None:
    dead = read(task("a", retries=3, lastError="503", availableAt="2031-01-01T00:00:00Z"), DEAD_LETTER)
    spec = new_task(dead, afresh=True)
    assert (spec.max_attempts, spec.run_after) == (3, None)
    assert spec.context["loki"]["lastError"] == "503"
    assert "retries" not in spec.context["loki"]


@pytest.mark.parametrize(
    ("backoff", "retries", "first"),
    [
        (60, 0, 60),
        (60, 1, 60),
        # Loki meant 60, 120, 240 and wrote 60, 120, 480.
        (120, 2, 60),
        (480, 3, 60),
        # Somebody's tool that does not compound.
        (60, 12, 60),
        (0, 2, 0),
        (60, 1000, 60),
    ],
)
def test_waits_that_compounded_are_led_back_to_the_first(backoff: float, retries: int, first: float) -> None:
    assert first_wait_s(backoff, retries) == first
    policy = new_task(native(backoffSeconds=backoff, retries=retries)).retry
    assert isinstance(policy, Retry)
    assert (policy.strategy, policy.delay, policy.multiplier, policy.jitter) == ("exponential", first, 2, 0)
    assert policy.cap >= policy.delay


@pytest.mark.parametrize(
    ("policy", "backoff"),
    [(None, 10), (Retry(strategy="immediate"), 0), (Retry(delay=2.5), 2.5), (Retry(strategy="fixed", delay=60.0), 60)],
)
def test_backoff_is_the_first_wait_and_the_policy_comes_back(policy: Retry | None, backoff: float) -> None:
    written = to_loki(made(retry=policy, attempts=2), ID)
    assert written["backoffSeconds"] == backoff
    assert new_task(read(written)).retry == policy


# There and back


def test_what_was_asked_for_comes_back() -> None:
    asked = made(
        title="Build it",
        payload={"n": 1},
        priority=33.5,
        boost=2.0,
        deadline=NOW,
        on_deadline="cancel",
        ref="build",
        key="build-7",
        requires=("python",),
        assignee="coder",
        models=("large", "small"),
        fallback_models=("tiny",),
        provider="acme",
        max_attempts=5,
        retry=Retry(strategy="linear", delay=5.0, retry_on=("error",)),
        timeout=90.5,
        tags=("web",),
        user="ada",
        created_by="human:ada",
        expects={"type": "json"},
        context={"tone": "dry"},
    )
    came = read(to_loki(asked, ID))
    spec = new_task(came)
    assert own_id(came) == ID
    for name in NewTask.__struct_fields__:
        if name in Task.__struct_fields__ and name not in (
            "context",
            "deadline",
            "requires",
            "models",
            "tags",
            "retry",
        ):
            assert getattr(spec, name) == (getattr(asked, name) if name != "fallback_models" else ["tiny"]), name
    assert (spec.requires, spec.models, spec.tags) == (["python"], ["large", "small"], ["web"])
    assert spec.retry == asked.retry
    assert datetime.fromisoformat(spec.deadline) == NOW
    assert spec.context == {"tone": "dry", "loki": {"createdAt": "2026-03-04T05:06:07Z"}}


def test_every_field_of_a_task_is_either_said_by_loki_or_rides_along() -> None:
    # Whoever adds a field that people can ask for finds it here if it would be lost.
    said = {"type", "payload", "max_attempts", "run_after", "context"}
    differing: dict[str, Any] = {
        "priority": 1.0, "boost": 5.0, "deadline": NOW, "on_deadline": "cancel", "retry": Retry(), "timeout": 1.0,
        "requires": ("x",), "models": ("x",), "fallback_models": ("x",), "tags": ("x",),
    }  # fmt: skip
    for name in NewTask.__struct_fields__:
        if name in Task.__struct_fields__ and name not in said:
            written = to_loki(made(**{name: differing.get(name, "x")}), ID)
            assert name in written["dibs"], name


@given(payloads, st.none() | contexts, st.none() | st.text(min_size=1, max_size=5))
def test_payload_context_and_title_come_back_whatever_they_are(payload: Any, context: Any, title: str | None) -> None:
    written = to_loki(made(payload=payload, context=context, title=title), ID)
    assert isinstance(written["payload"], dict)
    spec = new_task(read(written))
    assert (spec.payload, spec.title) == (payload, title)
    del spec.context["loki"]
    assert spec.context == (context or {})


def test_lokis_agents_find_the_goal_where_they_look() -> None:
    context = {"goal": "fast", "constraints": ["no deps"], "related_files": ["a.ts"], "decisions": ["ADR-1"], "x": 1}
    written = to_loki(made(payload={"action": "test"}, context=context), ID)
    assert written["payload"] == {
        "action": "test",
        "goal": "fast",
        "constraints": ["no deps"],
        "context": {"relatedFiles": ["a.ts"], "architectureDecisions": ["ADR-1"]},
    }
    assert written["dibs"]["context"] == {"x": 1}


@pytest.mark.parametrize("inside", [{}, [], "text", {"relatedFiles": []}], ids=str)
def test_nothing_is_lent_to_a_payload_that_has_no_room_for_it(inside: Any) -> None:
    written = to_loki(made(payload={"context": inside}, context={"related_files": ["a.ts"]}), ID)
    assert written["payload"] == {"context": inside}
    spec = new_task(read(written))
    assert (spec.payload, spec.context["related_files"]) == ({"context": inside}, ["a.ts"])


def test_a_number_of_any_size_comes_back() -> None:
    assert new_task(native(idempotencyKey=-(2**80))).context["loki"]["idempotencyKey"] == -(2**80)


def test_where_there_is_no_goal_the_title_says_what_to_do() -> None:
    written = to_loki(made(title="Read it"), ID)
    assert written["payload"] == {"goal": "Read it"}
    assert to_loki(made(title="Read it", payload={"goal": "fast"}), ID)["payload"] == {"goal": "fast"}
    # It was made from these words.
    assert to_loki(made(title="test it", payload={"action": "test it"}), ID)["payload"] == {"action": "test it"}


def test_a_payload_that_has_a_goal_keeps_it() -> None:
    written = to_loki(made(payload={"goal": "theirs"}, context={"goal": "ours"}), ID)
    assert written["payload"] == {"goal": "theirs"}
    spec = new_task(read(written))
    assert (spec.payload, spec.context["goal"]) == ({"goal": "theirs"}, "ours")


@given(
    st.builds(
        task,
        id=st.text("abc-", min_size=1, max_size=5),
        priority=st.integers(1, 10),
        payload=st.dictionaries(names | st.sampled_from(["action", "target"]), values, max_size=4),
        timeout=st.integers(1, 100_000),
        retries=st.integers(0, 1),
        backoffSeconds=st.just(60),
        lastError=st.none() | st.text(min_size=1, max_size=5),
        idempotencyKey=st.integers() | st.text(max_size=5),
        colour=st.text(max_size=5),
    )
)
def test_what_loki_wrote_comes_out_as_it_went_in(said: dict[str, Any]) -> None:
    spec = new_task(read(said))
    # What dibs makes of it:
    kept = made(
        payload=spec.payload,
        title=spec.title,
        priority=spec.priority,
        key=spec.key,
        ref=spec.ref,
        retry=spec.retry,
        timeout=spec.timeout,
        max_attempts=spec.max_attempts,
        context=spec.context,
    )
    written = to_loki(kept, said["id"])
    assert {**written, "dibs": 0} == {**said, "dibs": 0}
    again = new_task(read(written))
    assert (again.payload, again.priority, again.timeout, again.retry) == (
        spec.payload, spec.priority, spec.timeout, spec.retry
    )  # fmt: skip
    assert (again.max_attempts, again.context, again.key) == (spec.max_attempts, spec.context, spec.key)


def test_attempts_in_dibs_add_to_those_in_loki() -> None:
    spec = new_task(native(retries=1, maxRetries=4))
    written = to_loki(made(context=spec.context, max_attempts=spec.max_attempts, attempts=2, error="504"), "a")
    assert (written["retries"], written["maxRetries"], written["lastError"]) == (3, 4, "504")


# Edits made in Loki win


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("priority", 10, "priority", 0),
        ("timeout", 60, "timeout", 60),
        ("maxRetries", 9, "max_attempts", 9),
        ("backoffSeconds", 99, "retry", Retry(delay=99.0, cap=3600.0, jitter=0.0)),
    ],
)
def test_a_field_that_was_changed_in_loki_wins(name: str, value: Any, field: str, expected: Any) -> None:
    written = to_loki(made(priority=33.5, timeout=None, retry=Retry(strategy="fixed", delay=5.0)), ID)
    assert getattr(new_task(read({**written, name: value})), field) == expected
    assert getattr(new_task(read(written)), field) != expected


# Titles, keys, ids


@pytest.mark.parametrize(
    ("payload", "title"),
    [
        ({"goal": "  People can\nlog in ", "action": "implement"}, "People can log in"),
        ({"action": "test", "target": "src/a.ts"}, "test src/a.ts"),
        ({"action": "test", "target": 7, "goal": ""}, "test"),
        ({"goal": "bell\a"}, "bell"),
        ({}, None),
    ],
)
def test_a_task_from_loki_gets_a_line_for_people(payload: dict[str, Any], title: str | None) -> None:
    assert new_task(native(payload=payload)).title == title


def test_a_task_from_loki_is_known_by_its_id() -> None:
    spec = new_task(native())
    assert (spec.key, spec.ref) == ("loki:a", "a")
    assert own_id(native()) is None


@pytest.mark.parametrize("id", ["", "task_1", 7, "dag_01j8k2m3n4p5q6r7s8t9v0w1x2", ID[:-1] + "/"])
def test_an_id_that_is_none_is_refused(id: Any) -> None:
    with pytest.raises(Invalid, match=r"task 'a': dibs\.id") as refused:
        own_id(native(dibs={"id": id}))
    assert refused.value.field == "dibs"


@pytest.mark.parametrize(
    "own",
    [{"colour": "red"}, {"retry": 7}, {"retry": {"delay": "x"}}, {"lent": "goal"}, {"context": []}],
    ids=str,
)
def test_what_nobody_can_know_is_refused_not_ignored(own: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match="task 'a': dibs") as refused:
        new_task(native(dibs={"id": ID, **own}))
    assert refused.value.field == "dibs"
