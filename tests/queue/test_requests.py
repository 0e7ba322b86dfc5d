"""What the verbs refuse before any store hears of it, and what they take for the same request."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import dibs
from dibs import requests
from dibs.adding import Adding
from dibs.requests import claim_request

Wrong = Callable[[dibs.SyncQueue], Any]


def held(queue: dibs.SyncQueue) -> dibs.Claim:
    queue.add("parent")
    [claim] = queue.claim("ada", types=["parent"])
    return claim


WRONG: list[tuple[str, Wrong]] = [
    ("claim", lambda queue: queue.renew(None)),  # type: ignore[arg-type]
    ("claim", lambda queue: queue.renew(queue.add("a"))),  # type: ignore[arg-type]
    ("start", lambda queue: queue.claim("ada", start="no")),  # type: ignore[arg-type]
    ("cursor", lambda queue: queue.find(cursor=5)),  # type: ignore[arg-type]
    ("type", lambda queue: queue.find(type=5)),  # type: ignore[arg-type]
    ("status", lambda queue: queue.find(status=5)),  # type: ignore[arg-type]
    ("text", lambda queue: queue.find(text="\0")),
    ("after", lambda queue: next(queue.events(after="x"))),  # type: ignore[arg-type]
    ("after", lambda queue: queue.link(queue.add("a").id)),
    ("dag", lambda queue: queue.add_dag("t", [dibs.NewTask("a", dag="dag_other")])),
    ("dag", lambda queue: queue.spawn(held(queue), [dibs.NewTask("a", dag="dag_other")])),
    ("coalesce_window", lambda queue: queue.add("a", coalesce_window=9)),
    ("context", lambda queue: queue.add("a", context={"refs": ["task:x"]})),
    ("timeout", lambda queue: queue.add("a", timeout=True)),
    ("question", lambda queue: queue.ask(held(queue), " ")),
    ("limit", lambda queue: queue.inbox(limit=0)),
]


@pytest.mark.parametrize(("field", "wrong"), WRONG)
def test_a_wrong_request_is_refused_with_its_field(field: str, wrong: Wrong) -> None:
    with dibs.connect_sync("memory:") as queue:
        queue.add("a", timeout=1)
        with pytest.raises(dibs.Invalid) as caught:
            wrong(queue)
        assert caught.value.field == field


@pytest.mark.parametrize(("arguments", "field"), [({"url": 5}, "url"), ({"url": "memory:", "token": "x"}, "token")])
def test_a_connection_that_makes_no_sense_is_refused(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(dibs.Invalid) as caught:
        dibs.connect_sync(**arguments)
    assert caught.value.field == field


def test_a_keyed_plan_written_down_twice_is_one_dag() -> None:
    with dibs.connect_sync("memory:") as queue:
        found = []
        for _ in range(2):
            with queue.dag("Release", key="release-7") as plan:
                build = plan.add("build", {"version": 7}, requires={"gpu", "git"})
                plan.add("deploy", after=[build])
            found.append(plan.id)
        assert found[0] == found[1]
        assert queue.stats().by_status == {"ready": 1, "pending": 1}


@pytest.mark.parametrize(
    "change", [{"priority": 5}, {"assignee": "bob"}, {"payload": {"version": 8}}, {"tags": ["x"]}, {"timeout": "5m"}]
)
def test_a_keyed_dag_with_any_other_field_is_another_body(change: dict[str, Any]) -> None:
    with dibs.connect_sync("memory:") as queue:
        queue.add_dag("Release", [dibs.NewTask("build", {"version": 7})], key="release-7")
        other = dibs.NewTask(**{"type": "build", "payload": {"version": 7}, **change})
        with pytest.raises(dibs.KeyReused):
            queue.add_dag("Release", [other], key="release-7")
        with pytest.raises(dibs.KeyReused):
            queue.add_dag("Another title", [dibs.NewTask("build", {"version": 7})], key="release-7")


def test_retention_can_be_set_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from dibs.requests import retention_s

    assert retention_s(None) == 7 * 86_400
    monkeypatch.setenv("DIBS_RETENTION", "30d")
    assert retention_s(None) == 30 * 86_400
    assert retention_s("1h") == 3_600
    monkeypatch.setenv("DIBS_RETENTION", "soon")
    with pytest.raises(dibs.Invalid) as caught:
        dibs.connect_sync("memory:")
    assert caught.value.field == "retention"


def test_add_hands_each_option_to_the_field_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are handed over by place."""
    given: dict[str, Any] = {name: f"the {name}" for name in inspect.signature(Adding.add).parameters if name != "self"}
    seen: list[dibs.NewTask] = []

    def drafts(specs: list[dibs.NewTask], **_: Any) -> Any:
        seen.extend(specs)
        raise dibs.Invalid("seen enough", field="none")

    monkeypatch.setattr("dibs.adding.drafting.drafts", drafts)
    with dibs.connect_sync("memory:") as queue, pytest.raises(dibs.Invalid):
        queue.add(**given)
    del given["connection"]
    assert msgspec.structs.asdict(seen[0]) == {**given, "ref": None}


def test_equal_requests_to_claim_are_checked_once_and_what_only_looks_equal_is_refused() -> None:
    first = claim_request("ada", types=("a",), limit=1, lease=60)
    assert claim_request("ada", types=("a",), limit=1, lease=60) is first
    assert claim_request("ada", types=["a"], limit=1, lease=60) == first
    assert claim_request("ada", types=("a",), limit=2, lease=60).limit == 2
    assert claim_request("ada", types=iter("a"), limit=1, lease=60).types == ("a",)
    right: dict[str, Any] = {"types": ("a",), "limit": 1, "lease": 1}
    wrongs: list[dict[str, Any]] = [{"limit": True}, {"lease": True}, {"start": 1}, {"types": ([],)}]
    for wrong in wrongs:
        claim_request("ada", **right)
        with pytest.raises(dibs.Invalid):
            claim_request("ada", **{**right, **wrong})
    once = claim_request("ada", claim_id="one")
    assert claim_request("ada", claim_id="one") == once


def test_no_more_requests_are_remembered_than_are_worth_it() -> None:
    for number in range(2 * requests.MAX_REMEMBERED):
        claim_request(f"agent-{number}")
    assert len(requests._requests) <= requests.MAX_REMEMBERED
