"""What is said about all tasks that a query finds."""

from __future__ import annotations

from msgspec import Struct, field


class Count(Struct, kw_only=True):
    """How many fit; `more`: at least so many, there was more to look at."""

    count: int
    more: bool = False


class Untouched(Struct, kw_only=True, omit_defaults=True):
    """A task for which it was refused, and why: `code`, `message` and `field` of the error."""

    task_id: str
    code: str
    message: str
    field: str | None = None


class Handled(Struct, kw_only=True):
    """What a verb did to some of the tasks that fit: each was judged by itself.

    `done`: the ids of those that it changed; `left`: of those for which there was nothing to do; `refused`: the others.
    `cursor` continues with those that were added before them; None: these were all. A stretch may be short, or empty,
    and still have one.
    """

    done: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    refused: list[Untouched] = field(default_factory=list)
    cursor: str | None = None
