"""A way into the dashboard, for one browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli.connecting import opened
from dibs.cli.output import on_terminal, print_json
from dibs.cli.parsing import Command, given, moment

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

SERVER = "http://127.0.0.1:3427"
"""Where `dibs up` is, unless told otherwise."""


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--role", metavar="R", help="what it may do: viewer, agent, orchestrator or admin (default)")
    add("--name", metavar="N", help="who it is; default: you")
    add("--valid", metavar="T", type=moment, help="how long the link is good; default 10m")
    add("--lasts", metavar="T", type=moment, help="how long one stays logged in; default 7d")
    add("--server", metavar="URL", help=f"the server's address, where --url is a store; default {SERVER}")


def login_link(args: Namespace) -> int:
    from dibs.rules import validation

    options = given(args, "role", "valid", "lasts")
    base = validation.text(args.server, "server") if "server" in args else None
    if base is not None and not base.startswith(("http://", "https://")):
        from dibs.errors import Invalid

        raise Invalid(f"server must be an address such as {SERVER}, not {base!r:.80}.", field="server")
    who = _you()
    with opened(args) as queue:
        login = queue.create_login(vars(args).get("name", who), **options, by=f"shell:{who}")
        if base is None:
            base = queue.url if queue.url.startswith(("http://", "https://")) else SERVER
    link = f"{base.rstrip('/')}/login?once={login.code}"
    if args.json:
        print_json({"url": link, "role": login.role, "name": login.name, "expires_at": login.expires_at})
        return 0
    print(link)
    if on_terminal():
        from dibs.cli.render import hint

        hint(f"It works once, until {login.expires_at:%H:%M} UTC, and lets whoever opens it in as {login.role}.")
    return 0


def _you() -> str:
    """Who uses the shell, as far as the system knows."""
    import os

    return (os.environ.get("USER") or os.environ.get("USERNAME") or "somebody")[:150]


COMMANDS = {
    "login-link": Command(
        arguments,
        login_link,
        about="""
Prints an address that opens the dashboard and logs one browser in: once, within ten minutes. Whoever follows it gets a
token of this role, which `dibs token ls` shows and `dibs token revoke` ends.
""",
        example="""
dibs login-link
dibs login-link --role viewer --name guest --lasts 1h --url http://127.0.0.1:3427
""",
    ),
}
