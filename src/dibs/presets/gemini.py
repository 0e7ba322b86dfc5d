"""Gemini CLI without a person.

Read from: google-gemini/gemini-cli at 5411f11 (0.56.0-nightly.20260806): `core/src/output/types.ts`,
`output/stream-json-formatter.ts`, `cli/src/nonInteractiveCli.ts`, `cli/src/utils/errors.ts`,
`core/src/utils/googleQuotaErrors.ts`, `docs/cli/headless.md`, `docs/cli/cli-reference.md`.

`--output-format stream-json` writes one JSON object a line: `init`, `message` (the assistant's in pieces, `delta`),
`tool_use`, `tool_result`, `error` (which does not end it), and `result` with `status` and the totals of tokens. It
tells no cost. Exit codes: 41 not signed in, 42 bad input, 53 too many turns. The prompt is read from stdin.
"""

from __future__ import annotations

from typing import Any

from dibs.presets.limited import limit_in
from dibs.presets.preset import Preset
from dibs.presets.reader import MAX_SESSION_CHARS, Failure, Reader, at, text_of, tool

_REASONS = {41: "auth_failure", 42: "invalid_input", 53: "budget_exceeded"}
"""By exit code."""
_KINDS = {
    "FatalAuthenticationError": "auth_failure",
    "FatalInputError": "invalid_input",
    "FatalTurnLimitedError": "budget_exceeded",
    "UnauthorizedError": "auth_failure",
    "ValidationRequiredError": "auth_failure",
}
"""By the name of the error."""


class GeminiReader(Reader):
    """Reads `stream-json`."""

    def __init__(self) -> None:
        super().__init__()
        self._speaking = False

    def event(self, event: dict[str, Any], now: int) -> str | None:
        match event.get("type"):
            case "init":
                self.session = text_of(event.get("session_id"))[:MAX_SESSION_CHARS] or None
                self.total(model=event.get("model"))
                return f"session {self.session}" if self.session else None
            case "message" if event.get("role") == "assistant":
                return self._message(text_of(event.get("content")))
            case "tool_use":
                # What it says after its last tool is the answer.
                self._speaking = False
                return tool(event.get("tool_name"), event.get("parameters"))
            case "tool_result" if event.get("status") == "error":
                return f"a tool failed: {text_of(at(event, 'error', 'message'))}"
            case "error":
                return f"trouble: {text_of(event.get('message'))}"
            case "result":
                return self._result(event, now)
            case _:
                return None

    def _message(self, text: str) -> str | None:
        if self._speaking:
            self.add(text)
            return None
        self._speaking = bool(text)
        self.say(text)
        return text

    def _result(self, event: dict[str, Any], now: int) -> str | None:
        stats = event.get("stats")
        self.total(
            tokens_in=at(stats, "input_tokens"),
            tokens_out=at(stats, "output_tokens"),
            tokens_cached=at(stats, "cached"),
        )
        self.finished = True
        self.failure = None
        if event.get("status") == "error":
            kind = text_of(at(event, "error", "type"))
            said = text_of(at(event, "error", "message")) or kind or "no reason given"
            self.failure = limit_in(f"{kind}: {said}", now) or _named(_KINDS.get(kind), said)
        return None

    def ended(self, code: int, complaint: str, now: int) -> Failure | None:
        failure = super().ended(code, complaint, now)
        if failure is None or failure.reason != "error":
            return failure
        return _named(_REASONS.get(code), failure.error)


def _named(reason: str | None, said: str) -> Failure:
    return Failure(said) if reason is None else Failure(said, reason=reason, retry=False)


PRESET = Preset(
    name="gemini",
    program="gemini",
    version="Gemini CLI 0.56.0-nightly.20260806",
    always=("--output-format", "stream-json"),
    unless=((("--approval-mode", "--yolo", "-y"), ("--approval-mode", "auto_edit")),),
    model=("--model", "-m"),
    # A worktree is a new folder, which nobody has been asked about. Older versions do not know the variable.
    environment={"GEMINI_CLI_TRUST_WORKSPACE": "true"},
    reader=GeminiReader,
)
