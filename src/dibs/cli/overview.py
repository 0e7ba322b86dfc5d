"""What `dibs` alone shows: the commands, grouped by what a person wants to do."""

from __future__ import annotations

from dibs.cli.catalogue import GROUPS, NESTED, summary_of

_INTRO = """\
dibs – a durable work queue for AI agents

  dibs add research "What is CORS?" --payload '{"topic": "CORS"}'
  dibs claim --agent me                      # prints the task and its fence
  dibs complete TASK --fence 1 --output '{"answer": "…"}'
"""

_OUTRO = """\
Every command takes --json, and --url URL (default: $DIBS_URL, else the nearest
.dibs/dibs.db upwards from here, else a new one here).
`dibs COMMAND --help` explains one, with an example.
"""


def overview() -> str:
    """The whole page."""
    lines = [_INTRO]
    for title, commands in GROUPS:
        lines.append(title)
        lines.extend(f"  {name:<11} {summary}" for name, _, summary in commands)
        lines.append("")
    return "\n".join(lines) + "\n" + _OUTRO.rstrip()


def nested_overview(name: str) -> str:
    """The page of a command that is a family of commands."""
    lines = [f"dibs {name} – {summary_of(name)}", ""]
    lines.extend(f"  dibs {name} {second:<10} {summary}" for second, summary in NESTED[name])
    return "\n".join([*lines, "", f"`dibs {name} COMMAND --help` explains one, with an example."])


def version() -> str:
    """`dibs 0.1.0`."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    try:
        return f"dibs {version_of('dibs')}"
    except PackageNotFoundError:
        return "dibs (not installed; running from its source)"
