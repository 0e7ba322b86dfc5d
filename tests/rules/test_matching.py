"""Who may take what."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.model.status import Status
from dibs.model.task import Task
from dibs.rules.matching import choose_model, may_be_given, may_serve, models_of

LANE: dict[str, Any] = {"type": "code", "assignee": None, "requires": (), "models": ()}
AGENT: dict[str, Any] = {"agent": "coder-1", "capabilities": (), "types": None, "offered_models": ()}


def test_an_agent_without_wishes_takes_any_plain_task() -> None:
    assert may_serve(**LANE, **AGENT)


@pytest.mark.parametrize(("types", "fits"), [(("code",), True), (("design",), False), ((), False)])
def test_an_agent_takes_only_the_types_it_names(types: tuple[str, ...], fits: bool) -> None:
    assert may_serve(**LANE, **{**AGENT, "types": types}) is fits


@pytest.mark.parametrize(("assignee", "fits"), [("coder-1", True), ("coder-2", False)])
def test_an_assigned_task_is_for_its_assignee_alone(assignee: str, fits: bool) -> None:
    assert may_serve(**{**LANE, "assignee": assignee}, **AGENT) is fits


@pytest.mark.parametrize(("agent_type", "fits"), [("coder", True), ("writer", False), (None, False)])
def test_a_task_assigned_to_a_type_is_for_every_agent_of_that_type(agent_type: str | None, fits: bool) -> None:
    assert may_serve(**{**LANE, "assignee": "coder"}, **AGENT, agent_type=agent_type) is fits


@pytest.mark.parametrize(
    ("assignee", "fits"), [("!coder-1", False), ("!coder", False), ("!coder-2", True), ("!", True)]
)
def test_a_task_may_be_for_anybody_but_one(assignee: str, fits: bool) -> None:
    assert may_serve(**{**LANE, "assignee": assignee}, **AGENT, agent_type="coder") is fits


@pytest.mark.parametrize(("capabilities", "fits"), [(("git", "gpu", "web"), True), (("git",), False), ((), False)])
def test_every_required_capability_must_be_offered(capabilities: tuple[str, ...], fits: bool) -> None:
    lane = {**LANE, "requires": ("git", "gpu")}
    assert may_serve(**lane, **{**AGENT, "capabilities": capabilities}) is fits


@pytest.mark.parametrize(("offered", "fits"), [((), True), (("opus",), True), (("haiku",), False)])
def test_one_of_the_models_must_be_offered_unless_none_is_declared(offered: tuple[str, ...], fits: bool) -> None:
    lane = {**LANE, "models": ("sonnet", "opus")}
    assert may_serve(**lane, **{**AGENT, "offered_models": offered}) is fits


def test_the_model_is_the_first_preference_that_is_offered() -> None:
    assert choose_model(("sonnet", "opus"), ("opus", "sonnet")) == "sonnet"
    assert choose_model(("sonnet", "opus"), ("opus",)) == "opus"
    assert choose_model(("sonnet", "opus"), ()) == "sonnet"
    assert choose_model((), ("opus",)) is None
    assert choose_model((), ()) is None


@pytest.mark.parametrize(("attempts", "models"), [(0, ("opus",)), (1, ("opus",)), (2, ("haiku",)), (5, ("haiku",))])
def test_fallback_models_take_over_after_the_second_attempt(attempts: int, models: tuple[str, ...]) -> None:
    task = Task(id="task_1", type="code", models=("opus",), fallback_models=("haiku",), attempts=attempts)
    assert models_of(task) == models


def test_without_fallback_models_the_models_stay() -> None:
    assert models_of(Task(id="task_1", type="code", models=("opus",), attempts=9)) == ("opus",)


def test_only_what_nobody_works_on_can_be_given_to_somebody_else() -> None:
    given = {status.value for status in Status if may_be_given(status, "ada")}
    assert given == {"pending", "scheduled", "ready", "waiting", "retrying"}
    assert may_be_given("ready", None)
    assert not may_be_given("ready", "!ada")
