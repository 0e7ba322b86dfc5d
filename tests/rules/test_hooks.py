"""Who is told of what, and what follows when telling them fails."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

import dibs
from dibs.errors import Invalid
from dibs.model.event import Event
from dibs.model.hook import HookSpec, HookState
from dibs.rules import hooks
from dibs.rules.hooks import Verdict

AT = datetime(2030, 1, 1, tzinfo=UTC)
SECOND = 1_000_000
SPEC = HookSpec(id="hook_1", kind="cloudevents", url="https://a.test", events=("*",), secret="new")


def event(type: str = "task.completed", **options: str) -> Event:
    return Event(seq=7, type=type, at=AT, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "type", "reason", "wanted"),
    [
        ("*", "task.completed", None, True),
        ("task.*", "task.completed", None, True),
        ("task.*", "dag.completed", None, False),
        ("task.completed", "task.completed", None, True),
        ("task.completed", "task.cancelled", None, False),
        ("*:out_of_memory", "task.retrying", "out_of_memory", True),
        ("*:out_of_memory", "task.retrying", "error", False),
        ("task.*:error", "task.retrying", "error", True),
        ("task.completed", "gap", None, True),
    ],
)
def test_a_pattern_names_types_and_reasons(pattern: str, type: str, reason: str | None, wanted: bool) -> None:
    told = event(type, reason=reason) if reason else event(type)
    assert hooks.wants([pattern], told) is wanted


def test_one_of_several_patterns_is_enough_and_none_is_not() -> None:
    assert hooks.wants(["dag.*", "task.completed"], event())
    assert not hooks.wants([], event())


def test_only_what_concerns_a_task_dag_or_agent_if_one_is_named() -> None:
    told = event(task_id="task_1", dag_id="dag_1", agent="ada")
    assert hooks.is_for(told, ["*"])
    assert hooks.is_for(told, ["*"], task="task_1", dag="dag_1", agent="ada")
    assert not hooks.is_for(told, ["*"], task="task_2")
    assert not hooks.is_for(told, ["*"], dag="dag_2")
    assert not hooks.is_for(told, ["*"], agent="bob")
    assert not hooks.is_for(told, ["dag.*"], task="task_1")
    assert hooks.is_for(event("gap"), ["dag.*"], task="task_2")


def test_who_names_no_events_gets_all_and_people_what_needs_them() -> None:
    assert hooks.patterns(None, "cloudevents") == ("*",)
    assert hooks.patterns((), "slack") == hooks.ALARMS
    assert hooks.patterns("task.*", "slack") == ("task.*",)
    assert hooks.patterns(["dag.failed", "task.*", "dag.failed"], "email") == ("dag.failed", "task.*")
    for alarm in hooks.ALARMS:
        assert hooks.patterns([alarm], "email") == (alarm,)


@pytest.mark.parametrize(
    "events",
    [
        "task",
        "task.",
        "task.complete",
        "tasks.*",
        "job.*",
        "**",
        "task.completed:",
        ":",
        "",
        [1],
        5,
        ["*"] * 3 + ["x.*"],
        [f"task.added:{n}" for n in range(51)],
    ],
)
def test_events_that_there_are_not_are_refused(events: object) -> None:
    with pytest.raises(Invalid) as refused:
        hooks.patterns(events, "cloudevents")
    assert refused.value.field == "events"


def test_a_kind_is_one_of_those_there_are() -> None:
    assert [hooks.check_kind(kind) for kind in hooks.KINDS] == list(hooks.KINDS)
    with pytest.raises(Invalid, match="kind must be one of"):
        hooks.check_kind("pager")


@pytest.mark.parametrize("url", ["https://a.test/x?y=z", "http://127.0.0.1:9000/", "https://[::1]:8443/in"])
def test_a_web_address_is_taken_as_it_is(url: str) -> None:
    assert hooks.check_url(url, "cloudevents") == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "a.test",
        "ftp://a.test",
        "https://",
        "https:///x",
        "https://u:p@a.test",
        "https://u@a.test",
        "https://a.test/#x",
        "https://a.test/ b",
        "https://ä.test",
        "https://a.test:0",
        "https://a.test:99999",
        "https://a.test\\@b.test",
        "https://[::1",
        "mailto:a@b.test",
        "https://a.test/" + "x" * 2000,
        "https://a.test/\n",
        5,
    ],
)
def test_what_is_no_web_address_is_refused(url: object) -> None:
    with pytest.raises(Invalid) as refused:
        hooks.check_url(url, "slack")
    assert refused.value.field == "url"


def test_mail_goes_to_an_address() -> None:
    assert hooks.check_url("mailto:on.call+dibs@example.com", "email") == "mailto:on.call+dibs@example.com"
    assert hooks.check_url("oncall@example.com", "email") == "mailto:oncall@example.com"


@pytest.mark.parametrize(
    "url", ["mailto:", "mailto:a", "a@b", "a@@b.test", "x:a@b.test", "mailto:a@b.test,c@d.test", "a b@c.test"]
)
def test_what_is_no_mail_address_is_refused(url: str) -> None:
    with pytest.raises(Invalid) as refused:
        hooks.check_url(url, "email")
    assert refused.value.field == "url"


def test_a_message_has_one_id_and_no_full_stop_in_it() -> None:
    ids = [
        hooks.message_id("hook_1", event()),
        hooks.message_id("hook_2", event()),
        hooks.message_id("hook_1", event("gap")),
        hooks.ping_id("hook_1", 7),
    ]
    assert ids == ["msg_1_7", "msg_2_7", "msg_1_gap_7", "msg_1_ping_7"]
    assert hooks.message_id("hook_1", event()) == ids[0]


@pytest.mark.parametrize(
    ("code", "attempts", "verdict"),
    [
        (200, 1, Verdict.DELIVERED),
        (204, 9, Verdict.DELIVERED),
        (None, 99, Verdict.AGAIN),
        (500, 99, Verdict.AGAIN),
        (302, 99, Verdict.AGAIN),
        (401, 99, Verdict.AGAIN),
        (404, 99, Verdict.AGAIN),
        (429, 99, Verdict.AGAIN),
        (410, 1, Verdict.GONE),
        (400, 1, Verdict.AGAIN),
        (422, 4, Verdict.AGAIN),
        (422, 5, Verdict.REFUSED),
        (400, 6, Verdict.REFUSED),
    ],
)
def test_what_an_answer_means(code: int | None, attempts: int, verdict: Verdict) -> None:
    assert hooks.verdict(code, attempts) is verdict


def test_tries_come_later_and_later_and_not_all_at_once() -> None:
    assert [hooks.delay_s(attempts, 0.0) for attempts in (1, 2, 3, 4)] == [5, 10, 20, 40]
    assert hooks.delay_s(10, 0.0) == hooks.delay_s(1_000, 0.0) == hooks.MAX_DELAY_S
    assert hooks.delay_s(1, 0.999) == pytest.approx(2.5, abs=0.01)


def test_a_receiver_may_say_when_to_come_back_within_reason() -> None:
    assert hooks.delay_s(1, 0.0, 60) == 60
    assert hooks.delay_s(1, 0.0, 2) == 5
    assert hooks.delay_s(1, 0.0, 10**9) == hooks.MAX_RETRY_AFTER_S


def test_failing_is_remembered_until_something_is_taken() -> None:
    state = hooks.failed(HookState(seq=3), 100 * SECOND, "down", 5)
    assert (state.attempts, state.failing_since, state.next_at, state.error) == (1, 100 * SECOND, 105 * SECOND, "down")
    state = hooks.failed(state, 105 * SECOND, "still down", 10)
    assert (state.attempts, state.failing_since, state.disabled_at) == (2, 100 * SECOND, None)
    assert hooks.status_of(SPEC, state) == "failing"
    assert hooks.refused(state, 4) == replace(state, seq=4, attempts=0, next_at=None)
    assert hooks.moved_on(state, 4) == HookState(seq=4)
    assert hooks.moved_on(HookState(seq=9), 4).seq == 9


def test_after_days_of_failing_a_hook_is_disabled_until_it_is_resumed() -> None:
    since = 100 * SECOND
    later = since + int(hooks.DEAD_AFTER_S) * SECOND
    failing = hooks.failed(HookState(seq=3), since, "down", 5)
    assert hooks.failed(failing, later - 1, "down", 5).disabled_at is None
    state = hooks.failed(failing, later, "down", 5)
    assert (state.disabled_at, state.next_at, state.error) == (later, None, "down")
    assert hooks.status_of(SPEC, state) == "disabled"
    assert hooks.resumed(replace(state, holder="x", until=9)) == HookState(seq=3)


def test_who_is_gone_is_disabled_at_once() -> None:
    state = hooks.disabled(HookState(), 5, "gone")
    assert (state.disabled_at, state.failing_since) == (5, 5)


def test_a_pause_is_told_before_anything_else() -> None:
    assert hooks.status_of(replace(SPEC, paused=True), hooks.disabled(HookState(), 5, "gone")) == "paused"
    assert hooks.status_of(SPEC, HookState()) == "active"


def test_two_secrets_are_valid_for_a_while() -> None:
    rotated = replace(SPEC, old_secret="old", old_until=10)
    assert hooks.valid_secrets(SPEC, 5) == ("new",)
    assert hooks.valid_secrets(rotated, 9) == ("new", "old")
    assert hooks.valid_secrets(rotated, 10) == ("new",)


def test_a_hook_that_is_not_there_is_named() -> None:
    assert (hooks.no_hook("x").field, "'x'" in hooks.no_hook("x").message) == ("name", True)


def test_every_event_that_a_store_tells_can_be_waited_for() -> None:
    stores = Path(dibs.__file__).parent / "stores"
    told = {
        (family, name)
        for path in stores.rglob("*")
        if path.suffix in (".py", ".lua", ".sql")
        for family, name in re.findall(r"""["'](task|dag|gate|breaker|agent)\.([a-z_]+)["']""", path.read_text())
    }
    assert len(told) > 20
    assert {f"{family}.{name}" for family, name in told if name not in hooks.TYPES[family]} == set()
