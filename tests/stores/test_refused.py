"""What functions in the database refuse is said in the words of every other store."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import (
    Conflict,
    CycleDetected,
    DibsError,
    IllegalTransition,
    Invalid,
    KeyReused,
    LeaseLost,
    Moved,
    NotFound,
)
from dibs.stores.postgres import refused

SAID: dict[str, tuple[list[Any], type[DibsError], str, str | None]] = {
    "changed_meanwhile": (
        ["a", 2, 1],
        Conflict,
        "a has version 2, and version 1 was expected: read it again.",
        "expected",
    ),
    "cycle": (["a", "b", "a"], CycleDetected, "These tasks would wait for each other: a → b → a.", "after"),
    "dag_closed": (
        ["d", "failed"],
        Conflict,
        "Dag d is failed and takes no more tasks: retry one of its tasks, or add a new dag.",
        None,
    ),
    "dag_key_taken": (["d", "e"], KeyReused, "The key of dag d belongs to dag e by now.", "key"),
    "ended_as": (
        ["t", 3, "completed"],
        IllegalTransition,
        "The claim of task t under fence 3 ended as completed.",
        None,
    ),
    "illegal": (
        ["completed", "retry", "t"],
        IllegalTransition,
        "Task t is completed and cannot be retried: that is final; add a new task to do the work again.",
        None,
    ),
    "journal_mismatch": (["step", "a", "t"], Conflict, "The step 'a' of task t was something else before.", None),
    "key_of_dag": (["k", "d"], KeyReused, "The key 'k' belongs to dag d with another body.", "key"),
    "key_of_task": (["k", "t"], KeyReused, "The key 'k' belongs to task t with another body.", "key"),
    "lease_lost": (["t", 3], LeaseLost, "Task t is not held under fence 3: stop working on it.", "fence"),
    "never_succeeds": (
        ["t", "cancelled"],
        IllegalTransition,
        "Task t is cancelled: nothing can wait for its success.",
        "after",
    ),
    "no_dag": (["d", "dag"], NotFound, "There is no dag d.", "dag"),
    "no_dead_letter": (
        ["t", "ready"],
        IllegalTransition,
        "Task t is ready, not dead-lettered: there is nothing to decide about it.",
        None,
    ),
    "no_lane": (["7"], NotFound, "There is no lane 7: `dibs stats --json` has the ids of those in use.", "lane"),
    "no_parent": (["t", "after_ended"], NotFound, "There is no task t to depend on.", "after_ended"),
    "no_question": (["q"], NotFound, "There is no question q.", "question_id"),
    "no_task": (["t"], NotFound, "There is no task t.", None),
    "no_task_or_dag": (["x"], NotFound, "There is no task or dag x.", None),
    "not_reassigned": (
        ["t", "running", None],
        IllegalTransition,
        "Task t is running: it can be given to others once nobody holds it.",
        None,
    ),
    "over_timeout": (
        ["t", 3, 1.5],
        LeaseLost,
        "The attempt at task t under fence 3 is over its timeout of 1.5 s: stop working on it.",
        "fence",
    ),
    "priority_over": (
        ["t", "completed"],
        IllegalTransition,
        "Task t is completed: its priority no longer matters.",
        None,
    ),
    "question_over": (
        ["q", "closed"],
        IllegalTransition,
        "Question q is closed: its task ended, or has a new life.",
        "question_id",
    ),
    "spawned_otherwise": (["t", "n"], Conflict, "Task t spawned other tasks under the name 'n' before.", None),
    "task_key_taken": (["t", "u"], KeyReused, "The key of task t belongs to task u by now.", "key"),
    "too_many_artifacts": (
        ["t", 1000],
        Invalid,
        "Task t has 1,000 artifacts; no more are kept. Replace one by its name.",
        "name",
    ),
    "too_many_children": (["t", 1000], Invalid, "Task t may have at most 1000 children.", "children"),
    "unfinished_dag": (
        ["d"],
        Invalid,
        "Dag d has not ended: with connection, tasks may join only what the same transaction added or what has ended."
        " Add them after the commit, without connection.",
        "dag",
    ),
    "unfinished_parent": (
        ["t"],
        Invalid,
        "Task t has not ended: with connection, tasks may come after what the same transaction added or what has ended."
        " Add this one after the commit, without connection.",
        "after",
    ),
    "stands": (
        ['{"state":"moved","url":"sqlite:there.db"}'],
        Moved,
        "Everything moved from here: connect to sqlite:there.db.",
        None,
    ),
    "too_many_tags": (
        [[f"tag-{number}" for number in range(101)]],
        Invalid,
        "A task has at most 100 tags; this one would have 101.",
        "add",
    ),
    "waited_child": (
        ["c", "p"],
        Invalid,
        "Task c is spawned to be waited for, so it may depend only on its siblings and on ended tasks; p is neither."
        " Spawn it without `wait`, or drop that dependency.",
        "after",
    ),
    "waits_for": (
        ["t", "p", "dead_lettered"],
        IllegalTransition,
        "Task t waits for p, which is dead_lettered: retry that one first.",
        None,
    ),
    "was_cancelled": (["t", "no more need"], IllegalTransition, "Task t was cancelled: no more need.", None),
}


def test_every_name_is_listed_here() -> None:
    assert set(SAID) == refused.NAMES


@pytest.mark.parametrize("name", sorted(SAID))
def test_a_name_becomes_its_error(name: str) -> None:
    arguments, kind, message, field = SAID[name]
    error = refused.refusal(name, arguments)
    assert (type(error), error.message, error.field) == (kind, message, field)
    if "mismatch" in name or name == "spawned_otherwise":
        assert error.code == "journal_mismatch"
