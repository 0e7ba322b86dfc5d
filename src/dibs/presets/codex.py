"""Codex, as `codex exec` runs it without a person.

Read from: openai/codex at 343074d (0.150.0-alpha.7): `exec/src/cli.rs`, `exec/src/exec_events.rs`,
`exec/src/event_processor_with_jsonl_output.rs`, `utils/cli/src/shared_options.rs`, `protocol/src/error.rs`.

`--json` writes one JSON object a line: `thread.started`, `turn.started`, `item.started|updated|completed` with an item
(`agent_message`, `reasoning`, `command_execution`, `file_change`, `mcp_tool_call`, `web_search`, `todo_list`,
`error`), `turn.completed` with the totals of tokens so far, `turn.failed`, and `error`. An `error` may be a connection
that is made anew: it counts only if no turn is completed after it. Codex tells no cost. `-` reads the prompt from
stdin. Its sandbox lets it write in its folder and nowhere else, so it cannot commit in a worktree; dibs does that.
"""

from __future__ import annotations

from typing import Any

from dibs.presets.limited import limit_in
from dibs.presets.preset import Preset
from dibs.presets.reader import MAX_SESSION_CHARS, Failure, Reader, at, items_at, text_of, todo_progress

_NOT_ALLOWED = ("401 Unauthorized", "403 Forbidden", "not logged in", "refresh token")
_OVERSPENT = "token budget exhausted"


class CodexReader(Reader):
    """Reads `--json`."""

    def event(self, event: dict[str, Any], now: int) -> str | None:
        match event.get("type"):
            case "thread.started":
                self.session = text_of(event.get("thread_id"))[:MAX_SESSION_CHARS] or None
                return f"session {self.session}" if self.session else None
            case "item.started" | "item.updated" | "item.completed" as kind:
                return self._item(kind, event.get("item"))
            case "turn.completed":
                usage = event.get("usage")
                self.total(
                    tokens_in=at(usage, "input_tokens"),
                    tokens_out=at(usage, "output_tokens"),
                    tokens_cached=at(usage, "cached_input_tokens"),
                    tokens_cache_written=at(usage, "cache_write_input_tokens"),
                    turns=(self.used.turns or 0) + 1,
                )
                self.finished, self.failure = True, None
                return None
            case "turn.failed":
                self.failure = _why(text_of(at(event, "error", "message")), now)
                return f"failed: {self.failure.error}"
            case "error":
                self.failure = _why(text_of(event.get("message")), now)
                return f"trouble: {self.failure.error}"
            case _:
                return None

    def _item(self, kind: str, item: Any) -> str | None:
        done = kind == "item.completed"
        match at(item, "type"):
            case "agent_message" if done:
                text = text_of(at(item, "text"))
                self.say(text)
                return text
            case "command_execution" if kind == "item.started":
                return f"$ {text_of(at(item, 'command'))}"
            case "file_change" if done:
                paths = [text_of(at(change, "path")) for change in items_at(item, "changes")]
                return f"edits {', '.join(filter(None, paths))}"
            case "mcp_tool_call" if kind == "item.started":
                return f"{text_of(at(item, 'server'))}.{text_of(at(item, 'tool'))}"
            case "web_search" if done:
                return f"searches {text_of(at(item, 'query'))}"
            case "todo_list":
                self.plan(*todo_progress(items_at(item, "items")))
                return None
            case "error":
                return f"trouble: {text_of(at(item, 'message'))}"
            case _:
                return None


def _why(said: str, now: int) -> Failure:
    said = said or "no reason given"
    limit = limit_in(said, now)
    if limit is not None:
        return limit
    if any(sign in said for sign in _NOT_ALLOWED):
        return Failure(said, reason="auth_failure", retry=False)
    if _OVERSPENT in said:
        return Failure(said, reason="budget_exceeded", retry=False)
    return Failure(said)


PRESET = Preset(
    name="codex",
    program="codex",
    version="Codex 0.150.0-alpha.7",
    always=("exec", "--json"),
    unless=(
        (
            (
                "--sandbox",
                "-s",
                "--approve-for-me",
                "--not-so-yolo",
                "--dangerously-bypass-approvals-and-sandbox",
                "--yolo",
            ),
            ("--sandbox", "workspace-write"),
        ),
        # Whoever started dibs in this folder meant it.
        (("--skip-git-repo-check",), ("--skip-git-repo-check",)),
    ),
    model=("--model", "-m"),
    reader=CodexReader,
)
