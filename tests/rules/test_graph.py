"""Cycles, chains, failure policies and the status of a dag."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.errors import CycleDetected, Invalid
from dibs.model.status import DagStatus, Status
from dibs.rules import graph

LONG = 10_000
CHAIN = [(str(number), str(number + 1)) for number in range(LONG)]
DIAMOND = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]

nodes = st.integers(0, 9).map(str)
edge_lists = st.lists(st.tuples(nodes, nodes), max_size=25)
forward_edges = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25).map(
    lambda pairs: [(str(low), str(high)) for low, high in pairs if low < high]
)


def test_a_self_dependency_is_a_cycle() -> None:
    assert graph.find_cycle([("a", "a")]) == ["a", "a"]


def test_a_cycle_is_named_in_the_order_of_its_edges() -> None:
    edges = [("x", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "y")]
    assert graph.find_cycle(edges) == ["a", "b", "c", "a"]


def test_a_diamond_is_no_cycle() -> None:
    assert graph.find_cycle(DIAMOND) is None
    assert graph.find_cycle([]) is None


def test_deep_chains_do_not_recurse() -> None:
    assert graph.find_cycle(CHAIN) is None
    cycle = graph.find_cycle([*CHAIN, (str(LONG), "0")])
    assert cycle is not None
    assert len(cycle) == LONG + 2
    assert len(graph.critical_path([str(number) for number in range(LONG + 1)], CHAIN)) == LONG + 1
    assert graph.weights(CHAIN)["0"] == 20


@given(edge_lists)
def test_a_found_cycle_is_one_and_without_one_there_is_an_order(edges: list[tuple[str, str]]) -> None:
    cycle = graph.find_cycle(edges)
    every = sorted({node for edge in edges for node in edge})
    if cycle is None:
        ordered = graph.order(every, edges)
        assert sorted(ordered) == every
        assert all(ordered.index(parent) < ordered.index(child) for parent, child in edges)
    else:
        assert len(cycle) >= 2
        assert cycle[0] == cycle[-1]
        assert all(step in edges for step in pairwise(cycle))
        with pytest.raises(CycleDetected):
            graph.order(every, edges)


def test_order_keeps_to_the_given_one_where_it_can() -> None:
    assert graph.order(["d", "c", "b", "a", "z"], DIAMOND) == ["a", "c", "b", "d", "z"]
    assert graph.order(["b", "a"], [("elsewhere", "b")]) == ["b", "a"]


def test_a_refused_cycle_is_named() -> None:
    with pytest.raises(CycleDetected, match="a → b → a") as caught:
        graph.order(["a", "b"], [("a", "b"), ("b", "a")])
    assert caught.value.field == "after"


def test_a_long_cycle_is_named_in_part() -> None:
    with pytest.raises(CycleDetected, match="5 → … → ") as caught:
        graph.order([str(number) for number in range(LONG + 1)], [*CHAIN, (str(LONG), "0")])
    assert len(caught.value.message) < 200


def test_weight_is_the_longest_chain_below() -> None:
    edges = [("a", "b"), ("b", "c"), ("a", "c"), ("d", "c")]
    assert graph.weights(edges) == {"a": 2, "b": 1, "c": 0, "d": 1}
    assert graph.weights([]) == {}


@given(forward_edges)
def test_a_parent_weighs_more_than_each_of_its_children(edges: list[tuple[str, str]]) -> None:
    weights = graph.weights(edges)
    for parent, child in edges:
        assert weights[parent] > weights[child]
    for node, weight in weights.items():
        below = [weights[child] + 1 for parent, child in edges if parent == node]
        assert weight == max(below, default=0)


def test_roots_and_leaves_look_only_at_the_given_nodes() -> None:
    edges = [*DIAMOND, ("outside", "a"), ("d", "elsewhere")]
    assert graph.roots(["d", "c", "b", "a", "e"], edges) == ["a", "e"]
    assert graph.leaves(["d", "c", "b", "a", "e"], edges) == ["d", "e"]


def test_the_critical_path_is_the_longest_chain() -> None:
    edges = [("a", "z"), ("a", "b"), ("b", "c"), ("x", "y"), ("c", "elsewhere")]
    assert graph.critical_path(["x", "y", "a", "b", "c", "z"], edges) == ["a", "b", "c"]
    assert graph.critical_path(["lonely"], []) == ["lonely"]
    assert graph.critical_path([], []) == []


def test_waited_children_may_depend_on_siblings_and_ended_tasks() -> None:
    edges = [("one", "two"), ("ended", "one"), ("live", "stranger")]
    graph.check_waited_children(["one", "two"], edges, {"ended"})


def test_waited_children_may_not_depend_on_live_strangers() -> None:
    with pytest.raises(Invalid, match=r"one is spawned to be waited for.*live is neither") as caught:
        graph.check_waited_children(["one", "two"], [("live", "one")], {"ended"})
    assert caught.value.field == "after"


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("fail_fast", graph.FailurePolicy("fail_fast")),
        ("continue", graph.FailurePolicy("continue")),
        ("threshold:3", graph.FailurePolicy("threshold", count=3)),
        ("threshold:0", graph.FailurePolicy("threshold", count=0)),
        ("threshold:20%", graph.FailurePolicy("threshold", percent=20.0)),
    ],
)
def test_failure_policies_are_read(text: str, policy: graph.FailurePolicy) -> None:
    assert graph.parse_on_failure(text) == policy


@pytest.mark.parametrize(
    "text",
    ["", "stop", "threshold", "threshold:", "threshold:%", "threshold:-1", "threshold:101%", "threshold:1.5",
     "threshold:²", "threshold:9999999", "threshold:3%%", "fail_fast:1", None, 3],
)  # fmt: skip
def test_nonsense_failure_policies_are_refused(text: object) -> None:
    with pytest.raises(Invalid, match="threshold:20%") as caught:
        graph.parse_on_failure(text)
    assert caught.value.field == "on_failure"


@pytest.mark.parametrize(
    ("text", "dead", "total", "fails"),
    [
        ("fail_fast", 0, 9, False),
        ("fail_fast", 1, 9, True),
        ("continue", 9, 9, False),
        ("threshold:3", 3, 9, False),
        ("threshold:3", 4, 9, True),
        ("threshold:20%", 2, 10, False),
        ("threshold:20%", 3, 10, True),
        ("threshold:20%", 0, 0, False),
    ],
)
def test_a_dag_fails_when_its_policy_says_so(text: str, dead: int, total: int, fails: bool) -> None:
    assert graph.fails_now(graph.parse_on_failure(text), dead, total) is fails


@pytest.mark.parametrize(
    ("counts", "unrequested", "started", "status"),
    [
        ({Status.PENDING: 1}, 0, False, DagStatus.PENDING),
        ({Status.READY: 1, Status.COMPLETED: 1}, 0, True, DagStatus.RUNNING),
        ({Status.RETRYING: 1, Status.DEAD_LETTERED: 1}, 0, True, DagStatus.RUNNING),
        ({Status.COMPLETED: 2, Status.DEAD_LETTERED: 1}, 0, True, DagStatus.FAILED),
        ({Status.COMPLETED: 2, Status.CANCELLED: 2}, 1, True, DagStatus.FAILED),
        ({Status.CANCELLED: 2, Status.COMPLETED: 0}, 0, False, DagStatus.CANCELLED),
        ({Status.COMPLETED: 2, Status.CANCELLED: 2}, 0, True, DagStatus.COMPLETED),
        ({Status.COMPLETED: 2, Status.READY: 0}, 0, True, DagStatus.COMPLETED),
    ],
)
def test_the_status_of_a_dag(counts: dict[Status, int], unrequested: int, started: bool, status: DagStatus) -> None:
    assert graph.dag_status(counts, unrequested_cancels=unrequested, started=started) is status
