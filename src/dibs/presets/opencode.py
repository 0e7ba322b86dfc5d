"""opencode, as `opencode run` runs it without a person.

Read from: anomalyco/opencode 1.18.18: `packages/opencode/src/cli/cmd/run.ts`, `src/session/retry.ts`,
`src/session/message-v2.ts`, `packages/schema/src/v1/session.ts`, `packages/core/src/v1/session.ts`.

`--format json` writes one JSON object a line, each with `type`, `timestamp`, `sessionID` and a `part` or an `error`:
`step_start`, `text` (whole), `reasoning`, `tool_use` (when it has ended), `step_finish` with the cost and the tokens of
that step, and `error`. Nothing says that all is done but its exit code; the last step says why it ended. Cached tokens
are beside `input`, not part of it. Without a message among its arguments the prompt is read from stdin. What its
configuration wants to ask a person is refused, unless `--auto` is among its arguments.
"""

from __future__ import annotations

from typing import Any

from dibs.presets.limited import REASON, limit_in
from dibs.presets.preset import Preset
from dibs.presets.reader import (
    MAX_SESSION_CHARS,
    Failure,
    Reader,
    amount_of,
    at,
    count_of,
    items_at,
    text_of,
    todo_progress,
    tool,
)

TOO_MANY_REQUESTS = 429
NOT_ALLOWED = (401, 403)


class OpencodeReader(Reader):
    """Reads `--format json`."""

    def event(self, event: dict[str, Any], now: int) -> str | None:
        part = event.get("part")
        if self.session is None:
            self.session = text_of(event.get("sessionID"))[:MAX_SESSION_CHARS] or None
        match event.get("type"):
            case "text":
                text = text_of(at(part, "text"))
                self.say(text)
                self.finished = True
                return text
            case "tool_use":
                if at(part, "tool") == "todowrite":
                    self.plan(*todo_progress(items_at(part, "state", "input", "todos")))
                return tool(at(part, "tool"), at(part, "state", "input"))
            case "step_finish":
                self._count(part)
                self.finished, self.failure = True, None
                return None
            case "error":
                self.failure = _why(event.get("error"), now)
                return f"failed: {self.failure.error}"
            case _:
                return None

    def _count(self, part: Any) -> None:
        tokens = at(part, "tokens")
        cached = count_of(at(tokens, "cache", "read")) or 0
        written = count_of(at(tokens, "cache", "write")) or 0
        read, out = count_of(at(tokens, "input")), count_of(at(tokens, "output"))
        reasoning = count_of(at(tokens, "reasoning")) or 0
        used, cost = self.used, amount_of(at(part, "cost"))
        if read is not None:
            self.total(tokens_in=(used.tokens_in or 0) + read + cached + written)
            self.total(tokens_cached=(used.tokens_cached or 0) + cached)
            self.total(tokens_cache_written=(used.tokens_cache_written or 0) + written)
        if out is not None:
            self.total(tokens_out=(used.tokens_out or 0) + out + reasoning)
        if cost is not None:
            self.total(usd=(used.usd or 0.0) + cost)
        self.total(turns=(used.turns or 0) + 1)


def _why(error: Any, now: int) -> Failure:
    name, status = text_of(at(error, "name")), at(error, "data", "statusCode")
    said = text_of(at(error, "data", "message")) or name or "no reason given"
    headers = at(error, "data", "responseHeaders")
    told = "\n".join(f"{key}: {text_of(value)}" for key, value in headers.items()) if isinstance(headers, dict) else ""
    limit = limit_in("\n".join((told, text_of(at(error, "data", "responseBody"))[:2_000], said)), now)
    if limit is None and status == TOO_MANY_REQUESTS:
        limit = Failure(said, reason=REASON)
    if limit is not None:
        return Failure(said, reason=REASON, retry_after=limit.retry_after)
    if name == "ProviderAuthError" or status in NOT_ALLOWED:
        return Failure(said, reason="auth_failure", retry=False)
    return Failure(said)


PRESET = Preset(
    name="opencode",
    program="opencode",
    version="opencode 1.18.18",
    always=("run", "--format", "json"),
    model=("--model", "-m"),
    reader=OpencodeReader,
)
