"""Stands in for `claude -p --output-format stream-json --verbose`."""

from __future__ import annotations

import json
import sys
from typing import Any, NoReturn

from tests.presets.standins.acting import Actor, needs, play, put, refuses, value_of

ARGUMENTS = sys.argv[1:]
SESSION = "5f0c2a1e-stand-in"


class Claude(Actor):
    cost = 0.0

    def begin(self) -> None:
        model = value_of(ARGUMENTS, "--model") or "claude-sonnet-4-5"
        self._say(
            type="system", subtype="init", model=model, cwd="/", tools=["Bash", "Edit"], permissionMode="acceptEdits"
        )
        self._say(type="rate_limit_event", rate_limit_info={"status": "allowed", "resetsAt": 1788471000})

    def works(self) -> None:
        usage = {
            "input_tokens": 10,
            "cache_creation_input_tokens": 90,
            "cache_read_input_tokens": 900,
            "output_tokens": 50,
        }
        todos = [{"content": "look", "status": "completed"}, {"content": "mend", "status": "in_progress"}]
        # One message with two blocks is two lines, and both carry its usage.
        for block in (
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "toolu_1", "name": "TodoWrite", "input": {"todos": todos}},
        ):
            message = {
                "id": "msg_1",
                "role": "assistant",
                "model": "claude-sonnet-4-5",
                "content": [block],
                "usage": usage,
            }
            self._say(type="assistant", message=message, parent_tool_use_id=None)
        result = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}]
        self._say(type="user", message={"role": "user", "content": result})
        self.cost = 0.0421

    def answers(self, text: str) -> None:
        self._result(subtype="success", is_error=False, result=text, terminal_reason="completed")

    def fails(self, why: str) -> NoReturn:
        self._result(subtype="error_during_execution", is_error=True, errors=[why])
        raise SystemExit(1)

    def is_limited(self) -> NoReturn:
        self._say(type="system", subtype="api_retry", attempt=1, max_retries=10, retry_delay_ms=600, error_status=429)
        text = 'API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"retry-after: 700"}}'
        self._result(subtype="success", is_error=True, result=text, api_error_status=429)
        raise SystemExit(1)

    def is_used_up(self, resets_at: int) -> NoReturn:
        limit = {"status": "rejected", "resetsAt": resets_at, "rateLimitType": "five_hour"}
        self._say(type="rate_limit_event", rate_limit_info=limit)
        text = "You've hit your session limit · resets 3:45pm (Europe/Rome)"
        content = [{"type": "text", "text": text}]
        message = {"id": "msg_2", "role": "assistant", "model": "<synthetic>", "content": content}
        self._say(type="assistant", message=message, error="rate_limit")
        self._result(subtype="success", is_error=True, result=text, api_error_status=429)
        raise SystemExit(1)

    def long_line(self) -> bytes:
        content = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x" * 65_000}]
        event = {"type": "user", "message": {"role": "user", "content": content}, "session_id": SESSION}
        return json.dumps(event).encode() + b"\n"

    def _result(self, **said: Any) -> None:
        usage = {
            "input_tokens": 12,
            "cache_creation_input_tokens": 90,
            "cache_read_input_tokens": 1900,
            "output_tokens": 70,
        }
        used = {"total_cost_usd": self.cost, "usage": usage, "num_turns": 2, "duration_ms": 5, "duration_api_ms": 4}
        self._say(type="result", **said, **(used if self.cost else {"num_turns": 1}))

    def _say(self, **event: Any) -> None:
        put(json.dumps({**event, "session_id": SESSION, "uuid": "u"}))


if __name__ == "__main__":
    needs(ARGUMENTS, "-p", "--verbose")
    assert value_of(ARGUMENTS, "--output-format") == "stream-json"
    known = {"-p": 0, "--verbose": 0, "--output-format": 1, "--permission-mode": 1, "--model": 1}
    assert refuses(ARGUMENTS, known | {"--max-turns": 1, "--max-budget-usd": 1}) == []
    play(Claude(), sys.stdin.read())
