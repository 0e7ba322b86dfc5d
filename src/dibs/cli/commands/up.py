"""The server: one process with everything, for everybody who has a token."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from dibs.cli.output import on_terminal, print_json_line
from dibs.cli.parsing import Command, given, moment, whole
from dibs.errors import Invalid, Unavailable

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

NEEDED = ("aiohttp", "litestar", "uvicorn", "httptools")
FORMATS = ("text", "json")
ACCESS = ("all", "errors", "none")
OPTIONS = (
    *("host", "port", "log_format", "access_log", "allow_hosts", "allow_targets", "smtp", "mail_from", "drain"),
    *("a2a", "mcp_patience"),
)


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--host", metavar="ADDRESS", help="who can reach it; default 127.0.0.1: only this machine")
    add("--port", metavar="N", type=whole, help="default 3427; 0 takes a free one")
    add("--allow-host", metavar="NAME", dest="allow_hosts", action="append", help="a name it is reached by; repeatable")
    add(
        "--allow-target", metavar="A:PORT", dest="allow_targets", action="append", help="a private address for webhooks"
    )
    add("--smtp", metavar="URL", help="who takes mail: smtps://user:password@host; default $DIBS_SMTP")
    add("--mail-from", metavar="ADDRESS", help="who mail is from; default dibs@ that host")
    add("--a2a", metavar="FILE", help="offer types of tasks to other agents, as this file says; see docs/a2a.md")
    add("--log-format", metavar="F", help="text (default) or json; logs go to standard error")
    add("--access-log", metavar="WHICH", help="all, errors or none; default errors, with json all")
    add("--mcp-patience", metavar="T", type=moment, help="how long a silent MCP client keeps its tasks; default 10m")
    add("--drain", metavar="T", type=moment, help="how long requests may run on after SIGTERM; default 60s")


def up(args: Namespace) -> int:
    options = _checked(given(args, *OPTIONS))
    if (args.url or os.environ.get("DIBS_URL") or "").startswith(("http:", "https:")):
        raise Invalid("url must be a store, such as sqlite:work.db: this would be a server of a server.", field="url")
    _must_be_installed()
    if "a2a" in options:
        _must_have_a2a()
    from dibs.server.serving import Options, Started, serve

    def on_start(started: Started) -> None:
        if args.json:
            told: dict[str, Any] = {"url": started.url}
            if started.token is not None:
                told["token"] = started.token
            if started.login is not None:
                told["login"] = started.login
            print_json_line(told)
            return
        print(f"dibs is at {started.url}", flush=True)
        if started.token is not None:
            print(f"admin token, shown only this once: {started.token}", flush=True)
        if started.login is not None:
            print(f"dashboard, this link works once: {started.login}", flush=True)
        elif not started.dashboard and on_terminal():
            print("there is no dashboard in this installation: `make web` builds it", file=sys.stderr)
        if on_terminal():
            print("Ctrl-C ends it when what runs is done", file=sys.stderr)

    return serve(Options(url=args.url, **options), on_start)


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    """The options as the server takes them; what is wrong is refused before anything is opened."""
    from dibs.rules import validation

    if "port" in options:
        validation.whole(options["port"], "port", 0, 65_535)
    for name, allowed in (("log_format", FORMATS), ("access_log", ACCESS)):
        if name in options and options[name] not in allowed:
            raise Invalid(f"{name} must be {' or '.join(allowed)}, not {options[name]!r:.80}.", field=name)
    if "drain" in options:
        options["drain_s"] = validation.duration_s(options.pop("drain"), "drain", high=86_400.0)
    if "mcp_patience" in options:
        options["mcp_patience_s"] = validation.duration_s(
            options.pop("mcp_patience"), "mcp_patience", low=1.0, high=86_400.0
        )
    for name in ("allow_hosts", "allow_targets"):
        if name in options:
            options[name] = tuple(validation.text(value, name) for value in options[name])
    if "smtp" not in options and os.environ.get("DIBS_SMTP"):
        options["smtp"] = os.environ["DIBS_SMTP"]
    if str(options.get("host") or "").startswith(("http:", "https:")):
        raise Invalid("host must be an address such as 127.0.0.1, without http://.", field="host")
    for name in options.get("allow_hosts", ()):
        if "/" in name:
            raise Invalid(
                f"allow_hosts must be names such as queue.example.com, without http://, not {name!r:.80}.",
                field="allow_hosts",
            )
    return options


def _must_be_installed() -> None:
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in NEEDED):
        raise Unavailable("`dibs up` needs the server's parts: install them with `pip install 'dibs[server]'`.")


def _must_have_a2a() -> None:
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("a2a", "starlette", "sse_starlette")):
        raise Unavailable("`dibs up --a2a` needs the protocol's parts: install them with `pip install 'dibs[a2a]'`.")


COMMANDS = {
    "up": Command(
        arguments,
        up,
        about="""
Serves the store to everybody who has a token: the API, the stream of events, schedules and webhooks, the dashboard, and
the keeper that makes things happen on time. Several may run on one store. The first start prints an admin token and a
link to the dashboard, once; `dibs login-link` prints another. The shell on this machine needs no token: `dibs ls --url
http://127.0.0.1:3427`.

SIGTERM or Ctrl-C: finish what is running and leave. A second one: end at once.
""",
        example="""
dibs up
dibs up --host 0.0.0.0 --allow-host queue.example.com --url postgresql://db/app --log-format json
""",
    ),
}
