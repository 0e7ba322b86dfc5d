"""Who may do what, and in which words it is refused. Denied by default."""

from __future__ import annotations

import pytest

from dibs.errors import Denied, Invalid
from dibs.model.role import OPERATING, WORKING, Role
from dibs.rules import access
from dibs.rules.access import Rights


@pytest.mark.parametrize("role", [*Role, None])
@pytest.mark.parametrize("roles", [frozenset(Role), WORKING, OPERATING, frozenset(), None])
def test_a_verb_is_for_the_roles_that_it_names_and_for_nobody_else(
    role: Role | None, roles: frozenset[Role] | None
) -> None:
    if role is not None and roles and role in roles:
        access.allow(role, roles, "claim")
        return
    with pytest.raises(Denied) as caught:
        access.allow(role, roles, "claim")
    assert caught.value.field == "role"


@pytest.mark.parametrize(
    ("agent", "is_so"),
    [
        ("ada", True),
        ("ada:host:7", True),
        ("ada2", False),
        ("ad", False),
        ("bob:ada", False),
        ("", False),
        (None, False),
    ],
)
def test_a_token_acts_as_its_name_and_what_begins_with_it(agent: str | None, is_so: bool) -> None:
    rights = Rights(agent="ada")
    assert access.acts_as(rights, agent) is is_so
    assert access.acts_as(Rights(), agent)
    if agent is not None:
        assert access.named(rights, agent) == (agent if is_so else f"ada:{agent}")
        assert access.acts_as(rights, access.named(rights, agent))
        assert access.named(Rights(), agent) == agent


def test_a_name_that_becomes_too_long_is_refused() -> None:
    assert len(access.named(Rights(agent="ada"), "x" * 196)) == 200
    with pytest.raises(Invalid) as caught:
        access.named(Rights(agent="ada"), "x" * 197)
    assert caught.value.field == "agent"


def test_an_agent_claims_its_types() -> None:
    rights = Rights(types=frozenset({"test", "code"}))
    assert access.claimable(rights, None) == ("code", "test")
    assert access.claimable(rights, ["test"]) == ("test",)
    assert access.claimable(Rights(), None) is None
    assert access.claimable(Rights(), ["any"]) == ("any",)
    with pytest.raises(Denied) as caught:
        access.claimable(rights, ["code", "deploy"])
    assert (caught.value.field, "only on code, test" in caught.value.message) == ("types", True)


def test_many_types_are_not_all_named() -> None:
    with pytest.raises(Denied) as caught:
        access.claimable(Rights(types=frozenset("abcdefg")), ["z"])
    assert caught.value.message.endswith("only on a, b, c, d, e, ….")


def test_an_agent_spawns_its_types_within_its_limits() -> None:
    access.check_spawn(Rights(), ["any"], [None], 10)
    rights = Rights(types=frozenset({"code"}), depth=2, cost_usd=1.0)
    access.check_spawn(rights, ["code", "code"], [0.5, 0.5], 2)
    for field, types, costs, depth in (
        ("type", ["code", "deploy"], [0.1, 0.1], 1),
        ("depth", ["code"], [0.1], 3),
        ("max_cost", ["code", "code"], [0.1, None], 1),
        ("max_cost", ["code", "code"], [0.5, 0.6], 1),
    ):
        with pytest.raises(Denied) as caught:
            access.check_spawn(rights, types, costs, depth)
        assert caught.value.field == field


def test_events_of_agents_and_gates_say_in_which_project() -> None:
    assert access.at_home({"gate": "g"}, "default") == {"gate": "g"}
    assert access.at_home({"gate": "g"}, "p") == {"gate": "g", "project": "p"}


def test_refusals_say_what_is_to_be_done() -> None:
    assert "task_1" in access.not_held("task_1").message
    assert "below" in access.only_below("add tasks").message
