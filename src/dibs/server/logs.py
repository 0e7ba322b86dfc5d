"""What a server says of itself, on standard error: a line each, for people or as JSON.

Each line that belongs to a request has its id. Nothing secret is in any of them: paths are told without their query,
headers and bodies never, and what looks like a token or a password in a message is crossed out.
"""

from __future__ import annotations

import logging
import re
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from msgspec.json import encode

FORMATS = ("text", "json")
REQUEST_ID: ContextVar[str | None] = ContextVar("dibs_request_id", default=None)
"""The id of the request that is being answered."""

_SECRETS = re.compile(
    r"\b(dibs_(?=[A-Za-z0-9]{20})|whsec_)[A-Za-z0-9+/=]{8,}"
    r"|(?<=://)([^\s:/@]*:)[^\s@/]+(?=@)"
    r"|(?i:\b(bearer\s+))[A-Za-z0-9._~+/=-]{8,}"
)


def redacted(text: str) -> str:
    """The text with what may be a secret crossed out."""
    return _SECRETS.sub(lambda found: f"{found[1] or found[2] or found[3]}***", text)


class Lines(logging.Formatter):
    """For people: the time, what, and the request that it belongs to."""

    def format(self, record: logging.LogRecord) -> str:
        request = REQUEST_ID.get()
        at = datetime.fromtimestamp(record.created, UTC).astimezone().strftime("%H:%M:%S")
        where = f" [{request}]" if request else ""
        level = "" if record.levelno < logging.WARNING else f"{record.levelname.lower()}: "
        return redacted(f"{at} {level}{record.getMessage()}{where}{self._trace(record)}")

    def _trace(self, record: logging.LogRecord) -> str:
        return f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""


class JsonLines(logging.Formatter):
    """For programs: one object on a line. What a record has in `fields` is part of it."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        request = REQUEST_ID.get()
        if request:
            told["request_id"] = request
        told.update(getattr(record, "fields", {}))
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return redacted(encode(told, enc_hook=repr).decode())


def set_up(format: str, *, level: int = logging.INFO) -> None:
    """Send what is logged in this process to standard error, in this format."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if format == "json" else Lines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # It tells what we tell ourselves, in other words; its errors are kept.
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
