"""What is logged: a line each, with the request's id, and never a secret."""

from __future__ import annotations

import logging
import sys

import msgspec
import pytest

from dibs.server.logs import REQUEST_ID, JsonLines, Lines, redacted

TOKEN = "dibs_" + "Ab3" * 16


def record(message: str, *args: object, error: bool = False, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("dibs.server", logging.WARNING, __file__, 1, message, args, None)
    if error:
        try:
            raise ValueError(f"no {TOKEN}")
        except ValueError:
            made.exc_info = sys.exc_info()
    if fields:
        made.fields = fields
    return made


def test_json_lines_are_one_object_each() -> None:
    line = JsonLines().format(record("two\nlines of %s", "text", status=404))
    assert "\n" not in line
    told = msgspec.json.decode(line)
    assert told["message"] == "two\nlines of text"
    assert told["level"] == "warning"
    assert told["logger"] == "dibs.server"
    assert told["status"] == 404
    assert told["at"].endswith("+00:00")


def test_the_request_is_named_in_both_formats() -> None:
    known = REQUEST_ID.set("r-1")
    try:
        assert msgspec.json.decode(JsonLines().format(record("x")))["request_id"] == "r-1"
        assert Lines().format(record("x")).endswith("warning: x [r-1]")
    finally:
        REQUEST_ID.reset(known)


@pytest.mark.parametrize("formatter", [JsonLines(), Lines()], ids=["json", "text"])
def test_an_error_is_told_without_its_secrets(formatter: logging.Formatter) -> None:
    line = formatter.format(record("failed with %s", TOKEN, error=True))
    assert "ValueError" in line
    assert TOKEN not in line
    assert "dibs_***" in line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"token {TOKEN}.", "token dibs_***."),
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_***"),
        ("postgresql://me:geheim@db/app", "postgresql://me:***@db/app"),
        ("redis://:geheim@db/0", "redis://:***@db/0"),
        ("Authorization: Bearer abcdefgh12345", "Authorization: Bearer ***"),
        ("dibs_tasks_dead_lettered_total", "dibs_tasks_dead_lettered_total"),
        ("dibs_tasks and dibs.keeper", "dibs_tasks and dibs.keeper"),
        ("at http://127.0.0.1:3427/healthz", "at http://127.0.0.1:3427/healthz"),
    ],
)
def test_what_looks_like_a_secret_is_crossed_out(text: str, shown: str) -> None:
    assert redacted(text) == shown
