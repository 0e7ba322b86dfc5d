"""aider with one message.

Read from: Aider-AI/aider at 5dc9490 (0.86.3.dev): `aider/args.py`, `aider/main.py`, `aider/coders/base_coder.py`,
`aider/exceptions.py`, `aider/repo.py`.

It writes text for people. `Tokens: 2.3k sent, 105 received. Cost: $0.01 message, $0.02 session.` follows every answer,
`Applied edit to PATH` and `Commit HASH MESSAGE` tell what it did. Errors of the provider are `litellm.…Error: …`; it
tries some of them again, and ends with exit code 0 whatever happened, so an error counts unless an answer follows it.
It commits by itself. Tokens are rounded as it tells them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dibs.presets.limited import limit_in
from dibs.presets.preset import Preset
from dibs.presets.reader import Failure, Reader, one_line

if TYPE_CHECKING:
    from typing import Any

MAX_LINE_CHARS = 20_000

_TOKENS = re.compile(r"Tokens: ([\d.]+k?) sent,.*?([\d.]+k?) received\.")
_COST = re.compile(r"Cost: \$[\d.]+ message, \$([\d.]+) session\.")
_ERROR = re.compile(r"(?:litellm\.)?\w{0,60}Error: |The API provider |Insufficient credits")
_DEED = re.compile(r"(?:Applied edit to |Commit [0-9a-f]{7,} |Added |Creating empty file |Running )")


class AiderReader(Reader):
    """Reads lines of text."""

    def __init__(self) -> None:
        super().__init__()
        self._sent = self._received = 0

    def read(self, line: bytes, now: int) -> str | None:
        self.lines += 1
        text = line[:MAX_LINE_CHARS].decode("utf-8", "replace").rstrip()
        if self._tokens(text):
            return None
        self.add(f"{text}\n")
        if _ERROR.match(text) is not None:
            # Its second line says the same in other words.
            self.failure = _worse(self.failure, _why(text, now))
            self.note = one_line(text)
            return self.note
        if _DEED.match(text) is not None:
            self.note = one_line(text)
            return self.note
        return one_line(text) or None

    def event(self, event: dict[str, Any], now: int) -> str | None:
        """It writes none."""
        return None

    def _tokens(self, text: str) -> bool:
        found, cost = _TOKENS.match(text), _COST.search(text) if "Cost: $" in text else None
        if cost is not None:
            self.total(usd=float(cost[1]) if cost[1].count(".") <= 1 else None)
        if found is None:
            return cost is not None
        # Each report is of one message; the cost is of the whole session.
        self._sent += _count(found[1])
        self._received += _count(found[2])
        self.total(tokens_in=self._sent, tokens_out=self._received, turns=(self.used.turns or 0) + 1)
        self.finished, self.failure = True, None
        return True


def _count(text: str) -> int:
    """`105`, `2.3k`."""
    try:
        return int(float(text.removesuffix("k")) * (1_000 if text.endswith("k") else 1))
    except ValueError:
        return 0


def _why(text: str, now: int) -> Failure:
    limit = limit_in(text, now)
    if limit is not None:
        return limit
    if "AuthenticationError" in text or "PermissionDeniedError" in text or "not able to authenticate" in text:
        return Failure(text, reason="auth_failure", retry=False)
    return Failure(text)


def _worse(before: Failure | None, now: Failure) -> Failure:
    """Of two lines about one error, the one that says more: when to come back, or at least why."""
    if before is None or (now.reason != "error" and before.reason == "error"):
        return now
    return before if before.retry_after is not None or now.reason == "error" != before.reason else now


PRESET = Preset(
    name="aider",
    program="aider",
    version="aider 0.86.3.dev",
    always=("--yes-always", "--no-pretty", "--no-stream", "--no-fancy-input", "--no-check-update"),
    unless=(
        (("--show-release-notes", "--no-show-release-notes"), ("--no-show-release-notes",)),
        (("--gitignore", "--no-gitignore"), ("--no-gitignore",)),
        (("--suggest-shell-commands", "--no-suggest-shell-commands"), ("--no-suggest-shell-commands",)),
        (("--detect-urls", "--no-detect-urls"), ("--no-detect-urls",)),
        (("--chat-history-file",), ("--chat-history-file", "/dev/null")),
        (("--input-history-file",), ("--input-history-file", "/dev/null")),
    ),
    model=("--model",),
    prompt_file="--message-file",
    debris=(".aider*",),
    reader=AiderReader,
)
