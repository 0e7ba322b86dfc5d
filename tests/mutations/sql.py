"""Where SQL and PL/pgSQL can be changed a little: by tokens outside of comments and strings.

What would not be SQL any more is not changed: `=` is only turned round in a condition, `AND` only where it is none of
`BETWEEN`, and what creates tables or functions stays as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tests.mutations.site import Site, only_real

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(
    r"""
    (?P<left>--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"[^"]*"|[$]\d+|[?]\d+|[$]\w*[$]|\#variable_conflict\s\w+)
    |(?P<number>\d+(?:\.\d+)?\b)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<sign><=|>=|<>|!=|:=|=>|\|\||->>|->|::|@>|<@|&&|\#>>|\#>|\?\||<<|>>|[^\s\w])
    """,
    re.VERBOSE | re.DOTALL,
)
_STATEMENT = re.compile(r"\s*(--[^\n]*\s+)*(SELECT|INSERT|UPDATE|DELETE|WITH)\s")
_COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "<>": "=", "!=": "="}
_WORDS = {
    "min": "max", "max": "min", "least": "greatest", "greatest": "least", "asc": "desc", "desc": "asc",
}  # fmt: skip
_TRUTH = {"true": "false", "false": "true"}
_CONDITIONS = {"where", "on", "when", "if", "elsif", "and", "or", "having", "not", "return", "while"}
_CLAUSES = _CONDITIONS | {
    *(
        "select",
        "set",
        "from",
        "values",
        "then",
        "else",
        "begin",
        "loop",
        "declare",
        "as",
        "returning",
        "into",
        "using",
    ),
    *("update", "by", "language", "end", "default", "constant"),
}
_BEFORE_A_STATEMENT = {";", "then", "else", "begin", "loop"}
_DROPPED = {"perform", "update", "delete", "insert", "raise", "continue", "exit"}


class _Token(NamedTuple):
    text: str
    start: int
    end: int
    is_number: bool = False

    @property
    def word(self) -> str:
        return self.text.lower()


def is_statement(text: str) -> bool:
    """Whether a text is one or more statements that read or write."""
    return _STATEMENT.match(text) is not None


def sites(source: str, *, in_function: bool = True) -> list[Site]:
    """Every small change; `in_function`: also those that only PL/pgSQL knows."""
    return only_real(source, _Finder(source, in_function).walk())


class _Finder:
    def __init__(self, source: str, in_function: bool) -> None:
        self._source = source
        self._in_function = in_function
        self._tokens = [
            _Token(found[0], found.start(), found.end(), found.lastgroup == "number")
            for found in _TOKEN.finditer(source)
            if not found[0].startswith(("--", "/*"))
        ]

    def walk(self) -> Iterator[Site]:
        within, is_procedure, is_body = "", False, not self._in_function
        for at, token in enumerate(self._tokens):
            if token.word in ("function", "procedure") and self._word(at - 1) in ("create", "replace"):
                within, is_procedure = self._name_after(at), False
            if self._in_function and re.fullmatch(r"[$]\w*[$]", token.text):
                is_body = not is_body
            if token.word == "plpgsql":
                is_procedure = True
            if not is_body:
                continue
            for site in self._of(at, token):
                yield site._replace(within=within)
            if is_procedure:
                for site in self._statement(at, token):
                    yield site._replace(within=within)

    def _of(self, at: int, token: _Token) -> Iterator[Site]:
        before, after = self._word(at - 1), self._word(at + 1)
        if token.is_number:
            if before not in ("select", "by", "cost", "rows", "$") and self._clause(at) != "by":
                yield _site("constant", token, _one_more(token.text))
        elif token.text in _COMPARISONS:
            yield _site("comparison", token, _COMPARISONS[token.text])
        elif token.text == "=" and self._clause(at) in _CONDITIONS:
            yield _site("comparison", token, "<>")
        elif token.word == "and" and not self._is_of_between(at):
            yield _site("and/or", token, "OR")
        elif token.word == "or" and before != "create":
            yield _site("and/or", token, "AND")
        elif token.word == "is" and after == "null":
            yield _site("comparison", token, "IS NOT")
        elif token.word == "not":
            yield from self._not(at, token)
        elif token.text in "+-" and _is_value(before) and not after.startswith("'"):
            yield _site("arithmetic", token, "-" if token.text == "+" else "+")
        elif token.word in _WORDS and (after == "(" or token.word in ("asc", "desc")):
            yield _site("order", token, _like(token.text, _WORDS[token.word]))
        elif token.word in _TRUTH:
            yield _site("truth", token, _like(token.text, _TRUTH[token.word]))

    def _not(self, at: int, token: _Token) -> Iterator[Site]:
        after = self._word(at + 1)
        is_part_of_a_definition = after in ("materialized", "leakproof", "deferrable") or (
            after == "null" and self._word(at - 1) != "is"
        )
        is_of_create = after == "exists" and self._word(at + 2) != "("
        if not is_part_of_a_definition and not is_of_create:
            # With the space behind it.
            end = min(token.end + 1, self._tokens[at + 1].start)
            yield Site("comparison" if self._word(at - 1) == "is" else "not", token.start, end, "")

    def _statement(self, at: int, token: _Token) -> Iterator[Site]:
        if token.word in ("if", "elsif") and self._word(at - 1) != "end":
            until = self._until(at, "then")
            # Of a `NOT` the opposite is a change of its own.
            if until > at + 1 and self._word(at + 1) != "not":
                start, end = self._tokens[at + 1].start, self._tokens[until - 1].end
                yield Site("negated", start, end, f"NOT ({self._source[start:end]})")
        if self._word(at - 1) not in _BEFORE_A_STATEMENT:
            return
        end = self._until(at, ";")
        if end < 0:
            return
        if token.word in _DROPPED or self._word(at + 1) == ":=":
            yield Site("dropped", token.start, self._tokens[end].end, "NULL;")
        elif token.word == "return" and end > at + 1 and self._word(at + 1) not in ("query", "next", "null", "new"):
            yield Site("returned", self._tokens[at + 1].start, self._tokens[end].start, "NULL")

    def _until(self, at: int, text: str) -> int:
        """Where this comes next outside of brackets; -1: not."""
        depth = 0
        for place in range(at, len(self._tokens)):
            word = self._word(place)
            depth += (word in ("(", "case")) - (word == ")" or (word == "end" and depth > 0))
            if word == text and depth == 0:
                return place
        return -1

    def _clause(self, at: int) -> str:
        """The last word before it, at its depth of brackets, that says what it belongs to."""
        depth = 0
        for place in range(at - 1, -1, -1):
            word = self._word(place)
            if depth == 0 and (word in _CLAUSES or word == ";"):
                return word
            depth += (word == ")") - (word == "(")
            if depth < 0:
                if _is_value(self._word(place - 1)) and self._word(place - 1) not in _CLAUSES:
                    return ""
                depth = 0
        return ""

    def _is_of_between(self, at: int) -> bool:
        depth = 0
        for place in range(at - 1, -1, -1):
            word = self._word(place)
            depth += (word == ")") - (word == "(")
            if depth < 0 or (depth == 0 and word in ("and", "or", "where", "on", ";", "when", "if")):
                return False
            if depth == 0 and word == "between":
                return True
        return False

    def _name_after(self, at: int) -> str:
        words = []
        for token in self._tokens[at + 1 :]:
            if token.text == "(":
                break
            words.append(token.text)
        return "".join(words)

    def _word(self, at: int) -> str:
        return self._tokens[at].word if 0 <= at < len(self._tokens) else ""


def _site(kind: str, token: _Token, after: str) -> Site:
    return Site(kind, token.start, token.end, after)


def _is_value(text: str) -> bool:
    """Whether a value may end with this: a name, a number, a closing bracket."""
    return re.match(r"[\w$?'\"]", text) is not None or text in (")", "]")


def _like(text: str, other: str) -> str:
    return other.upper() if text.isupper() else other


def _one_more(number: str) -> str:
    return str(float(number) + 1) if "." in number else str(int(number) + 1)
