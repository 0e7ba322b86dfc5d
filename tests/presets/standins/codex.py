"""Stands in for `codex exec --json`."""

from __future__ import annotations

import json
import sys
import time
from typing import Any, NoReturn

from tests.presets.standins.acting import Actor, needs, play, put, refuses, value_of

ARGUMENTS = sys.argv[1:]


class Codex(Actor):
    def begin(self) -> None:
        self._say(type="thread.started", thread_id="0199-stand-in")
        self._say(type="turn.started")

    def works(self) -> None:
        command = {"id": "item_0", "type": "command_execution", "command": "bash -lc ls", "aggregated_output": ""}
        self._say(type="item.started", item={**command, "exit_code": None, "status": "in_progress"})
        self._say(type="item.completed", item={**command, "exit_code": 0, "status": "completed"})
        todos = [{"text": "look", "completed": True}, {"text": "mend", "completed": False}]
        self._say(type="item.started", item={"id": "item_1", "type": "todo_list", "items": todos})
        # A connection that is made anew is told as an error, and is none.
        self._say(type="error", message="Reconnecting... 1/5")
        change = {"path": "a.py", "kind": "update"}
        item = {"id": "item_2", "type": "file_change", "changes": [change], "status": "completed"}
        self._say(type="item.completed", item=item)

    def answers(self, text: str) -> None:
        self._say(type="item.completed", item={"id": "item_3", "type": "agent_message", "text": text})
        usage = {"input_tokens": 2002, "cached_input_tokens": 1900, "cache_write_input_tokens": 90}
        self._say(type="turn.completed", usage={**usage, "output_tokens": 70, "reasoning_output_tokens": 20})

    def fails(self, why: str) -> NoReturn:
        self._say(type="error", message=why)
        self._say(type="turn.failed", error={"message": why})
        raise SystemExit(1)

    def is_limited(self) -> NoReturn:
        self.fails("exceeded retry limit, last status: 429 Too Many Requests, try again in 700s")

    def is_used_up(self, resets_at: int) -> NoReturn:
        moment = time.localtime(resets_at)
        today = moment[:3] == time.localtime()[:3]
        day = "" if today else time.strftime(f"%b {moment.tm_mday}th, %Y ", moment)
        when = f"{day}{time.strftime('%I:%M %p', moment).lstrip('0')}"
        self.fails(
            f"You've hit your usage limit. Visit https://chatgpt.com/codex/settings/usage or try again at {when}."
        )

    def long_line(self) -> bytes:
        item = {"id": "item_9", "type": "command_execution", "command": "cat", "aggregated_output": "x" * 65_000}
        return json.dumps({"type": "item.completed", "item": item}).encode() + b"\n"

    def _say(self, **event: Any) -> None:
        put(json.dumps(event))


if __name__ == "__main__":
    needs(ARGUMENTS, "--json")
    assert value_of(ARGUMENTS, "--sandbox") in ("workspace-write", "read-only")
    known = {"--json": 0, "--sandbox": 1, "--model": 1, "-m": 1, "--skip-git-repo-check": 0}
    assert refuses(ARGUMENTS, known) == ["exec"]
    play(Codex(), sys.stdin.read())
