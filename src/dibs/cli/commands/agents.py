"""Agents: who there is, what they do, and what waits for which of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli.connecting import looked_into, opened
from dibs.cli.output import on_terminal, print_json
from dibs.cli.parsing import Command, given, listed, number, whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.model.views import Agent, Lane

NOBODY = "nobody can"


def ls_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", default=False, help="those that are offline, too")


def ls(args: Namespace) -> int:
    from dibs.cli import wording
    from dibs.cli.commands.look import when
    from dibs.cli.render import Column, hint, print_table

    with looked_into(args) as queue:
        found = [agent for agent in queue.agents() if args.all or agent.status != "offline"]
    if args.json:
        print_json(found)
        return 0
    if not found and on_terminal():
        hint("No agent has asked for work lately. Start one: dibs worker MODULE:APP, or dibs run --type T -- CMD")
        return 0
    instant = when()
    print_table(
        (
            Column("AGENT"),
            Column("STATUS", status=True),
            Column("TYPE", spare=True),
            Column("TASKS", right=True),
            Column("BUSY", right=True, spare=True),
            Column("HEARD OF", style="bright_black"),
            Column("PROCESS", spare=True),
            Column("CAN", wide=True),
        ),
        (
            (
                agent.id,
                agent.status,
                agent.type or "",
                f"{len(agent.tasks)}/{_most(agent)}" if _most(agent) else str(len(agent.tasks)),
                wording.percent(agent.utilisation),
                instant(agent.heard_at),
                _process(agent),
                ", ".join(agent.capabilities),
            )
            for agent in found
        ),
    )
    return 0


def _most(agent: Agent) -> int | None:
    return agent.concurrency if agent.max_concurrent is None else agent.max_concurrent


def _process(agent: Agent) -> str:
    if agent.host is None:
        return ""
    return agent.host if agent.pid is None else f"{agent.host}:{agent.pid}"


def register_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("agent", metavar="A", help="its name: what it claims as")
    add("--type", metavar="T", help="what it is; tasks assigned to T are for it, too")
    add("--can", metavar="a,b", dest="capabilities", type=listed, action="extend", help="what it is capable of")
    add("--model", metavar="M", dest="models", action="append", help="a model it offers; may be repeated")
    add("--max-concurrent", metavar="N", type=whole, help="it never holds more tasks than this")
    add("--budget", metavar="X", type=number, help="what it may cost, in USD; see `dibs budget set agent:A`")


def register(args: Namespace) -> int:
    with opened(args) as queue:
        agent = queue.register_agent(
            args.agent, **given(args, "type", "capabilities", "models", "max_concurrent", "budget")
        )
    return _told(args, agent)


def drain_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("agent", metavar="A", help="it keeps what it holds, and gets nothing new")


def drain(args: Namespace) -> int:
    with opened(args) as queue:
        agent = queue.drain_agent(args.agent)
    return _told(args, agent)


def unregister_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("agent", metavar="A", help="it is gone; its next claim brings it back")
    parser.add_argument("--reason", metavar="TEXT", help="why")


def unregister(args: Namespace) -> int:
    with opened(args) as queue:
        agent = queue.unregister_agent(args.agent, **given(args, "reason"))
    return _told(args, agent)


def _told(args: Namespace, agent: Agent) -> int:
    """How the agent stands now."""
    if args.json:
        print_json(agent)
    else:
        held = len(agent.tasks)
        print(agent.status + (f" ({held} task{'' if held == 1 else 's'} held)" if held else ""))
    return 0


def _nothing(parser: ArgumentParser) -> None:
    """`lanes` takes no arguments of its own."""


def lanes(args: Namespace) -> int:
    from dibs.cli.commands.look import LANE_COLUMNS, lane_row, when
    from dibs.cli.render import Column, hint, print_table

    with looked_into(args) as queue:
        found = queue.lanes()
    if args.json:
        print_json(found)
        return 0
    if not found and on_terminal():
        hint("Nothing is ready.")
        return 0
    instant = when()
    print_table(
        (*LANE_COLUMNS, Column("AGENTS", wide=True), Column("RUN", spare=True)),
        ((*lane_row(lane, instant), _who(lane), _run(lane)) for lane in found),
    )
    return 0


def _who(lane: Lane) -> str:
    return ", ".join(lane.agents or ()) or NOBODY


def _run(lane: Lane) -> str:
    """How many tasks of its type run, of how many that may; nothing where any number may."""
    return "" if lane.slots is None else f"{lane.held} of {lane.slots}"


COMMANDS = {
    "agents ls": Command(
        ls_arguments,
        ls,
        about="""
In a pipe, between tabs: agent, status, type, tasks held (of how many), busy, heard of, process, capabilities. An
agent that has not been heard of for 90 seconds is lost.
""",
        example="dibs agents ls --json | jq '.[] | select(.status == \"lost\") | .id'",
    ),
    "agents register": Command(
        register_arguments,
        register,
        about="""
Its first claim does it otherwise. What is registered holds for all its claims until it is registered again, and
replaces what was registered before.
""",
        example="dibs agents register coder-1 --type coder --can git,python --max-concurrent 2",
    ),
    "agents drain": Command(drain_arguments, drain, example="dibs agents drain coder-1"),
    "agents unregister": Command(
        unregister_arguments, unregister, example='dibs agents unregister coder-1 --reason "moved to another machine"'
    ),
    "lanes": Command(
        _nothing,
        lanes,
        about="""
In a pipe, between tabs: type, ready, oldest, requires, assignee, models, live agents that can do it, how many of its
type run of how many that may.
""",
        example="dibs lanes --json | jq '.[] | select(.agents == [])'",
    ),
}
