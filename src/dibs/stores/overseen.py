"""What a store is asked, and answers, about many dags and lanes at once."""

from __future__ import annotations

from msgspec import Struct, field

from dibs.model.dag import Dag
from dibs.rules.flow import End
from dibs.stores.values import LaneKey


class DagFilter(Struct, kw_only=True, frozen=True):
    """Which dags are wanted; None does not filter. `text` is in the title, upper and lower case alike."""

    project: str = "default"
    status: tuple[str, ...] | None = None
    text: str | None = None


class Dags(Struct, kw_only=True):
    """Some dags that fit; `rest`: all down to this id were looked at, and there may be more."""

    items: list[Dag] = field(default_factory=list)
    rest: str | None = None


class Ends(Struct, kw_only=True):
    """Completed tasks, and what their lanes are."""

    lanes: dict[int, LaneKey] = field(default_factory=dict)
    ends: list[End] = field(default_factory=list)
