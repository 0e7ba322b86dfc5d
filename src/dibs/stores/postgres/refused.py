"""What the functions in the database refuse, in the words that every store uses.

A function refuses by raising SQLSTATE DB001 with a name as the message and its arguments, a JSON array, as the detail;
that undoes the whole call.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec.json import decode

from dibs.errors import CycleDetected, DibsError, IllegalTransition, Invalid, Unavailable
from dibs.model.status import Status
from dibs.rules import documents, graph, lifecycle, tagging
from dibs.stores import refusals
from dibs.stores import standing as standing_rules

if TYPE_CHECKING:
    from collections.abc import Callable

SQLSTATE = "DB001"


def _illegal(status: str | None, verb: str, task_id: str) -> DibsError:
    try:
        lifecycle.check(None if status is None else Status(status), lifecycle.Verb(verb), task_id)
    except IllegalTransition as error:
        return error
    raise ValueError(f"{verb} is legal from {status}")


def _cycle(*ids: str) -> DibsError:
    try:
        graph.refuse_cycle(list(ids))
    except CycleDetected as error:
        return error
    raise AssertionError


def _waited_child(child: str, parent: str) -> DibsError:
    try:
        graph.check_waited_children([child], [(parent, child)], ())
    except Invalid as error:
        return error
    raise ValueError(f"{child} may depend on {parent}")


def _too_many_tags(tags: list[str]) -> DibsError:
    try:
        tagging.retagged(tags, (), ())
    except Invalid as error:
        return error
    raise ValueError(f"{len(tags)} tags are not too many")


def _stands(standing: str) -> DibsError:
    refused = standing_rules.refusal(decode(standing, type=standing_rules.Standing))
    if refused is not None:
        return refused
    raise ValueError("it stands open")


_WORDS: dict[str, Callable[..., DibsError]] = {
    "changed_meanwhile": documents.changed_meanwhile,
    "cycle": _cycle,
    "dag_closed": refusals.dag_closed,
    "dag_key_taken": refusals.dag_key_taken,
    "ended_as": refusals.ended_as,
    "illegal": _illegal,
    "journal_mismatch": refusals.journal_mismatch,
    "key_of_dag": refusals.key_of_dag,
    "key_of_task": refusals.key_of_task,
    "lease_lost": refusals.lease_lost,
    "never_succeeds": refusals.never_succeeds,
    "no_dag": refusals.no_dag,
    "no_dead_letter": refusals.no_dead_letter,
    "no_lane": refusals.no_lane,
    "no_parent": refusals.no_parent,
    "no_question": refusals.no_question,
    "no_task": refusals.no_task,
    "no_task_or_dag": refusals.no_task_or_dag,
    "not_reassigned": refusals.not_reassigned,
    "over_timeout": refusals.over_timeout,
    "priority_over": refusals.priority_over,
    "question_over": refusals.question_over,
    "spawned_otherwise": refusals.spawned_otherwise,
    "stands": _stands,
    "task_key_taken": refusals.task_key_taken,
    "too_many_artifacts": refusals.too_many_artifacts,
    "too_many_children": refusals.too_many_children,
    "too_many_tags": _too_many_tags,
    "waited_child": _waited_child,
    "waits_for": refusals.waits_for,
    "unfinished_dag": refusals.unfinished_dag,
    "unfinished_parent": refusals.unfinished_parent,
    "was_cancelled": refusals.was_cancelled,
}
NAMES = frozenset(_WORDS)


def refusal(name: str, arguments: list[Any]) -> DibsError:
    """The error of this name."""
    return _WORDS[name](*arguments)


def refused(error: Any) -> DibsError:
    """What a driver's error with our SQLSTATE says."""
    try:
        return refusal(error.message, json.loads(error.detail or "[]"))
    except (KeyError, TypeError, ValueError) as misunderstood:
        # Functions of another version of dibs may know refusals that this one does not.
        failure = Unavailable(f"The database refused this for a reason unknown here ({error.message}): upgrade dibs.")
        failure.__cause__ = misunderstood
        return failure
