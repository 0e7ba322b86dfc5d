"""Stands in for `aider --message-file FILE`, which writes for people and ends with exit code 0 whatever happened."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NoReturn

from tests.presets.standins.acting import Actor, needs, play, put, refuses, value_of

ARGUMENTS = sys.argv[1:]


class Aider(Actor):
    def begin(self) -> None:
        put("Aider v0.86.3.dev")
        put("Main model: claude-sonnet-4-5 with diff edit format")
        Path(".aider.tags.cache").write_text("not work")

    def works(self) -> None:
        put("litellm.InternalServerError: AnthropicException - Overloaded")
        put("The API provider's servers are down or overloaded.")
        put("Retrying in 0.2 seconds...")
        put("I will mend it.")
        put("")
        put("Tokens: 1.0k sent, 900 cache hit, 50 received. Cost: $0.02 message, $0.02 session.")
        put("Applied edit to a.py")

    def answers(self, text: str) -> None:
        put(text)
        put("Tokens: 1.0k sent, 20 received. Cost: $0.02 message, $0.04 session.")
        put("Commit 1a2b3c4 fix: mended it")

    def fails(self, why: str) -> NoReturn:
        put(f"litellm.BadRequestError: AnthropicException - {why}")
        raise SystemExit(0)

    def is_limited(self) -> NoReturn:
        put('litellm.RateLimitError: AnthropicException - {"type":"rate_limit_error","message":"try again in 700s"}')
        put("The API provider has rate limited you. Try again later or check your quotas.")
        raise SystemExit(0)

    def is_used_up(self, resets_at: int) -> NoReturn:
        put(
            f"litellm.RateLimitError: OpenAIException - insufficient_quota, retry-after: {resets_at - int(time.time())}"
        )
        put("The API provider has rate limited you. Try again later or check your quotas.")
        raise SystemExit(0)

    def long_line(self) -> bytes:
        return b"x" * 65_000 + b"\n"

    def short_line(self) -> bytes:
        return b"It goes on and on.\n"


if __name__ == "__main__":
    needs(ARGUMENTS, "--yes-always", "--no-pretty", "--no-stream", "--message-file")
    flags = "yes-always no-pretty no-stream no-fancy-input no-check-update no-show-release-notes no-gitignore"
    known = {f"--{flag}": 0 for flag in (*flags.split(), "no-suggest-shell-commands", "no-detect-urls")}
    known |= {"--chat-history-file": 1, "--input-history-file": 1, "--message-file": 1, "--model": 1}
    assert refuses(ARGUMENTS, known) == []
    play(Aider(), Path(value_of(ARGUMENTS, "--message-file")).read_text())
