"""The table of a task's life: what it promises, and that the documentation shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dibs.errors import IllegalTransition
from dibs.model.status import FINAL, HELD, Status
from dibs.rules.lifecycle import TABLE, Verb, allowed, check, diagram, first_status

DOCUMENT = Path(__file__).parents[2] / "docs" / "lifecycle.md"


def test_every_status_has_its_row() -> None:
    assert set(TABLE) == {None, *Status}


def test_every_verb_is_legal_somewhere() -> None:
    assert {verb for verbs in TABLE.values() for verb in verbs} == set(Verb)


def test_every_status_can_be_reached_and_every_unfinished_one_can_end() -> None:
    reached: set[Status | None] = {None}
    while True:
        more = {target for status in reached for targets in TABLE[status].values() for target in targets}
        if more <= reached:
            break
        reached |= more
    assert reached == {None, *Status}
    for status in set(Status) - FINAL:
        assert any(FINAL & targets for targets in TABLE[status].values())


def test_cancel_ends_whatever_is_not_final() -> None:
    for status in Status:
        expected = frozenset() if status in FINAL else frozenset({Status.CANCELLED})
        assert allowed(status, Verb.CANCEL) == expected


def test_only_retry_leaves_a_final_status_and_nothing_leaves_completed() -> None:
    assert TABLE[Status.COMPLETED] == {}
    assert set(TABLE[Status.DEAD_LETTERED]) == {Verb.RETRY, Verb.DROP}
    assert set(TABLE[Status.CANCELLED]) == {Verb.RETRY}
    for status in set(Status) - FINAL:
        assert allowed(status, Verb.RETRY) == frozenset()


def test_only_a_dead_letter_is_dropped_and_then_it_is_cancelled() -> None:
    assert [status for status in Status if allowed(status, Verb.DROP)] == [Status.DEAD_LETTERED]
    assert allowed(Status.DEAD_LETTERED, Verb.DROP) == {Status.CANCELLED}


def test_only_ready_tasks_are_claimed() -> None:
    assert [status for status in Status if allowed(status, Verb.CLAIM)] == [Status.READY]
    assert allowed(Status.READY, Verb.CLAIM) == {Status.CLAIMED, Status.RUNNING}


def test_only_a_holder_settles() -> None:
    for verb in (Verb.FAIL, Verb.TIME_OUT, Verb.EXPIRE, Verb.RELEASE, Verb.SUSPEND, Verb.ASK):
        assert {status for status in Status if allowed(status, verb)} == HELD
    # Of work that was handed in it is decided whether it is good.
    for verb in (Verb.COMPLETE, Verb.REJECT):
        assert {status for status in Status if allowed(status, verb)} == HELD | {Status.VALIDATING}


def test_a_held_task_cannot_be_linked() -> None:
    for status in HELD:
        assert not allowed(status, Verb.LINK)


def test_a_lost_lease_makes_its_task_wait_for_nothing_but_a_person() -> None:
    assert allowed(Status.RUNNING, Verb.EXPIRE) == {Status.READY, Status.WAITING, Status.DEAD_LETTERED}


@pytest.mark.parametrize("status", [None, *Status])
@pytest.mark.parametrize("verb", list(Verb))
def test_check_agrees_with_the_table(status: Status | None, verb: Verb) -> None:
    if allowed(status, verb):
        check(status, verb, "task_1")
        return
    with pytest.raises(IllegalTransition) as caught:
        check(status, verb, "task_1")
    assert caught.value.code == "illegal_transition"
    assert "task_1" in caught.value.message
    assert (status or "does not exist") in caught.value.message


def test_a_refusal_says_what_to_do_instead() -> None:
    with pytest.raises(IllegalTransition, match=r"task_1 is completed and cannot be retried: .*add a new task"):
        check(Status.COMPLETED, Verb.RETRY, "task_1")
    with pytest.raises(IllegalTransition, match=r"is dead_lettered and cannot be completed: .*`retry`"):
        check(Status.DEAD_LETTERED, Verb.COMPLETE, "task_1")


def test_a_new_task_waits_for_dependencies_first_then_for_its_time() -> None:
    assert first_status(open_edges=1, run_after=None, now=10) is Status.PENDING
    assert first_status(open_edges=1, run_after=99, now=10) is Status.PENDING
    assert first_status(open_edges=0, run_after=11, now=10) is Status.SCHEDULED
    assert first_status(open_edges=0, run_after=10, now=10) is Status.READY
    assert first_status(open_edges=0, run_after=None, now=10) is Status.READY


def test_the_diagram_draws_every_move_of_the_table() -> None:
    arrows = {
        (source, target, verb)
        for source, arrow, rest in (line.strip().partition(" --> ") for line in diagram().splitlines())
        for target, _, labels in [rest.partition(": ")]
        for verb in labels.split(", ")
        if arrow
    }
    for status, verbs in TABLE.items():
        for verb, targets in verbs.items():
            for target in targets - {status}:
                sources = {status or "[*]"} | ({"held"} if status in HELD else set())
                assert any((source, target, verb) in arrows for source in sources), (status, verb, target)


def test_the_documentation_shows_the_current_diagram() -> None:
    drawn = DOCUMENT.read_text(encoding="utf-8").partition("```mermaid\n")[2].partition("```")[0]
    assert drawn == diagram(), (
        'put the output of `python -c "from dibs.rules import lifecycle; print(lifecycle.diagram())"` '
        "between the markers in docs/lifecycle.md"
    )
