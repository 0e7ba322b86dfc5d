"""The tables between other designs and dibs: what each says comes out as what we mean, and comes back as it was."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.adapters.mapping import (
    FACTORY,
    LOKI,
    RUNTIME,
    SOURCES,
    TASK_QUEUE,
    WORKFLOWS,
    Source,
    failures_of,
    max_attempts_to_dibs,
    max_attempts_to_source,
    priority_to_dibs,
    priority_to_source,
    retries_of,
    status_to_dibs,
    status_to_source,
    statuses_shown_as,
)
from dibs.errors import Invalid
from dibs.model.status import FINAL, HELD, Status
from dibs.model.task import Task
from dibs.rules.retry import delay_s

PRIORITIES: dict[Source, dict[int, float]] = {
    LOKI: {10: 0, 9: 10, 8: 20, 7: 30, 5: 50, 3: 70, 1: 90},
    FACTORY: {0: 0, 10: 10, 50: 50, 100: 100},
    RUNTIME: {0: 0, 1: 10, 5: 50, 9: 90},
    TASK_QUEUE: {0: 0, 1: 0.5, 99: 49.5, 100: 50, 150: 75, 200: 100},
    WORKFLOWS: {0: 0, 1: 20, 2: 50, 3: 80},
}

NAMES = [source.name for source in SOURCES]


def each(**tables: dict[Any, Any]) -> pytest.MarkDecorator:
    """A case for every row of every source's table."""
    [(names, table)] = tables.items()
    rows = [(source, *row) for source, rows in table.items() for row in rows.items()]
    return pytest.mark.parametrize(
        ("source", *names.split("_is_")), rows, ids=lambda value: getattr(value, "name", None)
    )


def test_every_source_has_its_tables() -> None:
    assert set(PRIORITIES) == set(MEANINGS) == set(WAITS) == set(SOURCES)


# Priorities


@each(theirs_is_ours=PRIORITIES)
def test_a_priority_comes_over_and_back(source: Source, theirs: int, ours: float) -> None:
    assert priority_to_dibs(source, theirs) == ours
    assert priority_to_source(source, ours) == theirs


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
@given(one=st.floats(0, 100), two=st.floats(0, 100))
def test_any_priority_of_ours_is_one_of_theirs_in_the_same_order(source: Source, one: float, two: float) -> None:
    first, second = priority_to_source(source, one), priority_to_source(source, two)
    back = priority_to_dibs(source, first), priority_to_dibs(source, second)
    assert all(0 <= priority <= 100 for priority in back)
    assert one > two or back[0] <= back[1]


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_the_usual_priority_is_the_usual_one_here(source: Source) -> None:
    assert priority_to_dibs(source, source.default_priority) == 50


def test_beyond_two_hundred_a_task_queue_has_no_order() -> None:
    assert priority_to_dibs(TASK_QUEUE, 201) == priority_to_dibs(TASK_QUEUE, 9_999) == 100


@pytest.mark.parametrize(
    ("source", "priority"),
    [(LOKI, 0), (LOKI, 11), (FACTORY, 101), (RUNTIME, 10), (RUNTIME, -1), (TASK_QUEUE, -1), (WORKFLOWS, 4)]
    + [(source, wrong) for source in SOURCES for wrong in (None, "5", 1.5, True)],
)
def test_a_priority_off_the_scale_is_refused(source: Source, priority: object) -> None:
    with pytest.raises(Invalid) as refused:
        priority_to_dibs(source, priority)
    assert refused.value.field == "priority"


# Statuses

MEANINGS: dict[Source, dict[str, Status]] = {
    LOKI: {
        "pending": Status.READY,
        "in-progress": Status.RUNNING,
        "completed": Status.COMPLETED,
        "dead-letter": Status.DEAD_LETTERED,
        "cancelled": Status.CANCELLED,
    },
    FACTORY: {
        "CREATED": Status.PENDING,
        "PENDING": Status.PENDING,
        "READY": Status.READY,
        "CLAIMED": Status.CLAIMED,
        "RUNNING": Status.RUNNING,
        "VALIDATING": Status.VALIDATING,
        "COMPLETED": Status.COMPLETED,
        "FAILED": Status.RETRYING,
        "RETRYING": Status.RETRYING,
        "DEAD_LETTERED": Status.DEAD_LETTERED,
        "CANCELLED": Status.CANCELLED,
    },
    RUNTIME: {
        "pending": Status.READY,
        "running": Status.RUNNING,
        "completed": Status.COMPLETED,
        "failed": Status.DEAD_LETTERED,
        "cancelled": Status.CANCELLED,
    },
    TASK_QUEUE: {
        "pending": Status.READY,
        "running": Status.RUNNING,
        "completed": Status.COMPLETED,
        "failed": Status.DEAD_LETTERED,
        "cancelled": Status.CANCELLED,
        "stalled": Status.READY,
    },
    WORKFLOWS: {
        "pending": Status.READY,
        "leased": Status.CLAIMED,
        "running": Status.RUNNING,
        "completed": Status.COMPLETED,
        "failed": Status.RETRYING,
        "dead": Status.DEAD_LETTERED,
        "cancelled": Status.CANCELLED,
    },
}

