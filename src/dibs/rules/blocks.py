"""A block of our own in somebody else's text, between two marks: it is put once, replaced in place, and taken out again
without a trace. All else stays as it is, to the last byte."""

from __future__ import annotations

from typing import NamedTuple


class Marks(NamedTuple):
    """The lines around a block."""

    begin: str
    end: str


MARKDOWN = Marks("<!-- dibs:begin -->", "<!-- dibs:end -->")
TOML = Marks("# dibs:begin", "# dibs:end")


def put(text: str, body: str, marks: Marks) -> str:
    """The text with the block: in the place of the one there is, else at its end, after an empty line."""
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join((marks.begin, *body.strip("\n").split("\n"), marks.end)) + newline
    found = _span(text, marks)
    if found is not None:
        return text[: found[0]] + block + text[found[1] :]
    return text + _gap(text, newline) + block


def take_out(text: str, marks: Marks) -> str:
    """The text without the block, and without the empty line that came with it; as it is, if there is none."""
    found = _span(text, marks)
    if found is None:
        return text
    before, after = text[: found[0]], text[found[1] :]
    if not after:
        for newline in ("\r\n", "\n"):
            if before.endswith(newline * 2):
                return before.removesuffix(newline)
    return before + after


def _gap(text: str, newline: str) -> str:
    """What parts a block from the text before it."""
    if not text:
        return ""
    return newline if text.endswith("\n") else newline * 2


def _span(text: str, marks: Marks) -> tuple[int, int] | None:
    """Where the block is, with the end of its last line; None if it is not there, or has no end."""
    begin = _line(text, marks.begin, 0)
    end = None if begin is None else _line(text, marks.end, begin)
    if begin is None or end is None:
        return None
    after = text.find("\n", end)
    return begin, len(text) if after < 0 else after + 1


def _line(text: str, mark: str, start: int) -> int | None:
    """Where a line begins that is this mark, and nothing else."""
    while (at := text.find(mark, start)) >= 0:
        whole = text[at : text.find("\n", at) if "\n" in text[at:] else len(text)]
        if (at == 0 or text[at - 1] == "\n") and whole.rstrip() == mark:
            return at
        start = at + 1
    return None
