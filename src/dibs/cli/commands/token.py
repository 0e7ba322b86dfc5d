"""Tokens: who may use a server, and for what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli.connecting import looked_into, opened
from dibs.cli.output import on_terminal, print_json
from dibs.cli.parsing import Command, given, moment, number, whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from datetime import datetime

    from dibs.model.token import IssuedToken, Token


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="whose it is: for people")
    parser.add_argument("--role", metavar="R", help="viewer, agent, orchestrator or admin; default agent")
    parser.add_argument("--project", metavar="P", help="the only one whose tasks it sees; default: default")
    parser.add_argument(
        "--type", metavar="T", dest="types", action="append", help="what an agent may claim and spawn; default any"
    )
    parser.add_argument("--expires", metavar="T", type=moment, help="30d, or an instant; default never")
    parser.add_argument("--max-depth", metavar="N", type=whole, help="how deep below a task an agent may spawn")
    parser.add_argument("--max-children", metavar="N", type=whole, help="how many an agent may spawn below one task")
    parser.add_argument("--max-cost", metavar="USD", type=number, help="what all that it spawns at once may cost")


def add(args: Namespace) -> int:
    options = given(args, "role", "project", "types", "expires", "max_depth", "max_children", "max_cost")
    with opened(args) as queue:
        token = queue.create_token(args.name, **options, by=_somebody())
    return _told(args, token)


def ls_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", default=False, help="also those that have ended")


def ls(args: Namespace) -> int:
    with looked_into(args) as queue:
        found = queue.tokens(ended=args.all)
    if args.json:
        print_json(found)
        return 0
    from dibs.cli.commands.look import when
    from dibs.cli.render import Column, hint, print_table

    if not found and on_terminal():
        hint("Nobody has a token. Make one: dibs token add coder --role agent --type code")
        return 0
    instant = when()
    columns = (
        Column("ID"),
        Column("NAME", wide=True),
        Column("ROLE"),
        Column("PROJECT", spare=True),
        Column("TYPES", wide=True, spare=True),
        Column("ENDS", style="bright_black"),
        Column("LAST USED", style="bright_black"),
    )
    print_table(
        columns,
        (
            (
                token.id,
                token.name,
                token.role,
                token.project,
                "" if token.types is None else ",".join(token.types),
                instant(_ends(token)),
                instant(token.last_used_at),
            )
            for token in found
        ),
    )
    return 0


def _ends(token: Token) -> datetime | None:
    ends = [at for at in (token.expires_at, token.revoked_at) if at is not None]
    return min(ends) if ends else None


def revoke_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("token", metavar="TOKEN", help="its id, or its name")


def revoke(args: Namespace) -> int:
    with looked_into(args) as queue:
        token = queue.revoke_token(args.token, by=_somebody())
    if args.json:
        print_json(token)
    return 0


def rotate_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("token", metavar="TOKEN", help="its id, or its name")
    parser.add_argument("--grace", metavar="T", type=moment, help="how long the old one is still good; default 0")


def rotate(args: Namespace) -> int:
    with looked_into(args) as queue:
        token = queue.rotate_token(args.token, **given(args, "grace"), by=_somebody())
    return _told(args, token)


def _told(args: Namespace, token: IssuedToken) -> int:
    """The secret alone, so that a script can take it; what it is goes to people."""
    if args.json:
        print_json(token)
        return 0
    print(token.secret)
    if on_terminal():
        from dibs.cli.render import hint

        hint(f"{token.id}, role {token.role}. This is the only time it is shown: export DIBS_TOKEN={token.secret}")
    return 0


def _somebody() -> str:
    """Who uses the shell, as far as the system knows."""
    import os

    return f"shell:{os.environ.get('USER') or os.environ.get('USERNAME') or 'unknown'}"[:200]


COMMANDS = {
    "token add": Command(
        add_arguments,
        add,
        about="""
Prints the secret, once: only its digest is kept. An agent claims and settles; it adds tasks only below one that it
holds, and only of its types. An orchestrator adds, steers and answers. A viewer reads. An admin may do everything.
""",
        example="""
dibs token add coder-1 --type code --type review --expires 30d
dibs token add dashboard --role viewer
""",
    ),
    "token ls": Command(
        ls_arguments,
        ls,
        about="In a pipe, between tabs: id, name, role, project, types, when it ends, when it was last used.",
        example="dibs token ls --all",
    ),
    "token revoke": Command(
        revoke_arguments,
        revoke,
        about="Within a second no server takes it any more.",
        example="dibs token revoke coder-1",
    ),
    "token rotate": Command(
        rotate_arguments,
        rotate,
        about="Prints the new secret, once.",
        example="dibs token rotate coder-1 --grace 1h",
    ),
}
