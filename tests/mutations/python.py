"""Where Python can be changed a little: found by `ast`, written as a change of the text, so that a diff is one line.

Left alone: docstrings, annotations, `TYPE_CHECKING` blocks, decorators, assertions, what is logged, the words of
errors, `__repr__`. SQL in string literals is changed as SQL.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from typing import TYPE_CHECKING, cast

from tests.mutations import sql
from tests.mutations.site import Site, only_real

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: (r"<", "<="),
    ast.LtE: (r"<=", "<"),
    ast.Gt: (r">", ">="),
    ast.GtE: (r">=", ">"),
    ast.Eq: (r"==", "!="),
    ast.NotEq: (r"!=", "=="),
    ast.Is: (r"\bis\b", "is not"),
    ast.IsNot: (r"\bis\s+not\b", "is"),
    ast.In: (r"\bin\b", "not in"),
    ast.NotIn: (r"\bnot\s+in\b", "in"),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: (r"\+", "-"),
    ast.Sub: (r"-", "+"),
    ast.Mult: (r"\*", "/"),
    ast.Div: (r"/", "*"),
    ast.FloorDiv: (r"//", "*"),
}
_TEXTS_AND_LISTS = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp, ast.Dict, ast.Set)
_LOGS = {"log", "_log", "logger", "_logger", "logging"}
_NOT_FOR_PROGRAMS = {"__repr__", "__str__"}


def sites(source: str) -> list[Site]:
    """Every small change of a module."""
    return only_real(source, _Finder(source).walk(ast.parse(source)))


class _Finder:
    def __init__(self, source: str) -> None:
        self._source = source
        self._lines = source.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))
        self._within: list[str] = []

    def walk(self, node: ast.AST) -> Iterator[Site]:
        """The changes in a node and in what it consists of."""
        if isinstance(node, ast.expr | ast.stmt):
            yield from self._of(node)
        named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if named:
            self._within.append(cast("ast.FunctionDef", node).name)
        for part in _parts(node):
            yield from self.walk(part)
        if named:
            self._within.pop()

    def _of(self, node: ast.expr | ast.stmt) -> Iterator[Site]:
        match node:
            case ast.Compare():
                for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                    pattern, after = _COMPARISONS[type(op)]
                    yield from self._between("comparison", left, right, pattern, after)
            case ast.BoolOp():
                word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
                for left, right in zip(node.values, node.values[1:], strict=False):
                    yield from self._between("and/or", left, right, rf"\b{word}\b", other)
            case ast.UnaryOp(op=ast.Not()):
                start = self._start(node)
                yield self._site("not", start, start + len(re.match(r"not\s*", self._source[start:])[0]), "")  # type: ignore[index]
            case ast.BinOp() if type(node.op) in _ARITHMETIC and _adds_numbers(node):
                pattern, after = _ARITHMETIC[type(node.op)]
                yield from self._between("arithmetic", node.left, node.right, pattern, after)
            case ast.AugAssign(op=ast.Add() | ast.Sub()) if _is_number(node.value):
                pattern, after = _ARITHMETIC[type(node.op)]
                yield from self._between("arithmetic", node.target, node.value, pattern + "(?==)", after)
            case ast.Constant():
                yield from self._constant(node)
            case ast.If() | ast.IfExp() | ast.While() if not _is_for_types(node.test):
                yield from self._negated(node.test)
            case _:
                pass
        if isinstance(node, ast.stmt):
            yield from self._statement(node)

    def _constant(self, node: ast.Constant) -> Iterator[Site]:
        start, end = self._start(node), self._end(node)
        if isinstance(node.value, bool):
            yield self._site("truth", start, end, str(not node.value))
        elif isinstance(node.value, int | float):
            yield self._site("constant", start, end, repr(node.value + 1))
        elif isinstance(node.value, str) and sql.is_statement(node.value):
            text = self._source[start:end]
            if "\\" not in text and _is_one_literal(text):
                for site in sql.sites(text.strip("'\""), in_function=False):
                    shift = start + len(text) - len(text.lstrip("'\""))
                    yield self._site(site.kind, site.start + shift, site.end + shift, site.after)

    def _negated(self, test: ast.expr) -> Iterator[Site]:
        # Of these the opposite is a change of their own.
        if isinstance(test, ast.Compare) and not isinstance(test.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
            return
        if isinstance(test, ast.UnaryOp | ast.Constant):
            return
        start, end = self._start(test), self._end(test)
        yield self._site("negated", start, end, f"not ({self._source[start:end]})")

    def _statement(self, node: ast.stmt) -> Iterator[Site]:
        start, end = self._start(node), self._end(node)
        match node:
            case (
                ast.Expr(value=ast.Call() | ast.Await(value=ast.Call()))
                | ast.AugAssign()
                | ast.Delete()
                | ast.Raise()
                | ast.Continue()
                | ast.Assign(targets=[ast.Attribute() | ast.Subscript()])
            ) if not _is_log(node):
                yield self._site("dropped", start, end, "pass")
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                empty = "[]" if isinstance(value, ast.List | ast.ListComp) else "None"
                yield self._site("returned", self._start(value), self._end(value), empty)
            case _:
                pass

    def _between(self, kind: str, left: ast.expr, right: ast.expr, pattern: str, after: str) -> Iterator[Site]:
        start, end = self._end(left), self._start(right)
        if found := re.search(pattern, self._source[start:end]):
            yield self._site(kind, start + found.start(), start + found.end(), after)

    def _site(self, kind: str, start: int, end: int, after: str) -> Site:
        return Site(kind, start, end, after, ".".join(self._within))

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._offset(node.lineno, node.col_offset)

    def _end(self, node: ast.expr | ast.stmt) -> int:
        return self._offset(cast("int", node.end_lineno), cast("int", node.end_col_offset))

    def _offset(self, line: int, octets: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:octets].decode())


def _parts(node: ast.AST) -> list[ast.AST]:
    """What a node consists of, without what is left alone."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            defaults = [default for default in [*node.args.defaults, *node.args.kw_defaults] if default is not None]
            return [] if node.name in _NOT_FOR_PROGRAMS else [*defaults, *node.body]
        case ast.ClassDef():
            return [*node.body]
        case ast.If() if _is_for_types(node.test):
            return [*node.orelse]
        case ast.AnnAssign():
            return [node.value] if node.value is not None else []
        case ast.Expr(value=ast.Constant()) | ast.Assert() | ast.Raise() | ast.JoinedStr():
            return []
        case ast.Expr() if _is_log(node):
            return []
        case _:
            return list(ast.iter_child_nodes(node))


def _is_for_types(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _is_log(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name in _LOGS
        case _:
            return False


def _is_number(node: ast.expr) -> bool:
    """Whether it may be one, for all that can be seen."""
    return not isinstance(node, _TEXTS_AND_LISTS) and not (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _adds_numbers(node: ast.BinOp) -> bool:
    parts = [node]
    while isinstance(parts[-1].left, ast.BinOp):
        parts.append(parts[-1].left)
    return all(_is_number(part.right) for part in parts) and _is_number(parts[-1].left)


def _is_one_literal(text: str) -> bool:
    """Not several side by side, nor one with a prefix."""
    if not text.startswith(("'", '"')):
        return False
    tokens = tokenize.generate_tokens(io.StringIO(f"({text})").readline)
    return sum(token.type == tokenize.STRING for token in tokens) == 1
