"""Arrays as text, for the server to take apart (`$1::text::bigint[]`).

Given a list, the driver looks at every element twice, to see whether it is a list itself, and encodes it by itself:
three times the work that it is to write them down here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def of_numbers(values: Sequence[int]) -> str:
    """An array of whole numbers."""
    return "{" + ",".join(map(str, values)) + "}"


def of_texts(values: Sequence[str | None]) -> str:
    """An array of texts, NULL for None."""
    return "{" + ",".join([_element(value) for value in values]) + "}"


def of_names(values: Sequence[str]) -> str:
    """An array of texts in which a quote or a backslash would be rare: they are looked for in all of them at once."""
    joined = '","'.join(values)
    if not values or "\\" in joined or joined.count('"') != 2 * (len(values) - 1):
        return of_texts(values)
    return f'{{"{joined}"}}'


def _element(value: str | None) -> str:
    return "NULL" if value is None else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
