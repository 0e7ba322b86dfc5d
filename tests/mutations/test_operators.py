"""Small changes of small sources: each operator, and what is left alone."""

from __future__ import annotations

import ast

import pytest

from tests.mutations import python, sql
from tests.mutations.site import changed


def of_python(source: str) -> set[str]:
    """What becomes of a source, change by change."""
    return {changed(source, site) for site in python.sites(source)}


def of_sql(source: str) -> set[str]:
    return {changed(source, site) for site in sql.sites(source, in_function=False)}


def body_of(statements: str) -> str:
    return (
        f"CREATE OR REPLACE FUNCTION dibs.f(p integer = 0) LANGUAGE plpgsql AS $$\nBEGIN\n    {statements}\nEND $$;\n"
    )


def of_body(statements: str) -> set[str]:
    """What becomes of the statements of a function in PL/pgSQL."""
    before, after = body_of("\0").split("\0")
    source = body_of(statements)
    return {changed(source, site).removeprefix(before).removesuffix(after) for site in sql.sites(source)}


@pytest.mark.parametrize(
    ("source", "became"),
    [
        ("x = a < b", {"x = a <= b"}),
        ("x = a >= b", {"x = a > b"}),
        ("x = a == b", {"x = a != b"}),
        ("x = (a) is (b)", {"x = (a) is not (b)"}),
        ("x = a not in b", {"x = a in b"}),
        ("x = a < b < c", {"x = a <= b < c", "x = a < b <= c"}),
        ("x = a and b or c", {"x = a or b or c", "x = a and b and c"}),
        ("x = not (a)", {"x = (a)"}),
        ("x = n + 1", {"x = n + 2", "x = n - 1"}),
        ("n += m", {"n -= m", "pass"}),
        ("x = a * b", {"x = a / b"}),
        ("x = True", {"x = False"}),
        ("x = 0.5", {"x = 1.5"}),
        ("x = 'é', 10_000", {"x = 'é', 10001"}),
        ("call(x)", {"pass"}),
        ("x.y = z", {"pass"}),
        ("raise Wrong(7)", {"pass"}),
        ("def f():\n    return g(x)", {"def f():\n    return None"}),
        ("def f():\n    return [x]", {"def f():\n    return []"}),
        ("if x:\n    y = z", {"if not (x):\n    y = z"}),
        ("y = z if (x) else w", {"y = z if (not (x)) else w"}),
        ("if a == b:\n    y = z", {"if a != b:\n    y = z"}),
        ("q = 'SELECT n FROM t WHERE n < ?1'", {"q = 'SELECT n FROM t WHERE n <= ?1'"}),
    ],
)
def test_python_is_changed_a_little(source: str, became: set[str]) -> None:
    assert of_python(source) == became
    for each in became:
        ast.parse(each)


@pytest.mark.parametrize(
    "source",
    [
        '"""About 1 < 2."""',
        'class A:\n    """Not 1."""\n    x: Literal[1]',
        "def f(x: Literal[1] = y) -> Literal[2]:\n    ...",
        "if TYPE_CHECKING:\n    from a import b",
        "if TYPE_CHECKING:\n    x = 1 < 2",
        "log.info('%d tasks', n + 1)",
        "def __repr__(self):\n    return str(1 + 2)",
        "@made(frozen=True)\nclass A: ...",
        "assert x < 1",
        "# 1 < 2 and not 3",
        "x = a + 'text' + b",
        "x = [*a] + b",
        "x = f'{n + 1}'",
        "x = 'a < 1 AND b'",
    ],
)
def test_what_no_test_could_find_is_left_alone(source: str) -> None:
    assert of_python(source) == set()


def test_a_change_is_one_line() -> None:
    assert of_python("call(\n    x,\n    y)\nif (a or\n    b):\n    z = w") == {
        "call(\n    x,\n    y)\nif (a and\n    b):\n    z = w"
    }


@pytest.mark.parametrize(
    ("source", "became"),
    [
        ("SELECT a FROM t WHERE b = ?1", {"SELECT a FROM t WHERE b <> ?1"}),
        ("UPDATE t SET a = b WHERE (c >= d)", {"UPDATE t SET a = b WHERE (c > d)"}),
        ("SELECT a FROM t WHERE b OR c", {"SELECT a FROM t WHERE b AND c"}),
        ("SELECT a FROM t WHERE b IS NOT NULL", {"SELECT a FROM t WHERE b IS NULL"}),
        ("SELECT a FROM t WHERE b IS NULL", {"SELECT a FROM t WHERE b IS NOT NULL"}),
        ("SELECT a FROM t WHERE NOT b", {"SELECT a FROM t WHERE b"}),
        ("SELECT a FROM t WHERE b BETWEEN c AND d", set()),
        ("SELECT a - b FROM t", {"SELECT a + b FROM t"}),
        ("SELECT a->>'b' FROM t ORDER BY 1 DESC", {"SELECT a->>'b' FROM t ORDER BY 1 ASC"}),
        ("SELECT min(a) FROM t LIMIT 5", {"SELECT max(a) FROM t LIMIT 5", "SELECT min(a) FROM t LIMIT 6"}),
        ("SELECT 'a < 1' -- and 2 < 3\nFROM t /* b = 4 */", set()),
        ("UPDATE t SET a = true", {"UPDATE t SET a = false"}),
    ],
)
def test_sql_is_changed_a_little(source: str, became: set[str]) -> None:
    assert {each.replace("ASC", "asc").lower() for each in of_sql(source)} == {each.lower() for each in became}


@pytest.mark.parametrize(
    ("statements", "became"),
    [
        ("PERFORM dibs.g(p);", {"NULL;"}),
        ("x := y;", {"NULL;"}),
        ("RETURN p;", {"RETURN NULL;"}),
        ("IF a OR b THEN x = y; END IF;", {"IF NOT (a OR b) THEN x = y; END IF;", "IF a AND b THEN x = y; END IF;"}),
        ("IF NOT a THEN RETURN; END IF;", {"IF a THEN RETURN; END IF;"}),
        ("IF CASE WHEN a THEN b END THEN RETURN; END IF;", {"IF NOT (CASE WHEN a THEN b END) THEN RETURN; END IF;"}),
    ],
)
def test_a_function_is_changed_in_its_body(statements: str, became: set[str]) -> None:
    assert of_body(statements) == became