NOT_SHOWN = {(FACTORY, "CREATED"), (FACTORY, "FAILED"), (WORKFLOWS, "failed"), (TASK_QUEUE, "stalled")}
"""Words for what is over before anybody could look, and the one that depends on the lease, too."""


@each(word_is_status=MEANINGS)
def test_a_status_of_theirs_is_one_of_ours(source: Source, word: str, status: Status) -> None:
    assert status_to_dibs(source, word) is status
    assert status_to_dibs(source, word.swapcase()) is status
    if (source, word) not in NOT_SHOWN:
        assert status_to_source(source, status) == word
        assert status in statuses_shown_as(source, word)


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_every_status_of_ours_has_a_word_of_theirs(source: Source) -> None:
    for status in Status:
        word = status_to_source(source, status)
        assert word in MEANINGS[source]
        assert status in statuses_shown_as(source, word)
        # Nobody takes what is over for open, nor what is open for over.
        assert (status in FINAL) == (status_to_dibs(source, word) in FINAL)


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_only_a_held_task_is_stalled_and_only_where_there_is_a_word_for_it(source: Source) -> None:
    for status in Status:
        shown = status_to_source(source, status, stalled=True)
        stalls = source is TASK_QUEUE and status in HELD
        assert shown == ("stalled" if stalls else status_to_source(source, status))


def test_what_is_stalled_is_looked_for_among_what_is_held() -> None:
    assert set(statuses_shown_as(TASK_QUEUE, "STALLED")) == HELD


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
@pytest.mark.parametrize("word", ["lost", "", None, 3])
def test_a_word_that_they_do_not_have_is_refused(source: Source, word: object) -> None:
    for read in (status_to_dibs, statuses_shown_as):
        with pytest.raises(Invalid) as refused:
            read(source, word)
        assert refused.value.field == "status"


# Retries

WAITS: dict[Source, list[float]] = {
    LOKI: [60, 120, 240, 480],
    FACTORY: [10, 20, 40, 80],
    RUNTIME: [1, 2, 4, 8],
    TASK_QUEUE: [1, 2, 4, 8],
    WORKFLOWS: [5, 20, 45, 80],
}


@pytest.mark.parametrize(("source", "waits"), WAITS.items(), ids=NAMES)
def test_their_waits_are_kept(source: Source, waits: list[float]) -> None:
    # A draw of a half is in the middle of the jitter.
    assert [delay_s(source.retry, failures, 0.5) for failures in (1, 2, 3, 4)] == waits


def test_their_longest_waits_and_jitters_are_kept() -> None:
    assert [delay_s(source.retry, 30, 0.5) for source in SOURCES] == [3_600, 300, 300, 300, 4_500]
    spread = [delay_s(source.retry, 1, 0) / delay_s(source.retry, 1, 0.5) for source in SOURCES]
    assert spread == [1, 0.5, 0.9, 1, 1]


@pytest.mark.parametrize(("source", "count", "attempts"), [(TASK_QUEUE, 3, 4), (TASK_QUEUE, 0, 1)] + [
    (source, 3, 3) for source in (LOKI, FACTORY, RUNTIME, WORKFLOWS)
])  # fmt: skip
def test_three_retries_are_four_attempts_where_retries_are_counted(source: Source, count: int, attempts: int) -> None:
    assert max_attempts_to_dibs(source, count, "max") == attempts
    assert max_attempts_to_source(source, attempts) == count


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_their_default_is_three_of_what_they_count(source: Source) -> None:
    assert max_attempts_to_source(source, source.max_attempts) == 3


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
@pytest.mark.parametrize("count", [-1, None, "3", True, 10**9])
def test_a_count_that_makes_no_sense_is_refused(source: Source, count: object) -> None:
    with pytest.raises(Invalid) as refused:
        max_attempts_to_dibs(source, count, "max_retries")
    assert refused.value.field == "max_retries"


@pytest.mark.parametrize(
    ("status", "attempts", "failures", "retries"),
    [
        (Status.READY, 0, 0, 0),
        (Status.RETRYING, 1, 1, 1),
        (Status.RUNNING, 1, 1, 1),
        (Status.COMPLETED, 1, 0, 0),
        (Status.COMPLETED, 2, 1, 1),
        (Status.DEAD_LETTERED, 4, 4, 3),
        (Status.DEAD_LETTERED, 0, 0, 0),
        (Status.CANCELLED, 2, 2, 2),
    ],
)
def test_what_was_tried_is_counted_as_they_count_it(status: Status, attempts: int, failures: int, retries: int) -> None:
    task = Task(id="task_a", type="t", status=status, attempts=attempts)
    assert (failures_of(task), retries_of(task)) == (failures, retries)
