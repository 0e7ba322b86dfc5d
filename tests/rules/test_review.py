"""Deciding about dead letters: what a decision needs, what groups share, what is let go."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dibs.errors import Invalid
from dibs.model.attempt import Attempt
from dibs.model.deadgroup import DeadGroup
from dibs.model.instants import seconds, to_micros
from dibs.model.review import Resolution, Review
from dibs.model.status import Outcome
from dibs.rules.review import (
    MAX_GROUPS,
    MAX_REVIEWS,
    answered,
    in_order,
    lets_go,
    mark_of,
    past_instant,
    ruling,
    with_review,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def decide(resolution: object = "kept", **options: Any) -> Any:
    given = {"by": "grace", "note": None, "to": None, "delay": 0, "with_payload": False, **options}
    return ruling(resolution, **given)


@pytest.mark.parametrize("word", ["retried", "dropped", "kept"])
def test_a_decision_needs_an_author_and_may_have_a_note(word: str) -> None:
    decided = decide(word, note="why")
    assert (decided.resolution, decided.by, decided.note) == (Resolution(word), "grace", "why")
    assert decided.told == {"by": "grace", "note": "why"}
    assert decided.retries == (word == "retried")


def test_an_escalation_names_somebody() -> None:
    assert decide("escalated", to="oncall").told == {"by": "grace", "to": "oncall"}
    with pytest.raises(Invalid) as caught:
        decide("escalated")
    assert caught.value.field == "to"


def test_an_escalation_may_ask_something_in_particular() -> None:
    assert decide("escalated", to="oncall", question="Is it paid?").question == "Is it paid?"
    for word, options in (("kept", {"question": "why?"}), ("escalated", {"to": "oncall", "question": " "})):
        with pytest.raises(Invalid) as caught:
            decide(word, **options)
        assert caught.value.field == "question"


@pytest.mark.parametrize(
    ("answer", "word", "note"),
    [
        ("retry", "retried", None),
        (" Drop ", "dropped", None),
        ("keep", "kept", None),
        ("the page is gone", "kept", "the page is gone"),
        ({"do": "retry", "note": "with care"}, "retried", "with care"),
        ({"do": "drop"}, "dropped", None),
        (7, "kept", None),
    ],
)
def test_an_answer_is_a_decision(answer: Any, word: str, note: str | None) -> None:
    decided = answered(answer, "grace")
    assert (decided.resolution, decided.by, decided.note) == (Resolution(word), "grace", note)
    assert answered(answer, None).by == "unknown"


def test_a_retry_may_wait_and_may_have_another_payload() -> None:
    assert decide("retried", delay="5m").delay_s == 300
    for word in ("retried", "retried_modified"):
        decided = decide(word, with_payload=True)
        assert (decided.resolution, decided.retries) == (Resolution.RETRIED_MODIFIED, True)


@pytest.mark.parametrize(
    ("field", "word", "options"),
    [
        ("resolution", "forgotten", {}),
        ("resolution", None, {}),
        ("by", "kept", {"by": " "}),
        ("note", "kept", {"note": ""}),
        ("to", "kept", {"to": "oncall"}),
        ("to", "escalated", {"to": "\0"}),
        ("delay", "dropped", {"delay": 1}),
        ("delay", "retried", {"delay": "366d"}),
        ("payload", "dropped", {"with_payload": True}),
        ("payload", "retried_modified", {}),
    ],
)
def test_what_makes_no_sense_is_refused(field: str, word: Any, options: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as caught:
        decide(word, **options)
    assert caught.value.field == field


def test_a_duration_counts_back_from_now() -> None:
    now = to_micros(NOON)
    for value in ("2h", 7200, timedelta(hours=2), "2026-03-01T10:00:00Z", NOON - timedelta(hours=2)):
        assert past_instant(value, "since", now) == now - seconds(7200)
    for wrong in ("soon", None, "2026-03-01T10:00:00"):
        with pytest.raises(Invalid) as caught:
            past_instant(wrong, "since", now)
        assert caught.value.field == "since"


def test_a_dead_letter_is_known_by_its_error_else_by_its_end() -> None:
    attempt = Attempt(number=1, fence=1, agent="a", outcome=Outcome.EXPIRED)
    assert mark_of(attempt) == "expired"
    attempt.fingerprint = "abc"
    assert mark_of(attempt) == "abc"
    assert mark_of(None) == "unknown"


def test_only_so_many_decisions_are_remembered() -> None:
    reviews: tuple[Review, ...] = ()
    for fence in range(MAX_REVIEWS + 2):
        reviews = with_review(reviews, Review(resolution=Resolution.KEPT, by="grace", at=NOON, fence=fence))
    assert [review.fence for review in reviews] == list(range(2, MAX_REVIEWS + 2))


def test_retention_lets_go_of_what_was_kept_only() -> None:
    assert [word for word in Resolution if lets_go(word)] == [Resolution.KEPT]
    assert not lets_go(None)


def test_the_largest_group_comes_first() -> None:
    def group(name: str, count: int, minutes: int = 0) -> DeadGroup:
        at = NOON + timedelta(minutes=minutes)
        return DeadGroup(type=name, fingerprint="f", first_at=NOON, last_at=at, count=count)

    ordered = in_order([group("b", 1), group("a", 1), group("late", 1, 5), group("many", 3)])
    assert [each.type for each in ordered] == ["many", "late", "a", "b"]
    assert len(in_order([group(str(number), 1) for number in range(MAX_GROUPS + 1)])) == MAX_GROUPS
