"""Stands in for `opencode run --format json`."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, NoReturn

from tests.presets.standins.acting import Actor, play, put, refuses, value_of

ARGUMENTS = sys.argv[1:]


class Opencode(Actor):
    def begin(self) -> None:
        self._part("step_start", {"type": "step-start", "snapshot": "s"})

    def works(self) -> None:
        todos = [{"content": "look", "status": "completed"}, {"content": "mend", "status": "pending"}]
        state = {"status": "completed", "input": {"todos": todos}, "output": "ok", "title": "todos"}
        self._part("tool_use", {"type": "tool", "tool": "todowrite", "callID": "c", "state": state})
        tokens = {"input": 10, "output": 50, "reasoning": 0, "cache": {"read": 900, "write": 90}}
        self._part("step_finish", {"type": "step-finish", "reason": "tool-calls", "cost": 0.0221, "tokens": tokens})
        self._part("step_start", {"type": "step-start"})

    def answers(self, text: str) -> None:
        self._part("text", {"type": "text", "text": text, "time": {"start": 1, "end": 2}})
        tokens = {"input": 2, "output": 10, "reasoning": 10, "cache": {"read": 1000, "write": 0}}
        self._part("step_finish", {"type": "step-finish", "reason": "stop", "cost": 0.02, "tokens": tokens})

    def fails(self, why: str) -> NoReturn:
        self._error("UnknownError", {"message": why})

    def is_limited(self) -> NoReturn:
        headers = {"retry-after": "700", "content-type": "application/json"}
        said = {"message": "Too Many Requests", "statusCode": 429, "isRetryable": True, "responseHeaders": headers}
        self._error("APIError", said)

    def is_used_up(self, resets_at: int) -> NoReturn:
        headers = {"retry-after": str(resets_at - int(time.time()))}
        body = '{"type":"error","error":{"type":"GoUsageLimitError","message":"Usage limit reached"}}'
        said = {"message": "Usage limit reached", "statusCode": 429, "isRetryable": True, "responseHeaders": headers}
        self._error("APIError", {**said, "responseBody": body})

    def long_line(self) -> bytes:
        state = {"status": "completed", "input": {"command": "cat"}, "output": "x" * 65_000}
        part = {"type": "tool", "tool": "bash", "callID": "c", "state": state}
        return json.dumps({"type": "tool_use", "timestamp": 1, "sessionID": "ses_1", "part": part}).encode() + b"\n"

    def _error(self, name: str, data: dict[str, Any]) -> NoReturn:
        put(json.dumps({"type": "error", "timestamp": 1, "sessionID": "ses_1", "error": {"name": name, "data": data}}))
        raise SystemExit(1)

    def _part(self, type: str, part: dict[str, Any]) -> None:
        put(json.dumps({"type": type, "timestamp": 1, "sessionID": "ses_1", "part": part}))


if __name__ == "__main__":
    assert value_of(ARGUMENTS, "--format") == "json"
    assert refuses(ARGUMENTS, {"--format": 1, "--model": 1}) == ["run"]
    os.chdir(os.environ["PWD"])  # it believes this more than where it is
    play(Opencode(), sys.stdin.read())
