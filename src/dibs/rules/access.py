"""Who may do what: the rights that a token gives, and what goes beyond them.

A server asks three questions, in this order, and each denies by default:

1. *May this role ask for this verb?* A verb names the roles that may (`model.role`); nobody else may.
2. *Is it in the caller's project?* What is not, does not exist: it is answered exactly as an unknown id.
3. *Is it the caller's own?* Only agents are asked: an agent claims the types of its token, settles what it holds, and
   adds tasks only below one that it holds, of its types, within its limits.

An agent's token has a name, and whoever has it is known as the agent of that name, or as `NAME:ANYTHING`: one that
calls itself `host-7` is `coder:host-7`. So what somebody holds can be told from what others of the same project hold,
on every server, and nobody can speak for another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dibs.errors import Denied, Invalid
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.model.role import Role

DEFAULT = "default"
"""The project of those who name none."""
OPERATORS = DEFAULT
"""The project whose admins see to the tokens and the audit of all projects."""


class Rights(Struct, frozen=True, kw_only=True):
    """What a caller may touch. `agent`: the name it acts as, `types`: what it may claim and spawn; None: any.

    `depth`, `children` and `cost_usd` limit what it spawns: levels below a task that nobody spawned, tasks below one
    task, and what all tasks of one call may cost together.
    """

    project: str = "default"
    agent: str | None = None
    types: frozenset[str] | None = None
    depth: int = validation.MAX_SPAWN_DEPTH
    children: int = validation.MAX_CHILDREN
    cost_usd: float | None = None


def at_home(data: dict[str, Any], project: str) -> dict[str, Any]:
    """What an event about an agent or a gate carries: in any project but the default one, also which it is. (Where a
    task is at home is known of the task.)"""
    return data if project == DEFAULT else {**data, "project": project}


def allow(role: Role | None, roles: frozenset[Role] | None, verb: str) -> None:
    """Whether this role may ask for a verb that is for these roles. A verb that names none is for nobody."""
    if not roles or role not in roles:
        wanted = ", ".join(sorted(roles)) if roles else "nobody"
        who = "Nobody without a token" if role is None else f"A token of role {role}"
        raise Denied(f"{who} may not {verb}: that is for {wanted}.", field="role")


def named(rights: Rights, agent: str) -> str:
    """The agent that the caller is known as, if it calls itself this. A name of its own keeps what it says, another
    one follows on it."""
    if acts_as(rights, agent):
        return agent
    known = f"{rights.agent}:{agent}"
    if len(known) > validation.MAX_NAME_CHARS:
        raise Invalid(
            f"agent is known as {rights.agent}:NAME here, which has {len(known)} characters; at most"
            f" {validation.MAX_NAME_CHARS} are allowed.",
            field="agent",
        )
    return known


def acts_as(rights: Rights, agent: str | None) -> bool:
    """Whether this agent is the caller."""
    if rights.agent is None:
        return True
    return agent is not None and (agent == rights.agent or agent.startswith(f"{rights.agent}:"))


def claimable(rights: Rights, types: Sequence[str] | None) -> tuple[str, ...] | None:
    """The types that the caller claims, if it asks for these (None: any that it may)."""
    if rights.types is None:
        return None if types is None else tuple(types)
    if types is None:
        return tuple(sorted(rights.types))
    for type in types:
        if type not in rights.types:
            raise Denied(f"This token may not work on tasks of type {type}: {_listed(rights.types)}.", field="types")
    return tuple(types)


def check_spawn(rights: Rights, types: Iterable[str], costs: Sequence[float | None], depth: int) -> None:
    """Whether the caller may add tasks of these types, which may cost that much each, at this depth."""
    if rights.types is not None:
        for type in types:
            if type not in rights.types:
                raise Denied(f"This token may not add tasks of type {type}: {_listed(rights.types)}.", field="type")
    if depth > rights.depth:
        raise Denied(
            f"This token may add tasks {rights.depth} levels deep, and these would be at level {depth}.", field="depth"
        )
    if rights.cost_usd is None:
        return
    if any(cost is None for cost in costs):
        raise Denied(
            "This token may add only tasks that say what they may cost: give each a max_cost.", field="max_cost"
        )
    total = sum(cost for cost in costs if cost is not None)
    if total > rights.cost_usd:
        raise Denied(
            f"These tasks may cost {total:g} USD together; this token may add {rights.cost_usd:g} USD at once.",
            field="max_cost",
        )


def not_held(task_id: str) -> Denied:
    """Another agent has it, or had it under this fence."""
    return Denied(f"Task {task_id} is not held by this token's agent: leave it to whoever does.", field="task_id")


def only_below(verb: str) -> Denied:
    """Agents add nothing but below what they hold."""
    return Denied(f"This token may not {verb}: it adds tasks only below one that its agent holds.", field="role")


def _listed(types: Iterable[str]) -> str:
    found = sorted(types)
    more = ", …" if len(found) > 5 else ""
    return f"only on {', '.join(found[:5])}{more}"
