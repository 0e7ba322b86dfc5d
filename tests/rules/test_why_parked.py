"""Why a task that is ready waits for a lock."""

from __future__ import annotations

from dibs.model.status import Status
from dibs.model.task import Task
from dibs.model.views import Lock, LockHolder
from dibs.rules.why import explain

TASK = Task(id="task_1", type="code", status=Status.READY, parked_on="repo", locks=("repo",))


def test_a_parked_task_names_the_holder_and_how_many_wait() -> None:
    holder = LockHolder(task_id="task_2", fence=1, agent="ada")
    why = explain(TASK, 0, lock=Lock(name="repo", holders=[holder], waiting=3))
    assert why.explanation == "It is ready, but lock repo is held by task_2 (ada); 3 wait for it."
    [blocker] = why.blockers
    assert (blocker.kind, blocker.ids) == ("gate", ["task_2"])
    assert blocker.help == "wait for task_2 to end (dibs why task_2), or let more in: dibs slots repo 2"


def test_a_lock_may_be_kept_for_somebody_who_waited_longer() -> None:
    why = explain(TASK, 0, lock=Lock(name="repo", waiting=1, reserved_for="task_3"))
    assert why.explanation == "It is ready, but lock repo is kept for task_3, which has waited longer."
    assert why.blockers[0].ids == ["task_3"]


def test_a_lock_may_have_become_free_in_this_very_moment() -> None:
    why = explain(TASK, 0, lock=Lock(name="repo", waiting=1, reserved_for="task_1"))
    assert why.explanation == "It is ready, but lock repo has just become free."
    assert why.blockers[0].help is None
