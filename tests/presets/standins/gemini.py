"""Stands in for `gemini --output-format stream-json`."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, NoReturn

from tests.presets.standins.acting import Actor, play, put, refuses, value_of

ARGUMENTS = sys.argv[1:]


class Gemini(Actor):
    worked = False

    def begin(self) -> None:
        self._say(type="init", session_id="stand-in", model="gemini-2.5-pro")
        self._say(type="message", role="user", content="…")

    def works(self) -> None:
        self._say(type="message", role="assistant", content="Let me look.", delta=True)
        self._say(type="tool_use", tool_name="read_file", tool_id="t1", parameters={"path": "a.py"})
        self._say(type="tool_result", tool_id="t1", status="error", error={"type": "x", "message": "no such file"})
        self._say(type="error", severity="warning", message="Loop detected, stopping execution")
        self.worked = True

    def answers(self, text: str) -> None:
        for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
            self._say(type="message", role="assistant", content=piece, delta=True)
        self._result(status="success")

    def fails(self, why: str) -> NoReturn:
        self._result(status="error", error={"type": "Error", "message": f"[API Error: {why}]"})
        raise SystemExit(1)

    def is_limited(self) -> NoReturn:
        self.fails(
            "Resource has been exhausted (e.g. check quota).\nSuggested retry after 700s. (Status: RESOURCE_EXHAUSTED)"
        )

    def is_used_up(self, resets_at: int) -> NoReturn:
        left = resets_at - int(time.time())
        when = f"{left // 3600}h{left % 3600 // 60}m{left % 60}s"
        message = f"You have exhausted your capacity on this model. Your quota will reset after {when}."
        self._result(status="error", error={"type": "TerminalQuotaError", "message": f"[API Error: {message}]"})
        raise SystemExit(1)

    def long_line(self) -> bytes:
        event = {"type": "tool_result", "tool_id": "t1", "status": "success", "output": "x" * 65_000}
        return json.dumps(event).encode() + b"\n"

    def short_line(self) -> bytes:
        event = {"type": "message", "role": "assistant", "content": "on and on ", "delta": True}
        return json.dumps(event).encode() + b"\n"

    def _result(self, **said: Any) -> None:
        tokens = {"total_tokens": 2072, "input_tokens": 2002, "output_tokens": 70, "cached": 1900, "input": 102}
        stats = {**tokens, "duration_ms": 5, "tool_calls": 1, "models": {"gemini-2.5-pro": tokens}}
        self._say(type="result", **said, stats=stats if self.worked else None)

    def _say(self, **event: Any) -> None:
        put(json.dumps({**event, "timestamp": "2026-11-16T07:00:00.000Z"}))


if __name__ == "__main__":
    assert value_of(ARGUMENTS, "--output-format") == "stream-json"
    assert value_of(ARGUMENTS, "--approval-mode") == "auto_edit"
    assert os.environ["GEMINI_CLI_TRUST_WORKSPACE"] == "true"
    assert refuses(ARGUMENTS, {"--output-format": 1, "--approval-mode": 1, "--model": 1}) == []
    play(Gemini(), sys.stdin.read())
