"""Claude Code, as `claude -p` runs it without a person.

Read from: claude-agent-sdk-python 0.2.143 (`message_parser.py`, `types.py`, `subprocess_cli.py`), which brings Claude
Code 2.1.240; the texts of its limits, from reports of 1.0.84 to 2.1.212.

`--output-format stream-json --verbose` writes one JSON object a line: `system` (`init` first; `api_retry` while it is
turned away), `assistant` and `user` messages as the API has them, `rate_limit_event` when a plan's limits change, and
`result` last. `subtype` may be `success` with `is_error` true: the latter counts. `api_error_status` is the HTTP status
that ended it. A message with several blocks comes as several lines with one id and the same usage. The prompt is read
from stdin.
"""

from __future__ import annotations

from typing import Any

from dibs.presets.limited import limit_in, usage_limit
from dibs.presets.preset import Preset
from dibs.presets.reader import (
    MAX_SESSION_CHARS,
    Failure,
    Reader,
    at,
    count_of,
    items_at,
    text_of,
    todo_progress,
    tool,
)

TOO_MANY_REQUESTS = 429
NOT_ALLOWED = (401, 403)
OVERSPENT = ("error_max_turns", "error_max_budget_usd")


class ClaudeReader(Reader):
    """Reads `stream-json`."""

    def __init__(self) -> None:
        super().__init__()
        self._message: str | None = None
        self._resets_at: float | None = None
        self._rejected = False

    def event(self, event: dict[str, Any], now: int) -> str | None:
        match event.get("type"):
            case "system":
                return self._system(event)
            case "assistant":
                return self._assistant(event)
            case "rate_limit_event":
                return self._limits(event)
            case "result":
                return self._result(event, now)
            case _:
                return None

    def _system(self, event: dict[str, Any]) -> str | None:
        match event.get("subtype"):
            case "init":
                self.session = text_of(event.get("session_id"))[:MAX_SESSION_CHARS] or None
                self.total(model=event.get("model"))
                return f"session {self.session}" if self.session else None
            case "api_retry":
                return f"turned away, tries again: {text_of(event.get('error')) or event.get('error_status')}"
            case _:
                return None

    def _assistant(self, event: dict[str, Any]) -> str | None:
        message = event.get("message")
        said: list[str] = []
        for block in items_at(message, "content"):
            match at(block, "type"):
                case "text":
                    text = text_of(at(block, "text"))
                    if event.get("parent_tool_use_id") is None and text:
                        self.say(text)
                    said.append(text)
                case "tool_use":
                    said.append(tool(at(block, "name"), at(block, "input")))
                    if at(block, "name") == "TodoWrite":
                        self.plan(*todo_progress(items_at(block, "input", "todos")))
        # Lines of one message repeat its usage.
        id = text_of(at(message, "id")) or None
        if id is None or id != self._message:
            self._message = id
            self._count(at(message, "usage"))
        model = text_of(at(message, "model"))
        if model and not model.startswith("<"):  # <synthetic>: the program's own words
            self.total(model=model)
        return "; ".join(part for part in said if part.strip()) or None

    def _count(self, usage: Any) -> None:
        """Add one message. Only what the result tells is exact: it knows of other models and of tools."""
        used = self.used
        read, written = _tokens(usage, "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        out = count_of(at(usage, "output_tokens"))
        if read is None and out is None:
            return
        self.total(
            tokens_in=(used.tokens_in or 0) + (read or 0),
            tokens_out=(used.tokens_out or 0) + (out or 0),
            tokens_cached=(used.tokens_cached or 0) + (count_of(at(usage, "cache_read_input_tokens")) or 0),
            tokens_cache_written=(used.tokens_cache_written or 0) + written,
            turns=(used.turns or 0) + 1,
        )

    def _limits(self, event: dict[str, Any]) -> str | None:
        status = at(event, "rate_limit_info", "status")
        self._rejected = status == "rejected"
        self._resets_at = amount_of_epoch(at(event, "rate_limit_info", "resetsAt")) if self._rejected else None
        return None if status == "allowed" else f"usage limit: {text_of(status) or 'unknown'}"

    def _result(self, event: dict[str, Any], now: int) -> str | None:
        usage = event.get("usage")
        read, written = _tokens(usage, "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        self.total(
            usd=event.get("total_cost_usd"),
            tokens_in=read,
            tokens_out=at(usage, "output_tokens"),
            tokens_cached=at(usage, "cache_read_input_tokens"),
            tokens_cache_written=written,
            turns=event.get("num_turns"),
        )
        text = text_of(event.get("result"))
        errors = "; ".join(filter(None, map(text_of, items_at(event, "errors"))))
        if text:
            self.say(text)
        self.value = event.get("structured_output")
        self.finished = True
        old_limit = text.startswith("Claude AI usage limit reached|")
        if event.get("is_error") is True or event.get("subtype") in OVERSPENT or old_limit:
            self.failure = self._why(event, text or errors or text_of(event.get("subtype")) or "no reason given", now)
        else:
            self.failure = None
        return None

    def _why(self, event: dict[str, Any], said: str, now: int) -> Failure:
        status = event.get("api_error_status")
        if event.get("subtype") in OVERSPENT:
            return Failure(f"it stopped: {event.get('subtype')}", reason="budget_exceeded", retry=False)
        if self._rejected:
            return usage_limit(said, self._resets_at, now)
        limit = limit_in(said, now)
        if limit is not None:
            return limit
        if status == TOO_MANY_REQUESTS:
            return Failure(said, reason="rate_limit")
        if status in NOT_ALLOWED or "/login" in said or "Invalid API key" in said:
            return Failure(said, reason="auth_failure", retry=False)
        return Failure(said)


def amount_of_epoch(value: Any) -> float | None:
    """An instant in seconds since 1970; one in milliseconds is understood, too."""
    count = count_of(value)
    if not count:
        return None
    return count / 1_000 if count > 100_000_000_000 else float(count)


def _tokens(usage: Any, *names: str) -> tuple[int | None, int]:
    """All tokens that were read, and those of them that were written into the cache."""
    found = [count_of(at(usage, name)) for name in names]
    known = [number for number in found if number is not None]
    return (sum(known) if known else None), found[-1] or 0


PRESET = Preset(
    name="claude",
    program="claude",
    version="Claude Code 2.1.240",
    always=("-p", "--output-format", "stream-json", "--verbose"),
    unless=(
        (
            ("--permission-mode", "--dangerously-skip-permissions", "--permission-prompt-tool"),
            ("--permission-mode", "acceptEdits"),
        ),
    ),
    model=("--model",),
    max_cost="--max-budget-usd",
    max_turns="--max-turns",
    reader=ClaudeReader,
)
