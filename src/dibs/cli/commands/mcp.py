"""The door for agents that speak MCP, on standard input and output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.cli.parsing import Command, given, listed, moment
from dibs.errors import Invalid, Unavailable

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--agent", metavar="A", help="who claims; default: this machine and process")
    add("--can", metavar="a,b", dest="capabilities", type=listed, action="extend", help="what it is capable of")
    add("--type", metavar="T", dest="types", action="append", help="take only this type; may be repeated")
    add("--model", metavar="M", dest="models", action="append", help="a model it offers; may be repeated")
    add("--lease", metavar="T", type=moment, help="how long a task is its own if this process dies; default 60s")


def mcp(args: Namespace) -> int:
    if args.json:
        raise Invalid("json is what `dibs mcp` speaks anyway; leave --json out.", field="json")
    offer: dict[str, Any] = given(args, "agent", "capabilities", "types", "models", "lease")
    _check(offer)
    from importlib.util import find_spec

    # An `mcp` before version 2, which other packages may want, has no types of its own.
    if find_spec("mcp_types") is None:
        raise Unavailable("`dibs mcp` needs the package mcp, version 2: install it with `pip install 'dibs[mcp]'`.")
    from dibs.mcp.stdio import serve

    serve(args.url, **offer)
    return 0


def _check(offer: dict[str, Any]) -> None:
    """What is wrong is said before a client waits for an answer."""
    from dibs.requests import lease_s
    from dibs.rules import validation

    if "agent" in offer:
        validation.text(offer["agent"], "agent")
    for name in ("capabilities", "types", "models"):
        if name in offer:
            offer[name] = validation.names(offer[name], name, ordered=name == "models")
    if "lease" in offer:
        offer["lease_s"] = lease_s(offer.pop("lease"))


COMMANDS = {
    "mcp": Command(
        arguments,
        mcp,
        about="""
Serves the queue to one MCP client, which starts this itself: claim, complete, fail, spawn, ask, add, find … as tools.
The queue is the one of the folder it is started in, $DIBS_URL, or --url, also that of a server (with $DIBS_TOKEN).

What its agent claims is renewed while the client is connected. When the client ends, or is killed, its tasks come back
when their leases end.
""",
        example="""
claude mcp add dibs -- dibs mcp
dibs mcp --agent coder-1 --type code --can python,git
""",
    ),
}
