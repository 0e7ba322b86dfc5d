"""What `dibs init` writes for agents: a few lines for AGENTS.md, a skill, and how each client finds the MCP server."""

from __future__ import annotations

NOTICE = """
## Work queue: dibs

Tasks of this project are in a dibs queue. Asked to work on tasks? Use the tools of the MCP server `dibs`; without them
run `dibs prime` once and follow it. Add work with `dibs add TYPE "TITLE" --payload '{"prompt": "…"}'`, look at it with
`dibs ls`, `dibs show ID` and `dibs why ID`. Leave the files in `.dibs/` alone.
"""
"""In AGENTS.md, which every agent reads every time: few words."""

_HEAD = """\
---
name: dibs
description: Work on tasks of this project's dibs queue - claim a task, do it, complete or fail it; add tasks, graphs of
  tasks and subtasks, ask people. Use when asked to work on tasks, to work through a queue, or to plan work for agents.
---

# Working with dibs

Prefer the tools of the MCP server `dibs` where you have them: they remember your claims. The rules are the same.

"""

_SHELL = """
## In a shell

```
dibs claim --agent NAME --wait 30s --lease 10m     # prints a claim as JSON; exit code 3: nothing to do
dibs renew ID --fence N --note "what I do"         # before the lease ends; says if the task was cancelled
dibs complete ID --fence N --output '{"answer": 42}'
dibs fail ID --fence N --error "what went wrong" --no-retry
dibs release ID --fence N                          # give it back unharmed
dibs spawn ID --fence N tasks.yaml --wait          # smaller tasks below this one
dibs ask ID --fence N "Which colour?"              # a person answers; the task comes back with it
dibs artifact put ID --fence N report report.md    # files that others need
```

`ID` is `task.id` of the claim, `N` its `fence`. Exit code 5 with a fence: the task is no longer yours; leave it.

## Planning work for others

```
dibs add code "Write the parser" --payload '{"prompt": "…"}' --key parser
dibs dag submit plan.yaml                          # a graph, in one commit
```

```yaml
title: Ship the parser
tasks:
  - {ref: facts, type: research, payload: {prompt: Find the grammar}}
  - {ref: code, type: code, after: [facts], payload: {prompt: Write the parser}, max_attempts: 3}
  - {ref: review, type: review, after: [code], payload: {prompt: Review it}}
```

A task gets the outputs of those it is `after` as its inputs. `--key` makes adding safe to repeat.

## Looking

`dibs ls --status ready`, `dibs show ID`, `dibs why ID` (why does it not run?), `dibs tree DAG`, `dibs stats`.
Every command takes `--json` and `--help`.
"""


def skill() -> str:
    """The whole SKILL.md."""
    from dibs.priming import RULES

    return f"{_HEAD}{RULES}{_SHELL}"


SERVER = """\
{
  "command": "dibs",
  "args": ["mcp"]
}"""
VSCODE_SERVER = """\
{
  "type": "stdio",
  "command": "dibs",
  "args": ["mcp"]
}"""
CODEX_SERVER = """
[mcp_servers.dibs]
command = "dibs"
args = ["mcp"]
"""
