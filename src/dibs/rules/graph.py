"""Tasks joined by edges: cycles, chains, and how a dag ends.

An edge here is a pair (parent, child): the child waits for the parent. Everything is iterative, because a
chain may be as long as a call allows. Edges that leave the given nodes are ignored: they may cross dags.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from msgspec import Struct

from dibs.errors import CycleDetected, Invalid
from dibs.model.status import FINAL, DagStatus, Status
from dibs.rules.priority import MAX_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Mapping

    Pair = tuple[str, str]


IMPLICIT = "continue"
"""The policy of a dag that nobody declared: it came about because tasks were joined by edges or spawned."""


class FailurePolicy(Struct, frozen=True):
    """When dead letters fail their dag: at once, never while others can run, or above a threshold."""

    kind: str
    count: int | None = None
    percent: float | None = None


def find_cycle(edges: Iterable[Pair]) -> list[str] | None:
    """The nodes of a cycle in the order of its edges, the first repeated at the end; None without one."""
    children = _children(edges)
    finished: set[str] = set()
    for start in children:
        if start in finished:
            continue
        path = [start]
        on_path = {start}
        stack: list[Iterator[str]] = [iter(children[start])]
        while stack:
            for child in stack[-1]:
                if child in on_path:
                    return [*path[path.index(child) :], child]
                if child not in finished:
                    path.append(child)
                    on_path.add(child)
                    stack.append(iter(children.get(child, ())))
                    break
            else:
                stack.pop()
                done = path.pop()
                on_path.discard(done)
                finished.add(done)
    return None


def order(nodes: Iterable[str], edges: Iterable[Pair]) -> list[str]:
    """Every node after all its parents; of those that could come next, the one given first.

    Raises `CycleDetected`, naming the cycle.
    """
    given = list(dict.fromkeys(nodes))
    position = {node: number for number, node in enumerate(given)}
    inner = _inner(position, edges)
    children = _children(inner)
    open_parents = dict.fromkeys(given, 0)
    for _, child in inner:
        open_parents[child] += 1
    free = [position[node] for node in given if not open_parents[node]]
    heapify(free)
    ordered: list[str] = []
    while free:
        node = given[heappop(free)]
        ordered.append(node)
        for child in children.get(node, ()):
            open_parents[child] -= 1
            if not open_parents[child]:
                heappush(free, position[child])
    if len(ordered) < len(given):
        cycle = find_cycle(inner)
        assert cycle is not None
        refuse_cycle(cycle)
    return ordered


def refuse_cycle(cycle: list[str]) -> None:
    """Raises the error for a cycle that `find_cycle` found."""
    shown = cycle if len(cycle) <= 12 else [*cycle[:6], "…", *cycle[-5:]]
    raise CycleDetected(f"These tasks would wait for each other: {' → '.join(shown)}.", field="after")


def weights(edges: Iterable[Pair]) -> dict[str, int]:
    """For each node, the tasks on the longest chain below it (a leaf: 0), at most `MAX_WEIGHT`."""
    pairs = list(edges)
    nodes = dict.fromkeys(node for pair in pairs for node in pair)
    return {node: min(depth, MAX_WEIGHT) for node, depth in _depths(nodes, pairs).items()}


def roots(nodes: Iterable[str], edges: Iterable[Pair]) -> list[str]:
    """The nodes that wait for none of the others, in the order given."""
    given = dict.fromkeys(nodes)
    waiting = {child for _, child in _inner(given, edges)}
    return [node for node in given if node not in waiting]


def leaves(nodes: Iterable[str], edges: Iterable[Pair]) -> list[str]:
    """The nodes that none of the others waits for, in the order given."""
    given = dict.fromkeys(nodes)
    awaited = {parent for parent, _ in _inner(given, edges)}
    return [node for node in given if node not in awaited]


def critical_path(nodes: Iterable[str], edges: Iterable[Pair]) -> list[str]:
    """The longest chain; of equally long ones, that of the nodes given first."""
    given = dict.fromkeys(nodes)
    if not given:
        return []
    inner = _inner(given, edges)
    children = _children(inner)
    depths = _depths(given, inner)
    node = max(given, key=depths.__getitem__)
    path = [node]
    while depths[node]:
        node = next(child for child in children[node] if depths[child] == depths[node] - 1)
        path.append(node)
    return path


def check_waited_children(
    children: Collection[str], edges: Iterable[Pair], ended: Container[str], field: str = "after"
) -> None:
    """Children that a parent waits for may depend only on siblings or on ended tasks; else `Invalid`.

    Without this rule two spawners could each wait for a child that depends on the other's.
    """
    siblings = set(children)
    for parent, child in edges:
        if child in siblings and parent not in siblings and parent not in ended:
            raise Invalid(
                f"Task {child} is spawned to be waited for, so it may depend only on its siblings and on "
                f"ended tasks; {parent} is neither. Spawn it without `wait`, or drop that dependency.",
                field=field,
            )


def parse_on_failure(text: object) -> FailurePolicy:
    """Reads `fail_fast`, `continue`, `threshold:3` or `threshold:20%`; anything else is `Invalid`."""
    kind, _, limit = text.partition(":") if isinstance(text, str) else ("", "", "")
    if text in ("fail_fast", "continue"):
        return FailurePolicy(kind)
    digits = limit.removesuffix("%")
    if kind == "threshold" and digits.isascii() and digits.isdigit() and len(digits) <= 6:
        if limit == digits:
            return FailurePolicy(kind, count=int(digits))
        if int(digits) <= 100:
            return FailurePolicy(kind, percent=float(digits))
    raise Invalid(
        f"on_failure must be fail_fast, continue, threshold:3 or threshold:20%, not {str(text)[:60]!r}.",
        field="on_failure",
    )


def fails_now(policy: FailurePolicy, dead: int, total: int) -> bool:
    """Whether a dag with `dead` of its `total` tasks dead-lettered fails now, cancelling what is left."""
    if policy.kind == "fail_fast":
        return dead >= 1
    if policy.count is not None:
        return dead > policy.count
    if policy.percent is not None:
        return dead * 100 > policy.percent * total
    return False


def dag_status(counts: Mapping[Status, int], *, unrequested_cancels: int, started: bool) -> DagStatus:
    """Where a dag is, from how many of its tasks are where.

    `unrequested_cancels` are cancelled tasks that nobody asked to cancel: their dependency failed.
    """
    if any(count for status, count in counts.items() if status not in FINAL):
        return DagStatus.RUNNING if started else DagStatus.PENDING
    if counts.get(Status.DEAD_LETTERED) or unrequested_cancels:
        return DagStatus.FAILED
    if counts.get(Status.CANCELLED) and not counts.get(Status.COMPLETED):
        return DagStatus.CANCELLED
    return DagStatus.COMPLETED


def _inner(nodes: Container[str], edges: Iterable[Pair]) -> list[Pair]:
    """The edges with both ends among `nodes`."""
    return [pair for pair in edges if pair[0] in nodes and pair[1] in nodes]


def _children(edges: Iterable[Pair]) -> dict[str, list[str]]:
    children: dict[str, list[str]] = {}
    for parent, child in edges:
        children.setdefault(parent, []).append(child)
    return children


def _depths(nodes: Iterable[str], edges: list[Pair]) -> dict[str, int]:
    """For each node, the length of the longest chain below it."""
    ordered = order(nodes, edges)
    children = _children(edges)
    depths: dict[str, int] = {}
    for node in reversed(ordered):
        depths[node] = max((depths[child] + 1 for child in children.get(node, ())), default=0)
    return depths
